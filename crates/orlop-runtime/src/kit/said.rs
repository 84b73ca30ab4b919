//! What plugins do, as it happens, in lines for people: every call of a hook with how long it took
//! and what it changed, what the plugin asked meanwhile, what it logged.

use super::calls::end_of;
use super::changes::changes;
use crate::tap::{Crossed, Tap, Way};
use orlop_core::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Turns what crosses into lines.
pub struct CallLog {
    package: String,
    print: Box<dyn Fn(&str) + Send + Sync>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    calls: HashMap<(u64, u64), Call>,
    /// What plugins asked, by process and id.
    asked: HashMap<(u64, String), String>,
}

struct Call {
    title: String,
    is_chunk: bool,
    args: Value,
    parts: usize,
    at: Instant,
}

impl CallLog {
    /// Prints what the package does.
    pub fn tap(package: &str, print: impl Fn(&str) + Send + Sync + 'static) -> Tap {
        let (print, open) = (Box::new(print), Mutex::default());
        let log = Self { package: package.to_owned(), print, open };
        Arc::new(move |crossed: Crossed<'_>| log.hear(crossed))
    }

    fn hear(&self, crossed: Crossed<'_>) {
        if crossed.package != self.package {
            return;
        }
        if crossed.way == Way::Log {
            (self.print)(&format!("  | {}", String::from_utf8_lossy(crossed.line)));
            return;
        }
        let Ok(line) = serde_json::from_slice::<Value>(crossed.line) else { return };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match crossed.way {
            Way::Plugin => open.told(crossed.process, &line),
            Way::Host | Way::Log => open.said(crossed.process, &line),
        };
        drop(open);
        if let Some(text) = text {
            (self.print)(&text);
        }
    }
}

impl Open {
    /// The host told the plugin something.
    fn told(&mut self, process: u64, line: &Value) -> Option<String> {
        let id = line.get("id");
        match line.get("method").and_then(Value::as_str) {
            Some("hook") => {
                let params = &line["params"];
                let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or("?");
                let (args, hook) = (params["args"].clone(), text("hook"));
                let about = ["action_id", "tool_name"].iter().find_map(|key| args.get(key));
                let about = about.and_then(Value::as_str).map(|about| format!(" {about}"));
                let title = format!("{}.{hook}{}", text("plugin"), about.unwrap_or_default());
                let is_chunk = hook == "process_chunk";
                let call = Call { title, is_chunk, args, parts: 0, at: Instant::now() };
                self.calls.insert((process, id?.as_u64()?), call);
                None
            }
            Some("cancel") => {
                let call = line["params"].get("call")?.as_u64()?;
                let title = &self.calls.get(&(process, call))?.title;
                Some(format!("{title}  cancelled: nobody waits for its answer"))
            }
            Some(_) => None,
            None => {
                let method = self.asked.remove(&(process, id?.to_string()))?;
                Some(match end_of(line) {
                    (kind, error) if kind == "error" => {
                        let why = error.get("message").and_then(Value::as_str);
                        format!("  asked {method}: {}", why.unwrap_or("it failed"))
                    }
                    _ => format!("  asked {method}"),
                })
            }
        }
    }

    /// The plugin said something.
    fn said(&mut self, process: u64, line: &Value) -> Option<String> {
        let about = line["params"].get("call").and_then(Value::as_u64);
        match (line.get("method").and_then(Value::as_str), line.get("id")) {
            (Some("part" | "tool.part"), None) => {
                self.calls.get_mut(&(process, about?))?.parts += 1;
                None
            }
            (Some("log" | "progress"), None) => {
                Some(format!("  | {}", line["params"].get("message")?.as_str()?))
            }
            (Some(method), Some(id)) => {
                self.asked.insert((process, id.to_string()), method.to_owned());
                None
            }
            (None, Some(id)) => {
                let call = self.calls.remove(&(process, id.as_u64()?))?;
                call.ended(end_of(line))
            }
            _ => None,
        }
    }
}

impl Call {
    fn ended(self, (kind, value): (String, Value)) -> Option<String> {
        let took = self.at.elapsed().as_secs_f64() * 1000.0;
        let head = format!("{}  {took:.1} ms", self.title);
        if kind == "error" {
            let why = value.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
            return Some(format!("{head}  failed: {why}"));
        }
        let lines = match self.is_chunk {
            // A chunk comes back whole or not at all.
            true if value.is_null() => return None,
            true => vec![format!("+ {value}")],
            false => changes(&self.args, &value),
        };
        let lines: String = lines.iter().map(|line| format!("\n    {line}")).collect();
        Some(match (self.parts, lines.is_empty()) {
            (0, true) => format!("{head}  no change"),
            (0, false) => format!("{head}{lines}"),
            (parts, _) => format!("{head}  {parts} parts{lines}"),
        })
    }
}
