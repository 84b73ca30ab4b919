//! `fallback`: models that are asked where the agent's own cannot be.

use super::known;
use super::request::resolve_request_config;
use super::secrets;
use orlop_core::{Config, Error, Map, Result, Value};

/// More models than this help nobody.
const MAX_FALLBACKS: usize = 16;

/// The settings for each fallback of a configuration: those of the configuration with the entry
/// laid over them.
///
/// An entry that leads to another provider or server takes no keys along: `api_key`, `headers`
/// and the like are only for the server they were given for.
pub(crate) fn fallbacks(config: &Config) -> Result<Vec<Config>> {
    let entries = match config.get("fallback") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(Error::wrong_type("fallback must be a list of models")),
    };
    if entries.len() > MAX_FALLBACKS {
        return Err(Error::bad_argument(format!("fallback has more than {MAX_FALLBACKS} models")));
    }
    let laid = entries.iter().enumerate().map(|(index, entry)| match entry {
        Value::String(model) if !model.is_empty() => {
            let entry = Map::from_iter([("model".to_owned(), Value::from(model.as_str()))]);
            Ok(laid_over(config, &entry))
        }
        Value::Object(entry) => match entry.keys().find(|key| known::is_of_no_fallback(key)) {
            Some(key) => Err(Error::bad_argument(format!(
                "fallback[{index}].{key}: a fallback cannot have this setting; remove it"
            ))),
            None => Ok(laid_over(config, entry)),
        },
        _ => Err(Error::wrong_type(format!(
            "fallback[{index}] must be the name of a model, or a mapping of settings"
        ))),
    });
    laid.collect()
}

fn laid_over(config: &Config, entry: &Map) -> Config {
    let differs = |key: &str| entry.get(key).is_some_and(|value| Some(value) != config.get(key));
    let mut values = config.values().clone();
    values.shift_remove("fallback");
    if differs("provider") {
        values.shift_remove("base_url");
        values.shift_remove("model");
    }
    if differs("provider") || differs("base_url") {
        values.retain(|key, value| !is_for_one_server(key, value));
    }
    resolve_request_config(&Config::new(values), &[entry])
}

fn is_for_one_server(key: &str, value: &Value) -> bool {
    matches!(key, "headers" | "extra_body") || (value.is_string() && secrets::is_secret_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(fallback: Value, expected: Expect) {
        let config = json!({
            "provider": "a", "model": "m", "base_url": "http://a", "api_key": "sk", "max_tokens": 9,
            "headers": { "x": "y" }, "temperature": 1, "fallback": fallback,
        });
        let shown = match fallbacks(&Config::from_json(config).unwrap()) {
            Ok(configs) => {
                let shown = configs.iter().map(|config| serde_json::to_string(config).unwrap());
                shown.collect::<Vec<_>>().join("\n")
            }
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn an_entry_is_laid_over_the_agent() {
        check(
            json!(["n", { "model": "o", "temperature": 0, "api_key": "sk-2" }]),
            expect![[r#"
                {"provider":"a","model":"n","base_url":"http://a","api_key":"sk","max_tokens":9,"headers":{"x":"y"},"temperature":1}
                {"provider":"a","model":"o","base_url":"http://a","api_key":"sk-2","max_tokens":9,"headers":{"x":"y"},"temperature":0}"#]],
        );
        check(json!([]), expect![[""]]);
        check(Value::Null, expect![[""]]);
    }

    #[test]
    fn another_provider_or_server_gets_no_key_of_the_first() {
        check(
            json!([{ "provider": "b", "model": "n" }, { "provider": "a", "model": "n" }, { "base_url": "http://c" }]),
            expect![[r#"
                {"provider":"b","max_tokens":9,"temperature":1,"model":"n"}
                {"provider":"a","model":"n","base_url":"http://a","api_key":"sk","max_tokens":9,"headers":{"x":"y"},"temperature":1}
                {"provider":"a","model":"m","base_url":"http://c","max_tokens":9,"temperature":1}"#]],
        );
    }

    #[test]
    fn what_is_no_model_says_so() {
        check(json!("n"), expect!["wrong_type: fallback must be a list of models"]);
        check(
            json!(["n", 1]),
            expect![
                "wrong_type: fallback[1] must be the name of a model, or a mapping of settings"
            ],
        );
        check(
            json!([{ "tools": [] }]),
            expect![
                "bad_argument: fallback[0].tools: a fallback cannot have this setting; remove it"
            ],
        );
        check(json!(vec!["n"; 17]), expect!["bad_argument: fallback has more than 16 models"]);
    }
}
