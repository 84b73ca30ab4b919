//! Serves a host: reads its lines one after another, and runs each hook on a thread of its own.

use crate::call::Call;
use crate::error::Error;
use crate::link::Link;
use crate::lists::Slots;
use crate::{Hook, Plugin};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PROTOCOL: u64 = 1;
const UNKNOWN: i64 = -32601;
const FAILED: i64 = -32000;

/// Serves the host that started this program until it is done.
pub fn serve(plugins: impl IntoIterator<Item = Plugin>) -> ExitCode {
    serve_on(plugins, std::io::stdin().lock(), std::io::stdout());
    ExitCode::SUCCESS
}

/// The same on other pipes, for tests.
pub fn serve_on(
    plugins: impl IntoIterator<Item = Plugin>,
    input: impl BufRead,
    output: impl Write + Send + 'static,
) {
    let plugins: Vec<Plugin> = plugins.into_iter().collect();
    let mut server = Server {
        plugins: Arc::new(plugins),
        link: Arc::new(Link::new(output)),
        calls: Arc::default(),
        setup: Arc::default(),
        slots: Slots::default(),
        chunk_states: HashMap::new(),
    };
    for line in input.split(b'\n') {
        let Ok(line) = line else { return };
        match serde_json::from_slice(&line) {
            Ok(message @ Value::Object(_)) => {
                if !server.take(message) {
                    return;
                }
            }
            _ if line.iter().all(u8::is_ascii_whitespace) => {}
            _ => eprintln!("orlop: skipped a line that is no message of the protocol"),
        }
    }
}

/// Calls under way: whether each is over, and the id of its request.
type Calls = Mutex<HashMap<u64, (Arc<AtomicBool>, Value)>>;

struct Server {
    plugins: Arc<Vec<Plugin>>,
    link: Arc<Link>,
    calls: Arc<Calls>,
    setup: Arc<Value>,
    slots: Slots,
    /// The state that came with the last chunk, by plugin: it is left out where it is the same.
    chunk_states: HashMap<String, Value>,
}

impl Server {
    /// Takes one message; `false` when it was the last.
    fn take(&mut self, mut message: Value) -> bool {
        let (id, mut params) = (message["id"].take(), message["params"].take());
        match message["method"].as_str() {
            None => self.settle(&id, &mut message),
            Some("initialize") => self.initialize(&id, params),
            Some("hook") => self.hook(id, &mut params),
            Some("cancel") => self.cancel(params["call"].as_u64()),
            Some("part") => self.link.part(params),
            Some("ping") => self.link.answer(&id, &json!({})),
            Some("shutdown") => {
                self.link.answer(&id, &json!({}));
                return false;
            }
            Some(method) if !id.is_null() => {
                let error = Error::new("not_found", format!("there is no method {method}"));
                self.link.refuse(&id, UNKNOWN, &error);
            }
            Some(_) => {}
        }
        true
    }

    fn settle(&mut self, id: &Value, message: &mut Value) {
        let answer = match &message["error"] {
            Value::Null => {
                let mut result = message["result"].take();
                self.slots.receive_answer(&mut result);
                Ok(result)
            }
            error => Err(Error::from_json(error)),
        };
        self.link.settle(id, answer);
    }

    fn initialize(&mut self, id: &Value, params: Value) {
        let spoken = params.get("protocol").and_then(Value::as_u64).unwrap_or(PROTOCOL);
        if spoken != PROTOCOL {
            let text = format!("this program speaks protocol {PROTOCOL}, and not {spoken}");
            return self.link.refuse(id, FAILED, &Error::new("bad_state", text));
        }
        let plugins: Vec<Value> = self.plugins.iter().map(Plugin::described).collect();
        let mut setup = params;
        plugins.iter().for_each(|plugin| add_defaults(&mut setup["config"], plugin));
        self.setup = Arc::new(setup);
        let sdk = format!("rust {}", env!("CARGO_PKG_VERSION"));
        self.link.answer(id, &json!({"protocol": PROTOCOL, "sdk": sdk, "plugins": plugins}));
    }

