//! Descriptors of models: what the server says, under common names, and the catalogue beneath it.

use super::find;
use orlop_core::{Map, Value};
use serde_json::json;

/// How servers name the context window, and the longest answer.
const CONTEXT: [&str; 4] =
    ["context_length", "max_model_len", "max_context_length", "inputTokenLimit"];
const OUTPUT: [&str; 2] = ["max_completion_tokens", "outputTokenLimit"];

/// Adds `context_window`, `max_output_tokens`, `price` and `tags` to the descriptor of a model,
/// where they are known and the server does not give them.
pub fn describe(model: &mut Map) {
    let entry = model.get("id").and_then(Value::as_str).and_then(find);
    let number = |model: &Map, keys: &[&str]| {
        keys.iter().find_map(|key| model.get(*key).filter(|value| value.is_u64()).cloned())
    };
    let context = number(model, &CONTEXT)
        .or_else(|| entry.and_then(|entry| Some(entry.context_window?.into())));
    let output = number(model, &OUTPUT)
        .or_else(|| entry.and_then(|entry| Some(entry.max_output_tokens?.into())));
    let price = price_said(model)
        .or_else(|| entry.and_then(|entry| serde_json::to_value(entry.price?).ok()));
    let tags = entry.map(|entry| json!(entry.tags));
    let known = [
        ("context_window", context),
        ("max_output_tokens", output),
        ("price", price),
        ("tags", tags),
    ];
    for (key, value) in known {
        if let Some(value) = value
            && model.get(key).is_none_or(Value::is_null)
        {
            model.insert(key.to_owned(), value);
        }
    }
}

/// Routers give dollars for one token, as text: `{"pricing": {"prompt": "0.00000125", ...}}`.
fn price_said(model: &Map) -> Option<Value> {
    let pricing = model.get("pricing")?;
    let million = |key: &str| {
        let price: f64 = pricing.get(key)?.as_str()?.parse().ok()?;
        // Fractions of a hundred-millionth are no price but the way doubles multiply.
        (price >= 0.0).then(|| (price * 1e6 * 1e8).round() / 1e8)
    };
    let mut price = json!({ "input": million("prompt")?, "output": million("completion")? });
    for (key, name) in [("input_cache_read", "cache_read"), ("input_cache_write", "cache_write")] {
        if let Some(value) = million(key) {
            price[name] = value.into();
        }
    }
    Some(price)
}
