//! Messages there and back again.

use super::*;
use crate::gemini::from_native::from_native;
use crate::gemini::history::arrange;
use crate::wire::testing::{self, messages};
use expect_test::{Expect, expect};

fn check_to(messages: Value, expected: Expect) {
    testing::check_to(to_native, messages, expected);
}

fn check_from(items: Value, expected: Expect) {
    testing::check_from(from_native, items, expected);
}

#[test]
fn messages_become_contents() {
    check_to(
        json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "see", "multipartContent": [{"type": "image", "data": "QUJD"}]},
            {"role": "user", "content": null},
            {"role": "assistant", "content": "one", "metadata": {"reasoning": "hm", "finish_reason": "stop"}},
        ]),
        expect![[r#"
            {"role":"system","parts":[{"text":"be brief"}]}
            {"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}
            {"role":"user","parts":[{"text":""}]}
            {"role":"model","parts":[{"text":"one"}]} + {"finish_reason": String("stop"), "reasoning": String("hm")}"#]],
    );
}

#[test]
fn calls_keep_their_signature_and_our_ids_stay_here() {
    check_to(
        json!([
            {"role": "assistant", "content": "", "metadata": {"tool_calls": [
                {"id": "orlop-call-1", "functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"},
                {"functionCall": {"id": "c", "name": "g", "args": {"a": 1}}},
                {"functionCall": {"id": null, "name": "h", "args": {}}},
                {"type": "tool_use", "name": "other"},
            ]}},
            {"role": "tool", "content": "1", "metadata": {"tool_call_id": "orlop-call-1"}},
            {"role": "tool", "content": "no", "metadata": {"tool_call_id": "c", "tool_name": "g", "tool_error": true}},
            {"role": "tool", "content": {"a": 1}, "metadata": {"tool_call_id": "lost"},
                "multipartContent": [{"type": "image", "data": "QUJD"}]},
        ]),
        expect![[r#"
            {"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"},{"functionCall":{"id":"c","name":"g","args":{"a":1}}},{"functionCall":{"name":"h","args":{}}}]} + {"call_ids": Array [String("orlop-call-1"), Null, Null]}
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}}]} + {"tool_call_id": String("orlop-call-1")}
            {"role":"user","parts":[{"functionResponse":{"id":"c","name":"g","response":{"error":"no"}}}]} + {"tool_name": String("g"), "tool_call_id": String("c")}
            {"role":"user","parts":[{"functionResponse":{"id":"lost","name":"unknown","response":{"output":"{\"a\":1}"}}},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]} + {"tool_call_id": String("lost")}"#]],
    );
}

#[test]
fn calls_of_other_models_are_marked() {
    let message =
        messages(json!([{"role": "assistant", "content": "", "metadata": {"tool_calls": [
            {"functionCall": {"id": "a", "name": "f", "args": {}}},
            {"functionCall": {"id": "b", "name": "f", "args": {}}},
        ]}}]));
    let calls: Vec<String> = signed(&message[0])
        .tool_calls()
        .map(|call| Value::Object(call.clone()).to_string())
        .collect();
    expect![[r#"
        {"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}
        {"functionCall":{"id":"b","name":"f","args":{}}}"#]].assert_eq(&calls.join("\n"));
}

#[test]
fn contents_become_messages() {
    check_from(
        json!([
            {"role": "system", "parts": [{"text": "be brief"}]},
            {"role": "user", "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "Q"}}, {"text": "b"}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true}, {"text": "c", "thoughtSignature": "s"},
                {"executableCode": {"code": "1"}}, {"thoughtSignature": "t"},
                {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "u"},
                {"functionCall": {"id": "c", "name": "f", "args": {}}},
            ], "_metadata": {"call_ids": ["orlop-call-1", null], "finish_reason": "tool_calls"}},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "first"}}},
                {"functionResponse": {"name": "f", "id": "c", "response": {"error": "second"}}},
                {"text": "go on"},
            ]},
            {"role": "model"},
        ]),
        expect![[r#"
            [0] {"role":"system","content":"be brief","metadata":{}}
            [1] {"role":"user","content":"ab","metadata":{},"multipartContent":[{"inlineData":{"mimeType":"image/png","data":"Q"}}]}
            [2] {"role":"assistant","content":"c","metadata":{"tool_calls":[{"id":"orlop-call-1","functionCall":{"name":"f","args":{}},"thoughtSignature":"u"},{"functionCall":{"id":"c","name":"f","args":{}}}],"reasoning":"hm","finish_reason":"tool_calls"},"multipartContent":[{"executableCode":{"code":"1"}}]}
            [3] {"role":"tool","content":"first","metadata":{"tool_call_id":"orlop-call-1","tool_name":"f"}}
            [3] {"role":"tool","content":"second","metadata":{"tool_call_id":"c","tool_name":"f","tool_error":true}}
            [3] {"role":"user","content":"go on","metadata":{}}
            [4] {"role":"assistant","content":"","metadata":{}}"#]],
    );
}

