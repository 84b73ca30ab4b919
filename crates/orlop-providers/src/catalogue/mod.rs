//! What is publicly known about models: how much they read and write, what they can do, what they
//! cost. The list is a file of this crate; what a server says of its models goes before it.

mod entry;
mod said;

pub use entry::{Entry, LongPrice, Price};
pub use said::describe;

use crate::wire::Usage;
use serde::Deserialize;
use std::sync::LazyLock;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    looked_up: String,
    models: Vec<Entry>,
}

/// Read once, on first use. A test reads it, too, so that it cannot be broken.
static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| toml::from_str(include_str!("models.toml")).unwrap_or_default());

/// The day on which the prices were looked up.
pub fn looked_up() -> &'static str {
    &CATALOGUE.looked_up
}

/// What is known of a model. The vendor before its name may be left out, and may be there.
///
/// ```
/// use orlop_providers::catalogue::find;
/// let mini = find("gpt-5-mini-2025-08-07").unwrap();
/// assert_eq!((mini.id.as_str(), mini.context_window), ("gpt-5-mini", Some(400_000)));
/// assert_eq!(find("anthropic/claude-opus-4.5"), find("claude-opus-4-5-20251101"));
/// assert!(find("gpt-5.99").is_none());
/// ```
pub fn find(model: &str) -> Option<&'static Entry> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let fits = |name: &str| {
        let fitting = CATALOGUE.models.iter().filter(|entry| entry.fits(name));
        fitting.max_by_key(|entry| entry.id.len())
    };
    // Some hosts write versions with dots where the vendor has dashes.
    fits(name).or_else(|| fits(&name.replace('.', "-")))
}

/// What an answer cost in US dollars, by the listed prices; `None` if none are known.
///
/// ```
/// use orlop_providers::catalogue::cost;
/// use orlop_providers::wire::Usage;
/// let usage = Usage { input: 1_000_000, output: 100_000, cache_read: Some(800_000), ..Usage::default() };
/// let dollars = cost(&usage, "gpt-5").unwrap();
/// assert!((dollars - (0.2 * 1.25 + 0.8 * 0.125 + 0.1 * 10.0)).abs() < 1e-9);
/// ```
pub fn cost(usage: &Usage, model: &str) -> Option<f64> {
    Some(find(model)?.price_of(usage)?.of(usage))
}

/// What a wire takes every model to be able to do, and what is true of some of them only.
const OF_MODELS: [&str; 5] = ["vision", "images", "tools", "reasoning", "json_schema"];

/// The tags of a model behind a wire with these tags: where the model is known its own, else those
/// of the wire.
pub(crate) fn tags(model: &str, of_wire: &[&str]) -> Vec<String> {
    let Some(entry) = find(model) else {
        return of_wire.iter().map(|tag| (*tag).to_owned()).collect();
    };
    let has = |tag: &str| entry.tags.iter().any(|held| held == tag);
    let of_wire = of_wire.iter().filter(|tag| match **tag {
        "images" => has("vision"),
        tag => !OF_MODELS.contains(&tag),
    });
    of_wire.map(|tag| (*tag).to_owned()).chain(entry.tags.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
