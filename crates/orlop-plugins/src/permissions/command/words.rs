//! Words of a command line: quotes, escapes, and everything that begins with `$`.

use super::parse::{Parser, Read, is_name};
use super::script::Word;

impl Parser<'_> {
    pub(super) fn word(&mut self) -> Read<Word> {
        let mut word = Word::default();
        let mut braces = (false, false);
        while let Some(next) = self.peek() {
            match next {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\\' => {
                    self.at += 1;
                    let escaped = self.character().ok_or("it ends with a backslash")?;
                    word.text.push(escaped);
                    word.plain = false;
                }
                b'\'' => self.single_quotes(&mut word)?,
                b'"' => self.double_quotes(&mut word)?,
                b'`' => self.backticks(&mut word, false)?,
                b'$' => self.dollar(&mut word, false)?,
                b'~' if word.text.is_empty() && word.plain => {
                    self.at += 1;
                    word.tilde = true;
                    word.text.push('~');
                }
                _ => {
                    word.sets |= next == b'=' && word.plain && !word.text.contains('=');
                    word.glob |= matches!(next, b'*' | b'?' | b'[');
                    braces.0 |= next == b'{';
                    braces.1 |= next == b'}' && braces.0;
                    word.text.extend(self.character());
                }
            }
        }
        // Braces make several words of one, in some shells.
        if braces == (true, true) && (word.text.contains(',') || word.text.contains("..")) {
            word.known = false;
        }
        Ok(word)
    }

    fn single_quotes(&mut self, word: &mut Word) -> Read<()> {
        let text = &self.source[self.at + 1..];
        let end = text.find('\'').ok_or("a quote is not closed")?;
        word.text.push_str(&text[..end]);
        word.plain = false;
        self.at += end + 2;
        Ok(())
    }

    fn double_quotes(&mut self, word: &mut Word) -> Read<()> {
        self.at += 1;
        word.plain = false;
        loop {
            match self.peek().ok_or("a quote is not closed")? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    if !matches!(self.raw(), Some(b'$' | b'`' | b'"' | b'\\')) {
                        word.text.push('\\');
                    }
                    word.text.extend(self.character());
                }
                b'`' => self.backticks(word, true)?,
                b'$' => self.dollar(word, true)?,
                _ => word.text.extend(self.character()),
            }
        }
    }

    /// An older way to write a substitution, with rules of its own for backslashes.
    pub(super) fn backticks(&mut self, word: &mut Word, quoted: bool) -> Read<()> {
        self.at += 1;
        (word.known, word.plain) = (false, false);
        let mut inner = String::new();
        loop {
            match self.character().ok_or("a substitution is not closed")? {
                '`' => break,
                '\\' => match self.character().ok_or("a substitution is not closed")? {
                    escaped @ ('`' | '\\' | '$') => inner.push(escaped),
                    '"' if quoted => return Err("it has escaped quotes in a substitution"),
                    other => inner.extend(['\\', other]),
                },
                other => inner.push(other),
            }
        }
        self.inner(&inner, |parser| parser.whole())
    }

    /// `$( )`, after the parenthesis.
    pub(super) fn substitution(&mut self) -> Read<()> {
        if !self.pending.is_empty() {
            return Err("it has a substitution behind a here-document");
        }
        self.nested(|parser| parser.list(true))?;
        match self.pending.is_empty() {
            true => Ok(()),
            false => Err("a here-document has no end"),
        }
    }

    /// Everything that begins with `$`.
    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool) -> Read<()> {
        self.at += 1;
        let Some(next) = self.peek() else {
            word.text.push('$');
            return Ok(());
        };
        word.plain = false;
        match next {
            b'(' => {
                word.known = false;
                self.at += 1;
                match self.peek() {
                    Some(b'(') => self.arithmetic(),
                    _ => self.substitution(),
                }
            }
            b'{' => {
                self.at += 1;
                let rest = &self.source[self.at..];
                let end = rest.find('}').ok_or("a brace is not closed")?;
                let name = &rest[..end];
                let is_special = name.len() == 1 && b"@*#?$!-".contains(&name.as_bytes()[0]);
                let is_number = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
                if !is_name(name) && !is_special && !is_number {
                    return Err("it has an expansion that may compute or run something");
                }
                self.at += end + 1;
                self.variable(word, name);
                Ok(())
            }
            b'[' => Err("it has arithmetic in it"),
            b'\'' if !quoted => {
                let before = word.text.len();
                self.single_quotes(word)?;
                word.known = false;
                match word.text[before..].contains('\\') {
                    true => Err("it has escapes that shells read differently"),
                    false => Ok(()),
                }
            }
            b'"' if !quoted => {
                word.known = false;
                self.double_quotes(word)
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                let mut name = String::new();
                while let Some(next) =
                    self.peek().filter(|b| *b == b'_' || b.is_ascii_alphanumeric())
                {
                    name.push(char::from(next));
                    self.at += 1;
                }
                self.variable(word, &name);
                Ok(())
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-' => {
                self.at += 1;
                word.known = false;
                Ok(())
            }
            _ => {
                word.text.push('$');
                Ok(())
            }
        }
    }

    fn variable(&mut self, word: &mut Word, name: &str) {
        match self.home.filter(|_| name == "HOME") {
            Some(home) => word.text.push_str(home),
            None => word.known = false,
        }
    }

    /// `$(( ))` with numbers only: names in it may run commands.
    fn arithmetic(&mut self) -> Read<()> {
        let mut open = 0_usize;
        while let Some(next) = self.raw() {
            self.at += 1;
            match next {
                b'(' => open += 1,
                b')' if open == 0 => return Ok(()),
                b')' => open -= 1,
                b'0'..=b'9' | b' ' | b'+' | b'-' | b'*' | b'/' | b'%' => {}
                _ => break,
            }
        }
        Err("it has arithmetic in it")
    }
}
