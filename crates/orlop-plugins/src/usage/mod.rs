//! Usage: tokens and cost of every model call, by turn, session, day, agent, model and plugin, and
//! budgets that end a request before the call that nobody wanted to pay for.
//!
//! The feature counts, whoever makes the call; the application plugin shows what was counted and
//! keeps requests within their budgets.

mod application;
mod budget;
mod feature;
mod ledger;
mod report;
mod tally;

pub use application::UsageReport;
pub use feature::Usage;
pub(crate) use tally::cost_so_far;

use orlop_core::Manifest;
use serde_json::json;

/// The name of both plugins, of their section and of what they keep.
const NAME: &str = "usage";

/// Describes the settings.
fn described(manifest: Manifest) -> Manifest {
    let dollars = |what: &str| json!({ "type": "number", "minimum": 0, "description": format!("What {what} may cost, in US dollars.") });
    let tokens = |what: &str| json!({ "type": "integer", "minimum": 0, "description": format!("How many tokens {what} may read and write.") });
    let price = json!({
        "type": "object",
        "description": "US dollars for a million tokens, where no price is known or another one holds.",
        "additionalProperties": false,
        "required": ["input", "output"],
        "properties": {
            "input": { "type": "number", "minimum": 0, "description": "Read." },
            "output": { "type": "number", "minimum": 0, "description": "Written." },
            "cache_read": { "type": "number", "minimum": 0, "description": "Read from a cache." },
            "cache_write": { "type": "number", "minimum": 0, "description": "Read and written to a cache." },
        },
    });
    manifest
        .config("usage.max_cost_per_turn", dollars("a request"))
        .config("usage.max_cost_per_session", dollars("a session"))
        .config("usage.max_cost_per_day", dollars("a day of a user (UTC)"))
        .config("usage.max_tokens_per_turn", tokens("a request"))
        .config("usage.max_tokens_per_session", tokens("a session"))
        .config("usage.max_tokens_per_day", tokens("a day of a user (UTC)"))
        .config("usage.price", price)
}
