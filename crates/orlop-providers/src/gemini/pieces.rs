//! A function call whose arguments arrive in pieces, as some servers send them when asked to:
//! each piece names the place of a value by its path, and strings come in several.

use crate::wire::json::Text;
use orlop_types::{Map, Value};
use serde::Deserialize;

/// What a part says of a call.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    pub(super) args: Option<Map>,
    #[serde(rename = "partialArgs", default)]
    pub(super) partial: Vec<PartialArg>,
    #[serde(rename = "willContinue", default)]
    pub(super) will_continue: bool,
}

/// A value, or a piece of a string, and where it belongs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg {
    #[serde(default)]
    json_path: String,
    string_value: Option<String>,
    number_value: Option<Value>,
    bool_value: Option<bool>,
    #[serde(default)]
    will_continue: bool,
}

impl CallPiece<'_> {
    /// Whether the call is all here.
    pub(super) fn is_whole(&self) -> bool {
        self.name.filled().is_some() && !self.will_continue && self.partial.is_empty()
    }

    /// Whether it says nothing but that a call is over.
    pub(super) fn is_end(&self) -> bool {
        self.name.filled().is_none() && self.args.is_none() && self.partial.is_empty()
    }
}

/// A call of which pieces are still to come.
#[derive(Debug, Default)]
pub(super) struct OpenCall {
    id: Option<String>,
    name: String,
    args: Value,
    /// The path of a string that goes on.
    continued: Option<String>,
    /// The other fields of its parts, as text: `,"key":value`.
    pub(super) beside: String,
}

impl OpenCall {
    pub(super) fn new(piece: &CallPiece<'_>) -> Self {
        Self {
            id: piece.id.filled().map(str::to_owned),
            name: piece.name.filled().unwrap_or_default().to_owned(),
            args: Value::Object(Map::new()),
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, piece: CallPiece<'_>) {
        if let (Value::Object(held), Some(args)) = (&mut self.args, piece.args) {
            held.extend(args);
        }
        for arg in piece.partial {
            let goes_on = self.continued.as_deref() == Some(arg.json_path.as_str());
            let place = place(&mut self.args, &arg.json_path);
            match (arg.string_value, arg.number_value, arg.bool_value) {
                (Some(more), _, _) => match place {
                    Value::String(held) if goes_on => held.push_str(&more),
                    place => *place = more.into(),
                },
                (None, Some(number), _) => *place = number,
                (None, None, Some(truth)) => *place = truth.into(),
                (None, None, None) => *place = Value::Null,
            }
            self.continued = arg.will_continue.then_some(arg.json_path);
        }
    }

    /// The arguments so far, as text.
    pub(super) fn arguments(&self) -> String {
        self.args.to_string()
    }

    /// The part that the server would have sent at once.
    pub(super) fn into_part(self) -> String {
        let mut call = Map::new();
        if let Some(id) = self.id {
            call.insert("id".to_owned(), id.into());
        }
        call.insert("name".to_owned(), self.name.into());
        call.insert("args".to_owned(), self.args);
        format!("{{\"functionCall\":{}{}}}", Value::Object(call), self.beside)
    }
}

/// The longest list that a path may make: it is a server that names the index.
const LONGEST: usize = 10_000;

/// The place that a path such as `$.a[0].b` or `$['a'][0]` names; what lacks on the way is made.
fn place<'v>(args: &'v mut Value, path: &str) -> &'v mut Value {
    let steps = path.trim_start_matches('$').split(['.', '[', ']']).filter(|step| !step.is_empty());
    steps.fold(args, |value, step| {
        if let (Ok(index), false) = (step.parse::<usize>(), value.is_object())
            && index < LONGEST
        {
            if !value.is_array() {
                *value = Value::Array(Vec::new());
            }
            if let Value::Array(items) = &mut *value
                && items.len() <= index
            {
                items.resize(index + 1, Value::Null);
            }
            return &mut value[index];
        }
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        &mut value[step.trim_matches(['\'', '"'])]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(pieces: &[&str], expected: Expect) {
        let mut call = OpenCall::new(&serde_json::from_str(pieces[0]).unwrap());
        for text in pieces {
            call.push(serde_json::from_str(text).unwrap());
        }
        expected.assert_eq(&call.into_part());
    }

    #[test]
    fn values_go_where_their_paths_lead() {
        check(
            &[
                r#"{"name":"f","id":"c","willContinue":true}"#,
                r#"{"partialArgs":[{"jsonPath":"$.city","stringValue":"Bos","willContinue":true}],"willContinue":true}"#,
                r#"{"partialArgs":[{"jsonPath":"$.city","stringValue":"ton"}],"willContinue":true}"#,
                r#"{"partialArgs":[{"jsonPath":"$.days[1].n","numberValue":2},{"jsonPath":"$.days[0]","boolValue":true}],"willContinue":true}"#,
                r#"{"partialArgs":[{"jsonPath":"$['odd key']","nullValue":"NULL_VALUE"}]}"#,
            ],
            expect![[
                r#"{"functionCall":{"id":"c","name":"f","args":{"city":"Boston","days":[true,{"n":2}],"odd key":null}}}"#
            ]],
        );
    }

    #[test]
    fn a_string_that_does_not_go_on_is_replaced() {
        check(
            &[
                r#"{"name":"f","args":{"b":1},"willContinue":true}"#,
                r#"{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a","stringValue":"y"}]}"#,
                r#"{"partialArgs":[{"jsonPath":"$.c[99999999999]","stringValue":"z"}]}"#,
            ],
            expect![[
                r#"{"functionCall":{"name":"f","args":{"b":1,"a":"y","c":{"99999999999":"z"}}}}"#
            ]],
        );
    }
}
