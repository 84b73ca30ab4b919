//! Interop: tool calls and results in the formats of the large providers, each read and written
//! as any other, and what hostile input does to them.

use orlop_core::interop::calls::*;
use orlop_core::interop::results::*;
use orlop_core::interop::{
    CallFormat, Interop, Registry, ResultFormat, ResultTarget, SchemaFormat, schemas,
};
use orlop_core::types::{InspectedCall, InspectedResult, PayloadKind};
use orlop_core::{ErrorClass, Map, Value};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::sync::Arc;

fn built_in() -> Registry {
    Registry::new(None, [])
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

const WITH_ARGUMENTS: &[&str] = &[
    OPENAI_FUNCTION,
    RESPONSES_FUNCTION,
    ANTHROPIC_TOOL_USE,
    GEMINI_FUNCTION_CALL,
    OLLAMA_FUNCTION,
    CORE_CALL,
];
const FREE_FORM: &[&str] = &[OPENAI_CUSTOM, RESPONSES_CUSTOM];

fn all_formats() -> impl Iterator<Item = &'static str> {
    WITH_ARGUMENTS.iter().chain(FREE_FORM).copied()
}

/// The call `c1` of the tool `dig` as each provider writes it.
fn call_in(format: &str, payload: &Value) -> Map {
    let text = payload.as_str().map_or_else(|| payload.to_string(), str::to_owned);
    map(match format {
        OPENAI_FUNCTION => json!({"id": "c1", "type": "function",
                                  "function": {"name": "dig", "arguments": text}}),
        OPENAI_CUSTOM => {
            json!({"id": "c1", "type": "custom", "custom": {"name": "dig", "input": text}})
        }
        RESPONSES_FUNCTION => {
            json!({"type": "function_call", "call_id": "c1", "name": "dig", "arguments": text})
        }
        RESPONSES_CUSTOM => {
            json!({"type": "custom_tool_call", "call_id": "c1", "name": "dig", "input": text})
        }
        ANTHROPIC_TOOL_USE => {
            json!({"type": "tool_use", "id": "c1", "name": "dig", "input": payload})
        }
        GEMINI_FUNCTION_CALL => {
            json!({"functionCall": {"id": "c1", "name": "dig", "args": payload}})
        }
        OLLAMA_FUNCTION => json!({"id": "c1", "function": {"name": "dig", "arguments": payload}}),
        CORE_CALL => json!({"id": "c1", "name": "dig", "arguments": payload}),
        other => panic!("{other}"),
    })
}

#[test]
fn every_call_format_is_read() {
    let arguments = json!({"deep": 3, "where": ["a", {"b": null}]});
    for format in all_formats() {
        let free_form = FREE_FORM.contains(&format);
        let payload = if free_form { json!("for gold") } else { arguments.clone() };
        let call = call_in(format, &payload);
        let expected = InspectedCall {
            call_id: Some("c1".into()),
            tool_name: Some("dig".into()),
            payload,
            payload_kind: if free_form { PayloadKind::Text } else { PayloadKind::Json },
            payload_format: Some(format.into()),
            payload_metadata: None,
            raw: call.clone(),
        };
        assert_eq!(built_in().inspect_call(&call).unwrap(), expected, "{format}");
    }
}

/// What the call with `payload` in `from` is in `to`.
fn converted_payload(from: &str, payload: &Value, to: &str) -> Value {
    match (FREE_FORM.contains(&from), FREE_FORM.contains(&to)) {
        // Free text on a wire that knows only arguments goes under `input`.
        (true, false) => json!({"input": payload}),
        _ => payload.clone(),
    }
}

#[test]
fn every_call_format_converts_to_every_other() {
    for from in all_formats() {
        let payload = match FREE_FORM.contains(&from) {
            true => json!("two\nlines"),
            false => json!({"deep": 3, "why": "it's \"gold\""}),
        };
        let call = call_in(from, &payload);
        for to in all_formats() {
            let expected = call_in(to, &converted_payload(from, &payload, to));
            let converted = built_in().convert_call(&call, to).unwrap();
            assert_eq!(converted, expected, "{from} to {to}");
            let read = built_in().inspect_call(&converted).unwrap();
            assert_eq!(read.payload_format.as_deref(), Some(to), "{from} to {to}");
        }
    }
    assert_eq!(built_in().convert_call(&call_in(CORE_CALL, &json!({})), "nobody's"), None);
}

#[test]
fn a_call_that_is_in_the_format_already_stays_as_it_is() {
    let odd = map(json!({"id": "c1", "extra": 1, "index": 0,
                         "function": {"name": "dig", "arguments": " {\"a\" : 1} "}}));
    assert_eq!(built_in().convert_call(&odd, OPENAI_FUNCTION), Some(odd));
}

