//! Responses: their events, the same events read again, and their input.

use super::input;
use super::request::CreateResponse;
use super::resource::{Ended, Resource};
use super::stream::{Sent, Stream};
use crate::openai::tests::*;
use crate::openai::turns::Translate;
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
            2 #0 output_item.added reasoning -
            3 #0 reasoning_summary_part.added
            5 #0 reasoning_summary_text.delta hm
            6 #1 output_item.added message in_progress
            7 #1 content_part.added
            9 #1 output_text.delta Wa
            12 #1 output_text.delta it.
            13 #0 reasoning_summary_text.done hm
            14 #0 reasoning_summary_part.done
            15 #0 output_item.done reasoning -
            16 #1 output_text.done Wait.
            17 #1 content_part.done
            18 #1 output_item.done message completed
            19 #2 output_item.added mcp_call in_progress
            20 #2 mcp_call.in_progress
            21 #2 mcp_call_arguments.delta {"at":"sea"}
            22 #2 mcp_call_arguments.done {"at":"sea"}
            23 #2 mcp_call.completed
            24 #2 output_item.done mcp_call completed
            25 #3 output_item.added message in_progress
            26 #3 content_part.added
            38 #3 output_text.delta I see waves.
            39 #3 output_text.done I see waves.
            40 #3 content_part.done
            41 #3 output_item.done message completed
            42 completed completed"#]],
    );
}

