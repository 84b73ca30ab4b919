//! Host plugins that write down which of their hooks ran, and a scene with three of them.

use super::{Scene, at, echo};
use orlop_core::hooks::{Handled, ToolGate};
use orlop_core::*;
use orlop_testkit::scripted::*;

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
