//! What events of a request become, in both APIs; and what clients send, as messages.

use super::chunks::{Chunks, Head, completion};
use super::conversation;
use super::options::{caller_tools, output_schema, overrides, tool_choice};
use super::turns::Translate;
use axum::response::IntoResponse;
use expect_test::{Expect, expect};
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Map, Message, Value};
use serde_json::json;

/// Events of a request, with numbers from 10 on.
pub(super) fn events(kinds: &[Value]) -> Vec<Event> {
    let numbered = kinds.iter().zip(10..).map(|(kind, seq)| {
        let mut event = json!({ "seq": seq, "at": "2026-01-01T00:00:00Z", "request_id": "r" });
        event.as_object_mut().unwrap().extend(kind.as_object().cloned().unwrap());
        let read: Event = serde_json::from_value(event).unwrap();
        assert!(!matches!(read.kind, EventKind::Other(_)), "{kind}");
        read
    });
    numbered.collect()
}

pub(super) fn started() -> Value {
    json!({ "type": "request_started", "agent_id": "a" })
}

pub(super) fn text(text: &str) -> Value {
    json!({ "type": "partial", "message": { "role": "assistant", "content": text } })
}

pub(super) fn thought(text: &str) -> Value {
    let metadata = json!({ "reasoning": text });
    json!({ "type": "partial", "message": { "role": "assistant", "content": "", "metadata": metadata } })
}

pub(super) fn own_call() -> Value {
    json!({
        "type": "tool_call", "call_id": "c1", "name": "look",
        "call": { "id": "c1", "name": "look", "arguments": { "at": "sea" } },
    })
}

pub(super) fn own_result() -> Value {
    json!({ "type": "tool_result", "call_id": "c1", "message": result() })
}

fn result() -> Value {
    json!({ "role": "tool", "content": "waves", "metadata": { "tool_call_id": "c1", "tool_name": "look" } })
}

/// The end, with what the messages of [`own_call`] and of a second answer are.
pub(super) fn ended(calls: Value) -> Value {
    let first = json!({
        "reasoning": "hm", "tool_calls": [{ "id": "c1", "name": "look", "arguments": { "at": "sea" } }],
    });
    json!({
        "type": "final", "session": { "revision": 1, "message_count": 4 },
        "messages": [
            { "role": "assistant", "content": "Wait.", "metadata": first },
            result(),
            { "role": "assistant", "content": "I see waves.", "metadata": { "finish_reason": "stop" } },
        ],
        "usage": { "input_tokens": 5, "output_tokens": 3, "reasoning_tokens": 1 },
        "caller_calls": calls,
    })
}

pub(super) fn caller_calls() -> Value {
    json!([
        { "call_id": "x1", "name": "ask", "input": { "who": "Ada" }, "kind": "json", "call": {} },
        { "call_id": "x2", "name": "patch", "input": "*** Begin", "kind": "text", "call": {} },
    ])
}

fn head() -> Head {
    Head { id: "chatcmpl-r".to_owned(), created: 7, model: "a".to_owned() }
}