fn arguments_read(arguments: Value) -> (Value, bool) {
    let call = map(json!({"id": "c1", "function": {"name": "dig", "arguments": arguments}}));
    let read = built_in().inspect_call(&call).unwrap();
    assert_eq!(read.payload_kind, PayloadKind::Json);
    let reason = read.payload_metadata.map(|metadata| metadata["parse_error"].clone());
    (read.payload, reason.is_some_and(|reason| reason.as_str().unwrap().contains("not JSON")))
}

#[test]
fn arguments_as_models_write_them() {
    let none = json!({});
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let cases = [
        (json!("{\"a\": 1}"), json!({"a": 1}), false),
        (json!({"a": 1}), json!({"a": 1}), false),
        // Ways to say that there are none.
        (json!(null), none.clone(), false),
        (json!(""), none.clone(), false),
        (json!(" \n"), none.clone(), false),
        (json!("null"), none.clone(), false),
        (json!("{}"), none, false),
        // Not what a schema asks for, but JSON.
        (json!("[1]"), json!([1]), false),
        (json!("\"hi\""), json!("hi"), false),
        (json!(7), json!(7), false),
        // No JSON at all: the tool gets the text, and the reason.
        (json!("{\"a\": 1"), json!("{\"a\": 1"), true),
        (json!("dig here"), json!("dig here"), true),
        (json!("{} {}"), json!("{} {}"), true),
        (json!(deep), json!(deep), true),
    ];
    for (arguments, payload, broken) in cases {
        assert_eq!(arguments_read(arguments.clone()), (payload, broken), "{arguments}");
    }
}

#[test]
fn arguments_that_are_no_json_leave_as_they_came() {
    let broken = json!("{\"a\": 1");
    for from in [OPENAI_FUNCTION, RESPONSES_FUNCTION] {
        let call = call_in(from, &broken);
        for to in [OPENAI_FUNCTION, RESPONSES_FUNCTION, CORE_CALL] {
            let converted = built_in().convert_call(&call, to).unwrap();
            assert_eq!(converted, call_in(to, &broken), "{from} to {to}");
            assert!(built_in().inspect_call(&converted).unwrap().payload_metadata.is_some());
        }
        for to in [ANTHROPIC_TOOL_USE, GEMINI_FUNCTION_CALL, OLLAMA_FUNCTION] {
            let converted = built_in().convert_call(&call, to).unwrap();
            assert_eq!(converted, call_in(to, &json!({"input": broken})), "{from} to {to}");
        }
    }
}

#[test]
fn arguments_on_the_wire_are_objects_whatever_the_model_sent() {
    for payload in [json!("hi"), json!([1, 2]), json!(7), json!(true)] {
        let call =
            map(json!({"id": "c1", "function": {"name": "dig", "arguments": payload.to_string()}}));
        for to in [RESPONSES_FUNCTION, ANTHROPIC_TOOL_USE, GEMINI_FUNCTION_CALL] {
            let converted = built_in().convert_call(&call, to).unwrap();
            assert_eq!(converted, call_in(to, &json!({"input": payload})), "{payload} to {to}");
        }
        let plain = built_in().convert_call(&call, CORE_CALL).unwrap();
        let read = built_in().inspect_call(&plain).unwrap();
        assert_eq!(read.payload_metadata, None, "{payload}");
    }
}

#[test]
fn free_text_that_looks_like_json_stays_text() {
    for text in ["{\"a\": 1}", "7", "null", ""] {
        let call = call_in(OPENAI_CUSTOM, &json!(text));
        assert_eq!(built_in().inspect_call(&call).unwrap().payload, json!(text));
        for to in WITH_ARGUMENTS {
            let converted = built_in().convert_call(&call, to).unwrap();
            let read = built_in().inspect_call(&converted).unwrap();
            assert_eq!(read.payload, json!({"input": text}), "{to}");
        }
    }
}

#[test]
fn ids_and_names_are_found_where_each_format_has_them() {
    let cases = [
        (json!({"type": "function_call", "id": "fc1", "call_id": "c1", "name": "a"}), Some("c1")),
        (json!({"type": "function_call", "id": "fc1", "name": "a"}), Some("fc1")),
        (json!({"functionCall": {"name": "a"}}), None),
        (json!({"function_call": {"name": "a", "args": {}}, "id": "c1"}), Some("c1")),
        (json!({"type": "tool_call", "id": "c1", "name": "a"}), Some("c1")),
        (json!({"id": 7, "name": "a"}), None),
        (json!({"id": null, "function": {"name": "a"}}), None),
        (json!({"function": {"index": 0, "name": "a", "arguments": {}}}), None),
    ];
    for (call, id) in cases {
        let read = built_in().inspect_call(&map(call.clone())).unwrap();
        assert_eq!(read.call_id.as_deref(), id, "{call}");
        assert_eq!((read.tool_name.as_deref(), read.payload), (Some("a"), json!({})), "{call}");
    }
}