#[test]
fn results_find_their_calls_by_name_and_order() {
    check_from(
        json!([
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}],
                "_metadata": {"call_ids": ["one", "two"]}},
            {"role": "model", "parts": [{"functionCall": {"name": "g", "id": "three"}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "g", "response": {"a": 1, "b": 2}}},
                {"functionResponse": {"name": "f", "response": {"result": 7}}},
                {"functionResponse": {"name": "f", "response": {}}},
                {"functionResponse": {"name": "f"}},
            ]},
        ]),
        expect![[r#"
            [0] {"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"one","functionCall":{"name":"f"}},{"id":"two","functionCall":{"name":"f"}}]}}
            [1] {"role":"assistant","content":"","metadata":{"tool_calls":[{"functionCall":{"name":"g","id":"three"}}]}}
            [2] {"role":"tool","content":"{\"a\":1,\"b\":2}","metadata":{"tool_call_id":"three","tool_name":"g"}}
            [2] {"role":"tool","content":"7","metadata":{"tool_call_id":"one","tool_name":"f"}}
            [2] {"role":"tool","content":"{}","metadata":{"tool_call_id":"two","tool_name":"f"}}
            [2] {"role":"tool","content":"","metadata":{"tool_name":"f"}}"#]],
    );
}

#[test]
fn items_that_are_no_contents_go_with_a_neighbour() {
    check_from(
        json!([{"type": "odd"}, 7, {"role": "user", "parts": [{"text": "a"}]}, {"role": "other"}]),
        expect![[r#"[0, 1, 2, 3] {"role":"user","content":"a","metadata":{}}"#]],
    );
}

#[test]
fn an_id_made_of_the_text_is_always_the_same() {
    let item =
        NativeItem::from(json!({"role": "model", "parts": [{"functionCall": {"name": "f"}}]}));
    let id = |item: &NativeItem| {
        let messages = from_native(std::slice::from_ref(item));
        messages[0].0.tool_calls().next().unwrap()["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(id(&item), "orlop-call-9dbdd6274e1307b9-0");
}

#[test]
fn an_exchange_with_tools_comes_back_as_it_was() {
    let messages = messages(json!([
        {"role": "system", "content": "be brief", "metadata": {}},
        {"role": "user", "content": "see", "metadata": {},
            "multipartContent": [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]},
        {"role": "assistant", "content": "I look", "metadata": {
            "tool_calls": [
                {"id": "orlop-call-1", "functionCall": {"name": "f", "args": {"n": 1.0}}, "thoughtSignature": "s"},
                {"functionCall": {"id": "c", "name": "g", "args": {}}},
            ],
            "reasoning": "hm", "finish_reason": "tool_calls", "usage": {"total_tokens": 1}}},
        {"role": "tool", "content": "1", "metadata": {"tool_call_id": "orlop-call-1", "tool_name": "f", "tool_plugin": "p"},
            "multipartContent": [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}],
            "tool_result": {"type": "tool_result", "text": "1"}},
        {"role": "tool", "content": "no", "metadata": {"tool_call_id": "c", "tool_error": true}},
        {"role": "assistant", "content": "one", "metadata": {"reasoning": "hm", "model": "m"}},
    ]));
    let items = to_native(&messages);
    let back = from_native(&items);
    for (position, (message, positions)) in back.iter().enumerate() {
        let fields = |message: &Message| {
            let mut json = message.to_json();
            json["metadata"].as_object_mut().unwrap().sort_keys();
            json
        };
        assert_eq!(fields(message), fields(&messages[position]));
        assert_eq!(positions, &[position]);
    }
    let again: Vec<Message> = back.into_iter().map(|(message, _)| message).collect();
    assert_eq!(to_native(&again), items);
    // One message at a time, as a conversation grows, makes the same items but for a name.
    let single = |message: &Message| to_native(std::slice::from_ref(message)).remove(0);
    assert_eq!(messages.iter().map(single).filter(|item| items.contains(item)).count(), 5);
    let grown: Vec<NativeItem> = messages.iter().map(single).collect();
    assert_eq!(arrange(&grown), arrange(&items));
}
