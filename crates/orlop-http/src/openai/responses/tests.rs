//! Responses: their events, the same events read again, and their input.

use super::input;
use super::request::CreateResponse;
use super::resource::{Ended, Resource, output_of};
use super::stream::{Sent, Stream};
use crate::openai::tests::*;
use expect_test::{Expect, expect};
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Map, Message, Value};
use serde_json::json;

fn resource() -> Resource {
    Resource::new("r", 7, "a", &Map::new())
}

fn all(stream: &mut Stream, events: &[Event]) -> Vec<Sent> {
    events.iter().flat_map(|event| stream.on(event)).collect()
}

/// Number, type, and what matters of an event.
fn line(sent: &Sent) -> String {
    let data: Value = serde_json::from_str(&sent.data).unwrap();
    assert_eq!((&data["type"], &data["sequence_number"]), (&json!(sent.kind), &json!(sent.number)));
    let kind = sent.kind.strip_prefix("response.").unwrap();
    let place = match &data["output_index"] {
        Value::Null => String::new(),
        place => format!(" #{place}"),
    };
    let told = ["delta", "text", "arguments", "input"].iter().find_map(|key| data[*key].as_str());
    let item = &data["item"];
    let told = told.map(str::to_owned).or_else(|| {
        let status = item.get("status").and_then(Value::as_str).unwrap_or("-");
        Some(format!("{} {status}", item.get("type")?.as_str()?))
    });
    let told = told.or_else(|| data["response"]["status"].as_str().map(str::to_owned));
    format!("{}{place} {kind} {}", sent.number, told.unwrap_or_default()).trim_end().to_owned()
}

