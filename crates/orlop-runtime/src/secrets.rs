//! Secrets of a configuration do not cross to plugins they were not meant for: others get a mask,
//! and where the mask comes back the secret is put in its place again.

use orlop_app::config::{MASK, without_secrets};
use orlop_core::{Config, Map, Value};

/// A configuration for a plugin: secrets are masked but in the sections of these names.
pub(crate) fn masked(config: &Config, own: &[&str]) -> Value {
    let mut values = Value::Object(config.values().clone());
    without_secrets(&mut values);
    if let Value::Object(values) = &mut values {
        for name in own {
            if let Some(section) = config.values().get(*name) {
                values.insert((*name).to_owned(), section.clone());
            }
        }
    }
    values
}

/// What came back as configuration, with masks replaced by what they stand for in `config`. The
/// configuration itself if nothing came back.
pub(crate) fn restored(given: Option<Value>, config: &Config) -> Value {
    match given {
        Some(Value::Object(mut given)) => {
            restore_map(&mut given, config.values());
            Value::Object(given)
        }
        _ => Value::Object(config.values().clone()),
    }
}

/// Puts secrets back into the `config` of a state.
pub(crate) fn restore_state(state: &mut Map, config: &Config) {
    if let Some(Value::Object(given)) = state.get_mut("config") {
        restore_map(given, config.values());
    }
}

fn restore_map(given: &mut Map, original: &Map) {
    for (key, value) in given {
        if let Some(original) = original.get(key) {
            restore(value, original);
        }
    }
}

fn restore(given: &mut Value, original: &Value) {
    match (given, original) {
        (Value::Object(given), Value::Object(original)) => restore_map(given, original),
        (Value::Array(given), Value::Array(original)) => {
            given.iter_mut().zip(original).for_each(|(given, original)| restore(given, original));
        }
        (Value::String(given), Value::String(original)) if given.contains(MASK) => {
            given.clone_from(original);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_masked_on_the_way_out_and_put_back_on_the_way_in() {
        let config = json!({
            "model": "m", "api_key": "k1", "headers": { "X-Org": "k2" },
            "weather": { "token": "k3" }, "news": { "token": "k4" },
        });
        let config = Config::from_json(config).unwrap();
        let sent = masked(&config, &["weather"]);
        assert_eq!(
            sent,
            json!({
                "model": "m", "api_key": "***", "headers": { "X-Org": "***" },
                "weather": { "token": "k3" }, "news": { "token": "***" },
            })
        );
        let mut returned = sent;
        returned["model"] = json!("other");
        let back = restored(Some(returned.clone()), &config);
        assert_eq!((&back["api_key"], &back["model"]), (&json!("k1"), &json!("other")));
        assert_eq!(back["headers"], json!({ "X-Org": "k2" }));
        let mut state = Map::from_iter([("config".to_owned(), returned)]);
        restore_state(&mut state, &config);
        assert_eq!(state["config"]["news"], json!({ "token": "k4" }));
        assert_eq!(restored(None, &config), Value::Object(config.values().clone()));
    }
}
