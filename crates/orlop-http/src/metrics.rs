//! Numbers for Prometheus: what happened in this process, counted where it happens.

use crate::plugin_numbers::{HookNumbers, PluginError, PluginNumbers};
use orlop_app::{Application, Event, EventKind, RanIn, Scope, Traced, UnderWay, Watcher};
use orlop_core::{Error, Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Upper bounds of the buckets durations are counted in, in seconds.
const BOUNDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// How many numbers of models are kept apart. Requests may name any model, and what they name must not
/// add up for as long as the server runs.
const MOST_MODELS: usize = 1_000;

/// What is told of each hook of each plugin.
type OfHook = fn(&HookNumbers) -> Option<f64>;
const HOOK_NUMBERS: [(&str, &str, OfHook); 3] = [
    ("orlop_plugin_errors_total", "Hooks of plugins that failed.", |of| {
        (of.errors > 0).then_some(of.errors as f64)
    }),
    ("orlop_hook_calls_total", "Hooks of plugins that ran in requests.", |of| {
        (of.calls > 0).then_some(of.calls as f64)
    }),
    ("orlop_hook_seconds_total", "Seconds that hooks of plugins ran in requests.", |of| {
        (of.calls > 0).then_some(of.seconds)
    }),
];

/// Everything that is counted. Clones count together.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<Numbers>>);

#[derive(Default)]
struct Numbers {
    /// By method, route and status.
    requests: BTreeMap<(&'static str, String, u16), u64>,
    request_seconds: Histogram,
    /// By agent and outcome.
    turns: BTreeMap<(String, &'static str), u64>,
    turn_seconds: Histogram,
    /// By agent, model and kind.
    tokens: BTreeMap<(String, String, String), u64>,
    /// By agent and model, in dollars.
    cost: BTreeMap<(String, String), f64>,
    tool_calls: BTreeMap<String, u64>,
    fallbacks: u64,
    model_seconds: Histogram,
    tool_seconds: Histogram,
    plugins: PluginNumbers,
    /// Turns under way: their agent, and when they began.
    open: HashMap<(Scope, String), (String, Instant)>,
    /// Requests that wait for a busy session.
    queued: u64,
}

#[derive(Default)]
struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        for (bound, bucket) in BOUNDS.iter().zip(&mut self.buckets) {
            *bucket += u64::from(seconds <= *bound);
        }
        self.count += 1;
        self.sum += seconds;
    }

    fn write(&self, name: &str, help: &str, out: &mut String) {
        head(name, help, "histogram", out);
        for (bound, count) in BOUNDS.iter().zip(&self.buckets) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {}", self.sum, self.count);
    }
}

/// One more that waits in a queue, until it is dropped.
pub(crate) struct Queued(Metrics);

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.numbers().queued -= 1;
    }
}

impl Metrics {
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request over HTTP was answered.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let mut numbers = self.numbers();
        let key = (method, route.to_owned(), status);
        *numbers.requests.entry(key).or_default() += 1;
        numbers.request_seconds.add(took);
    }

    /// A request waits for a busy session.
    pub(crate) fn queued(&self) -> Queued {
        self.numbers().queued += 1;
        Queued(self.clone())
    }

    /// What the hooks of a plugin did, and its last failures.
    pub(crate) fn of_plugin(&self, plugin: &str) -> (Vec<HookNumbers>, Vec<PluginError>) {
        self.numbers().plugins.of(plugin)
    }

    /// All numbers in the text format of Prometheus.
    pub(crate) fn text(&self, now: UnderWay, streams: usize, connections: usize) -> String {
        let numbers = self.numbers();
        let mut out = String::new();
        let requests = numbers.requests.iter().map(|((method, route, status), count)| {
            let labels =
                labels(&[("method", method), ("route", route), ("status", &status.to_string())]);
            (labels, *count as f64)
        });
        series("orlop_http_requests_total", "Requests over HTTP.", "counter", requests, &mut out);
        let took = "Seconds until a request was answered, or its stream began.";
        numbers.request_seconds.write("orlop_http_request_seconds", took, &mut out);
        let turns = numbers.turns.iter().map(|((agent, outcome), count)| {
            (labels(&[("agent", agent), ("outcome", outcome)]), *count as f64)
        });
        series("orlop_turns_total", "Turns that ended.", "counter", turns, &mut out);
        numbers.turn_seconds.write("orlop_turn_seconds", "Seconds a turn took.", &mut out);
        let tokens = numbers.tokens.iter().map(|((agent, model, kind), count)| {
            (labels(&[("agent", agent), ("model", model), ("kind", kind)]), *count as f64)
        });
        series("orlop_tokens_total", "Tokens of models.", "counter", tokens, &mut out);
        let cost = numbers.cost.iter().map(|((agent, model), dollars)| {
            (labels(&[("agent", agent), ("model", model)]), *dollars)
        });
        let help = "What turns cost, where the price is known.";
        series("orlop_cost_dollars_total", help, "counter", cost, &mut out);
        let calls = numbers.tool_calls.iter();
        let calls = calls.map(|(tool, count)| (labels(&[("tool", tool)]), *count as f64));
        series("orlop_tool_calls_total", "Tool calls of models.", "counter", calls, &mut out);
        let took = "Seconds a model call took, with its fragments.";
        numbers.model_seconds.write("orlop_model_call_seconds", took, &mut out);
        numbers.tool_seconds.write("orlop_tool_seconds", "Seconds a tool ran.", &mut out);
        for (name, help, number) in HOOK_NUMBERS {
            let values = numbers.plugins.all().filter_map(|(plugin, of)| {
                Some((labels(&[("plugin", plugin), ("hook", &of.hook)]), number(&of)?))
            });
            series(name, help, "counter", values, &mut out);
        }
        let one = |value: f64| [(String::new(), value)].into_iter();
        let fallbacks = one(numbers.fallbacks as f64);
        let help = "Models that could not be asked, so that another was.";
        series("orlop_model_fallbacks_total", help, "counter", fallbacks, &mut out);
        for (name, help, value) in [
            ("orlop_turns_running", "Turns under way in this process.", now.requests),
            ("orlop_leases_held", "Sessions this process holds the lock of.", now.locks),
            (
                "orlop_queue_length",
                "Requests that wait for a busy session.",
                numbers.queued as usize,
            ),
            ("orlop_streams_open", "Event streams that are open.", streams),
            ("orlop_connections_open", "Connections that are open.", connections),
        ] {
            series(name, help, "gauge", one(value as f64), &mut out);
        }
        out
    }
}

