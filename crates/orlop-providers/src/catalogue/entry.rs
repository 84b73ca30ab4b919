//! One model of the catalogue, or a family.

use crate::wire::Usage;
use serde::{Deserialize, Serialize};

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name, without vendor and date; of a family what its names begin with, and a star.
    pub id: String,
    /// How many tokens fit into a request and its answer.
    pub context_window: Option<u64>,
    /// The longest answer, in tokens.
    pub max_output_tokens: Option<u64>,
    /// What it costs.
    pub price: Option<Price>,
    /// What long requests cost.
    pub long: Option<LongPrice>,
    /// What it can do: `vision`, `tools`, `reasoning`, `json_schema`.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Read and written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// The price of requests that read more than so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct LongPrice {
    /// So many.
    pub above: u64,
    /// The price of all their tokens.
    #[serde(flatten)]
    pub price: Price,
}

impl Entry {
    /// Whether `name` is this model, in some version.
    pub(super) fn fits(&self, name: &str) -> bool {
        match self.id.strip_suffix('*') {
            Some(family) => name.starts_with(family),
            None => name.strip_prefix(self.id.as_str()).is_some_and(is_version),
        }
    }

    /// The price that counts for these tokens.
    pub(super) fn price_of(&self, usage: &Usage) -> Option<&Price> {
        match &self.long {
            Some(long) if usage.input > long.above => Some(&long.price),
            _ => self.price.as_ref(),
        }
    }
}

/// What may follow a name without making it another model: nothing, a date, a size or a host's
/// mark. A single number may be the next model (`claude-opus-4-9`).
fn is_version(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('-') else {
        return rest.is_empty() || rest.starts_with([':', '@']);
    };
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    let is_date = digits >= 4 && rest.chars().all(|c| c.is_ascii_digit() || c == '-');
    is_date || rest == "latest" || rest.starts_with("preview")
}

impl Price {
    /// What these tokens cost.
    pub(super) fn of(&self, usage: &Usage) -> f64 {
        let (read, written) =
            (usage.cache_read.unwrap_or_default(), usage.cache_write.unwrap_or_default());
        let fresh = usage.input.saturating_sub(read).saturating_sub(written);
        let part = |tokens: u64, price: f64| tokens as f64 * price;
        let sum = part(fresh, self.input)
            + part(read, self.cache_read.unwrap_or(self.input))
            + part(written, self.cache_write.unwrap_or(self.input))
            + part(usage.output, self.output);
        sum / 1_000_000.0
    }
}
