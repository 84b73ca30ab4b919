//! Tool schemas and answer schemas as Gemini takes them.

use orlop_core::interop::{Registry, SchemaFormat, schemas};
use orlop_core::{Map, Value};
use std::sync::Arc;

/// The form of tool schemas: a function declaration with `parametersJsonSchema`. The older
/// `parameters` takes a few keywords only and refuses the whole request for any other.
pub(super) const DECLARATION: &str = "gemini.json_schema";

/// Writes [`DECLARATION`].
pub(super) fn format() -> SchemaFormat {
    let known = Registry::new(None, []);
    let write = move |schema: &Map| {
        let mut declaration = known.convert_schema(schema, schemas::GEMINI)?;
        let fields = declaration.as_object_mut()?;
        let parameters = fields.shift_remove("parameters")?;
        fields.insert("parametersJsonSchema".to_owned(), accepted(&parameters));
        Some(declaration)
    };
    SchemaFormat { id: DECLARATION.to_owned(), write: Arc::new(write) }
}

/// A JSON Schema without what Gemini refuses: it reads over keywords that it does not know, but
/// not over those beside a reference.
pub(super) fn accepted(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let refers = fields.get("$ref").is_some_and(Value::is_string);
            let stays = |key: &str, value: &Value| match key {
                "$schema" => !value.is_string(),
                "description" | "default" => true,
                _ => !refers || key.starts_with('$'),
            };
            let fields = fields.iter().filter(|(key, value)| stays(key, value));
            fields.map(|(key, value)| (key.clone(), accepted(value))).collect()
        }
        Value::Array(items) => items.iter().map(accepted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_declared_in_json_schema_without_what_is_refused() {
        let parameters = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object", "additionalProperties": false,
            "properties": {
                "home": { "$ref": "#/$defs/place", "description": "where", "title": "Home" },
                "ages": { "type": "array", "items": { "exclusiveMinimum": 0, "type": "integer" } },
                "$schema": { "type": "string" },
            },
            "$defs": { "place": { "type": "string", "title": "Place" } },
        });
        let tool = json!({ "name": "move", "description": "d", "parameters": parameters });
        let written = (format().write)(tool.as_object().unwrap()).unwrap();
        let expected = json!({ "name": "move", "description": "d", "parametersJsonSchema": {
            "type": "object", "additionalProperties": false,
            "properties": {
                "home": { "$ref": "#/$defs/place", "description": "where" },
                "ages": { "type": "array", "items": { "exclusiveMinimum": 0, "type": "integer" } },
                "$schema": { "type": "string" },
            },
            "$defs": { "place": { "type": "string", "title": "Place" } },
        } });
        assert_eq!(written, expected);
        assert_eq!((format().write)(json!({ "name": 7 }).as_object().unwrap()), None);
    }
}