fn check(kinds: &[Value], expected: Expect) {
    let mut stream = Stream::new("r", resource(), false);
    let lines: Vec<String> = all(&mut stream, &events(kinds)).iter().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn whole_turn(calls: Value) -> Vec<Value> {
    vec![
        started(),
        thought("hm"),
        text("Wa"),
        text("it."),
        own_call(),
        own_result(),
        text("I see waves."),
        ended(calls),
    ]
}

#[test]
fn a_turn_with_an_own_call_is_told_item_by_item() {
    check(
        &whole_turn(json!([])),
        expect![[r#"
            0 created in_progress
            1 in_progress in_progress
            100 #0 output_item.added reasoning -
            101 #0 reasoning_summary_part.added
            102 #0 reasoning_summary_text.delta hm
            200 #1 output_item.added message in_progress
            201 #1 content_part.added
            202 #1 output_text.delta Wa
            300 #1 output_text.delta it.
            400 #0 reasoning_summary_text.done hm
            401 #0 reasoning_summary_part.done
            402 #0 output_item.done reasoning -
            403 #1 output_text.done Wait.
            404 #1 content_part.done
            405 #1 output_item.done message completed
            406 #2 output_item.added mcp_call in_progress
            407 #2 mcp_call.in_progress
            408 #2 mcp_call_arguments.delta {"at":"sea"}
            409 #2 mcp_call_arguments.done {"at":"sea"}
            500 #2 mcp_call.completed
            501 #2 output_item.done mcp_call completed
            600 #3 output_item.added message in_progress
            601 #3 content_part.added
            602 #3 output_text.delta I see waves.
            700 #3 output_text.done I see waves.
            701 #3 content_part.done
            702 #3 output_item.done message completed
            703 completed completed"#]],
    );
}

#[test]
fn calls_for_the_client_come_last() {
    check(
        &[started(), ended(caller_calls())][..],
        expect![[r#"
            0 created in_progress
            1 in_progress in_progress
            100 #0 output_item.added reasoning -
            101 #0 reasoning_summary_part.added
            102 #0 reasoning_summary_text.delta hm
            103 #0 reasoning_summary_text.done hm
            104 #0 reasoning_summary_part.done
            105 #0 output_item.done reasoning -
            106 #1 output_item.added message in_progress
            107 #1 content_part.added
            108 #1 output_text.delta Wait.
            109 #1 output_text.done Wait.
            110 #1 content_part.done
            111 #1 output_item.done message completed
            112 #2 output_item.added mcp_call in_progress
            113 #2 mcp_call.in_progress
            114 #2 mcp_call_arguments.delta {"at":"sea"}
            115 #2 mcp_call_arguments.done {"at":"sea"}
            116 #2 mcp_call.completed
            117 #2 output_item.done mcp_call completed
            118 #3 output_item.added message in_progress
            119 #3 content_part.added
            120 #3 output_text.delta I see waves.
            121 #3 output_text.done I see waves.
            122 #3 content_part.done
            123 #3 output_item.done message completed
            124 #4 output_item.added function_call in_progress
            125 #4 function_call_arguments.delta {"who":"Ada"}
            126 #4 function_call_arguments.done {"who":"Ada"}
            127 #4 output_item.done function_call completed
            128 #5 output_item.added custom_tool_call in_progress
            129 #5 custom_tool_call_input.delta *** Begin
            130 #5 custom_tool_call_input.done *** Begin
            131 #5 output_item.done custom_tool_call completed
            132 completed completed"#]],
    );
}

#[test]
fn a_failure_keeps_what_was_said() {
    let error = json!({ "type": "provider", "message": "no money left", "retryable": false });
    let kinds = [started(), text("a"), json!({ "type": "request_failed", "error": error })];
    let mut stream = Stream::new("r", resource(), false);
    let sent = all(&mut stream, &events(&kinds));
    let last: Value = serde_json::from_str(&sent.last().unwrap().data).unwrap();
    let response = &last["response"];
    assert_eq!(last["type"], "response.failed");
    assert_eq!(response["error"]["message"], "no money left");
    assert_eq!(response["output"][0]["status"], "incomplete");
    assert_eq!(response["output"][0]["content"][0]["text"], "a");
}

/// The output that the last event of a stream has.
fn output(sent: &[Sent]) -> Value {
    let last: Value = serde_json::from_str(&sent.last().unwrap().data).unwrap();
    last["response"]["output"].clone()
}

#[test]
fn what_was_streamed_is_what_is_stored() {
    for calls in [json!([]), caller_calls()] {
        let live = events(&whole_turn(calls));
        let mut stream = Stream::new("r", resource(), false);
        let streamed = output(&all(&mut stream, &live));
        let EventKind::Final { messages, caller_calls, .. } = &live[7].kind else { panic!() };
        let ended = Ended { at: 0, messages, calls: caller_calls, usage: None };
        assert_eq!(streamed, output_of("r", &ended.items()));
    }
}

#[test]
fn events_that_are_read_again_have_the_same_numbers_and_places() {
    let live = events(&whole_turn(json!([])));
    let mut stream = Stream::new("r", resource(), false);
    let first = all(&mut stream, &live);
    let EventKind::Final { messages, .. } = &live[7].kind else { panic!() };
    // What is left when the first answer is whole, and the second is being written.
    let left: Vec<Event> =
        live.iter().filter(|event| !(11..=13).contains(&event.seq)).cloned().collect();
    let mut again = Stream::new("r", resource(), false).knowing(messages[..2].to_vec());
    let second = all(&mut again, &left);
    assert_eq!(output(&first), output(&second));
    let since = |sent: &[Sent]| {
        sent.iter().filter(|it| it.number >= 500).map(|it| it.data.clone()).collect::<Vec<_>>()
    };
    assert_eq!(since(&first), since(&second));
}

#[test]
fn every_required_field_is_there() {
    let fields = [
        "id",
        "object",
        "created_at",
        "completed_at",
        "status",
        "incomplete_details",
        "model",
        "previous_response_id",
        "instructions",
        "output",
        "error",
        "tools",
        "tool_choice",
        "truncation",
        "parallel_tool_calls",
        "text",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "top_logprobs",
        "temperature",
        "reasoning",
        "usage",
        "max_output_tokens",
        "max_tool_calls",
        "store",
        "background",
        "service_tier",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
    ];
    let running = resource().running();
    let missing: Vec<_> = fields.iter().filter(|field| running.get(**field).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn check_input(given: Value, expected: Expect) {
    let read = input::items(Some(given)).and_then(input::messages);
    expected.assert_eq(&match read {
        Ok(messages) => shown(messages),
        Err(failure) => failure.message().to_owned(),
    });
}

#[test]
fn input_items_become_messages() {
    check_input(
        json!([
            { "role": "user", "content": "go" },
            { "type": "reasoning", "id": "rs", "summary": [{ "type": "summary_text", "text": "hm" }] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] },
            { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
            { "type": "custom_tool_call", "call_id": "d", "name": "g", "input": "x" },
            { "type": "function_call_output", "call_id": "c", "output": "1" },
            { "type": "custom_tool_call_output", "call_id": "d", "output": [{ "type": "input_text", "text": "2" }] },
            { "type": "mcp_call", "id": "m", "name": "own", "arguments": "{}", "output": "3" },
            { "type": "web_search_call", "id": "w" },
            { "role": "user", "content": [{ "type": "input_image", "image_url": "https://x/y.png" }] },
        ]),
        expect![[r#"
            {"role":"user","content":"go","metadata":{}}
            {"role":"assistant","content":"ok","metadata":{"reasoning":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"d","type":"custom","custom":{"name":"g","input":"x"}}]}}
            {"role":"tool","content":"1","metadata":{"tool_call_id":"c","tool_name":"f"}}
            {"role":"tool","content":"2","metadata":{"tool_call_id":"d","tool_name":"g"}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"m","type":"function","function":{"name":"own","arguments":"{}"}}]}}
            {"role":"tool","content":"3","metadata":{"tool_call_id":"m","tool_name":"own"}}
            {"role":"user","content":"","metadata":{},"multipartContent":[{"type":"input_image","image_url":"https://x/y.png"}]}"#]],
    );
    check_input(json!("hi"), expect![[r#"{"role":"user","content":"hi","metadata":{}}"#]]);
    check_input(
        json!([{ "type": "novelty" }]),
        expect![[r#"an item of type "novelty" is not known here"#]],
    );
    check_input(
        json!([{ "type": "function_call", "name": "f" }]),
        expect![[r#"an item of type "function_call" needs "call_id""#]],
    );
}

#[test]
fn messages_are_listed_as_input_items() {
    let picture = json!({ "type": "image_url", "image_url": { "url": "u" } });
    let messages = vec![
        Message::user("see").with_multipart_content(vec![picture.as_object().cloned().unwrap()]),
        Message::tool("1").with_metadata_entry("tool_call_id", "c"),
    ];
    let items = input::listed("r", 0, &messages);
    expect![[r#"[{"id":"item_r_0","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"u","file_id":null,"detail":"auto"}]},{"id":"item_r_1","type":"function_call_output","status":"completed","call_id":"c","output":"1"}]"#]]
    .assert_eq(&Value::from(items).to_string());
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    for (body, param) in [
        (json!({}), "input"),
        (json!({ "input": "x", "background": true, "store": false }), "background"),
        (json!({ "input": "x", "previous_response_id": "a", "conversation": "b" }), "conversation"),
        (json!({ "input": "x", "stream": "yes" }), "stream"),
        (json!({ "input": 1 }), "input"),
    ] {
        let read: CreateResponse = serde_json::from_value(body).unwrap();
        let failure = read.checked().unwrap_err();
        assert_eq!(json!(failure.body())["param"], param);
    }
}
