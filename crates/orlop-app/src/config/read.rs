//! Reads TOML into a tree with positions. Whatever the file holds, the outcome is a tree or
//! problems that say where.

use super::locate::SERVERS_FILE;
use super::origin::{Origin, Position, SourceFile};
use super::problem::{Problem, ProblemKind};
use super::servers_file::as_toml;
use super::tree::{Content, Node, Table, below, item};
use orlop_core::Value;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeInteger, DeTable, DeValue};

/// The largest configuration file.
const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of tables and lists.
const MAX_DEPTH: usize = 48;
/// More syntax errors than this help nobody.
const MAX_SYNTAX_ERRORS: usize = 10;
/// The parser's tree may be thousands of levels deep before anyone can look at it, and is dropped
/// level by level: enough for the deepest that fits its own limits.
const PARSER_STACK: usize = 32 << 20;

/// Reads a file.
pub(super) fn read_file(file: &Arc<SourceFile>) -> Result<Table, Vec<Problem>> {
    let unreadable = |message: String, remedy: &str| {
        let origin = Origin::File(file.clone(), None);
        vec![Problem::new(ProblemKind::Unreadable, origin, "", message).remedy(remedy)]
    };
    let bytes = match bytes_of(file) {
        Ok(bytes) => bytes,
        Err(_) if file.path().is_dir() => {
            return Err(unreadable("is a folder".into(), "name a TOML file"));
        }
        Err(error) => {
            let message = format!("cannot be read: {error}");
            return Err(unreadable(message, "check the path and its permissions"));
        }
    };
    if bytes.len() > MAX_BYTES {
        let message = format!("is larger than {MAX_BYTES} bytes");
        return Err(unreadable(message, "name a configuration file"));
    }
    match String::from_utf8(bytes) {
        Ok(text) if file.path().ends_with(SERVERS_FILE) => read_text(file, &as_toml(&text)),
        Ok(text) => read_text(file, &text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let start = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let position = Positions::new(without_mark(&start)).at(valid);
            let origin = Origin::File(file.clone(), Some(position));
            let problem =
                Problem::new(ProblemKind::Syntax, origin, "", "is not UTF-8 from here on");
            Err(vec![problem.remedy("save the file as UTF-8")])
        }
    }
}

fn bytes_of(file: &SourceFile) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file.path())?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a text as if it stood in `file`.
pub(super) fn read_text(file: &Arc<SourceFile>, text: &str) -> Result<Table, Vec<Problem>> {
    let text = without_mark(text);
    on_a_deep_stack(|| {
        let reader = Reader { file, positions: Positions::new(text) };
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(reader.syntax_errors(errors));
        }
        reader.table(document.get_ref(), "", 0).map_err(|problem| vec![problem])
    })
    .unwrap_or_else(|| {
        let origin = Origin::File(file.clone(), None);
        let message = "cannot be read: the system gives no thread";
        Err(vec![Problem::new(ProblemKind::Unreadable, origin, "", message).remedy("try again")])
    })
}

/// Reads one value of a flag: TOML, or else the text itself.
pub(super) fn read_flag_value(text: &str) -> Content {
    let parsed = on_a_deep_stack(|| {
        let value = DeValue::parse(text).ok()?;
        let origin = Origin::Flag;
        flag_content(value.get_ref(), &origin, 0)
    });
    parsed.flatten().unwrap_or_else(|| Content::Scalar(text.into()))
}

/// Reads the dotted key of a flag.
pub(super) fn read_flag_key(text: &str) -> Option<Vec<String>> {
    if text.contains(['\n', '\r', '=']) {
        return None;
    }
    on_a_deep_stack(|| {
        let line = format!("{text} = 0");
        let document = DeTable::parse(&line).ok()?;
        let mut steps = Vec::new();
        let mut table = document.get_ref();
        loop {
            let (key, value) = table.iter().next()?;
            steps.push(key.get_ref().to_string());
            match value.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => return (steps.len() <= MAX_DEPTH).then_some(steps),
            }
        }
    })?
}

fn on_a_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(PARSER_STACK);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

struct Reader<'a> {
    file: &'a Arc<SourceFile>,
    positions: Positions<'a>,
}

