//! What chunks come to, and what of them is shown.

use super::*;
use expect_test::{Expect, expect};

/// Each line is one chunk; a line that begins with `[` is the parts of one.
fn check(chunks: &str, expected: Expect) {
    let mut assembler = Assembler::default();
    let mut seen = String::new();
    for line in chunks.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let data = match line.starts_with('[') {
            true => format!(
                r#"{{"candidates":[{{"content":{{"parts":{line},"role":"model"}}}}],"responseId":"r"}}"#
            ),
            false => line.to_owned(),
        };
        let partial = assembler.push(&mut Chunk::parse(&data).unwrap()).unwrap();
        if !partial.is_empty() {
            seen.push_str(&format!("{}\n", serde_json::to_string(&partial).unwrap()));
        }
    }
    let end = match assembler.finish() {
        Ok(item) => format!("{item:?}"),
        Err(error) => format!("{error:?} (retryable {})", error.retryable()),
    };
    expected.assert_eq(&format!("{seen}{end}"));
}

#[test]
fn text_is_joined_and_closed_by_a_signature() {
    check(
        r#"
        [{"text":"a\n"}]
        [{"text":"b"}]
        [{"text":"","thoughtSignature":"s1"}]
        [{"text":"c"}]
        [{"text":"d","thoughtSignature":"s2"}]
        [{"text":"e"}]
        [{"thoughtSignature":"s3"}]
        [{"text":""}]
        "#,
        expect![[r#"
            {"role":"assistant","content":"a\n"}
            {"role":"assistant","content":"b"}
            {"role":"assistant","content":"c"}
            {"role":"assistant","content":"d"}
            {"role":"assistant","content":"e"}
            {"parts":[{"text":"a\nb","thoughtSignature":"s1"},{"text":"cd","thoughtSignature":"s2"},{"text":"e","thoughtSignature":"s3"}],"role":"model"} + {"response_id": String("r")}"#]],
    );
}

#[test]
fn thoughts_stand_apart_from_text() {
    check(
        r#"
        [{"text":"hm","thought":true}]
        [{"thought":true,"text":"m"},{"text":"yes","thoughtSignature":"s"}]
        [{"thought":true,"text":"again"}]
        "#,
        expect![[r#"
            {"role":"assistant","content":"","metadata":{"reasoning":"hm"}}
            {"role":"assistant","content":"yes","metadata":{"reasoning":"m"}}
            {"role":"assistant","content":"","metadata":{"reasoning":"again"}}
            {"parts":[{"text":"hmm","thought":true},{"text":"yes","thoughtSignature":"s"},{"thought":true,"text":"again"}],"role":"model"} + {"response_id": String("r")}"#]],
    );
}

#[test]
fn other_parts_go_back_as_they_came() {
    check(
        r#"
        [{"text":"a"},{"executableCode":{"code":"1.0","language":"PYTHON"},"thoughtSignature":"s"}]
        [{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\u00e9"}}]
        [{"inlineData":{"mimeType":"image/png","data":"QUJD"}},{}]
        [{"text":"b","partMetadata":{"x":1.0}},{"text":"c"}]
        [{"thoughtSignature":"s2"},{"thoughtSignature":"s3"}]
        "#,
        expect![[r#"
            {"role":"assistant","content":"a"}
            {"role":"assistant","content":"bc"}
            {"parts":[{"text":"a"},{"executableCode":{"code":"1.0","language":"PYTHON"},"thoughtSignature":"s"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\u00e9"}},{"inlineData":{"mimeType":"image/png","data":"QUJD"}},{"text":"b","partMetadata":{"x":1.0}},{"text":"c","thoughtSignature":"s2"},{"thoughtSignature":"s3"}],"role":"model"} + {"response_id": String("r")}"#]],
    );
}

#[test]
fn calls_come_whole_and_get_an_id_if_they_have_none() {
    check(
        r#"
        [{"functionCall":{"name":"f","args":{"a":1.0}},"thoughtSignature":"s"},{"functionCall":{"id":"c","name":"g"}}]
        [{"functionCall":{"name":"f","args":{}}},{"text":""}]
        {"candidates":[{"finishReason":"STOP","finishMessage":"Model generated function call(s)."}]}
        "#,
        expect![[r#"
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"orlop-call-af63ef4c86020cd5-0","type":"function","function":{"name":"f","arguments":"{\"a\":1.0}"}},{"index":1,"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":2,"id":"orlop-call-af63ef4c86020cd5-2","type":"function","function":{"name":"f","arguments":"{}"}}]}}
            {"parts":[{"functionCall":{"name":"f","args":{"a":1.0}},"thoughtSignature":"s"},{"functionCall":{"id":"c","name":"g"}},{"functionCall":{"name":"f","args":{}}}],"role":"model"} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("STOP"), "response_id": String("r"), "candidate": Object {"finishMessage": String("Model generated function call(s).")}, "call_ids": Array [String("orlop-call-af63ef4c86020cd5-0"), Null, String("orlop-call-af63ef4c86020cd5-2")]}"#]],
    );
}

#[test]
fn calls_may_come_in_pieces() {
    check(
        r#"
        [{"functionCall":{"name":"f","willContinue":true},"thoughtSignature":"s"}]
        [{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}}]
        [{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"y"}],"willContinue":true}}]
        [{"functionCall":{}}]
        [{"functionCall":{}}]
        [{"functionCall":{"name":"g","willContinue":true}}]
        [{"functionCall":{"name":"h","args":{"b":1}}}]
        [{"functionCall":{"name":"i","willContinue":true}}]
        "#,
        expect![[r#"
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"orlop-call-af63ef4c86020cd5-0","type":"function","function":{"name":"f","arguments":""}}]}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"xy\"}"}}]}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"id":"orlop-call-af63ef4c86020cd5-1","type":"function","function":{"name":"g","arguments":""}}]}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":2,"id":"orlop-call-af63ef4c86020cd5-2","type":"function","function":{"name":"h","arguments":"{\"b\":1}"}}]}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":3,"id":"orlop-call-af63ef4c86020cd5-3","type":"function","function":{"name":"i","arguments":""}}]}}
            {"parts":[{"functionCall":{"name":"f","args":{"a":"xy"}},"thoughtSignature":"s"},{"functionCall":{"name":"g","args":{}}},{"functionCall":{"name":"h","args":{"b":1}}},{"functionCall":{"name":"i","args":{}}}],"role":"model"} + {"response_id": String("r"), "call_ids": Array [String("orlop-call-af63ef4c86020cd5-0"), String("orlop-call-af63ef4c86020cd5-1"), String("orlop-call-af63ef4c86020cd5-2"), String("orlop-call-af63ef4c86020cd5-3")]}"#]],
    );
}

