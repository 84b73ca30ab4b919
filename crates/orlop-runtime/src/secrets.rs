//! Secrets of a configuration do not cross to plugins they were not meant for: others get a mask,
//! and where the mask comes back the secret is put in its place again, unless it would go elsewhere.

use orlop_app::config::{MASK, first_powerful, first_powerful_change, without_secrets};
use orlop_core::hooks::StateChange;
use orlop_core::types::json::merge_patch_map;
use orlop_core::{Config, Error, Map, Result, Session, Value};

/// A configuration for a plugin: secrets are masked but in the sections of these names.
pub(crate) fn masked(config: &Config, own: &[String]) -> Value {
    let mut values = Value::Object(config.values().clone());
    without_secrets(&mut values);
    if let Value::Object(values) = &mut values {
        for name in own {
            if let Some(section) = config.values().get(name) {
                values.insert(name.clone(), section.clone());
            }
        }
    }
    values
}

/// What came back as configuration, with masks replaced by what they stand for in `config`. What it
/// does not mention stays as it is there. A plugin may change how a model answers and what is in its
/// `own` sections; where anything goes, and what may be done, it may not: a key would go along.
pub(crate) fn restored(given: Option<Value>, config: &Config, own: &[String]) -> Result<Value> {
    let Some(Value::Object(mut given)) = given else {
        return Ok(Value::Object(config.values().clone()));
    };
    restore_map(&mut given, config.values());
    for (key, value) in config.values() {
        let only = || Map::from_iter([(key.clone(), value.clone())]);
        if !given.contains_key(key) && first_powerful(&only()).is_some() {
            given.insert(key.clone(), value.clone());
        }
    }
    check(config.values(), &given, own)?;
    Ok(Value::Object(given))
}

/// Puts secrets back into the `config` of what a hook makes of the state, under the same rule.
pub(crate) fn restore_state(
    change: &mut StateChange,
    config: &Config,
    own: &[String],
) -> Result<()> {
    match change {
        StateChange::Keep => {}
        StateChange::Replace(fields) => {
            let given = fields.shift_remove("config");
            fields.insert("config".to_owned(), restored(given, config, own)?);
        }
        StateChange::Patch(fields) => match fields.get_mut("config") {
            Some(Value::Object(patch)) => {
                restore_map(patch, config.values());
                let mut after = config.values().clone();
                merge_patch_map(&mut after, patch);
                check(config.values(), &after, own)?;
            }
            Some(_) => {
                fields.shift_remove("config");
            }
            None => {}
        },
    }
    Ok(())
}

/// Refuses overrides of a request, or of a session beside those it `held`, that change more than how
/// a model answers.
pub(crate) fn check_overrides(given: &Map, held: Option<&Map>, own: &[String]) -> Result<()> {
    let is_own = |key: &str| own.iter().any(|own| key.split('.').next() == Some(own));
    let is_new = |key: &str, value: &Value| held.and_then(|held| held.get(key)) != Some(value);
    let new = given.iter().filter(|(key, value)| is_new(key, value) && !is_own(key));
    let new: Map = new.map(|(key, value)| (key.clone(), value.clone())).collect();
    match first_powerful(&new) {
        Some(setting) => Err(not_its_own(&setting)),
        None => Ok(()),
    }
}

/// The same for the metadata of a session, in which overrides are kept. `whole` metadata leaves out
/// what it does not name; a patch leaves it alone.
pub(crate) fn check_metadata(
    given: &Map,
    held: Option<&Session>,
    whole: bool,
    own: &[String],
) -> Result<()> {
    let held = held.and_then(Session::overrides);
    let mut overrides = match given.get("overrides") {
        Some(Value::Object(overrides)) => overrides.clone(),
        None if !whole => return Ok(()),
        _ => Map::new(),
    };
    // What is laid over the overrides of a session removes none that it does not name.
    if whole || !matches!(given.get("overrides"), Some(Value::Object(_))) {
        for key in held.into_iter().flat_map(Map::keys) {
            overrides.entry(key).or_insert(Value::Null);
        }
    }
    check_overrides(&overrides, held, own)
}

fn check(before: &Map, after: &Map, own: &[String]) -> Result<()> {
    match first_powerful_change(before, after, own) {
        Some(setting) => Err(not_its_own(&setting)),
        None => Ok(()),
    }
}

