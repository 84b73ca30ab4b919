//! What a person is asked by a tool that says `approval: "answer"`: the question as a form, and
//! the answer, which must fit it before the call may run.

use orlop_core::{Error, Map, OutputSchema, Result, Value};
use serde_json::json;

/// How many choices or fields a form may have.
const MAX_FIELDS: usize = 50;

/// The argument the answer is put under.
pub(super) const ANSWER: &str = "answer";

/// The form of a call: `kind`, `title` and `inputs` as dialogs have them, and the `schema` of the
/// answer. It is made of the arguments `question`, `options`, `multiple` and `form`; an error is
/// for the model to read.
pub(super) fn of_call(arguments: &Value) -> Result<Map> {
    let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default().trim();
    if question.is_empty() {
        return Err(Error::bad_argument(
            "there is no question; say what to ask under \"question\"",
        ));
    }
    let given = |key: &str| arguments.get(key).filter(|value| !value.is_null());
    let (inputs, schema) = match (given("form"), given("options")) {
        (Some(_), Some(_)) => {
            return Err(Error::bad_argument("give either \"options\" or a \"form\", not both"));
        }
        (Some(schema), None) => (fields_of(schema)?, schema.clone()),
        (None, options) => {
            let multiple = arguments.get("multiple") == Some(&Value::Bool(true));
            one_field(question, options, multiple)?
        }
    };
    let form = json!({ "kind": "form", "title": question, "inputs": inputs, "schema": schema });
    Ok(form.as_object().cloned().unwrap_or_default())
}

/// One answer in the person's own words, or out of a list. A list is an offer: people may always
/// say something else.
fn one_field(question: &str, options: Option<&Value>, multiple: bool) -> Result<(Value, Value)> {
    let text = json!({ "type": "string", "minLength": 1 });
    let Some(options) = options else {
        let input =
            json!({ "name": ANSWER, "type": "string", "label": question, "required": true });
        return Ok((json!([input]), text));
    };
    let options = options.as_array().filter(|options| (1..=MAX_FIELDS).contains(&options.len()));
    let choices: Option<Vec<Value>> =
        options.and_then(|options| options.iter().map(choice).collect());
    let choices = choices.ok_or_else(|| {
        Error::bad_argument(format!(
            "\"options\" must be a list of 1 to {MAX_FIELDS} texts, or mappings with a \"label\""
        ))
    })?;
    let kind = if multiple { "array" } else { "string" };
    let input = json!({
        "name": ANSWER, "type": kind, "label": question, "required": true, "choices": choices,
        "other": true,
    });
    let schema = match multiple {
        true => json!({ "type": "array", "items": text, "minItems": 1 }),
        false => text,
    };
    Ok((json!([input]), schema))
}

fn choice(option: &Value) -> Option<Value> {
    match option {
        Value::String(label) if !label.trim().is_empty() => {
            Some(json!({ "value": label, "label": label }))
        }
        Value::Object(fields) => {
            let label = fields.get("label").and_then(Value::as_str)?;
            let mut choice = json!({ "value": label, "label": label });
            if let Some(description) = fields.get("description").filter(|it| it.is_string()) {
                choice["description"] = description.clone();
            }
            Some(choice)
        }
        _ => None,
    }
}

/// The fields of a form that is given as the JSON Schema of a mapping.
fn fields_of(schema: &Value) -> Result<Value> {
    OutputSchema::new(schema).map_err(|bad| {
        Error::bad_argument(format!("\"form\" is no JSON Schema: {}; correct it", bad.message))
    })?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.filter(|fields| (1..=MAX_FIELDS).contains(&fields.len()));
    let (Some(properties), Some("object")) =
        (properties, schema.get("type").and_then(Value::as_str))
    else {
        return Err(Error::bad_argument(format!(
            "\"form\" must be a JSON Schema with \"type\": \"object\" and 1 to {MAX_FIELDS} properties"
        )));
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|held| held == name));
    let field = |(name, property): (&String, &Value)| {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let mut field = json!({
            "name": name, "type": text("type").unwrap_or("string"),
            "label": text("title").or(text("description")).unwrap_or(name),
            "required": is_required(name),
        });
        for key in ["description", "default"] {
            if let Some(value) = property.get(key) {
                field[key] = value.clone();
            }
        }
        if let Some(values) = property.get("enum").and_then(Value::as_array) {
            field["choices"] = values
                .iter()
                .map(|value| {
                    let label = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    json!({ "value": value, "label": label })
                })
                .collect();
        }
        field
    };
    Ok(properties.iter().map(field).collect())
}

