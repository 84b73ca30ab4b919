//! What hooks of plugins did in this process: how often they ran, how long, and how they failed.

use orlop_app::now;
use orlop_core::Error;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// How many failures of a plugin are remembered in words, and how long those are.
const REMEMBERED: usize = 5;
const MAX_MESSAGE: usize = 500;

/// By plugin.
#[derive(Default)]
pub(crate) struct PluginNumbers(BTreeMap<String, OfPlugin>);

#[derive(Default)]
struct OfPlugin {
    hooks: BTreeMap<String, OfHook>,
    errors: VecDeque<PluginError>,
}

#[derive(Default, Clone, Copy)]
struct OfHook {
    calls: u64,
    errors: u64,
    micros: u64,
}

/// What a hook of a plugin did since the server began.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct HookNumbers {
    /// The hook.
    pub(crate) hook: String,
    /// How often it ran in requests.
    pub(crate) calls: u64,
    /// How often it failed, also outside of requests.
    pub(crate) errors: u64,
    /// How long it ran in all, in seconds.
    pub(crate) seconds: f64,
}

/// A failure of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct PluginError {
    /// The hook.
    pub(crate) hook: String,
    /// When, RFC 3339.
    pub(crate) at: String,
    /// What went wrong.
    pub(crate) message: String,
}

impl PluginNumbers {
    /// A hook failed.
    pub(crate) fn failed(&mut self, plugin: &str, hook: &str, error: &Error) {
        let of = self.0.entry(plugin.to_owned()).or_default();
        of.hooks.entry(hook.to_owned()).or_default().errors += 1;
        if of.errors.len() == REMEMBERED {
            of.errors.pop_front();
        }
        let message = error.message().chars().take(MAX_MESSAGE).collect();
        of.errors.push_back(PluginError { hook: hook.to_owned(), at: now(), message });
    }

    /// A hook ran so often, for so many microseconds.
    pub(crate) fn ran(&mut self, plugin: &str, hook: &str, calls: u64, micros: u64) {
        // They are known but for the first time, and looked up without a copy of their names.
        let known = self.0.get_mut(plugin).and_then(|of| of.hooks.get_mut(hook));
        let of = match known {
            Some(of) => of,
            None => {
                let of = self.0.entry(plugin.to_owned()).or_default();
                of.hooks.entry(hook.to_owned()).or_default()
            }
        };
        of.calls += calls;
        of.micros += micros;
    }

    /// What a plugin's hooks did, and its last failures, the newest first.
    pub(crate) fn of(&self, plugin: &str) -> (Vec<HookNumbers>, Vec<PluginError>) {
        let Some(of) = self.0.get(plugin) else { return Default::default() };
        let hooks = of.hooks.iter().map(|(hook, of)| of.numbers(hook));
        (hooks.collect(), of.errors.iter().rev().cloned().collect())
    }

    /// All hooks of all plugins.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, HookNumbers)> {
        self.0.iter().flat_map(|(plugin, of)| {
            of.hooks.iter().map(move |(hook, of)| (plugin.as_str(), of.numbers(hook)))
        })
    }
}

impl OfHook {
    fn numbers(&self, hook: &str) -> HookNumbers {
        HookNumbers {
            hook: hook.to_owned(),
            calls: self.calls,
            errors: self.errors,
            seconds: self.micros as f64 / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failures_are_remembered_in_words() {
        let mut numbers = PluginNumbers::default();
        for n in 0..7 {
            numbers.failed("p", "start", &Error::plugin(format!("{n}{}", "x".repeat(1_000))));
        }
        numbers.ran("p", "start", 1, 1_500);
        let (hooks, errors) = numbers.of("p");
        let of = HookNumbers { hook: "start".to_owned(), calls: 1, errors: 7, seconds: 0.0015 };
        assert_eq!(hooks, [of]);
        let first = |error: &PluginError| error.message.chars().next();
        assert_eq!(errors.iter().filter_map(first).collect::<String>(), "65432");
        assert!(errors.iter().all(|error| error.message.len() == MAX_MESSAGE));
        assert_eq!(numbers.of("q"), Default::default());
    }
}