#[test]
fn without_an_id_of_the_answer_calls_still_differ() {
    let call = || {
        let data = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}"#;
        let mut assembler = Assembler::default();
        assembler.push(&mut Chunk::parse(data).unwrap()).unwrap();
        assembler.finish().unwrap().metadata()[CALL_IDS][0].clone()
    };
    assert_ne!(call(), call());
}

#[test]
fn facts_are_told_beside() {
    check(
        r#"
        {"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"groundingMetadata":{"x":[1]}}],"modelVersion":"m","responseId":"r","usageMetadata":{"promptTokenCount":1}}
        {"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS","groundingMetadata":{"y":1}}],"modelVersion":"m","responseId":"r","usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":5,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":20}}
        "#,
        expect![[r#"
            {"role":"assistant","content":"a"}
            {"role":"model","parts":[{"text":"a"}]} + {"finish_reason": String("length"), "native_finish_reason": String("MAX_TOKENS"), "model": String("m"), "usage": Object {"input_tokens": Number(15), "output_tokens": Number(5), "total_tokens": Number(20), "cache_read_tokens": Number(4), "reasoning_tokens": Number(2)}, "native_usage": Object {"promptTokenCount": Number(10), "toolUsePromptTokenCount": Number(5), "cachedContentTokenCount": Number(4), "candidatesTokenCount": Number(3), "thoughtsTokenCount": Number(2), "totalTokenCount": Number(20)}, "response_id": String("r"), "candidate": Object {"groundingMetadata": Object {"y": Number(1)}}}"#]],
    );
}

#[test]
fn reasons_to_stop_are_told_in_our_words() {
    let mut lines = Vec::new();
    for reason in [
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "OTHER",
        "FINISH_REASON_UNSPECIFIED",
    ] {
        let data = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}],"role":"model"}},"finishReason":"{reason}"}}]}}"#
        );
        let whole = answer(&data).unwrap();
        lines.push(format!("{reason}: {}", whole.items[0].metadata()["finish_reason"]));
    }
    expect![[r#"
        STOP: "stop"
        MAX_TOKENS: "length"
        SAFETY: "content_filter"
        RECITATION: "content_filter"
        PROHIBITED_CONTENT: "content_filter"
        SPII: "content_filter"
        MALFORMED_FUNCTION_CALL: "error"
        OTHER: "error"
        FINISH_REASON_UNSPECIFIED: "stop""#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn an_answer_without_content_is_one_if_the_server_says_why() {
    check(
        r#"{"candidates":[{"content":{},"finishReason":"SAFETY"}]}"#,
        expect![[
            r#"{"role":"model"} + {"finish_reason": String("content_filter"), "native_finish_reason": String("SAFETY")}"#
        ]],
    );
    check(
        r#"{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}"#,
        expect![[
            r#"{"role":"model"} + {"finish_reason": String("stop"), "native_finish_reason": String("STOP")}"#
        ]],
    );
    check(
        r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"call:print("}]}"#,
        expect![
            "provider: the model failed to answer (MALFORMED_FUNCTION_CALL: call:print(); try again (retryable true)"
        ],
    );
    check(
        r#"{"usageMetadata":{}}"#,
        expect![
            "provider: the model server sent an answer without a message; try again (retryable true)"
        ],
    );
}

