//! What answers cost by the price in the configuration: `usage.price`, in US dollars for a million
//! tokens. It counts more than what a provider knows.

use crate::config::Config;
use orlop_types::{Map, Value};

/// What these token counts cost by the configured price; `None` without one.
pub fn configured_cost(config: &Config, usage: &Map) -> Option<f64> {
    let price = config.get("usage")?.get("price")?;
    let dollars = |key: &str| price.get(key).and_then(Value::as_f64);
    let (input, output) = (dollars("input")?, dollars("output")?);
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (read, written) = (count("cache_read_tokens"), count("cache_write_tokens"));
    let fresh = count("input_tokens").saturating_sub(read).saturating_sub(written);
    let sum = fresh as f64 * input
        + read as f64 * dollars("cache_read").unwrap_or(input)
        + written as f64 * dollars("cache_write").unwrap_or(input)
        + count("output_tokens") as f64 * output;
    Some(sum / 1_000_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configured_price_counts_cached_tokens_apart() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let usage = map(json!({
            "input_tokens": 1_000_000, "output_tokens": 100_000, "cache_read_tokens": 500_000,
            "cache_write_tokens": 100_000,
        }));
        let priced = |price: Value| {
            configured_cost(&Config::new(map(json!({ "usage": { "price": price } }))), &usage)
        };
        assert_eq!(priced(json!({ "input": 1, "output": 10 })), Some(2.0));
        assert_eq!(
            priced(json!({ "input": 1, "output": 10, "cache_read": 0.1, "cache_write": 2 })),
            Some(0.4 + 0.05 + 0.2 + 1.0)
        );
        assert_eq!(priced(json!({ "input": 1 })), None);
    }
}
