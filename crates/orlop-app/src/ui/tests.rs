//! Nothing a plugin or a client sends makes a front end fail or reach the terminal raw.

use super::*;
use proptest::prelude::*;

fn json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![any::<String>(), "(\\$(session|dialog|message)\\.)?[a-z.0-9]{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop_oneof![
        any::<String>(),
        Just("display".to_owned()),
        Just("body".to_owned()),
        Just("title".to_owned()),
        Just("actions".to_owned()),
        Just("dialog".to_owned()),
        Just("inputs".to_owned()),
        Just("name".to_owned()),
        Just("param_map".to_owned()),
        Just("mutations".to_owned()),
        Just("error".to_owned()),
        Just("session".to_owned()),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|fields| Value::from(Map::from_iter(fields))),
        ]
    })
}

/// Texts in which control characters are as frequent as letters.
fn wild() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        any::<char>(),
        prop::char::range('\0', '\u{a0}'),
        prop::sample::select(vec![
            '\u{1b}', '[', ']', ';', '\\', '\u{7}', '\u{9c}', '\u{202e}', 'm'
        ]),
    ];
    prop::collection::vec(character, 0..40).prop_map(String::from_iter)
}

fn is_plain(text: &str) -> bool {
    let harmful = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.contains(harmful)
}

fn object(value: Value) -> Map {
    value.as_object().cloned().unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test] // G-30
    fn no_text_keeps_a_control_character(text in wild()) {
        let plain = plain_text(&text);
        prop_assert!(is_plain(&plain), "{plain:?}");
        prop_assert_eq!(plain_text(&plain), plain.clone());
        prop_assert!(plain.len() <= text.len());
        let line = plain_line(&text);
        prop_assert!(is_plain(&line) && !line.contains(['\n', '\t']));
        if is_plain(&text) {
            prop_assert_eq!(plain, text);
        }
    }

    #[test] // G-30
    fn no_address_leads_anywhere_but_to_the_web(text in wild(), start in "(https?|javascript|data| )?:?/{0,2}") {
        if let Some(url) = web_url(&format!("{start}{text}")) {
            prop_assert!(url.starts_with("http://") || url.starts_with("https://"));
            prop_assert!(url.is_ascii() && !url.contains(|c: char| c.is_control() || c == ' '));
        }
    }

    #[test] // G-26, G-29, G-30
    fn no_result_fails_to_be_read(result in json(), body in wild()) {
        let mut result = object(result);
        let outcome = Outcome::from_result(result.clone());
        prop_assert!(outcome.message.as_deref().is_none_or(is_plain));
        prop_assert!(!outcome.failed() || outcome.notice().is_some());
        let mut display = result.get("display").cloned().map(object).unwrap_or_default();
        display.insert("body".to_owned(), body.into());
        result.insert("display".to_owned(), display.into());
        let mut displays = Displays::default();
        if let Some(display) = Display::from_result(&result) {
            prop_assert!(is_plain(&display.body) && display.title.as_deref().is_none_or(is_plain));
            displays.show(Surface::MessageAction, display.clone());
            displays.follow_up(1, false, Surface::SessionAction, Some(display));
        }
        // Reading an outcome's own JSON gives the outcome again.
        let outcome = Outcome::from_result(result);
        let again = Outcome::from_result(object(serde_json::to_value(&outcome).unwrap()));
        prop_assert_eq!(again, outcome);
    }

    #[test] // J-20, J-21, J-23
    fn no_element_fails_to_be_read(element in json(), session in json(), answers in json()) {
        let mut element = object(element);
        for (key, value) in [("ui_type", "message_action"), ("plugin", "p"), ("action_id", "a")] {
            element.insert(key.to_owned(), value.into());
        }
        merge_elements(vec![element.clone()], [("p", vec![session.clone(), answers.clone()])]);
        let (session, answers) = (object(session), object(answers));
        let sources = Sources {
            session: Some(&session), message: Some(&answers), dialog: Some(&answers),
        };
        for element in elements_of(&[element], Surface::MessageAction) {
            prop_assert!(is_plain(&element.label));
            let _ = element.params(&sources);
        }
    }
}