#[test]
fn what_is_no_call_is_refused_with_the_known_formats() {
    let hostile = [
        json!({}),
        json!({"id": "c1"}),
        json!({"name": 7}),
        json!({"name": null, "arguments": {}}),
        json!({"name": {"name": "dig"}}),
        json!({"function": "dig"}),
        json!({"function": ["dig"]}),
        json!({"function": {"arguments": "{}"}}),
        json!({"function": {"name": 7}}),
        json!({"custom": {"input": "x"}}),
        json!({"functionCall": "dig"}),
        json!({"functionCall": {"args": {}}}),
        json!({"type": "tool_use", "id": "c1"}),
        json!({"type": "tool_use", "name": ["dig"]}),
        json!({"type": "something_new", "name": "dig", "arguments": {}}),
        json!({"type": 7, "name": "dig"}),
        json!({"type": ["tool_use"], "name": "dig", "input": {}}),
    ];
    for call in hostile {
        let error = built_in().inspect_call(&map(call.clone())).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadArgument, "{call}");
        for format in all_formats() {
            assert!(error.message().contains(format), "{error}");
        }
        assert_eq!(built_in().convert_call(&map(call), CORE_CALL), None);
    }
}

/// What the text `done`, for call `c1` of the tool `dig`, is to each provider.
fn result_in(format: &str) -> Value {
    match format {
        CORE_TEXT => json!({"type": "tool_result", "text": "done"}),
        OPENAI_TOOL => json!({"role": "tool", "tool_call_id": "c1", "content": "done"}),
        RESPONSES_OUTPUT => {
            json!({"type": "function_call_output", "call_id": "c1", "output": "done"})
        }
        ANTHROPIC_TOOL_RESULT => {
            json!({"type": "tool_result", "tool_use_id": "c1", "content": "done"})
        }
        GEMINI_FUNCTION_RESPONSE => {
            json!({"functionResponse": {"name": "dig", "response": {"output": "done"}}})
        }
        MCP_CONTENT => json!({"content": [{"type": "text", "text": "done"}]}),
        other => panic!("{other}"),
    }
}

const WRITABLE_RESULTS: &[&str] =
    &[CORE_TEXT, OPENAI_TOOL, RESPONSES_OUTPUT, ANTHROPIC_TOOL_RESULT, GEMINI_FUNCTION_RESPONSE];

fn target() -> ResultTarget {
    ResultTarget { name: "test".into(), call_id: Some("c1".into()), tool_name: Some("dig".into()) }
}

#[test]
fn every_result_format_is_read_and_converts_to_every_other() {
    for from in WRITABLE_RESULTS.iter().chain(&[MCP_CONTENT]) {
        let result = result_in(from);
        let read = built_in().inspect_result(&result);
        assert_eq!((read.text.as_str(), read.format_id.as_str()), ("done", *from));
        for to in WRITABLE_RESULTS {
            let converted = built_in().convert_result(&result, &target(), &[to]).unwrap();
            assert_eq!(converted, result_in(to), "{from} to {to}");
        }
    }
    for to in WRITABLE_RESULTS {
        let converted = built_in().convert_result(&json!("done"), &target(), &[to]).unwrap();
        assert_eq!(converted, result_in(to), "text to {to}");
    }
}

#[test]
fn the_first_accepted_format_that_can_be_written_is_taken() {
    let convert =
        |result: Value, accepted: &[&str]| built_in().convert_result(&result, &target(), accepted);
    let done = || json!("done");
    assert_eq!(
        convert(done(), &[MCP_CONTENT, "unknown", OPENAI_TOOL]),
        Some(result_in(OPENAI_TOOL))
    );
    assert_eq!(convert(done(), &[MCP_CONTENT]), None, "it can only be read");
    assert_eq!(convert(done(), &["unknown"]), None);
    assert_eq!(convert(done(), &[]), None);
    // A mapping in any accepted format stays, first or not.
    let rich = json!({"content": [{"type": "text", "text": "t"}], "isError": true});
    assert_eq!(convert(rich.clone(), &[OPENAI_TOOL, MCP_CONTENT]), Some(rich));
}

