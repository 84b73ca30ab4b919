//! What was typed: a command, and behind it words, `key=value` pairs or plain text.

use orlop_core::{ActionDefinition, Error, Map, Result, Value};

/// The longest name of a command.
const MAX_NAME: usize = 100;

/// A message that may be a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Typed<'a> {
    /// The name, without the slash.
    pub(super) name: &'a str,
    /// Everything behind it.
    pub(super) rest: &'a str,
}

impl<'a> Typed<'a> {
    /// The command of a message. There is none in what is meant for the model: other text,
    /// `/ text`, and paths such as `/etc/hosts`.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let behind = text.strip_prefix('/')?;
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let (name, rest) = behind.split_at(end);
        let is_name = name.len() <= MAX_NAME
            && name.starts_with(char::is_alphabetic)
            && name.chars().all(|c| c.is_alphanumeric() || "_-:.".contains(c));
        is_name.then(|| Self { name, rest: rest.trim() })
    }
}

/// One word of the arguments.
#[derive(Debug, PartialEq)]
pub(super) struct Word<'a> {
    /// As it was written, where it begins.
    pub(super) raw: &'a str,
    at: usize,
    /// What is in front of a `=`.
    key: Option<&'a str>,
    /// What is behind the key, without the quotes around it.
    value: String,
}

impl Word<'_> {
    /// The word without the quotes around it.
    pub(super) fn text(&self) -> String {
        match self.key {
            Some(_) => self.raw.to_owned(),
            None => self.value.clone(),
        }
    }
}

/// The words of a text. Quotes hold a word together where they begin it, or follow `key=`; others
/// are letters, so nobody has to think of them in `don't`.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(skipped) = text[at..].find(|c: char| !c.is_whitespace()) {
        at += skipped;
        let rest = &text[at..];
        let key = rest.split_once('=').map(|(key, _)| key).filter(|key| is_key(key));
        let value = key.map_or(rest, |key| &rest[key.len() + 1..]);
        let (value, length) = quoted(value).unwrap_or_else(|| {
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            (value[..end].to_owned(), end)
        });
        let length = length + key.map_or(0, |key| key.len() + 1);
        words.push(Word { raw: &rest[..length], at, key, value });
        at += length;
    }
    words
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

/// What stands between the quotes a text begins with, if they end a word, and how long both are.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut letters = text.char_indices();
    let (_, quote) = letters.next().filter(|(_, c)| matches!(c, '"' | '\''))?;
    let mut inner = String::new();
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' if quote == '"' => match letters.next() {
                Some((_, c @ ('"' | '\\'))) => inner.push(c),
                Some((_, c)) => inner.extend(['\\', c]),
                None => return None,
            },
            c if c == quote => {
                let ends = text[at + 1..].chars().next().is_none_or(char::is_whitespace);
                return ends.then_some((inner, at + 1));
            }
            c => inner.push(c),
        }
    }
    None
}

/// The inputs of an action that nobody has to type: where the command was given says them.
const IMPLIED: [&str; 2] = ["session_id", "agent_id"];