    fn hook(&mut self, id: Value, params: &mut Value) {
        // Lists first: even a hook that is refused has filled its slots.
        let skipped = self.slots.receive_fields(&mut params["args"]);
        self.slots.receive_fields(&mut params["context"]);
        let (kind, name, hook) = (&params["kind"], &params["plugin"], &params["hook"]);
        let found = self.plugins.iter().position(|held| held.kind == kind && held.name == *name);
        let hook = hook.as_str().unwrap_or_default().to_owned();
        let known = found.filter(|at| self.plugins[*at].hooks.contains_key(&hook));
        let Some(at) = known else {
            let text = format!("there is no hook {hook} of a {kind} plugin {name} here");
            return self.link.refuse(&id, UNKNOWN, &Error::new("not_found", text));
        };
        let mut args = params["args"].take();
        if hook == "process_chunk" {
            self.complete_chunk(at, &mut args);
        }
        let number = params["call"].as_u64().or(id.as_u64()).unwrap_or_default();
        let over = Arc::new(AtomicBool::new(false));
        lock(&self.calls).insert(number, (over.clone(), id.clone()));
        let call = Call {
            id: number,
            context: params["context"].take(),
            skipped,
            setup: self.setup.clone(),
            link: self.link.clone(),
            over,
        };
        let (plugins, calls) = (self.plugins.clone(), self.calls.clone());
        let run = move || {
            let answer = match plugins[at].hooks.get(&hook) {
                Some(answer) => answered(answer, args, &call),
                None => Ok(Value::Null),
            };
            lock(&calls).remove(&call.id);
            // A cancelled call is answered already.
            if call.over.swap(true, Ordering::Relaxed) {
                return;
            }
            match answer {
                Ok(outcome) => call.link.answer(&id, &outcome),
                Err(error) => call.link.refuse(&id, FAILED, &error),
            }
        };
        std::thread::spawn(run);
    }

    fn complete_chunk(&mut self, at: usize, args: &mut Value) {
        let plugin = self.plugins[at].name.clone();
        match &args["input"] {
            Value::Null => {
                args["input"] = self.chunk_states.get(&plugin).cloned().unwrap_or_default();
            }
            state => drop(self.chunk_states.insert(plugin, state.clone())),
        }
    }

    fn cancel(&mut self, call: Option<u64>) {
        let Some(call) = call else { return };
        let Some((over, id)) = lock(&self.calls).remove(&call) else { return };
        if !over.swap(true, Ordering::Relaxed) {
            self.link.refuse(&id, FAILED, &Error::cancelled());
        }
        self.link.give_up(call);
    }
}

/// Adds the defaults of a plugin's settings to the section of its package, where that has none.
fn add_defaults(config: &mut Value, plugin: &Value) {
    let own = format!("{}.", plugin["name"].as_str().unwrap_or_default());
    for (key, descriptor) in plugin["config_schema"].as_object().into_iter().flatten() {
        let Some(default) = descriptor.get("default").filter(|it| !it.is_null()) else { continue };
        let mut place = &mut *config;
        for step in key.strip_prefix(&own).unwrap_or(key).split('.') {
            if !(place.is_object() || place.is_null()) {
                break;
            }
            place = &mut place[step];
        }
        if place.is_null() {
            *place = default.clone();
        }
    }
}

/// Runs a hook; a panic is its failure and nobody else's.
fn answered(hook: &Hook, args: Value, call: &Call) -> Result<Value, Error> {
    catch_unwind(AssertUnwindSafe(|| hook(args, call))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Error::from(format!("it panicked: {}", text.unwrap_or_default())))
    })
}

fn lock(calls: &Calls) -> MutexGuard<'_, HashMap<u64, (Arc<AtomicBool>, Value)>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
