//! The head of a Markdown file: the part of YAML that people write there, between two lines of
//! three dashes. Anchors, tags and deep nesting are not read, so no head is larger than it looks.

use orlop_core::{Map, Value};

/// How long a head may be, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// How many keys it may have.
const MAX_KEYS: usize = 64;

/// A file that begins with a head: the values of its keys, which are texts, lists of texts or
/// mappings to texts, and what stands behind the head.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document<'a> {
    pub(crate) head: Map,
    pub(crate) body: &'a str,
}

/// Reads a file with a head. The error is a sentence that names the line.
pub(crate) fn read(text: &str) -> Result<Document<'_>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rest = text;
    if next_line(&mut rest).is_none_or(|line| line.trim_end() != "---") {
        return Err("it does not begin with a line of three dashes; put `---`, the keys and `---` in front of the text".to_owned());
    }
    let head_at = text.len() - rest.len();
    let mut lines = Vec::new();
    loop {
        let Some(line) = next_line(&mut rest) else {
            return Err("the head has no end; close it with a line of three dashes".to_owned());
        };
        if matches!(line.trim_end(), "---" | "...") {
            break;
        }
        lines.push(line);
        if text.len() - rest.len() - head_at > MAX_HEAD {
            return Err(format!("the head is longer than {} KiB", MAX_HEAD / 1024));
        }
    }
    Ok(Document { head: Lines { lines: &lines, at: 0 }.read()?, body: rest.trim() })
}

/// The next line, without its end.
fn next_line<'a>(rest: &mut &'a str) -> Option<&'a str> {
    if rest.is_empty() {
        return None;
    }
    let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
    *rest = behind;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

struct Lines<'a> {
    lines: &'a [&'a str],
    at: usize,
}

impl<'a> Lines<'a> {
    fn read(mut self) -> Result<Map, String> {
        let mut head = Map::new();
        while let Some(line) = self.lines.get(self.at).copied() {
            self.at += 1;
            if is_nothing(line) {
                continue;
            }
            // The first line of the file is the one with the dashes.
            let number = self.at + 1;
            let Some((key, rest)) = key_of(line).filter(|_| indent(line) == 0) else {
                return Err(format!("line {number} is not `key: value`"));
            };
            let value = self.value(rest);
            if head.insert(key.to_owned(), value).is_some() {
                return Err(format!("line {number} has the key \"{key}\" a second time"));
            }
            if head.len() > MAX_KEYS {
                return Err(format!("the head has more than {MAX_KEYS} keys"));
            }
        }
        Ok(head)
    }

    /// The value that begins behind a key and may go on in the lines below.
    fn value(&mut self, rest: &'a str) -> Value {
        match rest.trim() {
            "" => self.nested(),
            mark if is_block(mark) => {
                let lines = self.indented();
                let kept = if mark.starts_with('|') { "\n" } else { " " };
                block(&lines, kept).into()
            }
            list if list.starts_with('[') && list.ends_with(']') => {
                let items = list[1..list.len() - 1].split(',').map(scalar);
                items.filter(|item| !item.is_empty()).collect::<Vec<_>>().into()
            }
            first => {
                let more = self.indented();
                let all = std::iter::once(first).chain(more.iter().map(|line| line.trim()));
                let all: Vec<&str> = all.filter(|line| !line.is_empty()).collect();
                scalar(&all.join(" ")).into()
            }
        }
    }

    /// A list or a mapping below a key without a value.
    fn nested(&mut self) -> Value {
        let begin = self.at;
        while self.lines.get(self.at).is_some_and(|line| {
            is_nothing(line) || indent(line) > 0 || line.trim_start().starts_with("- ")
        }) {
            self.at += 1;
        }
        let lines = self.lines[begin..self.at].iter().filter(|line| !is_nothing(line));
        let lines: Vec<&str> = lines.map(|line| line.trim()).collect();
        if lines.is_empty() {
            return Value::String(String::new());
        }
        let items: Option<Vec<&str>> = lines.iter().map(|line| line.strip_prefix("- ")).collect();
        match items {
            Some(items) => items.into_iter().map(scalar).collect::<Vec<_>>().into(),
            None => {
                let pairs = lines.iter().filter_map(|line| key_of(line));
                let pairs = pairs.map(|(key, rest)| (key.to_owned(), scalar(rest).into()));
                Value::Object(pairs.take(MAX_KEYS).collect())
            }
        }
    }