/// The inputs of an action: `key=value` for those it declares, others in the order it declares
/// them, the last text as long as it is. With `main` all that has no key is that input.
pub(super) fn params(action: &ActionDefinition, rest: &str, main: Option<&str>) -> Result<Map> {
    let words = words(rest);
    let named = |word: &Word<'_>| word.key.filter(|key| action.inputs.contains_key(*key)).is_some();
    let mut params = Map::new();
    for word in words.iter().filter(|word| named(word)) {
        let key = word.key.unwrap_or_default();
        params.insert(key.to_owned(), value_of(action, key, &word.value));
    }
    let declared: Vec<&str> = match main {
        Some(main) => vec![main],
        None => typed_inputs(action).collect(),
    };
    let free = declared.into_iter().filter(|name| !params.contains_key(*name));
    let mut free = free.collect::<Vec<&str>>().into_iter().peekable();
    let mut plain: &[Word<'_>] = &words;
    while let Some((first, others)) = plain.split_first() {
        if named(first) {
            plain = others;
            continue;
        }
        let Some(name) = free.next() else {
            return Err(Error::bad_argument(format!(
                "\"{}\" is one argument too many; write: {}",
                first.raw,
                usage(action)
            )));
        };
        let takes_all = free.peek().is_none() && is_text(action, name) && !others.is_empty();
        if takes_all {
            let all = match others.iter().any(named) {
                // Pairs in between are no part of the text.
                true => {
                    let texts = plain.iter().filter(|word| !named(word)).map(|word| word.raw);
                    texts.collect::<Vec<_>>().join(" ")
                }
                false => rest[first.at..].to_owned(),
            };
            params.insert(name.to_owned(), all.into());
            break;
        }
        params.insert(name.to_owned(), value_of(action, name, &first.text()));
        plain = others;
    }
    Ok(params)
}

/// How an action is written as a command, behind its name.
pub(super) fn arguments(action: &ActionDefinition) -> String {
    let required = |name: &str| action.inputs[name].get("required") == Some(&Value::Bool(true));
    let shown = typed_inputs(action).map(|name| {
        let word = name.to_uppercase();
        if required(name) { word } else { format!("[{word}]") }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn usage(action: &ActionDefinition) -> String {
    format!("/{} {}", action.id, arguments(action)).trim_end().to_owned()
}

fn typed_inputs(action: &ActionDefinition) -> impl Iterator<Item = &str> {
    action.inputs.keys().map(String::as_str).filter(|name| !IMPLIED.contains(name))
}

fn is_text(action: &ActionDefinition, name: &str) -> bool {
    let kind = action.inputs.get(name).and_then(|input| input.get("type")).and_then(Value::as_str);
    matches!(kind, Some("string" | "text") | None)
}

/// A word as the type of its input wants it. One that does not fit stays a text, and the check
/// of the action's inputs says what it should have been.
fn value_of(action: &ActionDefinition, name: &str, text: &str) -> Value {
    let kind = action.inputs.get(name).and_then(|input| input.get("type")).and_then(Value::as_str);
    match kind {
        Some("string" | "text") => text.into(),
        _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test] // M-20
    fn what_is_meant_for_the_model_is_no_command() {
        for text in [
            "hello",
            "",
            "/",
            "/ hello",
            "//x",
            "/etc/hosts",
            "/etc/hosts is odd",
            " /help",
            "/help?",
            "/1",
            "/-x",
            "/a*b/",
            "/usr,",
            "/\u{0}",
            "\n/help",
        ] {
            assert_eq!(Typed::read(text), None, "{text:?}");
        }
        assert_eq!(Typed::read(&format!("/{}", "x".repeat(101))), None);
        for (text, name, rest) in [
            ("/help", "help", ""),
            ("/fork  2 ", "fork", "2"),
            ("/compact\nkeep the plan\nand the names", "compact", "keep the plan\nand the names"),
            ("/git:commit-all x", "git:commit-all", "x"),
            ("/übersicht", "übersicht", ""),
        ] {
            assert_eq!(Typed::read(text), Some(Typed { name, rest }));
        }
    }

    fn check_words(text: &str, expected: Expect) {
        let shown = words(text).into_iter().map(|word| match word.key {
            Some(key) => format!("{key} = {:?}\n", word.value),
            None => format!("{:?}\n", word.value),
        });
        expected.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn quotes_hold_words_together_where_they_begin_one() {
        check_words(
            r#"a "b c" 'd "e"' "f \" \\ \n" k="x y" n=1 "#,
            expect![[r#"
                "a"
                "b c"
                "d \"e\""
                "f \" \\ \\n"
                k = "x y"
                n = "1"
            "#]],
        );
        check_words(
            r#"don't "open k='x {"a":1} "a"b ="#,
            expect![[r#"
                "don't"
                "\"open"
                k = "'x"
                "{\"a\":1}"
                "\"a\"b"
                "="
            "#]],
        );
        check_words("  \n ", expect![""]);
        check_words(
            "\"\\",
            expect![[r#"
            "\"\\"
        "#]],
        );
    }

    fn action() -> ActionDefinition {
        ActionDefinition::new("cut", "Cut")
            .input("session_id", "string", true)
            .input("start", "integer", false)
            .input("keep", "boolean", false)
            .input("why", "string", true)
    }

    fn check_params(rest: &str, main: Option<&str>, expected: Expect) {
        let shown = match params(&action(), rest, main) {
            Ok(params) => Value::Object(params).to_string(),
            Err(error) => error.message().to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn arguments_are_given_by_place_or_by_name() {
        check_params("", None, expect!["{}"]);
        check_params(
            "3 true it is  long",
            None,
            expect![[r#"{"start":3,"keep":true,"why":"it is  long"}"#]],
        );
        check_params(
            "3 true 'one text'",
            None,
            expect![[r#"{"start":3,"keep":true,"why":"one text"}"#]],
        );
        check_params("why='a b' start=-1", None, expect![[r#"{"why":"a b","start":-1}"#]]);
        check_params("keep=false a 2", None, expect![[r#"{"keep":false,"start":"a","why":"2"}"#]]);
        check_params(
            "why=x 1 false more",
            None,
            expect![[r#""more" is one argument too many; write: /cut [START] [KEEP] WHY"#]],
        );
        check_params("x=1 y=2", Some("why"), expect![[r#"{"why":"x=1 y=2"}"#]]);
        check_params(
            "because start=1 of this",
            Some("why"),
            expect![[r#"{"start":1,"why":"because of this"}"#]],
        );
        check_params("session_id=other 1", None, expect![[r#"{"session_id":"other","start":1}"#]]);
    }
}
