//! Objects of a PDF as they are written: numbers, names, strings, lists, mappings, references.

use std::collections::HashMap;

/// How deep lists and mappings may lie in each other.
const MAX_DEPTH: usize = 32;
/// How many entries one of them may have.
const MAX_ENTRIES: usize = 100_000;

/// A mapping.
pub(super) type Dict = HashMap<Vec<u8>, Object>;

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Null,
    Number(f64),
    Name(Vec<u8>),
    String(Vec<u8>),
    List(Vec<Object>),
    Dict(Dict),
    /// The number of another object.
    Reference(u32),
    /// Any other word: an operator, or a word of the file's structure.
    Word(Vec<u8>),
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Reads objects one after another.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    while self.peek().is_some_and(|byte| byte != b'\n' && byte != b'\r') {
                        self.at += 1;
                    }
                }
                _ if is_space(byte) => self.at += 1,
                _ => break,
            }
        }
    }

    /// The next object; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Object> {
        self.object(MAX_DEPTH)
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        self.skip_space();
        let byte = self.peek()?;
        Some(match byte {
            b'/' => {
                self.at += 1;
                Object::Name(self.name())
            }
            b'(' => Object::String(self.literal()),
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => {
                self.at += 2;
                self.dict(depth)
            }
            b'<' => Object::String(self.hexadecimal()),
            b'[' => {
                self.at += 1;
                self.list(depth)
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => self.number_or_reference(),
            b']' | b'>' | b')' | b'{' | b'}' => {
                // Out of place: pass over it.
                self.at += 1;
                Object::Word(vec![byte])
            }
            _ => {
                let word = self.word();
                match word {
                    b"null" => Object::Null,
                    word => Object::Word(word.to_vec()),
                }
            }
        })
    }

    fn word(&mut self) -> &'a [u8] {
        let begin = self.at;
        while self.peek().is_some_and(|byte| !is_space(byte) && !is_delimiter(byte)) {
            self.at += 1;
        }
        &self.bytes[begin..self.at]
    }

    fn name(&mut self) -> Vec<u8> {
        let raw = self.word();
        let mut name = Vec::with_capacity(raw.len());
        let mut at = 0;
        while at < raw.len() {
            let digits = raw.get(at + 1..at + 3).filter(|_| raw[at] == b'#');
            match digits.and_then(|digits| Some(digit(digits[0])? * 16 + digit(digits[1])?)) {
                Some(byte) => {
                    name.push(byte);
                    at += 3;
                }
                None => {
                    name.push(raw[at]);
                    at += 1;
                }
            }
        }
        name
    }

    fn number_or_reference(&mut self) -> Object {
        let number = self.plain_number();
        let whole = number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX);
        if whole {
            // `12 0 R` is a reference.
            let mut ahead = self.clone();
            ahead.skip_space();
            let generation = ahead.word();
            let digits = !generation.is_empty() && generation.iter().all(u8::is_ascii_digit);
            if digits && generation.len() <= 5 {
                ahead.skip_space();
                if ahead.word() == b"R" {
                    self.at = ahead.at;
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "checked above"
                    )]
                    return Object::Reference(number as u32);
                }
            }
        }
        Object::Number(number)
    }

    fn plain_number(&mut self) -> f64 {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[begin..self.at]).unwrap_or_default();
        text.parse().unwrap_or(0.0)
    }

    /// A string in round brackets, which may be nested.
    fn literal(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut open, mut string) = (1, Vec::new());
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\\' => {
                    string.extend(self.escape());
                    continue;
                }
                _ => {}
            }
            string.push(byte);
        }
        string
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' | b'f' => b' ',
            b'\n' => return None,
            b'\r' => {
                if self.peek() == Some(b'\n') {
                    self.at += 1;
                }
                return None;
            }
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(next @ b'0'..=b'7') => {
                            code = code * 8 + u32::from(next - b'0');
                            self.at += 1;
                        }
                        _ => break,
                    }
                }
                u8::try_from(code & 0xff).unwrap_or(0)
            }
            other => other,
        })
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            digits.extend(digit(byte));
        }
        if digits.len() % 2 == 1 {
            digits.push(0);
        }
        digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
    }

    fn list(&mut self, depth: usize) -> Object {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None => break,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(_) if depth == 0 || items.len() >= MAX_ENTRIES => {
                    self.at = self.bytes.len();
                    break;
                }
                Some(_) => items.extend(self.object(depth - 1)),
            }
        }
        Object::List(items)
    }

    fn dict(&mut self, depth: usize) -> Object {
        let mut entries = Dict::new();
        loop {
            self.skip_space();
            match self.peek() {
                None => break,
                Some(b'>') => {
                    self.at += 1;
                    if self.peek() == Some(b'>') {
                        self.at += 1;
                    }
                    break;
                }
                Some(_) if depth == 0 || entries.len() >= MAX_ENTRIES => {
                    self.at = self.bytes.len();
                    break;
                }
                Some(_) => {}
            }
            match self.object(depth - 1) {
                Some(Object::Name(key)) => {
                    self.skip_space();
                    if self.peek() == Some(b'>') {
                        continue;
                    }
                    if let Some(value) = self.object(depth - 1) {
                        entries.insert(key, value);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        Object::Dict(entries)
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | 0)
}

fn is_delimiter(byte: u8) -> bool {
    b"()<>[]{}/%".contains(&byte)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
