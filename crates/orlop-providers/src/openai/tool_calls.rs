//! The tool calls of a message while they arrive in pieces.
//!
//! A piece belongs to the call with its index. Servers that leave the index out, give every call
//! the same one, or repeat id and name in each piece are understood, too.

use super::wire::{CallDelta, FunctionDelta};
use crate::wire::json::{Text, Unknown};
use crate::wire::merge::{Strings, add, add_raw};
use orlop_types::{Map, Result, Value};
use serde::de::IgnoredAny;

/// The calls so far, in order of their first piece.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    kind: Option<String>,
    function: Option<Function>,
    unknown: Map,
}

/// A function call so far.
#[derive(Debug, Default)]
pub(super) struct Function {
    name: String,
    /// A string; any other value only if the server sent it so.
    arguments: Value,
    unknown: Map,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece. Gives the same piece to show, with `index` as the position in the message.
    pub(super) fn push(&mut self, piece: CallDelta<'_>) -> Result<Value> {
        let position = self.find(&piece).unwrap_or_else(|| {
            self.0.push(Call { index: piece.index, ..Call::default() });
            self.0.len() - 1
        });
        let mut shown = Map::new();
        shown.insert("index".to_owned(), position.into());
        self.0[position].push(piece, &mut shown)?;
        Ok(Value::Object(shown))
    }

    /// The calls as the server would have sent them at once.
    pub(super) fn into_json(self) -> Value {
        self.0.into_iter().map(|call| Value::Object(call.into_json())).collect()
    }

    /// The call that a piece continues; `None` begins another.
    fn find(&self, piece: &CallDelta<'_>) -> Option<usize> {
        let (id, name) = (piece.id.filled(), piece.name());
        if piece.index.is_some() {
            let at = self.0.iter().rposition(|call| call.index == piece.index)?;
            let another =
                id.is_some_and(|id| self.0[at].id.as_deref().is_some_and(|held| held != id));
            return (!(another && name.is_some())).then_some(at);
        }
        if id.is_some() {
            return self.0.iter().rposition(|call| call.id.as_deref() == id);
        }
        let last = self.0.last()?;
        let open = name.is_none_or(|name| last.name() == name && !last.is_complete());
        open.then_some(self.0.len() - 1)
    }
}

impl CallDelta<'_> {
    fn name(&self) -> Option<&str> {
        self.function.as_ref()?.name.filled()
    }
}

impl Call {
    fn name(&self) -> &str {
        self.function.as_ref().map_or("", |function| &function.name)
    }

    fn is_complete(&self) -> bool {
        self.function.as_ref().is_some_and(|function| match &function.arguments {
            Value::String(text) => serde_json::from_str::<IgnoredAny>(text).is_ok(),
            other => !other.is_null(),
        })
    }

    fn push(&mut self, piece: CallDelta<'_>, shown: &mut Map) -> Result<()> {
        for (key, held, text) in
            [("id", &mut self.id, piece.id), ("type", &mut self.kind, piece.kind)]
        {
            let Text::Str(text) = text else { continue };
            if held.as_deref().unwrap_or_default().is_empty() {
                *held = Some(text.clone().into_owned());
            }
            if !text.is_empty() {
                shown.insert(key.to_owned(), text.into_owned().into());
            }
        }
        if let Some(piece) = piece.function {
            let shown_function = self.function.get_or_insert_default().push(piece)?;
            shown.insert("function".to_owned(), Value::Object(shown_function));
        }
        add_unknown(&mut self.unknown, &piece.unknown)
    }

    fn into_json(self) -> Map {
        let mut fields = Map::new();
        if let Some(id) = self.id {
            fields.insert("id".to_owned(), id.into());
        }
        let kind = self.kind.filter(|kind| !kind.is_empty());
        if let Some(kind) = kind.or(self.function.as_ref().map(|_| "function".to_owned())) {
            fields.insert("type".to_owned(), kind.into());
        }
        if let Some(function) = self.function {
            fields.insert("function".to_owned(), Value::Object(function.into_json()));
        }
        fields.extend(self.unknown);
        fields
    }
}

impl Function {
    /// Adds a piece and gives what to show of it.
    pub(super) fn push(&mut self, piece: FunctionDelta<'_>) -> Result<Map> {
        let mut shown = Map::new();
        if let Text::Str(name) = piece.name {
            self.add_name(&name);
            if !name.is_empty() {
                shown.insert("name".to_owned(), name.into_owned().into());
            }
        }
        let arguments = match piece.arguments {
            Text::Absent => Value::Null,
            Text::Str(text) => Value::String(text.into_owned()),
            Text::Json(value) => *value,
        };
        if !arguments.is_null() {
            shown.insert("arguments".to_owned(), arguments.clone());
            match (&mut self.arguments, arguments) {
                (Value::String(held), Value::String(more)) => held.push_str(&more),
                (held, other) => *held = other,
            }
        }
        add_unknown(&mut self.unknown, &piece.unknown)?;
        Ok(shown)
    }

