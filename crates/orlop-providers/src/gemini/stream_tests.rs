//! Streams as servers send them, and as connections break them.

use super::*;
use crate::wire::testing;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(body: &str, expected: Expect) {
    testing::check::<ContentReader>(body, expected);
}

#[test]
fn text_streams_and_then_the_content_comes() {
    check(
        "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"He\"}],\"role\": \"model\"},\"index\": 0}],\"responseId\": \"r\"}\r\n\r\n\
         data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"y\"}],\"role\": \"model\"},\"index\": 0}],\"responseId\": \"r\"}\r\n\r\n\
         data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"!\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"responseId\": \"r\"}\r\n\r\n",
        expect![[r#"
            {"role":"assistant","content":"He"}
            {"role":"assistant","content":"y"}
            {"role":"assistant","content":"!"}
            final {"parts":[{"text":"Hey!"}],"role":"model"} + {"finish_reason": String("stop"), "native_finish_reason": String("STOP"), "response_id": String("r")}"#]],
    );
}

#[test]
fn an_end_before_the_reason_to_stop_is_an_error() {
    check(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\ndata: {\"candi",
        expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"#]],
    );
    check(
        "",
        expect![
            "provider: the answer ended early: the model server closed the stream before the end of the message; try again (retryable true)"
        ],
    );
}

#[test]
fn an_error_in_a_data_line_ends_the_stream() {
    check(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n\
         data: {\"error\":{\"code\":503,\"message\":\"overloaded, key\",\"status\":\"UNAVAILABLE\"}}\n\n",
        expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the model server reported an error: overloaded, ***; try again later (retryable true) body {"error":{"code":503,"message":"overloaded, ***","status":"UNAVAILABLE"}}"#]],
    );
    check(
        "event: error\ndata: {\"message\":\"no\"}\n\n",
        expect![[
            r#"provider: the model server reported an error: no; change the request accordingly (retryable false) body {"message":"no"}"#
        ]],
    );
    check(
        "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"}}\n\n",
        expect![[
            r#"provider: the model server refused the prompt (PROHIBITED_CONTENT); change the prompt or the safety settings (retryable false) body {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#
        ]],
    );
    check(
        "data: {\"candidates\":7}\n\n",
        expect![[
            r#"provider: the model server sent a data line that has an unexpected shape (invalid type: integer `7`, expected a list of candidates at line 1 column 15): "{\"candidates\":7}"; check that "base_url" leads to a server for this provider (retryable false) body {"candidates":7}"#
        ]],
    );
    check(
        "data: [DONE]\n\n",
        expect![
            "provider: the model server sent an answer without a message; try again (retryable true)"
        ],
    );
}

#[test]
fn a_break_matters_only_before_the_reason_to_stop() {
    testing::check_break::<ContentReader>(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n",
        "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n",
        expect![[r#"
            {"role":"assistant","content":"a"}
            provider: the answer ended early (retryable false)"#]],
        expect![[r#"
            {"role":"assistant","content":"a"}
            final {"parts":[{"text":"a"}],"role":"model"} + {"finish_reason": String("stop"), "native_finish_reason": String("STOP")}"#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Skipping the parser where only the text differs must not show.
    #[test]
    fn chunks_in_known_frames_say_what_parsing_them_would(
        picks in proptest::collection::vec((0usize..6, "[a-c\"\\\\n{}é]{0,3}"), 0..40),
    ) {
        let chunk = |(frame, text): &(usize, String)| {
            let parts = match frame {
                0 | 1 => format!(r#"[{{"text":"{text}"}}]"#),
                2 => format!(r#"[{{"text":{}}}]"#, serde_json::json!(text)),
                3 => format!(r#"[{{"text":"{text}","thought":true}}]"#),
                4 => format!(r#"[{{"text":"{text}","thoughtSignature":"s"}}]"#),
                _ => format!(r#"[{{"text":"{text}"}},{{"functionCall":{{"name":"f"}}}}]"#),
            };
            let finish = if *frame == 1 { r#","finishReason":"STOP""# } else { "" };
            format!(r#"{{"candidates":[{{"content":{{"parts":{parts}}}{finish}}}],"responseId":"r","usageMetadata":{{"totalTokenCount":{frame}}}}}"#)
        };
        let chunks: Vec<String> = picks.iter().map(chunk).collect();
        let (mut assembler, mut expected, mut broken) = (Assembler::default(), String::new(), false);
        for chunk in &chunks {
            let Ok(mut chunk) = Chunk::parse(chunk) else { broken = true; break };
            let partial = assembler.push(&mut chunk).unwrap();
            if !partial.is_empty() {
                expected.push_str(&format!("{partial:?}\n"));
            }
        }
        let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        let (seen, end) = testing::shown::<ContentReader>(body + "data: [DONE]\n\n");
        match end {
            Ok(items) => prop_assert_eq!(&items[0], &assembler.finish().unwrap()),
            Err(_) => prop_assert!(broken || chunks.is_empty()),
        }
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn damaged_streams_end_in_one_content_or_one_error(damage in testing::damage(), size in 1usize..400) {
        let body = concat!(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"é\",\"thought\":true}],\"role\":\"model\"}}]}\r\n\r\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\",\"thoughtSignature\":\"s\"},",
            "{\"functionCall\":{\"name\":\"f\",\"partialArgs\":[{\"jsonPath\":\"$.a[0].b\",\"stringValue\":\"x\"}]}}]},",
            "\"finishReason\":\"STOP\"}],\"usageMetadata\":{}}\n\n",
        );
        testing::ends_once::<ContentReader>(body, damage, size)?;
    }
}