#[test]
fn calls_for_the_client_come_last() {
    check(
        &[started(), ended(caller_calls())][..],
        expect![[r#"
            0 created in_progress
            1 in_progress in_progress
            2 #0 output_item.added reasoning -
            3 #0 reasoning_summary_part.added
            5 #0 reasoning_summary_text.delta hm
            6 #1 output_item.added message in_progress
            7 #1 content_part.added
            12 #1 output_text.delta Wait.
            13 #0 reasoning_summary_text.done hm
            14 #0 reasoning_summary_part.done
            15 #0 output_item.done reasoning -
            16 #1 output_text.done Wait.
            17 #1 content_part.done
            18 #1 output_item.done message completed
            19 #2 output_item.added mcp_call in_progress
            20 #2 mcp_call.in_progress
            21 #2 mcp_call_arguments.delta {"at":"sea"}
            22 #2 mcp_call_arguments.done {"at":"sea"}
            23 #2 mcp_call.completed
            24 #2 output_item.done mcp_call completed
            25 #3 output_item.added message in_progress
            26 #3 content_part.added
            38 #3 output_text.delta I see waves.
            39 #3 output_text.done I see waves.
            40 #3 content_part.done
            41 #3 output_item.done message completed
            42 #4 output_item.added function_call in_progress
            43 #4 function_call_arguments.delta {"who":"Ada"}
            44 #4 function_call_arguments.done {"who":"Ada"}
            45 #4 output_item.done function_call completed
            46 #5 output_item.added custom_tool_call in_progress
            47 #5 custom_tool_call_input.delta *** Begin
            48 #5 custom_tool_call_input.done *** Begin
            49 #5 output_item.done custom_tool_call completed
            50 completed completed"#]],
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
        assert_eq!(streamed, ended.output("r"));
    }
}

/// The events, with the pieces of each text joined and no numbers but that of the last.
fn joined<'a>(sent: impl IntoIterator<Item = &'a Sent>) -> Vec<Value> {
    let mut whole: Vec<Value> = Vec::new();
    for sent in sent {
        let event: Value = serde_json::from_str(&sent.data).unwrap();
        match whole.last_mut() {
            Some(last)
                if sent.kind.ends_with(".delta")
                    && last["type"] == event["type"]
                    && last["output_index"] == event["output_index"] =>
            {
                let text = format!(
                    "{}{}",
                    last["delta"].as_str().unwrap(),
                    event["delta"].as_str().unwrap()
                );
                *last = event;
                last["delta"] = text.into();
            }
            _ => whole.push(event),
        }
    }
    whole
}

#[test]
fn whoever_goes_on_after_any_event_hears_the_rest_once() {
    let live = events(&whole_turn(caller_calls()));
    let EventKind::Final { messages, .. } = &live[7].kind else { panic!() };
    let first = all(&mut Stream::new("r", resource(), false), &live);
    let left = |gone: &[u64]| -> Vec<Event> {
        live.iter().filter(|event| !gone.contains(&event.seq)).cloned().collect()
    };
    let otherwise = |text: &str| {
        let mut otherwise = left(&[11, 12, 13, 16]);
        let mut fragments =
            events(&text.chars().map(|it| self::text(&it.to_string())).collect::<Vec<_>>());
        otherwise.splice(3..3, fragments.drain(..));
        otherwise
    };
    for (what, events, known) in [
        ("everything is there", left(&[]), 0),
        ("the second answer is being written", left(&[11, 12, 13]), 2),
        ("it is over", left(&[11, 12, 13, 16]), 3),
        ("the second answer is asked for again", otherwise("I see waves."), 2),
    ] {
        for seen in 0..=first.len() {
            let (seen, known) = (&first[..seen], messages[..known].to_vec());
            let after = seen.last().map(|sent| sent.number);
            let mut again = Stream::new("r", resource(), false).knowing(known).after(after);
            let rest = all(&mut again, &events);
            assert_eq!(joined(seen.iter().chain(&rest)), joined(&first), "{what} {after:?}");
        }
    }
}

#[test]
fn what_is_heard_and_known_is_told_once() {
    let call = |id: &str| json!({ "id": id, "name": "look", "arguments": {} });
    let called =
        |id: &str| json!({ "type": "tool_call", "call_id": id, "name": "look", "call": call(id) });
    let live = events(&[started(), text("Wait."), called("c1"), called("c2")]);
    let known = vec![
        Message::assistant("Wait.").with_metadata_entry("tool_calls", json!([call("c1")])),
        Message::tool("waves").with_metadata_entry("tool_call_id", "c1"),
        Message::assistant("").with_metadata_entry("tool_calls", json!([call("c2")])),
    ];
    let sent = all(&mut Stream::new("r", resource(), false).knowing(known), &live);
    let told: Vec<&Sent> = sent.iter().filter(|it| it.kind.ends_with("text.delta")).collect();
    assert_eq!(told.len(), 1);
}

#[test]
fn whoever_heard_more_than_there_is_hears_the_end() {
    let live = events(&whole_turn(json!([])));
    let rest = all(&mut Stream::new("r", resource(), false).after(Some(5_000)), &live);
    let rest: Vec<(&str, u64)> = rest.iter().map(|sent| (sent.kind, sent.number)).collect();
    assert_eq!(rest, [("response.completed", 5_001)]);
}

#[test]
fn a_stream_that_is_cut_off_says_where_it_goes_on() {
    let live = events(&whole_turn(json!([])));
    let mut stream = Stream::new("r", resource(), false);
    let written = |write: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    };
    let out = written(&mut |out| stream.cut(out));
    assert!(out.contains("with stream=true\""), "{out}");
    written(&mut |out| live[..4].iter().for_each(|event| stream.event(event, out)));
    let end = written(&mut |out| stream.cut(out));
    let data = end.strip_prefix("event: error\ndata: ").unwrap();
    let told: Value = serde_json::from_str(data).unwrap();
    let number = told["sequence_number"].as_u64().unwrap();
    assert_eq!(told["code"], "stream_cut_off");
    assert!(told["message"].as_str().unwrap().ends_with(&format!("starting_after={number}")));
    let mut again = Stream::new("r", resource(), false).after(Some(number));
    let rest = all(&mut again, &live);
    assert_eq!(rest[0].kind, "response.reasoning_summary_text.done");
}

#[test]
fn what_was_cut_off_is_told_again_as_far_as_the_session_has_it() {
    let cancelled = json!({ "type": "request_cancelled", "reason": "enough" });
    let live = events(&[started(), text("one "), text("two"), cancelled]);
    let first = all(&mut Stream::new("r", resource(), false), &live);
    let known = vec![Message::assistant("one two").with_metadata_entry("interrupted", true)];
    let left = [live[0].clone(), live[3].clone()];
    let again = all(&mut Stream::new("r", resource(), false).knowing(known), &left);
    assert_eq!(joined(&again), joined(&first));
    assert_eq!(output(&again)[0]["status"], "incomplete");
}

#[test]
fn a_response_is_completed_when_its_request_was() {
    let sent = all(&mut Stream::new("r", resource(), false), &events(&whole_turn(json!([]))));
    let last: Value = serde_json::from_str(&sent.last().unwrap().data).unwrap();
    assert_eq!(last["response"]["completed_at"], 1_767_225_600);
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
            { "type": "local_shell_call", "id": "l" },
            { "type": "apply_patch_call_output", "id": "a" },
            { "type": "compaction_trigger" },
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
