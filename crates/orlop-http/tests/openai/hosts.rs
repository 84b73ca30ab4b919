//! Host plugins fire for these routes as they do for all others.

use crate::scene::*;
use expect_test::{Expect, expect};
use orlop_core::Manifest;
use orlop_core::hooks::{Handled, ToolGate};
use orlop_core::types::ToolReport;
use orlop_testkit::scripted::*;
use serde_json::{Value, json};

/// A plugin that logs every hook it is asked, and answers `/name` itself.
fn recorder(name: &'static str, priority: i64, log: &Log) -> ScriptedHost {
    macro_rules! note {
        ($hook:literal, $answer:expr) => {{
            let log = log.clone();
            move |_, _| {
                log.add(concat!($hook, " ").to_owned() + name);
                async move { Ok($answer) }
            }
        }};
    }
    let heard = log.clone();
    ScriptedHost::with_manifest(Manifest::host(name, "1.0.0").priority(priority))
        .on_request_start(note!("on_request_start", ()))
        .intercept_chat_request(move |input, _| {
            heard.add(format!("intercept {name}"));
            let handled =
                (input.text == format!("/{name}")).then(|| Handled::text("handled").into());
            async move { Ok(handled) }
        })
        .context_providers(note!("context", Vec::new()))
        .before_tool_call(note!("before_tool", ToolGate::Allow))
        .after_tool_call(note!("after_tool", None))
        .on_turn_persisted(note!("on_turn_persisted", ()))
        .on_request_end(note!("on_request_end", ()))
}

/// Lines of one hook in a row become one line.
fn told(log: &Log) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in log.take() {
        let (hook, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match lines.last_mut() {
            Some(last) if last.split(' ').next() == Some(hook) => *last += &format!(" {rest}"),
            _ => lines.push(line),
        }
    }
    lines.join("\n")
}

/// The same hooks in both APIs, blocking and streaming; what differs is whether the turn is stored.
async fn check(replies: &[ScriptedReply], text: &str, answer: &str, expected: Expect) {
    for (path, stream) in [
        ("/chat/completions", false),
        ("/chat/completions", true),
        ("/responses", false),
        ("/responses", true),
    ] {
        let log = Log::new();
        let read = ScriptedTool::new("read")
            .offering(&["read"])
            .execute_tool(|_, _| Ok(ToolReport::ok("page")));
        let scene = Scene::of(replies.to_vec())
            .tool(read)
            .host(recorder("a", 0, &log))
            .host(recorder("b", 10, &log));
        let client = scene.start().await;
        let body = json!({
            "model": "helper", "stream": stream, "input": text,
            "messages": [{ "role": "user", "content": text }],
        });
        let heard = match stream {
            true => {
                let events = client.stream(path, body).await.rest().await;
                events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
            }
            false => client.post(path, body).await.to_string(),
        };
        assert!(heard.contains(answer), "{heard}");
        while log.count("on_request_end a") == 0 {
            tokio::task::yield_now().await;
        }
        let told = told(&log);
        let is_stored = path == "/responses" && !text.starts_with('/');
        assert_eq!(told.contains("on_turn_persisted b a\non_request_end"), is_stored, "{told}");
        expected.assert_eq(&told.replace("on_turn_persisted b a\n", ""));
    }
}

#[tokio::test] // L-01, L-09, L-10, L-16, L-17, L-18, L-23
async fn a_plain_request() {
    let expected = expect![[r#"
        on_request_start b a
        intercept b a
        context b a
        on_request_end b a"#]];
    check(&[ScriptedReply::text(&["ok"])], "hi", "ok", expected).await;
}

#[tokio::test] // L-10, L-17
async fn a_request_that_a_plugin_answers() {
    let expected = expect![[r#"
        on_request_start b a
        intercept b a
        on_request_end b a"#]];
    check(&[], "/a", "handled", expected).await;
}

#[tokio::test] // L-10, L-18
async fn a_request_with_a_tool() {
    let replies =
        [ScriptedReply::calls(&[("c", "read", json!({}))]), ScriptedReply::text(&["done"])];
    let expected = expect![[r#"
        on_request_start b a
        intercept b a
        context b a
        before_tool b a
        after_tool b a
        context b a
        on_request_end b a"#]];
    check(&replies, "go", "done", expected).await;
}