impl Watcher for Metrics {
    fn happened(&self, app: &Application, event: &Event) {
        let key = || event.request_id.clone().map(|request| (app.scope().clone(), request));
        let mut numbers = self.numbers();
        let outcome = match &event.kind {
            EventKind::RequestStarted { agent_id, .. } => {
                if let Some(key) = key() {
                    numbers.open.insert(key, (agent_id.clone(), Instant::now()));
                }
                return;
            }
            EventKind::ModelFallback { .. } => {
                numbers.fallbacks += 1;
                return;
            }
            EventKind::Final { .. } => "completed",
            EventKind::RequestFailed { .. } => "failed",
            EventKind::RequestCancelled { .. } => "cancelled",
            _ => return,
        };
        // What another process began is counted, but nobody here knows how long it took.
        let begun = key().and_then(|key| numbers.open.remove(&key));
        let agent = begun.as_ref().map_or("unknown", |(agent, _)| agent).to_owned();
        if let Some((_, at)) = begun {
            numbers.turn_seconds.add(at.elapsed());
        }
        if let EventKind::Final { usage: Some(usage), model, .. } = &event.kind {
            let model = model.as_ref().map(ToString::to_string).unwrap_or_default();
            numbers.spent(&agent, &model, usage);
        }
        *numbers.turns.entry((agent, outcome)).or_default() += 1;
    }

    fn tool_called(&self, tool: Option<&str>) {
        let tool = tool.unwrap_or("unknown").to_owned();
        *self.numbers().tool_calls.entry(tool).or_default() += 1;
    }

    fn hook_failed(&self, plugin: &str, hook: &str, error: &Error) {
        self.numbers().plugins.failed(plugin, hook, error);
    }

    fn ran(&self, _: &RanIn<'_>, trace: &[Traced]) {
        let mut numbers = self.numbers();
        for entry in trace {
            let note = match entry {
                Traced::Hook(hook) => {
                    let (calls, took) = (hook.calls.unwrap_or(1), hook.duration_us);
                    numbers.plugins.ran(&hook.plugin, hook.hook, calls, took);
                    continue;
                }
                Traced::Note(note) => note,
            };
            let took = Duration::from_micros(note.duration_us);
            match note.kind {
                "model_call" => numbers.model_seconds.add(took),
                "tool_call" => numbers.tool_seconds.add(took),
                _ => {}
            }
        }
    }
}

impl Numbers {
    fn spent(&mut self, agent: &str, model: &str, usage: &Map) {
        let is_it = |(of, name, _): &(String, String, String)| of == agent && name == model;
        let is_one_too_many = self.tokens.len() >= MOST_MODELS && !self.tokens.keys().any(is_it);
        let model = if is_one_too_many { "other" } else { model };
        for (kind, value) in usage.iter().filter(|(kind, _)| kind.ends_with("tokens")) {
            let name = (agent.to_owned(), model.to_owned(), kind.clone());
            *self.tokens.entry(name).or_default() += value.as_u64().unwrap_or_default();
        }
        if let Some(dollars) = usage.get("cost").and_then(Value::as_f64) {
            *self.cost.entry((agent.to_owned(), model.to_owned())).or_default() += dollars;
        }
    }
}

fn head(name: &str, help: &str, kind: &str, out: &mut String) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn series(
    name: &str,
    help: &str,
    kind: &str,
    values: impl Iterator<Item = (String, f64)>,
    out: &mut String,
) {
    head(name, help, kind, out);
    for (labels, value) in values {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn models_that_requests_name_do_not_add_up_without_end() {
        let mut numbers = Numbers::default();
        let usage = json!({ "input_tokens": 1, "cost": 0.5 });
        let usage = usage.as_object().unwrap();
        for n in 0..2 * MOST_MODELS {
            numbers.spent("a", &format!("m{n}"), usage);
            numbers.spent("a", "m0", usage);
        }
        assert_eq!((numbers.tokens.len(), numbers.cost.len()), (MOST_MODELS + 1, MOST_MODELS + 1));
        let count = |model: &str| {
            numbers.tokens[&("a".to_owned(), model.to_owned(), "input_tokens".to_owned())]
        };
        assert_eq!(count("m0"), 2 * MOST_MODELS as u64 + 1);
        assert_eq!(count("other"), MOST_MODELS as u64);
    }
}
