//! The list of models that a server offers, in the shapes servers give it.

use super::failure;
use orlop_types::{Map, Result, Value};

/// Reads the answer of `GET /models`: each model as the server describes it, with an `id`.
///
/// The list stands under `data` (OpenAI, LM Studio), under `models` (Ollama), or alone (Together);
/// entries without `id` are named by `model` or `name`, and entries without any name are left out.
///
/// ```
/// use orlop_providers::wire::models::parse;
/// let models = parse(r#"{"object":"list","data":[{"id":"m","owned_by":"me"}]}"#)?;
/// assert_eq!(models[0]["id"], "m");
/// # Ok::<(), orlop_types::Error>(())
/// ```
pub fn parse(body: &str) -> Result<Vec<Map>> {
    let list: Value = serde_json::from_str(body)
        .map_err(|error| failure::unreadable("a list of models", body, &error))?;
    let items = match list {
        Value::Array(items) => items,
        Value::Object(mut fields) => {
            let listed = ["data", "models"].iter().find_map(|key| match fields.get_mut(*key) {
                Some(Value::Array(items)) => Some(std::mem::take(items)),
                _ => None,
            });
            listed.ok_or_else(|| failure::reported(body))?
        }
        _ => return Err(failure::reported(body)),
    };
    Ok(items.into_iter().filter_map(model).collect())
}

fn model(entry: Value) -> Option<Map> {
    let mut fields = match entry {
        Value::Object(fields) => fields,
        Value::String(id) => Map::from_iter([("id".to_owned(), id.into())]),
        _ => return None,
    };
    let named =
        |key: &&str| fields.get(*key).and_then(Value::as_str).is_some_and(|id| !id.is_empty());
    let key = ["id", "model", "name"].into_iter().find(|key| named(key))?;
    if key != "id" {
        let id = fields[key].clone();
        fields.shift_insert(0, "id".to_owned(), id);
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(body: &str, expected: Expect) {
        let seen = match parse(body) {
            Ok(models) => models
                .into_iter()
                .map(|model| Value::Object(model).to_string())
                .collect::<Vec<_>>()
                .join("\n"),
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&seen);
    }

    #[test]
    fn all_shapes_are_read() {
        check(
            r#"{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}"#,
            expect![[r#"
            {"id":"a","object":"model"}
            {"id":"b"}"#]],
        );
        check(
            r#"[{"id":"org/a","type":"chat","context_length":4096}]"#,
            expect![[r#"{"id":"org/a","type":"chat","context_length":4096}"#]],
        );
        check(
            r#"{"models":[{"name":"a:latest","model":"a:latest","size":1}]}"#,
            expect![[r#"{"id":"a:latest","name":"a:latest","model":"a:latest","size":1}"#]],
        );
        check(
            r#"{"models":[{"name":"models/a"}],"data":null}"#,
            expect![[r#"{"id":"models/a","name":"models/a"}"#]],
        );
        check(
            r#"["a","b"]"#,
            expect![[r#"
            {"id":"a"}
            {"id":"b"}"#]],
        );
    }

    #[test]
    fn entries_without_a_name_are_left_out() {
        check(r#"{"data":[{"id":""},{"x":1},7,{"id":"a"}]}"#, expect![[r#"{"id":"a"}"#]]);
        check(r#"{"data":[]}"#, expect![[""]]);
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        check(
            r#"{"error":{"message":"no"}}"#,
            expect![
                "provider: the model server reported an error: no; change the request accordingly"
            ],
        );
        check(
            "7",
            expect![
                "provider: the model server reported an error: 7; change the request accordingly"
            ],
        );
        check(
            "<html>",
            expect![[
                r#"provider: the model server sent a list of models that is no JSON (expected value at line 1 column 1): "<html>"; check that "base_url" leads to a server for this provider"#
            ]],
        );
    }
}
