//! Scripts as people write them: what is chosen, and what is said about mistakes.

use super::shape::from_native;
use super::*;
use expect_test::{Expect, expect};
use orlop_types::{Message, NativeItem, Value};
use serde_json::json;

fn script(toml: &str) -> Result<Script, String> {
    let value: Value = toml::from_str(toml).unwrap();
    Script::read("demo.toml: ", value).map_err(|error| format!("{error:?}"))
}

/// What is said at the end of a conversation of `u`ser, `a`ssistant and `t`ool messages.
fn said(script: &Script, conversation: &[(&str, &str)]) -> String {
    let messages: Vec<Message> = conversation
        .iter()
        .map(|(who, text)| match *who {
            "a" => Message::assistant(*text),
            "c" => Message::assistant("").with_metadata_entry("tool_calls", json!([{"name": "f"}])),
            "t" => Message::tool(*text),
            _ => Message::user(*text),
        })
        .collect();
    match script.next(&messages) {
        Ok((place, reply)) => format!("{place}: {}", reply.text.concat()),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn plain_replies_come_in_turn() {
    let three = script("replies = ['a', 'b', { text = ['c', 'd'] }]").unwrap();
    assert_eq!(said(&three, &[("u", "x")]), "0: a");
    assert_eq!(said(&three, &[("u", "x"), ("a", "a"), ("u", "y")]), "1: b");
    // Whoever said it, and whatever stands between: the answers count.
    assert_eq!(said(&three, &[("a", "?"), ("u", "x"), ("c", ""), ("t", "r")]), "2: cd");
    // Text and calls as two messages are one answer.
    assert_eq!(said(&three, &[("u", "x"), ("a", "look:"), ("c", ""), ("t", "r")]), "1: b");
}

#[test]
fn the_end_is_what_the_script_says() {
    let over = [("u", "x"), ("a", "a"), ("u", "y"), ("a", "b"), ("u", "z")];
    let ending = |end: &str| script(&format!("at_end = '{end}'\nreplies = ['a', 'b']")).unwrap();
    assert_eq!(said(&ending("repeat"), &over), "1: b");
    assert_eq!(said(&ending("loop"), &over), "0: a");
    expect![[r#"provider: the script has 2 replies, and this is turn 3; add a reply, or set at_end to "repeat" or "loop""#]]
        .assert_eq(&said(&ending("error"), &over));
    let conditions = script("at_end = 'loop'\nreplies = [{ text = 'a', when = { turn = 9 } }]");
    expect![[r#"provider: the script has 0 replies (and 1 with conditions, none of which holds), and this is turn 1; add a reply, or set at_end to "repeat" or "loop""#]]
        .assert_eq(&said(&conditions.unwrap(), &[("u", "x")]));
}

#[test]
fn conditions_go_before_turns() {
    let script = script(
        r#"
        at_end = "repeat"
        [[replies]]
        when = { contains = "WEATHER", tool_result = false }
        text = "I look."
        [[replies]]
        when = { tool_result = true }
        text = "It rains."
        [[replies]]
        when = { text = "my name is *", turn = 1 }
        text = "Hello!"
        [[replies]]
        text = "What?"
        "#,
    )
    .unwrap();
    assert_eq!(said(&script, &[("u", "how is the weather")]), "0: I look.");
    assert_eq!(said(&script, &[("u", "the weather"), ("c", ""), ("t", "rain")]), "1: It rains.");
    assert_eq!(said(&script, &[("u", "My name is Ann")]), "2: Hello!");
    assert_eq!(said(&script, &[("u", "a"), ("a", "b"), ("u", "my name is Ann")]), "3: What?");
    assert_eq!(said(&script, &[]), "3: What?");
}

#[test]
fn a_reply_can_wait_for_a_part() {
    let script =
        script("replies = [{ text = 'I see.', when = { part = 'image' } }, 'Where?']").unwrap();
    let part = json!({ "type": "input_image", "image_url": "u" }).as_object().cloned().unwrap();
    let shown = Message::user("see").with_multipart_content(vec![part]);
    let said = |messages: &[Message]| script.next(messages).unwrap().1.text.concat();
    assert_eq!(said(std::slice::from_ref(&shown)), "I see.");
    assert_eq!(said(&[Message::user("see")]), "Where?");
    assert_eq!(said(&[shown, Message::user("and now?")]), "Where?");
}

#[test]
fn mistakes_are_named_with_file_and_key() {
    let check = |toml: &str, expected: Expect| expected.assert_eq(&script(toml).unwrap_err());
    check(
        "",
        expect!["bad_argument: demo.toml: replies: the script has no replies; write at least one"],
    );
    check(
        "replies = 3",
        expect!["bad_argument: demo.toml: replies: 3 stands where a list must be"],
    );
    check(
        "replies = [[]]",
        expect!["bad_argument: demo.toml: replies[0]: a list stands where a table must be"],
    );
    check(
        "replies = [{}]",
        expect![
            "bad_argument: demo.toml: replies[0]: the reply says nothing; give it text, echo, reasoning, tool_calls, error, or at least a finish_reason"
        ],
    );
    check(
        "repliess = []\nreplies = ['a']",
        expect![
            "bad_argument: demo.toml: repliess: unknown key; the keys here are replies, at_end, native, io, models, tags"
        ],
    );
    check(
        "replies = ['a', { txt = 'b', text = 'c' }]",
        expect![
            "bad_argument: demo.toml: replies[1].txt: unknown key; the keys here are when, text, echo, reasoning, tool_calls, usage, finish_reason, delay_ms, pace_ms, error"
        ],
    );
    check(
        "replies = [{ text = 'b', delay_ms = 'soon' }]",
        expect![[
            r#"bad_argument: demo.toml: replies[0].delay_ms: "soon" stands where a whole number must be"#
        ]],
    );
    check(
        "replies = [{ text = 'b', delay_ms = -1 }]",
        expect![
            "bad_argument: demo.toml: replies[0].delay_ms: -1 stands where a whole number must be"
        ],
    );
    check(
        "replies = [{ text = ['b', 1] }]",
        expect![
            "bad_argument: demo.toml: replies[0].text: a list stands where a text or a list of texts must be"
        ],
    );
    check(
        "replies = [{ tool_calls = [{ arguments = {} }] }]",
        expect!["bad_argument: demo.toml: replies[0].tool_calls[0].name: a tool call needs a name"],
    );
    check(
        "replies = [{ tool_calls = [{ name = 'f', arguments = 1 }] }]",
        expect![
            "bad_argument: demo.toml: replies[0].tool_calls[0].arguments: 1 stands where a table or a text must be"
        ],
    );
    check(
        "replies = [{ text = 'a', finish_reason = 'done' }]",
        expect![[
            r#"bad_argument: demo.toml: replies[0].finish_reason: "done" is not known; write one of stop, length, tool_calls, content_filter, refusal, pause, error"#
        ]],
    );
    check(
        "replies = [{ error = { class = 'bad' } }]",
        expect![[
            r#"bad_argument: demo.toml: replies[0].error.class: "bad" is not known; write one of provider, unavailable, bad_argument, bad_state, cancelled, internal"#
        ]],
    );
    check(
        "replies = [{ error = { status = 200 } }]",
        expect![
            "bad_argument: demo.toml: replies[0].error.status: the status of an error is a number from 400 to 599"
        ],
    );
    check(
        "replies = [{ when = { turns = 1 }, text = 'a' }]",
        expect![
            "bad_argument: demo.toml: replies[0].when.turns: unknown key; the keys here are text, contains, part, tool_result, turn"
        ],
    );
    check(
        "native = 'flat'\nreplies = ['a']",
        expect![[
            r#"bad_argument: demo.toml: native: "flat" is not known; write one of single, split, merged, mixed"#
        ]],
    );
    check(
        "models = [{ name = 'm' }]\nreplies = ['a']",
        expect![
            "bad_argument: demo.toml: models[0]: a table stands where the id of a model, or a table with an id, must be"
        ],
    );
    check(
        "tags = ['a', 1]\nreplies = ['a']",
        expect!["bad_argument: demo.toml: tags: 1 stands where a list of texts must be"],
    );
}

#[test]
fn a_configuration_may_hold_the_script() {
    let read = |value: Value| match Script::of(Some(&value)) {
        Ok(script) => format!("{} replies", script.replies.len()),
        Err(error) => format!("{error:?}"),
    };
    assert_eq!(read(json!(["a", {"text": "b"}])), "2 replies");
    assert_eq!(read(json!({"replies": ["a"], "at_end": "loop"})), "1 replies");
    expect![
        "bad_argument: script.replies[0].text: 1 stands where a text or a list of texts must be"
    ]
    .assert_eq(&read(json!([{"text": 1}])));
    expect!["bad_argument: script: 7 stands where a list of replies or a table must be"]
        .assert_eq(&read(json!(7)));
    expect!["bad_argument: the configuration has no script; set script to a TOML or JSON file, or to a list of replies"]
        .assert_eq(&read(Value::Null));
    assert!(
        read(json!("no/such.toml"))
            .starts_with("bad_argument: no/such.toml: the script cannot be read: ")
    );
}

fn everything() -> Vec<Message> {
    let call = json!([{"id": "c1", "name": "f", "arguments": {"a": 1}}, {"id": "c2", "name": "g", "arguments": {}}]);
    [
        json!({"role": "system", "content": "be kind"}),
        json!({"role": "user", "content": "look", "metadata": {}, "multipartContent": [{"type": "image"}]}),
        json!({"role": "assistant", "content": "I call", "metadata": {"tool_calls": call, "reasoning": "hm", "finish_reason": "tool_calls"}}),
        json!({"role": "tool", "content": "1", "metadata": {"tool_call_id": "c1"}, "tool_result": {"text": "1"}}),
        json!({"role": "tool", "content": "2", "metadata": {"tool_call_id": "c2"}}),
        json!({"role": "user", "content": "well?"}),
        json!({"role": "assistant", "content": "yes", "metadata": {"reasoning": "so"}}),
        json!({"role": "assistant", "content": "", "metadata": {"tool_calls": [{"name": "h"}]}}),
        json!({"role": "assistant", "content": ""}),
        json!({"role": "user", "content": {"odd": true}}),
    ]
    .into_iter()
    .map(|message| Message::from_json(message).unwrap())
    .collect()
}

#[test] // C-15, C-16, M-30
fn every_shape_there_and_back_is_the_same() {
    let shapes = Shape::WORDS.map(|(_, shape)| shape);
    let counts = shapes.map(|shape| {
        let items = shape.to_native(&everything());
        let (messages, positions): (Vec<Message>, Vec<Vec<usize>>) =
            from_native(&items).into_iter().unzip();
        assert_eq!(messages, everything(), "{shape:?}");
        let mut seen: Vec<usize> = positions.concat();
        seen.dedup();
        assert_eq!(seen, (0..items.len()).collect::<Vec<_>>(), "{shape:?}");
        items.len()
    });
    assert_eq!(counts, [10, 15, 8, 10]);
}

fn check_answer(shape: Shape, expected: Expect) {
    let message = Message::assistant("I call")
        .with_metadata_entry("tool_calls", json!([{"id": "c", "name": "f"}]))
        .with_metadata_entry("reasoning", "hm")
        .with_metadata_entry("finish_reason", "tool_calls");
    let items = shape.answer(&message);
    let mut seen: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    for (message, from) in from_native(&items) {
        seen.push(format!("{from:?} {} {:?}", message.text(), message.metadata().keys()));
    }
    expected.assert_eq(&seen.join("\n"));
}

#[test] // C-16, M-30
fn answers_have_the_shape_of_the_script() {
    check_answer(
        Shape::Single,
        expect![[r#"
        {"role":"assistant","reasoning":"hm","content":"I call","calls":[{"id":"c","name":"f"}],"metadata":{"finish_reason":"tool_calls"}}
        [0] I call Keys { iter: ["tool_calls", "reasoning", "finish_reason"] }"#]],
    );
    check_answer(
        Shape::Split,
        expect![[r#"
        {"role":"assistant","reasoning":"hm","more":true}
        {"role":"assistant","content":"I call","metadata":{"finish_reason":"tool_calls"},"more":true}
        {"role":"assistant","calls":[{"id":"c","name":"f"}]}
        [0, 1, 2] I call Keys { iter: ["tool_calls", "reasoning", "finish_reason"] }"#]],
    );
    check_answer(
        Shape::Merged,
        expect![[r#"
        {"messages":[{"role":"assistant","content":"I call"},{"role":"assistant","content":"","calls":[{"id":"c","name":"f"}],"metadata":{"finish_reason":"tool_calls"}}]}
        [0] I call Keys { iter: [] }
        [0]  Keys { iter: ["tool_calls", "finish_reason"] }"#]],
    );
    check_answer(
        Shape::Mixed,
        expect![[r#"
        {"role":"assistant","reasoning":"hm","more":true}
        {"messages":[{"role":"assistant","content":"I call"},{"role":"assistant","content":"","calls":[{"id":"c","name":"f"}],"metadata":{"finish_reason":"tool_calls"}}]}
        [0, 1] I call Keys { iter: ["reasoning"] }
        [1]  Keys { iter: ["tool_calls", "finish_reason"] }"#]],
    );
}

#[test]
fn broken_history_is_read_as_far_as_it_goes() {
    let items: Vec<NativeItem> = [
        json!(7),
        json!({"role": "assistant", "reasoning": "a", "more": true}),
        json!({"odd": 1}),
        json!({"role": "user", "content": "b"}),
        json!({"messages": [{"role": "nobody"}, 3]}),
        json!({"role": "assistant", "content": "c", "more": true}),
    ]
    .map(NativeItem::from)
    .to_vec();
    let seen: Vec<String> = from_native(&items)
        .into_iter()
        .map(|(message, from)| format!("{from:?} {}", message.to_json()))
        .collect();
    expect![[r#"
        [0, 1, 2] {"role":"assistant","content":"","metadata":{"reasoning":"a"}}
        [3, 4] {"role":"user","content":"b","metadata":{}}
        [5] {"role":"assistant","content":"c","metadata":{}}"#]]
    .assert_eq(&seen.join("\n"));
}
