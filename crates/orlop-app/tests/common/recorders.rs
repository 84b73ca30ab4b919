//! Host plugins that write down which of their hooks ran, and a scene with three of them.

use super::{Scene, at, echo};
use orlop_core::hooks::{Handled, ToolGate};
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;

/// The manifest of a host plugin.
pub fn manifest(name: &str, priority: i64) -> Manifest {
    Manifest::host(name, "1.0.0").priority(priority)
}

/// A plugin that logs every hook it is asked, as `hook name`.
pub fn recorder(name: &'static str, priority: i64, log: &Log) -> ScriptedHost {
    recording(ScriptedHost::with_manifest(manifest(name, priority)), name, log)
}

pub fn recording(host: ScriptedHost, name: &'static str, log: &Log) -> ScriptedHost {
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
    host.start(note!("start", ()))
        .stop(note!("stop", ()))
        .on_request_start(note!("on_request_start", ()))
        .intercept_chat_request(move |input, _| {
            heard.add(format!("intercept {name}"));
            let handled =
                (input.text == format!("/{name}")).then(|| Handled::text("handled").into());
            async move { Ok(handled) }
        })
        .attachment_handler(note!("attachments", String::new()))
        .context_providers(note!("context", Vec::new()))
        .before_tool_call(note!("before_tool", ToolGate::Allow))
        .after_tool_call(note!("after_tool", None))
        .on_turn_persisted(note!("on_turn_persisted", ()))
        .on_request_end(note!("on_request_end", ()))
}

/// Lines of one hook in a row become one line.
pub fn told(log: &Log) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in log.take() {
        let (hook, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match lines.last_mut() {
            Some(last) if !rest.is_empty() && last.split(' ').next() == Some(hook) => {
                *last += &format!(" {rest}");
            }
            _ => lines.push(line),
        }
    }
    lines.join("\n")
}

/// Three recording plugins in a scene whose provider and lifecycles log too.
pub fn three(log: &Log) -> Scene {
    let provider = {
        let log = log.clone();
        ScriptedFeature::new("watch").initialize_request(move |_, _| {
            log.add("model");
            Ok(orlop_core::hooks::RequestChange::default())
        })
    };
    let inside = log.clone();
    let lifecycles = ScriptedApplication::new("inside")
        .actions(vec![at("request_prepare"), at("request_complete"), at("request_error")])
        .execute_action(move |input, _| {
            inside.add(format!("lifecycle {}", input.action_id));
            async { Ok(ActionResult::default()) }
        });
    Scene::default()
        .feature(provider)
        .application(lifecycles)
        .tool(echo("read"))
        .host(recorder("a", 0, log))
        .host(recorder("b", 0, log))
        .host(recorder("c", 10, log))
}

/// A request, which hooks of three plugins run for it, and how it ends: the same whatever entry it
/// comes in by.
pub struct Row {
    pub what: &'static str,
    pub says: &'static str,
    pub replies: Vec<ScriptedReply>,
    pub hooks: &'static [&'static str],
    /// The last event, or the class of the error that it is refused with.
    pub end: &'static str,
}

impl Row {
    /// A scene for it.
    pub fn scene(&self, log: &Log) -> Scene {
        let scene = three(log);
        for reply in &self.replies {
            scene.provider.reply(reply.clone());
        }
        scene
    }

    /// Checks what ran, and how the request ended. Where nothing is stored, nobody is told so.
    pub fn check(&self, entry: &str, log: &Log, end: &str, is_stored: bool) {
        let wanted = |hook: &&&str| is_stored || !hook.starts_with("on_turn_persisted");
        let wanted: Vec<&str> = self.hooks.iter().filter(wanted).copied().collect();
        let told = told(log);
        // Entries that are closed to wait for the end have told of that, too.
        let told = told.strip_suffix("\nstop b a c").unwrap_or(&told);
        assert_eq!((told, end), (&*wanted.join("\n"), self.end), "{} by {entry}", self.what);
    }
}

/// All of them.
pub fn table() -> Vec<Row> {
    let row = |what, says, replies, hooks, end| Row { what, says, replies, hooks, end };
    vec![
        row(
            "hooks run outside and lifecycles inside",
            "hi",
            vec![ScriptedReply::text(&["ok"])],
            &[
                "on_request_start c a b",
                "intercept c a b",
                "lifecycle request_prepare",
                "context c a b",
                "model",
                "lifecycle request_complete",
                "on_turn_persisted c a b",
                "on_request_end c a b",
            ],
            "final",
        ),
        row(
            "tool calls have hooks of their own, and context is asked before each model call",
            "hi",
            vec![
                ScriptedReply::calls(&[("c1", "read", json!({"n": 1}))]),
                ScriptedReply::text(&["ok"]),
            ],
            &[
                "on_request_start c a b",
                "intercept c a b",
                "lifecycle request_prepare",
                "context c a b",
                "model",
                "before_tool c a b",
                "after_tool c a b",
                "context c a b",
                "model",
                "lifecycle request_complete",
                "on_turn_persisted c a b",
                "on_request_end c a b",
            ],
            "final",
        ),
        row(
            "the first interceptor that answers ends the matter",
            "/a",
            vec![],
            &["on_request_start c a b", "intercept c a", "on_request_end c a b"],
            "final",
        ),
        row(
            "a failed request has the same frame",
            "hi",
            vec![ScriptedReply::default().failing(Error::provider("down"))],
            &[
                "on_request_start c a b",
                "intercept c a b",
                "lifecycle request_prepare",
                "context c a b",
                "model",
                "lifecycle request_error",
                "on_turn_persisted c a b",
                "on_request_end c a b",
            ],
            "request_failed",
        ),
        row(
            "a request that cannot begin ends, too",
            " ",
            vec![],
            &["on_request_start c a b", "intercept c a b", "on_request_end c a b"],
            "bad_argument",
        ),
    ]
}