#[test]
fn the_text_of_a_result_is_found_in_its_parts() {
    let cases = [
        (json!("plain"), "plain", CORE_TEXT),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "…"},
                            {"type": "text", "text": "b"}]}),
            "a\nb",
            MCP_CONTENT,
        ),
        (json!({"content": [], "structuredContent": {"n": 1}}), "{\"n\":1}", MCP_CONTENT),
        (json!({"content": []}), "", MCP_CONTENT),
        (
            json!({"tool_use_id": "x", "content": [{"type": "text", "text": "a"}]}),
            "a",
            ANTHROPIC_TOOL_RESULT,
        ),
        (json!({"role": "tool", "content": [{"type": "text", "text": "a"}]}), "a", OPENAI_TOOL),
        (
            json!({"functionResponse": {"name": "n", "response": {"result": [1]}}}),
            "[1]",
            GEMINI_FUNCTION_RESPONSE,
        ),
        (
            json!({"functionResponse": {"name": "n", "response": {"k": 1}}}),
            "{\"k\":1}",
            GEMINI_FUNCTION_RESPONSE,
        ),
    ];
    for (result, text, format) in cases {
        let read = built_in().inspect_result(&result);
        assert_eq!((read.text.as_str(), read.format_id.as_str()), (text, format), "{result}");
    }
}

#[test]
fn a_display_in_the_result_is_found_if_it_is_a_mapping() {
    let read = |display: Value| {
        let core = json!({"type": "tool_result", "text": "t", "display": display});
        let mcp = json!({"content": [], "display": display});
        [built_in().inspect_result(&core).display, built_in().inspect_result(&mcp).display]
    };
    let shown = map(json!({"type": "diff"}));
    assert_eq!(read(json!({"type": "diff"})), [Some(shown.clone()), Some(shown)]);
    for odd in [json!("diff"), json!(null), json!([{"type": "diff"}])] {
        assert_eq!(read(odd), [None, None]);
    }
}

#[test]
fn what_no_format_knows_is_text() {
    let cases = [
        (json!(null), ""),
        (json!(7), "7"),
        (json!([1, "a"]), "[1,\"a\"]"),
        (json!({"any": "thing"}), "{\"any\":\"thing\"}"),
        (json!({"type": "tool_result"}), "{\"type\":\"tool_result\"}"),
        (json!({"type": "tool_result", "text": 7}), "{\"type\":\"tool_result\",\"text\":7}"),
        (json!({"content": "no list"}), "{\"content\":\"no list\"}"),
        (json!({"role": "tool"}), "{\"role\":\"tool\"}"),
        (json!({"role": 7, "content": "x"}), "{\"role\":7,\"content\":\"x\"}"),
        (json!({"functionResponse": 7}), "{\"functionResponse\":7}"),
    ];
    for (result, text) in cases {
        let read = built_in().inspect_result(&result);
        assert_eq!((read.text.as_str(), read.format_id.as_str()), (text, CORE_TEXT), "{result}");
        assert_eq!(read.display, None);
        let converted = built_in().convert_result(&result, &target(), &[OPENAI_TOOL]).unwrap();
        assert_eq!(converted["content"], text);
    }
}

/// Reads calls of this key as calls of `tool`.
fn reading(id: &str, key: &'static str, tool: &'static str) -> CallFormat {
    let read = move |call: &Map| {
        let payload = call.get(key)?.clone();
        let tool_name = Some(tool.to_owned());
        Some(InspectedCall { tool_name, payload, raw: call.clone(), ..Default::default() })
    };
    CallFormat { id: id.into(), read: Arc::new(read), write: None }
}

#[test]
fn formats_of_plugins_come_before_the_built_in_ones_the_provider_s_first() {
    let calls = |id, tool| Interop { calls: vec![reading(id, "name", tool)], ..Default::default() };
    let call = call_in(CORE_CALL, &json!({}));
    let tool = |registry: &Registry| {
        let read = registry.inspect_call(&call).unwrap();
        (read.tool_name.unwrap(), read.payload_format.unwrap())
    };
    let provider = Registry::new(Some(calls("p", "of p")), [calls("a", "of a")]);
    assert_eq!(tool(&provider), ("of p".into(), "p".into()));
    let others = Registry::new(None, [calls("a", "of a"), calls("b", "of b")]);
    assert_eq!(tool(&others), ("of a".into(), "a".into()));
    assert_eq!(tool(&built_in()), ("dig".into(), CORE_CALL.into()));
}