#[test]
fn where_code_runs_the_model_goes_on_behind_a_stop() {
    let mut assembler = Assembler::default();
    let mut complete = |part: &str, finish: &str| {
        let data = format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}}{finish}}}]}}"#);
        assembler.push(&mut Chunk::parse(&data).unwrap()).unwrap();
        assembler.is_complete()
    };
    let (open, stop) = ("", r#","finishReason":"STOP""#);
    assert!(!complete(r#"{"text":"a"}"#, open));
    assert!(!complete(r#"{"executableCode":{"code":"1"}}"#, stop));
    assert!(!complete(r#"{"codeExecutionResult":{"output":"1"}}"#, open));
    assert!(!complete(r#"{"text":"b"}"#, open));
    assert!(complete(r#"{"text":"c"}"#, stop));
    assert!(complete("", open));
}

fn check_whole(body: &str, expected: Expect) {
    let seen = match answer(body) {
        Ok(Whole { shown, items }) => {
            format!("{}\n{:?}", serde_json::to_string(&shown).unwrap(), items[0])
        }
        Err(error) => {
            let body = error.provider_body().unwrap_or_default();
            format!("{error:?} (retryable {}) body {body}", error.retryable())
        }
    };
    expected.assert_eq(&seen);
}

#[test]
fn a_whole_answer_stays_as_it_is() {
    check_whole(
        r#"{"candidates": [{"content": {"x": 1.0, "parts": [{"text": "a"}, {"text": "b\u00e9"}, {"functionCall": {"name": "f", "args": {"n": 1.0}}}], "role": "model"}, "finishReason": "STOP", "index": 0}], "responseId": "r"}"#,
        expect![[r#"
            {"role":"assistant","content":"abé","metadata":{"tool_calls":[{"index":0,"id":"orlop-call-af63ef4c86020cd5-0","type":"function","function":{"name":"f","arguments":"{\"n\":1.0}"}}]}}
            {"x":1.0,"parts":[{"text":"a"},{"text":"b\u00e9"},{"functionCall":{"name":"f","args":{"n":1.0}}}],"role":"model"} + {"finish_reason": String("tool_calls"), "native_finish_reason": String("STOP"), "response_id": String("r"), "call_ids": Array [String("orlop-call-af63ef4c86020cd5-0")]}"#]],
    );
    check_whole(
        r#"{"candidates":[{"index":1},{"index":0,"content":{"parts":[{"text":"a"}]}}]}"#,
        expect![[r#"
            {"role":"assistant","content":"a"}
            {"parts":[{"text":"a"}],"role":"model"}"#]],
    );
}

#[test]
fn what_is_no_answer_is_an_error() {
    check_whole(
        r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#,
        expect![[
            r#"provider: the model server reported an error: overloaded; try again later (retryable true) body {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#
        ]],
    );
    check_whole(
        r#"{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"},"usageMetadata":{}}"#,
        expect![[
            r#"provider: the model server refused the prompt (SAFETY: no); change the prompt or the safety settings (retryable false) body {"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"},"usageMetadata":{}}"#
        ]],
    );
    check_whole(
        r#"{"promptFeedback":{"safetyRatings":[]}}"#,
        expect![[
            r#"provider: the model server sent an answer without a message; try again (retryable true) body {"promptFeedback":{"safetyRatings":[]}}"#
        ]],
    );
    check_whole(
        r#"{"candidates":[{"finishReason":"OTHER"}]}"#,
        expect![[
            r#"provider: the model failed to answer (OTHER); try again (retryable true) body {"candidates":[{"finishReason":"OTHER"}]}"#
        ]],
    );
    check_whole(
        "<html>",
        expect![[
            r#"provider: the model server sent an answer that is no JSON (expected value at line 1 column 1): "<html>"; check that "base_url" leads to a server for this provider (retryable false) body <html>"#
        ]],
    );
}
