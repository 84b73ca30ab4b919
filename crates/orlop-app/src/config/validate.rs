//! Judges a tree by a JSON Schema: types, choices, bounds, unknown and missing keys.
//!
//! It understands the part of JSON Schema that [`Schema`](super::Schema) writes, no more.

use super::env::RuntimeEnv;
use super::placeholder;
use super::problem::{Problem, ProblemKind};
use super::resolve::value_of;
use super::secrets;
use super::tree::{Content, Node, Table, below, item, shortened};
use orlop_core::types::nearest::hint;
use orlop_core::{Map, Value};

/// The problems of the table at the top of the file.
pub(super) fn validate(tree: &Table, schema: &Value, env: &RuntimeEnv) -> Vec<Problem> {
    let mut validator = Validator { env, problems: Vec::new() };
    validator.table(tree, schema, "");
    validator.problems
}

struct Validator<'a> {
    env: &'a RuntimeEnv,
    problems: Vec<Problem>,
}

impl Validator<'_> {
    fn table(&mut self, table: &Table, schema: &Value, path: &str) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        for (key, node) in table {
            let path = below(path, key);
            match properties.and_then(|properties| properties.get(key)) {
                Some(schema) => self.value(node, schema, &path, key),
                None if *others == Value::Bool(false) => {
                    self.problems.push(unknown_key(node, &path, key, properties));
                }
                None => self.value(node, others, &path, key),
            }
        }
    }

    fn value(&mut self, node: &Node, schema: &Value, path: &str, key: &str) {
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            return self.any_of(node, branches, path, key);
        }
        if let Some(expected) = schema.get("type").filter(|kind| !is_of_type(node, kind)) {
            return self.problems.push(wrong_type(node, &[expected], path));
        }
        match &node.content {
            Content::Table(table) => {
                self.missing_keys(node, table, schema, path);
                self.table(table, schema, path);
            }
            Content::List(items) => {
                let schema = schema.get("items").unwrap_or(&Value::Bool(true));
                for (index, node) in items.iter().enumerate() {
                    self.value(node, schema, &item(path, index), key);
                }
            }
            Content::Scalar(value) => self.scalar(node, value, schema, path, key),
        }
    }

    /// Where no branch fits, the one that was meant is the one of the value's type.
    fn any_of(&mut self, node: &Node, branches: &[Value], path: &str, key: &str) {
        let mut meant = None;
        for branch in branches {
            let mut attempt = Validator { env: self.env, problems: Vec::new() };
            attempt.value(node, branch, path, key);
            if attempt.problems.is_empty() {
                return;
            }
            if branch.get("type").is_none_or(|kind| is_of_type(node, kind)) {
                meant.get_or_insert(attempt.problems);
            }
        }
        let types: Vec<&Value> = branches.iter().filter_map(|branch| branch.get("type")).collect();
        self.problems.extend(meant.unwrap_or_else(|| vec![wrong_type(node, &types, path)]));
    }

    fn missing_keys(&mut self, node: &Node, table: &Table, schema: &Value, path: &str) {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !table.contains_key(*key)) {
            let message = "is missing";
            let problem = Problem::new(
                ProblemKind::Missing,
                node.key_origin.clone(),
                below(path, key),
                message,
            );
            self.problems.push(problem.remedy(format!("add {key}")));
        }
    }

    fn scalar(&mut self, node: &Node, value: &Value, schema: &Value, path: &str, key: &str) {
        let resolved = match value {
            Value::String(text) => {
                match placeholder::resolve(text, &|name| value_of(self.env, &node.origin, name)) {
                    Ok(text) => Value::String(text),
                    // Reported with all other variables that are not set.
                    Err(_) => return,
                }
            }
            value => value.clone(),
        };
        let bad = |message: String| {
            Problem::new(ProblemKind::BadValue, node.origin.clone(), path, message)
        };
        if let Some(choices) = schema.get("enum").and_then(Value::as_array)
            && !choices.contains(&resolved)
        {
            let written = shown(value, key);
            let texts: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
            let problem = bad(format!("{written} is not among the choices"));
            let remedy = match texts.len() == choices.len() {
                true => hint(value.as_str().unwrap_or_default(), texts),
                false => format!("known: {}", listed(choices)),
            };
            self.problems.push(problem.remedy(remedy));
        }
        let Some(number) = resolved.as_f64() else { return };
        let bound = |field: &str| schema.get(field).filter(|bound| bound.is_number());
        if let Some(least) = bound("minimum")
            && least.as_f64().is_some_and(|least| number < least)
        {
            let problem = bad(format!("{} is too small", shown(value, key)));
            self.problems.push(problem.remedy(format!("use {least} or more")));
        }
        if let Some(most) = bound("maximum")
            && most.as_f64().is_some_and(|most| number > most)
        {
            let problem = bad(format!("{} is too large", shown(value, key)));
            self.problems.push(problem.remedy(format!("use {most} or less")));
        }
    }
}