    /// The lines below that are indented, or empty between such lines.
    fn indented(&mut self) -> Vec<&'a str> {
        let begin = self.at;
        while self.lines.get(self.at).is_some_and(|line| line.trim().is_empty() || indent(line) > 0)
        {
            self.at += 1;
        }
        self.lines[begin..self.at].to_vec()
    }
}

/// The key of a line and what stands behind its colon.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.trim_start().split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((key, rest))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_nothing(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn is_block(mark: &str) -> bool {
    let mut marks = mark.chars();
    matches!(marks.next(), Some('|' | '>')) && marks.all(|c| matches!(c, '-' | '+' | '1'..='9'))
}

/// Lines without the indent they have in common, joined.
fn block(lines: &[&str], joint: &str) -> String {
    let full = lines.iter().filter(|line| !line.trim().is_empty());
    let common = full.map(|line| indent(line)).min().unwrap_or(0);
    let inner: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or("")).collect();
    inner.join(joint).trim().to_owned()
}

/// A text as it is written: in quotes, or plain with a comment behind it.
fn scalar(text: &str) -> String {
    let text = text.trim();
    if text.len() >= 2 && text.starts_with('"') && text.ends_with('"') {
        let read = serde_json::from_str::<String>(text);
        return read.unwrap_or_else(|_| text[1..text.len() - 1].to_owned());
    }
    if text.len() >= 2 && text.starts_with('\'') && text.ends_with('\'') {
        return text[1..text.len() - 1].replace("''", "'");
    }
    text.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_people_write_is_read() {
        let text = "---\nname: pdf-forms # ours\ndescription: Use this when: the user asks\n  about forms.\nquoted: \"a: \\\"b\\\"\"\nsingle: 'it''s'\nlong: |\n  one\n    two\n\n  three\nfolded: >-\n  one\n  two\nmetadata:\n  author: me\n  version: \"1.0\"\nlist: [a, 'b']\nbullets:\n- x\n- y\nempty:\n---\n\n# Body\n---\nmore\n";
        let read = read(text).unwrap();
        expect![[r##"
            {"name":"pdf-forms","description":"Use this when: the user asks about forms.","quoted":"a: \"b\"","single":"it's","long":"one\n  two\n\nthree","folded":"one two","metadata":{"author":"me","version":"1.0"},"list":["a","b"],"bullets":["x","y"],"empty":""}
            # Body
            ---
            more"##]]
        .assert_eq(&format!("{}\n{}", Value::Object(read.head), read.body));
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let said = |text: &str| read(text).unwrap_err();
        expect![[r#"
            it does not begin with a line of three dashes; put `---`, the keys and `---` in front of the text
            the head has no end; close it with a line of three dashes
            line 3 is not `key: value`
            line 2 is not `key: value`
            line 3 has the key "a" a second time
            the head is longer than 16 KiB
            the head has more than 64 keys"#]]
        .assert_eq(
            &[
                said("# Title"),
                said("---\nname: x\n"),
                said("---\na: b\nnothing here\n---"),
                said("---\n{{{{: *a\n---"),
                said("---\na: 1\na: 2\n---"),
                said(&format!("---\na: {}\n---", "x".repeat(17_000))),
                said(&format!("---\n{}---", (0..70).map(|n| format!("k{n}: 1\n")).collect::<String>())),
            ]
            .join("\n"),
        );
    }

    #[test]
    fn any_ending_of_lines_and_a_byte_order_mark_will_do() {
        let read = read("\u{feff}---\r\nname: x\r\n---\r\nbody\r\n").unwrap();
        assert_eq!((read.head["name"].as_str(), read.body), (Some("x"), "body"));
    }
}