fn not_its_own(setting: &str) -> Error {
    Error::bad_state(format!(
        "a plugin cannot change the setting \"{setting}\": it says what may be done, or where requests and keys go; set it in the configuration, or use another agent (app.update_agent)"
    ))
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

    fn config() -> Config {
        let config = json!({
            "model": "m", "provider": "p", "base_url": "https://a", "api_key": "k1",
            "headers": { "X-Org": "k2" }, "weather": { "token": "k3" }, "news": { "token": "k4" },
        });
        Config::from_json(config).unwrap()
    }

    fn own() -> [String; 1] {
        ["weather".to_owned()]
    }

    #[test]
    fn secrets_are_masked_on_the_way_out_and_put_back_on_the_way_in() {
        let config = config();
        let sent = masked(&config, &own());
        assert_eq!(
            sent,
            json!({
                "model": "m", "provider": "p", "base_url": "https://a", "api_key": "***",
                "headers": { "X-Org": "***" }, "weather": { "token": "k3" }, "news": { "token": "***" },
            })
        );
        let mut returned = sent;
        returned["model"] = json!("other");
        let back = restored(Some(returned.clone()), &config, &own()).unwrap();
        assert_eq!((&back["api_key"], &back["model"]), (&json!("k1"), &json!("other")));
        assert_eq!(back["headers"], json!({ "X-Org": "k2" }));
        let state = Map::from_iter([("config".to_owned(), returned)]);
        let mut change = StateChange::replace(state);
        restore_state(&mut change, &config, &own()).unwrap();
        let StateChange::Replace(state) = change else { panic!() };
        assert_eq!(state["config"]["news"], json!({ "token": "k4" }));
        let whole = Value::Object(config.values().clone());
        assert_eq!(restored(None, &config, &own()).unwrap(), whole);
        // What is not mentioned stays, as far as it says where anything goes.
        let few = restored(Some(json!({ "model": "n" })), &config, &own()).unwrap();
        assert_eq!((&few["model"], &few["api_key"]), (&json!("n"), &json!("k1")));
    }

    #[test]
    fn no_secret_is_put_back_where_it_would_go_elsewhere() {
        let config = config();
        for (change, setting) in [
            (json!({ "base_url": "https://b" }), "base_url"),
            (json!({ "provider": "q" }), "provider"),
            (json!({ "headers": { "X-Org": "***", "Host": "b" } }), "headers.Host"),
            (json!({ "extra_body": { "a": 1 } }), "extra_body.a"),
            (json!({ "sandbox": { "enabled": false } }), "sandbox.enabled"),
            (json!({ "news": { "url": "https://b", "token": "***" } }), "news.url"),
        ] {
            let mut given = masked(&config, &own());
            for (key, value) in change.as_object().unwrap() {
                given[key] = value.clone();
            }
            let state = |config| Map::from_iter([("config".to_owned(), config)]);
            let refused = [
                restored(Some(given.clone()), &config, &own()).map(|_| ()),
                restore_state(&mut StateChange::replace(state(given)), &config, &own()),
                restore_state(&mut StateChange::patch(state(change.clone())), &config, &own()),
            ];
            for refused in refused {
                let error = refused.unwrap_err();
                assert!(error.message().contains(&format!("\"{setting}\"")), "{change}: {error}");
            }
        }
    }

    #[test]
    fn sessions_keep_the_overrides_that_people_gave_them() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let held = map(json!({ "overrides": { "permissions": { "mode": "read_only" } } }));
        let session = Session::new("s").with_metadata(held.clone());
        let check = |given: Value, whole: bool| {
            check_metadata(&map(given), Some(&session), whole, &own()).is_ok()
        };
        assert!(check(Value::Object(held), true));
        assert!(check(json!({ "seen": true }), false));
        assert!(check(json!({ "overrides": { "model": "n", "weather.unit": "f" } }), false));
        assert!(!check(json!({ "seen": true }), true), "an override would be lost");
        assert!(!check(json!({ "overrides": null }), false));
        assert!(!check(json!({ "overrides": { "permissions": null } }), false));
        assert!(!check(json!({ "overrides": { "sandbox.enabled": false } }), false));
        assert!(check_metadata(&map(json!({ "seen": 1 })), None, true, &own()).is_ok());
    }
}