impl Reader<'_> {
    fn origin(&self, span: Range<usize>) -> Origin {
        Origin::File(self.file.clone(), Some(self.positions.at(span.start)))
    }

    fn syntax_errors(&self, mut errors: Vec<toml::de::Error>) -> Vec<Problem> {
        errors.sort_by_key(|error| error.span().map(|span| span.start));
        let problems = errors.iter().take(MAX_SYNTAX_ERRORS).map(|error| {
            let origin = match error.span() {
                Some(span) => self.origin(span),
                None => Origin::File(self.file.clone(), None),
            };
            // The message is the parser's own; the text of the line may hold a secret.
            let message = error.message();
            let remedy = match message {
                message if message.contains("duplicate") => "keep one of the two",
                message if message.contains("quoted") => "put the text in double quotes",
                _ => "correct the TOML here",
            };
            Problem::new(ProblemKind::Syntax, origin, "", message).remedy(remedy)
        });
        problems.collect()
    }

    fn table(&self, table: &DeTable<'_>, path: &str, depth: usize) -> Result<Table, Problem> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let nodes = entries.into_iter().map(|(key, value)| {
            let name = key.get_ref().to_string();
            let key_origin = self.origin(key.span());
            let path = below(path, &name);
            if depth >= MAX_DEPTH {
                let message = format!("is nested more than {MAX_DEPTH} levels deep");
                return Err(Problem::new(ProblemKind::Syntax, key_origin, path, message)
                    .remedy("use fewer levels"));
            }
            let origin = match value.get_ref() {
                DeValue::Table(_) => key_origin.clone(),
                _ => self.origin(value.span()),
            };
            let content = self.content(value.get_ref(), &origin, &path, depth + 1)?;
            Ok((name, Node { content, origin, key_origin }))
        });
        nodes.collect()
    }

    fn content(
        &self,
        value: &DeValue<'_>,
        origin: &Origin,
        path: &str,
        depth: usize,
    ) -> Result<Content, Problem> {
        match value {
            DeValue::Table(table) => self.table(table, path, depth).map(Content::Table),
            DeValue::Array(items) => {
                let nodes = items.iter().enumerate().map(|(index, value)| {
                    let origin = self.origin(value.span());
                    let path = item(path, index);
                    let content = self.content(value.get_ref(), &origin, &path, depth + 1)?;
                    Ok(Node::made(content, origin))
                });
                nodes.collect::<Result<_, Problem>>().map(Content::List)
            }
            scalar => scalar_of(scalar).map(Content::Scalar).ok_or_else(|| {
                let message = "is a number that cannot be stored";
                Problem::new(ProblemKind::BadValue, origin.clone(), path, message)
                    .remedy("use a finite number of at most 64 bits")
            }),
        }
    }
}

fn flag_content(value: &DeValue<'_>, origin: &Origin, depth: usize) -> Option<Content> {
    let made = |value: &DeValue<'_>| {
        (depth < MAX_DEPTH).then_some(())?;
        Some(Node::made(flag_content(value, origin, depth + 1)?, origin.clone()))
    };
    match value {
        DeValue::Table(table) => {
            let nodes = table
                .iter()
                .map(|(key, value)| Some((key.get_ref().to_string(), made(value.get_ref())?)));
            nodes.collect::<Option<_>>().map(Content::Table)
        }
        DeValue::Array(items) => items
            .iter()
            .map(|value| made(value.get_ref()))
            .collect::<Option<_>>()
            .map(Content::List),
        scalar => scalar_of(scalar).map(Content::Scalar),
    }
}

/// A scalar as JSON; dates are text. None for numbers that JSON cannot hold.
fn scalar_of(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::from(text.as_ref())),
        DeValue::Integer(number) => integer_of(number),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().ok()?;
            serde_json::Number::from_f64(number).map(Value::Number)
        }
        DeValue::Boolean(truth) => Some(Value::Bool(*truth)),
        DeValue::Datetime(date) => Some(Value::String(date.to_string())),
        DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn integer_of(number: &DeInteger<'_>) -> Option<Value> {
    let (digits, radix) = (number.as_str(), number.radix());
    let signed = i64::from_str_radix(digits, radix).ok().map(Value::from);
    signed.or_else(|| u64::from_str_radix(digits, radix).ok().map(Value::from))
}

/// Turns byte offsets into lines and columns, in time that does not grow with the line.
struct Positions<'a> {
    text: &'a [u8],
    line_starts: Vec<usize>,
    /// Characters before each block of [`Self::BLOCK`] bytes.
    characters: Vec<usize>,
}

impl<'a> Positions<'a> {
    const BLOCK: usize = 64;

    fn new(text: &'a str) -> Self {
        let text = text.as_bytes();
        let line_ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let line_starts = std::iter::once(0).chain(line_ends.map(|(at, _)| at + 1)).collect();
        let mut characters = vec![0];
        let mut count = 0;
        for block in text.chunks(Self::BLOCK) {
            count += characters_in(block);
            characters.push(count);
        }
        Self { text, line_starts, characters }
    }

    fn at(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.characters_before(offset) - self.characters_before(start) + 1;
        Position { line, column }
    }

    fn characters_before(&self, offset: usize) -> usize {
        let block = offset / Self::BLOCK;
        let counted = self.characters.get(block).copied().unwrap_or(0);
        counted + characters_in(&self.text[block * Self::BLOCK..offset])
    }
}

/// How many characters begin in these bytes of UTF-8.
fn characters_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}