#[test]
fn a_provider_says_which_formats_it_wants() {
    let wants = Interop {
        schema_format: Some(schemas::ANTHROPIC.into()),
        call_format: Some(ANTHROPIC_TOOL_USE.into()),
        ..Default::default()
    };
    let registry = Registry::new(Some(wants.clone()), []);
    assert_eq!(registry.schema_format(), Some("anthropic"));
    assert_eq!(registry.call_format(), Some("anthropic.tool_use"));
    let others = Registry::new(None, [wants]);
    assert_eq!((others.schema_format(), others.call_format()), (None, None));
}

#[test]
fn a_format_that_cannot_write_leaves_it_to_another_of_its_id() {
    let reader =
        Interop { calls: vec![reading(OPENAI_FUNCTION, "special", "dig")], ..Default::default() };
    let registry = Registry::new(None, [reader]);
    let special = map(json!({"special": {"a": 1}}));
    assert_eq!(registry.inspect_call(&special).unwrap().tool_name.as_deref(), Some("dig"));
    let plain = call_in(CORE_CALL, &json!({"a": 1}));
    assert_eq!(
        registry.convert_call(&plain, OPENAI_FUNCTION),
        Some(call_in(OPENAI_FUNCTION, &json!({"a": 1})))
    );
}

#[test]
fn a_format_that_panics_knows_nothing_and_does_no_harm() {
    let broken = Interop {
        calls: vec![CallFormat {
            id: OPENAI_FUNCTION.into(),
            read: Arc::new(|_| panic!("read")),
            write: Some(Arc::new(|_| panic!("write"))),
        }],
        results: vec![ResultFormat {
            id: OPENAI_TOOL.into(),
            read: Some(Arc::new(|_| panic!("read"))),
            write: Some(Arc::new(|_, _, _| panic!("write"))),
        }],
        schemas: vec![SchemaFormat {
            id: schemas::GEMINI.into(),
            write: Arc::new(|_| panic!("write")),
        }],
        ..Default::default()
    };
    let registry = Registry::new(Some(broken), []);
    let call = call_in(CORE_CALL, &json!({"a": 1}));
    assert_eq!(registry.inspect_call(&call).unwrap().tool_name.as_deref(), Some("dig"));
    let converted = registry.convert_call(&call, OPENAI_FUNCTION);
    assert_eq!(converted, Some(call_in(OPENAI_FUNCTION, &json!({"a": 1}))));
    assert_eq!(registry.inspect_result(&json!("done")).text, "done");
    let converted = registry.convert_result(&json!("done"), &target(), &[OPENAI_TOOL]);
    assert_eq!(converted, Some(result_in(OPENAI_TOOL)));
    let schema = map(json!({"name": "dig"}));
    assert_eq!(registry.convert_schema(&schema, schemas::GEMINI).unwrap()["name"], "dig");
}

/// Objects made of the words that formats look for, with anything at all in them.
fn hostile_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "id",
        "call_id",
        "name",
        "function",
        "custom",
        "functionCall",
        "function_call",
        "arguments",
        "args",
        "input",
        "text",
        "content",
        "role",
        "tool",
        "tool_use",
        "tool_use_id",
        "tool_result",
        "tool_call",
        "custom_tool_call",
        "functionResponse",
        "response",
        "output",
        "function_call_output",
        "structuredContent",
        "display",
        "parameters",
        "input_schema",
        "format",
        "strict",
        "{}",
        "null",
        "{\"a\":",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
            }),
        ]
    })
}

#[test]
fn nothing_a_model_sends_breaks_the_registry() {
    let registry = built_in();
    let mut runner = TestRunner::deterministic();
    runner
        .run(&hostile_json(), |value| {
            let InspectedResult { text, .. } = registry.inspect_result(&value);
            for to in WRITABLE_RESULTS {
                let written = registry.convert_result(&value, &target(), &[to]);
                let read = registry.inspect_result(&written.expect("any result can be written"));
                prop_assert_eq!(&read.text, &text, "{} {}", to, value);
            }
            let Value::Object(call) = value else { return Ok(()) };
            for format in [schemas::OPENAI_FUNCTION, schemas::ANTHROPIC] {
                let _ = registry.convert_schema(&call, format);
            }
            let Ok(read) = registry.inspect_call(&call) else { return Ok(()) };
            for to in all_formats() {
                let written = registry.convert_call(&call, to).expect("any call can be written");
                let again = registry.inspect_call(&written).expect("and read again");
                prop_assert_eq!(&again.tool_name, &read.tool_name, "{} {:?}", to, call);
                prop_assert_eq!(&again.call_id, &read.call_id, "{} {:?}", to, call);
            }
            Ok(())
        })
        .unwrap();
}
