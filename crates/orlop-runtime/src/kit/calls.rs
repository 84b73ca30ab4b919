//! The hook calls of a recording: each with what the plugin asked meanwhile, the parts it gave and
//! how it ended.

use super::recording::Line;
use crate::tap::Way;
use orlop_core::Value;
use serde_json::json;

/// One call of a hook.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedCall {
    pub(super) id: u64,
    pub(super) process: u64,
    /// The line that began it.
    pub(super) line: Value,
    /// Whether the host stopped waiting for it.
    pub(super) cancelled: bool,
    pub(super) asked: Vec<Asked>,
    pub(super) outcome: Outcome,
}

/// Something that the plugin asked of the host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) id: Value,
    pub(super) what: Value,
    /// What came on the way to the answer.
    pub(super) parts: Vec<Value>,
    /// `result` or `error`; nothing if the host did not answer in time.
    pub(super) answer: Option<(String, Value)>,
}

/// What a call gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) parts: Vec<Value>,
    /// `result` or `error`; nothing if it never answered.
    pub(super) end: Option<(String, Value)>,
}

/// `result` or `error` of an answer.
pub(super) fn end_of(line: &Value) -> (String, Value) {
    match line.get("error") {
        Some(error) if !error.is_null() => ("error".to_owned(), error.clone()),
        _ => ("result".to_owned(), line.get("result").cloned().unwrap_or_default()),
    }
}

/// What a request of a plugin asks for, without what is only good for one process.
pub(super) fn what_is_asked(line: &Value) -> Value {
    let params = line.get("params").cloned().unwrap_or_default();
    let mut what = json!({
        "method": line.get("method"), "args": params.get("args").cloned().unwrap_or(json!({})),
    });
    if let Some(agent) = params.get("agent").filter(|agent| !agent.is_null()) {
        what["agent"] = agent.clone();
    }
    what
}

impl RecordedCall {
    /// `plugin.hook`.
    pub(super) fn title(&self) -> String {
        let text = |key: &str| {
            self.line["params"].get(key).and_then(Value::as_str).unwrap_or("?").to_owned()
        };
        let action = self.line["params"]["args"].get("action_id").and_then(Value::as_str);
        let action = action.map(|action| format!(" {action}")).unwrap_or_default();
        format!("{}.{}{action}", text("plugin"), text("hook"))
    }

    /// The call as text that people compare.
    pub(super) fn shown(&self) -> String {
        let mut shown = json!({});
        if !self.asked.is_empty() {
            shown["asked"] = self.asked.iter().map(|asked| asked.what.clone()).collect();
        }
        if !self.outcome.parts.is_empty() {
            shown["parts"] = self.outcome.parts.clone().into();
        }
        if let Some((kind, value)) = &self.outcome.end {
            shown[kind] = value.clone();
        }
        let text = serde_json::to_string_pretty(&shown).unwrap_or_default();
        format!("{text}\n")
    }
}

fn find(calls: &mut [RecordedCall], process: u64, id: u64) -> Option<&mut RecordedCall> {
    calls.iter_mut().find(|call| call.process == process && call.id == id)
}

/// The calls of a package, in the order in which they began.
pub(super) fn calls_of(lines: &[Line], package: &str) -> Vec<RecordedCall> {
    let mut calls: Vec<RecordedCall> = Vec::new();
    for Line { process, to, line, .. } in lines.iter().filter(|line| line.package == package) {
        let method = line.get("method").and_then(Value::as_str);
        let about = line["params"].get("call").and_then(Value::as_u64);
        let same = |call: &&mut RecordedCall| call.process == *process;
        match (to, method) {
            (Way::Plugin, Some("hook")) => {
                let id = line.get("id").and_then(Value::as_u64).unwrap_or_default();
                calls.push(RecordedCall {
                    id,
                    process: *process,
                    line: line.clone(),
                    ..RecordedCall::default()
                });
            }
            (Way::Plugin, Some("cancel")) => {
                if let Some(call) = about.and_then(|id| find(&mut calls, *process, id)) {
                    call.cancelled = true;
                }
            }
            (Way::Plugin, Some("part")) => {
                let asked = calls.iter_mut().filter(same).flat_map(|call| &mut call.asked);
                let about = line["params"].get("request");
                if let Some(asked) = asked.rev().find(|asked| Some(&asked.id) == about) {
                    asked.parts.push(line["params"]["value"].clone());
                }
            }
            (Way::Plugin, None) => {
                let asked = calls.iter_mut().filter(same).flat_map(|call| &mut call.asked);
                let mut waiting = asked.filter(|asked| asked.answer.is_none());
                if let Some(asked) = waiting.find(|asked| Some(&asked.id) == line.get("id")) {
                    asked.answer = Some(end_of(line));
                }
            }
            (Way::Host, Some("part" | "tool.part")) => {
                if let Some(call) = about.and_then(|id| find(&mut calls, *process, id)) {
                    call.outcome.parts.push(line["params"]["value"].clone());
                }
            }
            (Way::Host, Some(_)) => {
                if let (Some(id), Some(call)) =
                    (line.get("id"), about.and_then(|id| find(&mut calls, *process, id)))
                {
                    let what = what_is_asked(line);
                    call.asked.push(Asked {
                        id: id.clone(),
                        what,
                        parts: Vec::new(),
                        answer: None,
                    });
                }
            }
            (Way::Host, None) => {
                let id = line.get("id").and_then(Value::as_u64);
                if let Some(call) = id.and_then(|id| find(&mut calls, *process, id)) {
                    call.outcome.end = Some(end_of(line));
                }
            }
            (Way::Plugin | Way::Log | Way::End, _) => {}
        }
    }
    calls
}
