//! What plugins do, as it happens, in lines for people: every call of a hook with how long it took
//! and what it changed, what the plugin asked meanwhile, what it logged.

use super::calls::end_of;
use super::changes::changes;
use crate::tap::{Crossed, Tap, Way};
use orlop_core::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// When a call that says nothing is told of, once.
const LONG: Duration = Duration::from_secs(2);
/// How often it is looked for such calls.
const PACE: Duration = Duration::from_millis(250);

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
    /// Whether it was said that it takes long.
    is_told: bool,
}

impl CallLog {
    /// Prints what the package does.
    pub fn tap(package: &str, print: impl Fn(&str) + Send + Sync + 'static) -> Tap {
        let (print, open) = (Box::new(print), Mutex::default());
        let log = Arc::new(Self { package: package.to_owned(), print, open });
        let watched = Arc::downgrade(&log);
        // Without it nothing is said of calls that take long, and all else is.
        let _ = std::thread::Builder::new().name("call log".to_owned()).spawn(|| watch(watched));
        Arc::new(move |crossed: Crossed<'_>| log.hear(crossed))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of calls that have taken long by now.
    fn look(&self, now: Instant) {
        let late = self.open().late(now);
        late.iter().for_each(|text| (self.print)(text));
    }

    fn hear(&self, crossed: Crossed<'_>) {
        if crossed.package != self.package {
            return;
        }
        if crossed.way == Way::Log {
            (self.print)(&format!("  | {}", String::from_utf8_lossy(crossed.line)));
            return;
        }
        if crossed.way == Way::End {
            let ended = self.open().ended(crossed.process);
            ended.iter().for_each(|text| (self.print)(text));
            return;
        }
        let Ok(line) = serde_json::from_slice::<Value>(crossed.line) else { return };
        let mut open = self.open();
        let text = match crossed.way {
            Way::Plugin => open.told(crossed.process, &line),
            Way::Host | Way::Log | Way::End => open.said(crossed.process, &line),
        };
        drop(open);
        if let Some(text) = text {
            (self.print)(&text);
        }
    }
}

/// Looks for calls that take long, as long as anybody listens.
fn watch(log: Weak<CallLog>) {
    loop {
        std::thread::sleep(PACE);
        let Some(log) = log.upgrade() else { return };
        log.look(Instant::now());
    }
}

impl Open {
    /// The calls that a process was in when it ended, in the order in which they began.
    fn ended(&mut self, process: u64) -> Vec<String> {
        self.asked.retain(|(held, _), _| *held != process);
        let mut own: Vec<u64> =
            self.calls.keys().filter(|(held, _)| *held == process).map(|(_, id)| *id).collect();
        own.sort_unstable();
        let calls = own.into_iter().filter_map(|id| self.calls.remove(&(process, id)));
        calls.map(|call| format!("{}  the process ended in the middle", call.head())).collect()
    }

    /// The calls that have taken long by now and said nothing, once each.
    fn late(&mut self, now: Instant) -> Vec<String> {
        let is_late = |call: &&mut Call| {
            !call.is_told && call.parts == 0 && now.saturating_duration_since(call.at) >= LONG
        };
        let mut late: Vec<&mut Call> = self.calls.values_mut().filter(is_late).collect();
        late.sort_by_key(|call| call.at);
        let tell = |call: &mut Call| {
            call.is_told = true;
            format!("{}  still running, {} s", call.title, LONG.as_secs())
        };
        late.into_iter().map(tell).collect()
    }

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
                let call =
                    Call { title, is_chunk, args, parts: 0, at: Instant::now(), is_told: false };
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
    /// What it is, and what it took until now.
    fn head(&self) -> String {
        format!("{}  {:.1} ms", self.title, self.at.elapsed().as_secs_f64() * 1000.0)
    }

    fn ended(self, (kind, value): (String, Value)) -> Option<String> {
        let head = self.head();
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_that_hangs_is_told_of_once_and_one_that_dies_with_its_process_too() {
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = said.clone();
        let print = Box::new(move |text: &str| heard.lock().unwrap().push(text.to_owned()));
        let log = CallLog { package: "p".to_owned(), print, open: Mutex::default() };
        let hear = |process, way, line: Value| {
            let line = line.to_string();
            log.hear(Crossed { package: "p", process, way, line: line.as_bytes() });
        };
        let hook = |id: u64, hook: &str| json!({"id": id, "method": "hook", "params": {"plugin": "p", "hook": hook, "args": {}}});
        hear(1, Way::Plugin, hook(1, "get_tags"));
        hear(1, Way::Plugin, hook(2, "finalize"));
        hear(2, Way::Plugin, hook(1, "get_tags"));
        log.look(Instant::now());
        assert_eq!(said.lock().unwrap().len(), 0, "they have just begun");
        let later = Instant::now() + LONG;
        log.look(later);
        log.look(later + LONG);
        let told = std::mem::take(&mut *said.lock().unwrap());
        let running = ["p.get_tags", "p.finalize", "p.get_tags"];
        assert_eq!(told, running.map(|it| format!("{it}  still running, 2 s")));
        hear(1, Way::End, json!("gone"));
        hear(1, Way::End, json!("gone"));
        let told = said.lock().unwrap().clone();
        let told: Vec<&str> = told.iter().map(|it| it.split("  ").next().unwrap()).collect();
        assert_eq!(told, ["p.get_tags", "p.finalize"]);
        assert!(said.lock().unwrap()[0].ends_with("  the process ended in the middle"));
    }
}
