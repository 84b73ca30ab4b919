//! Conversations in disorder, and how they are sent.

use super::*;
use expect_test::{Expect, expect};

fn items(items: Value) -> Vec<NativeItem> {
    items.as_array().unwrap().iter().cloned().map(NativeItem::from).collect()
}

/// One content a line.
fn check(conversation: Value, expected: Expect) {
    let items = items(conversation);
    let arranged = arrange(&items);
    assert_eq!(arrange(&items), arranged, "sent again");
    let list = format!("[{}]", arranged.contents);
    let contents: Vec<&RawValue> = serde_json::from_str(&list).unwrap();
    let lines: Vec<&str> = contents.iter().map(|content| content.get()).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn calls(names: &[&str]) -> Value {
    let calls: Vec<Value> =
        names.iter().map(|name| json!({"functionCall": {"name": name}})).collect();
    json!({"role": "model", "parts": calls})
}

fn results(names: &[&str]) -> Value {
    let part =
        |name: &&str| json!({"functionResponse": {"name": name, "response": {"output": name}}});
    json!({"role": "user", "parts": names.iter().map(part).collect::<Vec<_>>()})
}

#[test]
fn a_conversation_in_order_is_copied() {
    let conversation = json!([
        user("functionCall and functionResponse are words"),
        {"parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "g"}}], "role": "model"},
        {"parts": [{"functionResponse": {"name": "f", "response": {}}}, {"text": "and"},
            {"functionResponse": {"name": "g", "response": {}}}], "role": "user"},
        {"role": "model", "parts": [{"text": "a"}]},
        user("b"),
    ]);
    let texts: Vec<String> =
        conversation.as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(arrange(&items(conversation)).contents, texts.join(","));
}

#[test]
fn results_of_a_turn_go_together_in_the_order_of_the_calls() {
    check(
        json!([
            user("a"),
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}},
                {"functionCall": {"name": "g", "id": "c"}}], "_metadata": {"call_ids": ["x", "y", null]}},
            {"role": "user", "parts": [{"functionResponse": {"name": "g", "id": "c", "response": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "second"}}}],
                "_metadata": {"tool_call_id": "y"}},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "first"}}},
                {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}], "_metadata": {"tool_call_id": "x"}},
            user("b"),
        ]),
        expect![[r#"
            {"role":"user","parts":[{"text":"a"}]}
            {"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}},{"functionCall":{"name":"g","id":"c"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"first"}}},{"functionResponse":{"name":"f","response":{"output":"second"}}},{"functionResponse":{"name":"g","id":"c","response":{}}},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}
            {"role":"user","parts":[{"text":"b"}]}"#]],
    );
}

#[test]
fn calls_of_several_items_are_answered_together() {
    check(
        json!([user("a"), calls(&["f"]), calls(&["g"]), results(&["f", "g"])]),
        expect![[r#"
            {"role":"user","parts":[{"text":"a"}]}
            {"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"f"}}},{"functionResponse":{"name":"g","response":{"output":"g"}}}]}"#]],
    );
}

#[test]
fn calls_without_results_are_answered() {
    check(
        json!([
            user("a"),
            {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "c"}}, {"functionCall": {"name": "g"}}]},
            results(&["g"]),
            calls(&["h"]),
            user("b"),
            calls(&["i"]),
        ]),
        expect![[r#"
            {"role":"user","parts":[{"text":"a"}]}
            {"role":"model","parts":[{"functionCall":{"name":"f","id":"c"}},{"functionCall":{"name":"g"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"error":"the call was not answered"},"id":"c"}},{"functionResponse":{"name":"g","response":{"output":"g"}}}]}
            {"role":"model","parts":[{"functionCall":{"name":"h"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"h","response":{"error":"the call was not answered"}}}]}
            {"role":"user","parts":[{"text":"b"}]}
            {"role":"model","parts":[{"functionCall":{"name":"i"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"i","response":{"error":"the call was not answered"}}}]}"#]],
    );
}

#[test]
fn results_without_calls_become_text() {
    check(
        json!([results(&["f"]), {"role": "model", "parts": [{"text": "a"}]}, calls(&["g"]), results(&["g", "f"])]),
        expect![[r#"
            {"role":"user","parts":[{"text":"[result of an earlier call of the tool \"f\"] f"}]}
            {"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"g"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"g","response":{"output":"g"}}},{"text":"[result of an earlier call of the tool \"f\"] f"}]}"#]],
    );
}

#[test]
fn a_result_is_named_as_its_call() {
    check(
        json!([
            user("a"),
            {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "c"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "unknown", "id": "c", "response": {}}}]},
        ]),
        expect![[r#"
            {"role":"user","parts":[{"text":"a"}]}
            {"role":"model","parts":[{"functionCall":{"name":"f","id":"c"}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"f","id":"c","response":{}}}]}"#]],
    );
}

#[test]
fn the_person_speaks_first_and_nobody_says_nothing() {
    check(
        json!([
            {"role": "model", "parts": [{"text": "a"}]},
            {"role": "model"},
            {"role": "user", "parts": []},
            {"parts": [], "role": "model"},
            user("b"),
        ]),
        expect![[r#"
            {"role":"user","parts":[{"text":"(The conversation goes on.)"}]}
            {"role":"model","parts":[{"text":"a"}]}
            {"role":"user","parts":[{"text":"b"}]}"#]],
    );
}

#[test]
fn instructions_stand_apart() {
    let items = items(json!([
        {"role": "system", "parts": [{"text": "a"}]},
        user("b"),
        {"parts": [{"text": "c"}, {"text": "d"}], "role": "system"},
        {"role": "system", "parts": []},
    ]));
    let Arranged { instructions, contents } = arrange(&items);
    assert_eq!(instructions, r#"{"text":"a"},{"text":"c"},{"text":"d"}"#);
    assert_eq!(contents, user("b").to_string());
}

#[test]
fn roles_are_seen_without_reading_the_item() {
    for (text, expected) in [
        (r#"{"role":"user","parts":[]}"#, Some("user")),
        (r#"{"parts":[{"text":"\"role\":\"user\""}],"role":"model"}"#, Some("model")),
        (r#"{"parts":[],"role":"system","x":1}"#, Some("system")),
        (r#"{"parts":[],"x":{"role":"user"}}"#, None),
        (r#"{"role":"users","parts":[]}"#, Some("users")),
        ("7", None),
    ] {
        let item = NativeItem::from_text(text).unwrap();
        assert_eq!(role(&item), expected, "{text}");
    }
}