/// The arguments of a call with the answer of a person in them.
pub(super) fn answered(form: &Map, arguments: &Value, given: Option<&Value>) -> Result<Value> {
    let answer = given.and_then(|given| given.get(ANSWER)).ok_or_else(|| {
        Error::bad_argument("this call needs an answer; decide with the input {\"answer\": ..}")
    })?;
    let schema = form.get("schema").cloned().unwrap_or_else(|| json!({}));
    let judge = OutputSchema::new(&schema)?;
    if let Err(problems) = judge.fits(answer) {
        let problems = problems.join("; ");
        return Err(Error::bad_argument(format!("the answer does not fit the form: {problems}")));
    }
    let mut arguments = arguments.as_object().cloned().unwrap_or_default();
    arguments.insert(ANSWER.to_owned(), answer.clone());
    Ok(Value::Object(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(arguments: Value, answer: Value, expected: Expect) {
        let shown = match of_call(&arguments) {
            Err(error) => format!("refused: {}", error.message()),
            Ok(form) => {
                let given = json!({ "answer": answer });
                let taken = match answered(&form, &arguments, Some(&given)) {
                    Ok(arguments) => format!("answer: {}", arguments[ANSWER]),
                    Err(error) => format!("not taken: {}", error.message()),
                };
                format!("{}\n{taken}", form["inputs"])
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_question_becomes_a_form_and_its_answer_must_fit() {
        check(
            json!({"question": "Which port?"}),
            json!("80"),
            expect![[r#"
                [{"name":"answer","type":"string","label":"Which port?","required":true}]
                answer: "80""#]],
        );
        check(
            json!({"question": "Which?", "options": ["a", {"label": "b", "description": "better"}]}),
            json!("neither"),
            expect![[r#"
                [{"name":"answer","type":"string","label":"Which?","required":true,"choices":[{"value":"a","label":"a"},{"value":"b","label":"b","description":"better"}],"other":true}]
                answer: "neither""#]],
        );
        check(
            json!({"question": "Which?", "options": ["a", "b"], "multiple": true}),
            json!("a"),
            expect![[r#"
                [{"name":"answer","type":"array","label":"Which?","required":true,"choices":[{"value":"a","label":"a"},{"value":"b","label":"b"}],"other":true}]
                not taken: the answer does not fit the form: "a" is not of type "array""#]],
        );
        let form = json!({"type": "object", "required": ["port"], "properties": {
            "port": {"type": "integer", "title": "Port", "minimum": 1},
            "mode": {"enum": ["fast", "safe"], "default": "safe"}}});
        check(
            json!({"question": "How?", "form": form}),
            json!({"port": 0, "mode": "slow"}),
            expect![[r#"
                [{"name":"port","type":"integer","label":"Port","required":true},{"name":"mode","type":"string","label":"mode","required":false,"default":"safe","choices":[{"value":"fast","label":"fast"},{"value":"safe","label":"safe"}]}]
                not taken: the answer does not fit the form: /port: 0 is less than the minimum of 1; /mode: "slow" is not one of "fast" or "safe""#]],
        );
    }

    #[test]
    fn what_cannot_be_asked_is_told_to_the_model() {
        for (arguments, expected) in [
            (
                json!("?"),
                expect![[r#"refused: there is no question; say what to ask under "question""#]],
            ),
            (
                json!({"question": "q", "options": []}),
                expect![[
                    r#"refused: "options" must be a list of 1 to 50 texts, or mappings with a "label""#
                ]],
            ),
            (
                json!({"question": "q", "form": {"type": "text"}}),
                expect![[
                    r#"refused: "form" is no JSON Schema: "text" is not valid under any of the schemas listed in the 'anyOf' keyword; correct it"#
                ]],
            ),
            (
                json!({"question": "q", "form": {"type": "string"}}),
                expect![[
                    r#"refused: "form" must be a JSON Schema with "type": "object" and 1 to 50 properties"#
                ]],
            ),
        ] {
            check(arguments, json!("a"), expected);
        }
    }
}
