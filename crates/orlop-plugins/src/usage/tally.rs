//! Numbers: what one model call took, sums of them, and what they cost by a configured price.

use orlop_core::{Context, Map, Value, configured_cost};
use serde::{Deserialize, Serialize};

/// Sums of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tally {
    /// How many there were.
    pub(super) requests: u64,
    /// Tokens read, cached ones included.
    pub(super) input_tokens: u64,
    /// Tokens written.
    pub(super) output_tokens: u64,
    /// Tokens read from a cache.
    pub(super) cache_read_tokens: u64,
    /// US dollars.
    pub(super) cost: f64,
    /// How many calls have no known price.
    pub(super) unpriced: u64,
    /// How many calls the server told no token counts of.
    pub(super) uncounted: u64,
}

impl Tally {
    /// What an answer of `model` took.
    pub(super) fn of(usage: &Map, model: &str, cx: &Context) -> Self {
        let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let cost = cost(usage, model, cx);
        Self {
            requests: 1,
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            cache_read_tokens: count("cache_read_tokens"),
            cost: cost.unwrap_or(0.0),
            unpriced: u64::from(cost.is_none()),
            uncounted: 0,
        }
    }

    /// An answer that nobody counted the tokens of.
    pub(super) fn unknown() -> Self {
        Self { requests: 1, unpriced: 1, uncounted: 1, ..Self::default() }
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.requests += more.requests;
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
        self.cache_read_tokens += more.cache_read_tokens;
        self.cost += more.cost;
        self.unpriced += more.unpriced;
        self.uncounted += more.uncounted;
    }

    pub(super) fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

/// What an answer cost: by the configured price, else by what the provider knows.
pub(super) fn cost(usage: &Map, model: &str, cx: &Context) -> Option<f64> {
    cx.cost(model, usage)
}

/// What the answers of a request cost so far: by the configured price, else as the request counted
/// it itself, if it could.
pub(crate) fn cost_so_far(usage: &Map, cx: &Context) -> Option<f64> {
    let counted = || usage.get("cost").and_then(Value::as_f64);
    configured_cost(cx.config(), usage).or_else(counted)
}