    /// Names come whole, repeated, growing, or in pieces.
    fn add_name(&mut self, name: &str) {
        if name.starts_with(&self.name) {
            self.name = name.to_owned();
        } else {
            self.name.push_str(name);
        }
    }

    /// The function as the server would have sent it at once.
    pub(super) fn into_json(self) -> Map {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), self.name.into());
        let arguments = match self.arguments {
            // Only a call without any arguments comes without the field.
            Value::Null => "{}".into(),
            arguments => arguments,
        };
        fields.insert("arguments".to_owned(), arguments);
        for (key, value) in self.unknown {
            add(&mut fields, &key, value, Strings::Replace);
        }
        fields
    }
}

fn add_unknown(fields: &mut Map, unknown: &Unknown<'_>) -> Result<()> {
    unknown.iter().try_for_each(|(key, piece)| add_raw(fields, key, piece, Strings::Append))
}

#[cfg(test)]
mod tests {
    use super::super::wire::Delta;
    use super::*;
    use expect_test::{Expect, expect};

    /// Each line is the `tool_calls` of one chunk.
    fn check(chunks: &str, expected: Expect) {
        let mut calls = Calls::default();
        for line in chunks.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let delta = format!("{{\"tool_calls\":{line}}}");
            for piece in Delta::parse(&delta).unwrap().tool_calls.unwrap() {
                calls.push(piece).unwrap();
            }
        }
        let Value::Array(calls) = calls.into_json() else { panic!("a list") };
        expected.assert_eq(&calls.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn pieces_interleave_by_index() {
        check(
            r#"
            [{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]
            [{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{"}}]
            [{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"arguments":"}"}}]
            [{"index":0,"function":{"arguments":"1}"}}]
            "#,
            expect![[r#"
                {"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}
                {"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}"#]],
        );
    }

    #[test]
    fn id_and_name_may_be_repeated_or_empty() {
        check(
            r#"
            [{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]
            [{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"}"}}]
            [{"index":0,"id":"","type":"","function":{"name":"","arguments":" "}}]
            [{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":null}}]
            "#,
            expect![[r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{} "}}"#]],
        );
    }

    #[test]
    fn names_may_come_in_pieces() {
        check(
            r#"
            [{"index":0,"id":"a","function":{"name":"get_"}}]
            [{"index":0,"function":{"name":"weather","arguments":"{}"}}]
            "#,
            expect![[
                r#"{"id":"a","type":"function","function":{"name":"get_weather","arguments":"{}"}}"#
            ]],
        );
    }

    #[test]
    fn without_an_index_the_id_decides() {
        check(
            r#"
            [{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"["}}]
            [{"id":"b","function":{"arguments":"]"}}]
            "#,
            expect![[r#"
                {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}
                {"id":"b","type":"function","function":{"name":"f","arguments":"[]"}}"#]],
        );
    }

    #[test]
    fn without_index_and_id_a_complete_call_is_followed_by_another() {
        check(
            r#"
            [{"function":{"name":"f","arguments":"{"}}]
            [{"function":{"arguments":"\"x\":1"}}]
            [{"function":{"name":"f","arguments":"}"}}]
            [{"function":{"name":"f","arguments":"{}"}}]
            [{"function":{"name":"g"}}]
            "#,
            expect![[r#"
                {"type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}
                {"type":"function","function":{"name":"f","arguments":"{}"}}
                {"type":"function","function":{"name":"g","arguments":"{}"}}"#]],
        );
    }

    #[test]
    fn the_same_index_with_another_id_and_name_is_another_call() {
        check(
            r#"
            [{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]
            [{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}]
            [{"index":0,"function":{"arguments":"}"}}]
            "#,
            expect![[r#"
                {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}
                {"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}"#]],
        );
    }

    #[test]
    fn what_the_server_adds_is_kept() {
        check(
            r#"
            [{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"s1"}},"function":{"name":"f","arguments":"{}","x":1}}]
            [{"index":0,"extra_content":{"google":{"thought_signature":"s2"}}}]
            [{"index":1,"id":"c","type":"custom","custom":{"name":"n","input":"a"}}]
            [{"index":1,"custom":{"input":"b"}}]
            "#,
            expect![[r#"
                {"id":"a","type":"function","function":{"name":"f","arguments":"{}","x":1},"extra_content":{"google":{"thought_signature":"s1s2"}}}
                {"id":"c","type":"custom","custom":{"name":"n","input":"ab"}}"#]],
        );
    }

    #[test]
    fn arguments_that_are_no_text_stay_what_they_are() {
        check(
            r#"[{"function":{"name":"f","arguments":{"a":1.0}}}]"#,
            expect![[r#"{"type":"function","function":{"name":"f","arguments":{"a":1.0}}}"#]],
        );
    }
}
