//! Reasoning between tags, wherever chunks are cut, and how much of it is shown.

use super::*;
use expect_test::{Expect, expect};
use orlop_core::{Config, NativeItem};
use proptest::prelude::*;

fn config(reasoning: Value) -> Config {
    Config::new(Map::from_iter([(REASONING.to_owned(), reasoning)]))
}

fn thinking(show: &str) -> Config {
    config(json!({ "show": show, "tags": ["<think>", "</think>"] }))
}

fn end() -> Chunk {
    Chunk::finals(vec![NativeItem::from(json!({ "role": "assistant" }))])
}

/// What is shown of an answer in these chunks, as the core hands them on.
fn shown(config: &Config, chunks: impl IntoIterator<Item = Partial>) -> Vec<Partial> {
    let mut state = State { config: config.clone(), ..State::default() };
    let chunks = chunks.into_iter().map(Chunk::partial).chain([end()]);
    let pass = |mut chunk: Chunk| {
        Reasoning.process_chunk(&state, &mut chunk).unwrap();
        chunk.state.apply(&mut state);
        chunk.partial
    };
    chunks.filter_map(pass).collect()
}

fn check(config: &Config, chunks: &[Partial], expected: Expect) {
    let lines: Vec<String> = shown(config, chunks.iter().cloned())
        .iter()
        .map(|partial| match partial.reasoning.is_empty() {
            true => format!("text {:?}", partial.content),
            false if partial.content.is_empty() => format!("thought {:?}", partial.reasoning),
            false => format!("thought {:?} text {:?}", partial.reasoning, partial.content),
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test] // C-31
fn tags_are_cut_out_wherever_chunks_end() {
    let texts = |texts: &[&str]| texts.iter().map(|text| Partial::text(*text)).collect::<Vec<_>>();
    check(
        &thinking("full"),
        &texts(&["<think>\nhm", "m</think>\n\nIt", " is."]),
        expect![[r#"
        thought "hm"
        thought "m" text "It"
        text " is.""#]],
    );
    check(
        &thinking("full"),
        &texts(&["<", "th", "ink", ">a", "</", "thinker", "</think", ">", "\n", " b <i>c"]),
        expect![[r#"
            thought "a"
            thought "</thinker"
            text "b <i>c""#]],
    );
    // What only begins like a tag is text, and comes out at the end.
    check(
        &thinking("full"),
        &texts(&["a <", "b <thin"]),
        expect![[r#"
        text "a "
        text "<b "
        text "<thin""#]],
    );
    check(
        &thinking("full"),
        &texts(&["<think>never clo</thi"]),
        expect![[r#"
        thought "never clo"
        thought "</thi""#]],
    );
    check(
        &thinking("full"),
        &texts(&["one <think>two</think> three <think>four"]),
        expect![[r#"thought "twofour" text "one three ""#]],
    );
    check(
        &config(json!({ "tags": ["思考", "結論"] })),
        &texts(&["思", "考うむ結", "論はい"]),
        expect![[r#"
            thought "うむ"
            text "はい""#]],
    );
}

#[test]
fn reasoning_is_shown_as_the_settings_say() {
    let both = Partial { content: "yes".into(), reasoning: " more".into(), ..Partial::default() };
    let chunks =
        [Partial::reasoning("\n"), Partial::reasoning("First: "), both, Partial::reasoning("\nno")];
    check(
        &config(json!({ "show": "full" })),
        &chunks,
        expect![[r#"
        thought "\n"
        thought "First: "
        thought " more" text "yes"
        thought "\nno""#]],
    );
    check(
        &config(json!({ "show": "summary" })),
        &chunks,
        expect![[r#"
        thought "First: "
        thought " more" text "yes""#]],
    );
    check(&config(json!({ "show": "none" })), &chunks, expect![[r#"text "yes""#]]);
    let long = Partial::text(format!("<think>{}", "é".repeat(300)));
    let summary = shown(&thinking("summary"), [long]).remove(0).reasoning;
    assert_eq!(summary, format!("{}…", "é".repeat(200)));
}

#[test]
fn chunks_with_nothing_to_do_are_not_touched() {
    let state = State { config: thinking("none"), ..State::default() };
    let mut chunk = Chunk::partial(Partial::text("just some words"));
    let address = chunk.partial.as_ref().unwrap().content.as_ptr();
    Reasoning.process_chunk(&state, &mut chunk).unwrap();
    assert_eq!(chunk.partial.as_ref().unwrap().content.as_ptr(), address);
    assert_eq!(chunk.state, StateChange::Keep);

    // After the closing tag the state is as it was before the opening one.
    let mut state = State { config: thinking("full"), ..State::default() };
    for text in ["<think>", "hm", "</think>", "it is"] {
        let mut chunk = Chunk::partial(Partial::text(text));
        Reasoning.process_chunk(&state, &mut chunk).unwrap();
        chunk.state.apply(&mut state);
    }
    assert!(state.values.is_empty(), "{:?}", state.values);
}

#[test]
fn the_state_of_others_is_kept() {
    let state = State { config: thinking("full"), ..State::default() };
    let mut chunk = Chunk::partial(Partial::text("<think>"));
    chunk.state = StateChange::set("other", 1);
    Reasoning.process_chunk(&state, &mut chunk).unwrap();
    let mut state = state;
    chunk.state.apply(&mut state);
    assert_eq!(state.values["other"], 1);
    assert_eq!(state.values[REASONING]["inside"], true);
}

fn adjusted(config: &Config, message: Message) -> Option<Message> {
    shaped(&message, &Settings::of(config).unwrap())
}

#[test] // C-32
fn messages_are_shaped_like_the_stream() {
    let message = Message::assistant("<think>hm</think>\nyes")
        .with_metadata_entry("native_indices", json!([3]))
        .with_metadata_entry("finish_reason", "stop");
    let seen = adjusted(&thinking("full"), message.clone()).unwrap().to_json().to_string();
    expect![[r#"{"role":"assistant","content":"yes","metadata":{"finish_reason":"stop","reasoning":"hm","native_indices":[3]}}"#]].assert_eq(&seen);
    let seen = adjusted(&thinking("none"), message.clone()).unwrap().to_json().to_string();
    expect![[r#"{"role":"assistant","content":"yes","metadata":{"finish_reason":"stop","native_indices":[3]}}"#]].assert_eq(&seen);
    assert_eq!(adjusted(&thinking("full"), Message::assistant("plain")), None);
    assert_eq!(adjusted(&thinking("full"), Message::user("<think>hm</think>")), None);
}

#[test]
fn bad_settings_are_named() {
    let error = |settings: Value| Settings::of(&config(settings)).unwrap_err().to_string();
    expect![[r#"reasoning.show: "some" is not known; set it to "full", "summary" or "none""#]]
        .assert_eq(&error(json!({ "show": "some" })));
    expect![[r#"reasoning.tags: ["<think>"] is no pair of tags; write ["<think>", "</think>"] or the like"#]].assert_eq(&error(json!({ "tags": ["<think>"] })));
    expect![[
        r#"reasoning.tags: ["","x"] is no pair of tags; write ["<think>", "</think>"] or the like"#
    ]]
    .assert_eq(&error(json!({ "tags": ["", "x"] })));
    // What another plugin has under the same name is none of ours.
    assert!(!Settings::of(&config(json!("high"))).unwrap().do_something());
    assert!(!Settings::of(&config(json!({ "effort": "high" }))).unwrap().do_something());
}

proptest! {
    #[test]
    fn cutting_makes_no_difference(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec!["<think>", "</think>", "<", "/", "think", ">", " ", "\n", "a", "é", "</thi", "<th"]),
            0..24,
        ),
        cuts in proptest::collection::vec(1_usize..5, 40),
        show in proptest::sample::select(vec!["full", "summary", "none"]),
    ) {
        let text = pieces.concat();
        let mut letters = text.chars().peekable();
        let mut chunks = Vec::new();
        for length in cuts.iter().cycle() {
            if letters.peek().is_none() { break; }
            chunks.push(Partial::text(letters.by_ref().take(*length).collect::<String>()));
        }
        let joined = |partials: Vec<Partial>| {
            let text: String = partials.iter().map(|partial| partial.content.as_str()).collect();
            let thought: String = partials.iter().map(|p| p.reasoning.as_str()).collect();
            (text, thought)
        };
        let settings = thinking(show);
        let cut = joined(shown(&settings, chunks));
        prop_assert_eq!(&cut, &joined(shown(&settings, [Partial::text(text.clone())])));
        let message = Message::assistant(text.clone());
        let message = adjusted(&settings, message.clone()).unwrap_or(message);
        let thought = message.metadata().get(REASONING).and_then(Value::as_str).unwrap_or_default();
        prop_assert_eq!((message.text(), thought), (cut.0.as_str(), cut.1.as_str()));
    }
}