/// The lines of a stream, without what they have in common.
fn check_chunks(hold: bool, kinds: &[Value], expected: Expect) {
    let mut chunks = Chunks::new(head(), true, hold);
    let mut written = Vec::new();
    events(kinds).iter().for_each(|event| chunks.event(event, &mut written));
    let written = String::from_utf8(written).unwrap();
    let lines = written.split_terminator("\n\n").map(|line| line.strip_prefix("data: ").unwrap());
    let shown = lines.map(|line| match serde_json::from_str::<Value>(line) {
        Ok(chunk) if chunk["choices"][0].is_object() => {
            assert_eq!(chunk["id"], "chatcmpl-r");
            let choice = &chunk["choices"][0];
            match &choice["finish_reason"] {
                Value::Null => choice["delta"].to_string(),
                reason => format!("{} {reason}", choice["delta"]),
            }
        }
        Ok(chunk) if chunk["usage"].is_object() => chunk["usage"]["total_tokens"].to_string(),
        _ => line.to_owned(),
    });
    expected.assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn text_of_several_answers_is_one_text_and_own_calls_stay_here() {
    let kinds = [
        started(),
        thought("hm"),
        text("Wa"),
        text("it."),
        own_call(),
        own_result(),
        text("I see waves."),
        ended(json!([])),
    ];
    let expected = expect![[r#"
        {"role":"assistant","content":""}
        {"reasoning_content":"hm"}
        {"content":"Wa"}
        {"content":"it."}
        {"content":"\n\n"}
        {"content":"I see waves."}
        {} "stop"
        8
        [DONE]"#]];
    check_chunks(false, &kinds, expected);
}

#[test]
fn a_model_that_does_not_stream_speaks_at_the_end() {
    let expected = expect![[r#"
        {"role":"assistant","content":""}
        {"content":"Wait.\n\nI see waves."}
        {"tool_calls":[{"id":"x1","type":"function","function":{"name":"ask","arguments":"{\"who\":\"Ada\"}"},"index":0},{"id":"x2","type":"custom","custom":{"name":"patch","input":"*** Begin"},"index":1}]}
        {} "tool_calls"
        8
        [DONE]"#]];
    check_chunks(false, &[started(), ended(caller_calls())], expected);
}

#[test]
fn an_answer_that_is_judged_is_shown_when_it_is_accepted() {
    let end = json!({
        "type": "final", "session": { "revision": 1, "message_count": 2 },
        "messages": [{ "role": "assistant", "content": "{}", "metadata": { "finish_reason": "length" } }],
    });
    let rejected = json!({ "type": "output_rejected", "problems": ["no"] });
    let kinds = [started(), text("nonsense"), rejected, text("{"), text("}"), end];
    let expected = expect![[r#"
        {"role":"assistant","content":""}
        {"content":"{}"}
        {} "length"
        0
        [DONE]"#]];
    check_chunks(true, &kinds, expected);
}

#[test]
fn a_failure_is_a_line_that_clients_raise() {
    let error = json!({ "type": "provider", "message": "no money left", "retryable": false });
    let failed = json!({ "type": "request_failed", "error": error });
    let expected = expect![[r#"
        {"role":"assistant","content":""}
        {"content":"a"}
        {"error":{"message":"no money left","type":"server_error","param":null,"code":"server_error"}}"#]];
    check_chunks(false, &[started(), text("a"), failed], expected);
}

#[test]
fn a_whole_completion_has_every_field() {
    let all = events(&[ended(caller_calls())]);
    let EventKind::Final { messages, usage, caller_calls, .. } = &all[0].kind else { panic!() };
    let made = completion(&head(), messages, usage.as_ref(), caller_calls);
    expect![[r#"{"id":"chatcmpl-r","object":"chat.completion","created":7,"model":"a","choices":[{"index":0,"message":{"role":"assistant","content":"Wait.\n\nI see waves.","refusal":null,"annotations":[],"reasoning_content":"hm","tool_calls":[{"id":"x1","type":"function","function":{"name":"ask","arguments":"{\"who\":\"Ada\"}"}},{"id":"x2","type":"custom","custom":{"name":"patch","input":"*** Begin"}}]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"system_fingerprint":null,"service_tier":null}"#]]
    .assert_eq(&made.to_string());
}

pub(super) fn shown(messages: Vec<Message>) -> String {
    messages.iter().map(|it| it.to_json().to_string()).collect::<Vec<_>>().join("\n")
}

fn check_messages(given: Value, expected: Expect) {
    let read = serde_json::from_value(given).unwrap();
    expected.assert_eq(&match conversation::messages(read) {
        Ok(messages) => shown(messages),
        Err(failure) => json!(failure.body()).to_string(),
    });
}

#[test]
fn conversations_become_messages() {
    check_messages(
        json!([
            { "role": "developer", "content": "be brief" },
            { "role": "user", "name": "ada", "content": [
                { "type": "text", "text": "what" }, { "type": "text", "text": "is this" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } },
            ] },
            { "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
            ] },
            { "role": "tool", "tool_call_id": "c", "content": [{ "type": "text", "text": "done" }] },
        ]),
        expect![[r#"
            {"role":"system","content":"be brief","metadata":{}}
            {"role":"user","content":"what\n\nis this","metadata":{},"multipartContent":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}
            {"role":"assistant","content":"","metadata":{"reasoning":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}
            {"role":"tool","content":"done","metadata":{"tool_call_id":"c","tool_name":"f"}}"#]],
    );
}

#[test]
fn bad_messages_are_refused_with_a_reason() {
    for (given, expected) in [
        (json!([]), expect!["there are no messages; send at least one"]),
        (
            json!([{ "role": "function", "content": "x" }]),
            expect![[
                r#"role "function" is not known; use system, developer, user, assistant or tool"#
            ]],
        ),
        (
            json!([{ "role": "tool", "content": "x" }]),
            expect![[r#"a message of role "tool" needs tool_call_id"#]],
        ),
        (
            json!([{ "role": "user", "content": [{ "type": "file", "file": { "file_id": "f" } }] }]),
            expect!["this server keeps no files by file_id; send the data in the part itself"],
        ),
        (
            json!([{ "role": "user", "content": [{ "type": "video" }] }]),
            expect![[
                r#"a part of type "video" is not known here; send text, image, audio or file"#
            ]],
        ),
    ] {
        let read = serde_json::from_value(given).unwrap();
        expected.assert_eq(conversation::messages(read).unwrap_err().message());
    }
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

#[test]
fn settings_have_the_names_of_configurations() {
    let fields = map(json!({
        "max_completion_tokens": 9, "temperature": 0.5, "top_p": null, "user": "u", "stop": ["x"],
        "reasoning": { "effort": "low", "summary": null }, "text": { "verbosity": "high" },
    }));
    expect![[r#"{"temperature":0.5,"max_tokens":9,"stop":["x"],"reasoning_effort":"low","verbosity":"high"}"#]]
    .assert_eq(&Value::Object(overrides(&fields)).to_string());
}

#[test]
fn choices_and_formats_are_read_in_both_forms() {
    for (choice, expected) in [
        (json!("required"), json!("required")),
        (json!({ "type": "function", "function": { "name": "f" } }), json!({ "name": "f" })),
        (json!({ "type": "function", "name": "f" }), json!({ "name": "f" })),
        (json!({ "type": "allowed_tools", "mode": "auto", "tools": [] }), json!("auto")),
    ] {
        assert_eq!(tool_choice(&choice).unwrap(), Some(expected));
    }
    assert!(tool_choice(&json!({ "type": "web_search" })).is_err());
    let schema = json!({ "type": "object" });
    for format in [
        json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } }),
        json!({ "type": "json_schema", "name": "n", "schema": schema }),
        json!({ "type": "json_object" }),
    ] {
        assert_eq!(output_schema(&format, "text").unwrap(), Some(schema.clone()));
    }
    assert_eq!(output_schema(&json!({ "type": "text" }), "text").unwrap(), None);
    assert!(output_schema(&json!({ "type": "json_schema" }), "text").is_err());
}

#[test]
fn tools_of_other_servers_are_left_out_and_names_are_unique() {
    let tool = |name: &str| map(json!({ "type": "function", "function": { "name": name } }));
    let kept = caller_tools(vec![tool("a"), map(json!({ "type": "web_search" }))]).unwrap();
    assert_eq!(kept, [tool("a")]);
    assert!(caller_tools(vec![tool("a"), tool("a")]).is_err());
    assert!(caller_tools(vec![map(json!({ "type": "function" }))]).is_err());
}

#[test]
fn what_is_logged_as_json_has_every_key_once() {
    let failure = super::error::Failure::from(orlop_core::Error::internal("it broke"));
    let line = crate::problem::tests::logged(|| drop(failure.into_response()));
    assert_eq!(line["message"], "a request failed");
    assert!(line["error"].as_str().unwrap().contains("it broke"), "{line}");
}
