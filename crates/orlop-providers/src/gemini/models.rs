//! The list of models that generate content.

use crate::wire::models::parse;
use orlop_types::{Map, Result, Value};

/// What Gemini calls the facts that every provider tells under one name.
const NAMES: [(&str, &str); 3] = [
    ("displayName", "name"),
    ("inputTokenLimit", "context_window"),
    ("outputTokenLimit", "max_output_tokens"),
];

/// Reads the answer of `GET models`: each model as the server describes it, with its `id` as
/// `model` in a configuration names it.
pub(super) fn models(body: &str) -> Result<Vec<Map>> {
    if body.trim() == "{}" {
        // An empty list is left out.
        return Ok(Vec::new());
    }
    Ok(parse(body)?.into_iter().filter(generates).map(described).collect())
}

fn generates(model: &Map) -> bool {
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

fn described(mut model: Map) -> Map {
    if let Some(Value::String(id)) = model.get_mut("id")
        && let Some(short) = id.strip_prefix("models/")
    {
        *id = short.to_owned();
    }
    model.shift_remove("name");
    for (theirs, ours) in NAMES {
        if let Some(value) = model.shift_remove(theirs) {
            model.insert(ours.to_owned(), value);
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(body: &str, expected: Expect) {
        let models = models(body).unwrap().into_iter();
        let lines: Vec<String> = models.map(|model| Value::Object(model).to_string()).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test] // M-03
    fn models_that_generate_content_are_listed_under_common_names() {
        check(
            r#"{"models":[
                {"name":"models/gemini-2.5-flash","version":"001","displayName":"Gemini 2.5 Flash",
                 "inputTokenLimit":1048576,"outputTokenLimit":65536,
                 "supportedGenerationMethods":["generateContent","countTokens"],"thinking":true},
                {"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]},
                {"name":"tunedModels/mine"}
            ],"nextPageToken":"x"}"#,
            expect![[r#"
                {"id":"gemini-2.5-flash","version":"001","supportedGenerationMethods":["generateContent","countTokens"],"thinking":true,"name":"Gemini 2.5 Flash","context_window":1048576,"max_output_tokens":65536}
                {"id":"tunedModels/mine"}"#]],
        );
        check("{}", expect![""]);
        check(r#"{"models":[]}"#, expect![""]);
        assert!(models(r#"{"error":{"message":"no"}}"#).unwrap_err().message().contains("no"));
    }
}