/// A value as a message may show it: as it is written, and never a secret.
pub(super) fn shown(value: &Value, key: &str) -> String {
    match value {
        Value::String(_) if secrets::is_secret_key(key) => "the value".to_owned(),
        Value::String(text) => format!("{:?}", shortened(&secrets::mask_url(text))),
        value => value.to_string(),
    }
}

fn listed(choices: &[Value]) -> String {
    let choices: Vec<String> = choices.iter().take(12).map(Value::to_string).collect();
    choices.join(", ")
}

fn unknown_key(node: &Node, path: &str, key: &str, known: Option<&Map>) -> Problem {
    let known = known.into_iter().flat_map(|known| known.keys().map(String::as_str));
    let problem =
        Problem::new(ProblemKind::UnknownKey, node.key_origin.clone(), path, "unknown key");
    match key.contains('.') {
        true => problem.remedy("without quotes, dots lead into sections"),
        false => problem.remedy(hint(key, known)),
    }
}

fn is_of_type(node: &Node, expected: &Value) -> bool {
    match expected {
        Value::String(expected) => match (&node.content, expected.as_str()) {
            (Content::Scalar(Value::Number(number)), "integer") => !number.is_f64(),
            (Content::Scalar(Value::Number(_)), "number") => true,
            (_, expected) => type_name(node) == expected,
        },
        Value::Array(any) => any.iter().any(|expected| is_of_type(node, expected)),
        _ => true,
    }
}

fn type_name(node: &Node) -> &'static str {
    match &node.content {
        Content::Table(_) => "object",
        Content::List(_) => "array",
        Content::Scalar(Value::String(_)) => "string",
        Content::Scalar(Value::Bool(_)) => "boolean",
        Content::Scalar(Value::Number(number)) if number.is_f64() => "number",
        Content::Scalar(_) => "integer",
    }
}

fn wrong_type(node: &Node, expected: &[&Value], path: &str) -> Problem {
    let mut names: Vec<&str> = Vec::new();
    for kind in expected {
        match kind {
            Value::Array(kinds) => names.extend(kinds.iter().filter_map(Value::as_str)),
            kind => names.extend(kind.as_str()),
        }
    }
    let wanted: Vec<&str> = names.iter().map(|name| spoken(name)).collect();
    let message = format!("expected {}, found {}", wanted.join(" or "), spoken(type_name(node)));
    let is_placeholder = node.text().is_some_and(placeholder::is_in);
    let remedy = match names.first() {
        _ if is_placeholder => "write the value itself: a placeholder always gives text",
        Some(&"string") => "put the value in double quotes",
        Some(&("integer" | "number")) => "write a number without quotes",
        Some(&"boolean") => "write true or false without quotes",
        Some(&"array") => "write a list such as [\"a\", \"b\"]",
        _ => "write a section such as [name] with keys below it",
    };
    Problem::new(ProblemKind::WrongType, node.origin.clone(), path, message).remedy(remedy)
}

fn spoken(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a section",
        other => other,
    }
}
