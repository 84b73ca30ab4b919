//! Reads a command line as a shell does, as far as needed to find every command in it.
//!
//! Where shells differ, or where reading on would mean guessing, the line is unclear, and what is
//! unclear is never allowed. Structure is not checked: the shell does that. What matters is that no
//! command is overlooked.

use super::script::{Assignment, Redirect, Script, Simple, Word};

/// How long a command line may be that is looked at.
const MAX_BYTES: usize = 32 * 1024;
/// How deep substitutions and groups may be nested.
const MAX_DEPTH: usize = 24;
/// How many commands there may be in one line.
const MAX_COMMANDS: usize = 512;

/// Why a line is not understood.
type Unclear = &'static str;
pub(super) type Read<T> = Result<T, Unclear>;

/// Reads a command line. `home` is what `~` and `$HOME` stand for.
pub(crate) fn parse(source: &str, home: Option<&str>, depth: usize) -> Script {
    let mut script = Script::default();
    if source.len() > MAX_BYTES {
        script.unclear = Some("it is longer than 32 KiB");
    } else if source.chars().any(is_hidden) {
        script.unclear = Some("it has characters in it that do not show");
    } else {
        // A home folder that the shell would take apart is not replaced.
        let home =
            home.filter(|home| home.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c)));
        let mut parser =
            Parser { source, at: 0, depth, home, pending: Vec::new(), script: &mut script };
        if let Err(why) = parser.whole() {
            script.unclear = Some(why);
        }
    }
    script
}

/// The words of a rule, which is written like one command. None if it is anything else.
pub(crate) fn rule_words(text: &str) -> Option<Vec<Word>> {
    let script = parse(text, None, 0);
    let words = match (&*script.commands, script.unclear) {
        ([one], None) if one.redirects.is_empty() => {
            let set = one.assignments.iter().map(Assignment::as_word);
            set.chain(one.words.iter().cloned()).collect::<Vec<_>>()
        }
        _ => return None,
    };
    let is_one_command = !script.repeats && words.iter().all(|word| word.known);
    (is_one_command && !words.is_empty()).then_some(words)
}

/// Characters that a person does not see, or that shells take for different things.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control() || (c.is_whitespace() && c != ' '),
    }
}

pub(super) struct HereDocument {
    end: String,
    is_literal: bool,
    strips_tabs: bool,
}

pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) at: usize,
    depth: usize,
    pub(super) home: Option<&'a str>,
    pub(super) pending: Vec<HereDocument>,
    script: &'a mut Script,
}

impl Parser<'_> {
    pub(super) fn whole(&mut self) -> Read<()> {
        self.list(false)?;
        match self.pending.is_empty() {
            true => Ok(()),
            false => Err("a here-document has no end"),
        }
    }

    pub(super) fn raw(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    /// The next byte; a backslash at the end of a line joins it with the next one.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.source.as_bytes()[self.at..].starts_with(b"\\\n") {
            self.at += 2;
        }
        self.raw()
    }

    pub(super) fn eat(&mut self, wanted: u8) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    /// Takes one whole character.
    pub(super) fn character(&mut self) -> Option<char> {
        let c = self.source[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Blanks, and a comment if one begins here.
    pub(super) fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
        if self.raw() == Some(b'#') {
            let rest = &self.source.as_bytes()[self.at..];
            self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        }
    }

    pub(super) fn nested(&mut self, read: impl FnOnce(&mut Self) -> Read<()>) -> Read<()> {
        if self.depth >= MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Commands up to the end, or up to the parenthesis that closes them.
    pub(super) fn list(&mut self, inside: bool) -> Read<()> {
        loop {
            self.blanks();
            let Some(next) = self.peek() else {
                return if inside { Err("a parenthesis is not closed") } else { Ok(()) };
            };
            match next {
                b'\n' => {
                    self.at += 1;
                    self.here_documents()?;
                }
                b';' => {
                    self.at += 1;
                    if let Some(b';' | b'&') = self.peek() {
                        return Err("it has a case statement");
                    }
                }
                b'&' if self.source.as_bytes().get(self.at + 1) != Some(&b'>') => {
                    self.at += 1;
                    self.eat(b'&');
                }
                b'|' => {
                    self.at += 1;
                    let _ = self.eat(b'|') || self.eat(b'&');
                }
                b'(' => {
                    self.at += 1;
                    if self.peek() == Some(b'(') {
                        return Err("it has arithmetic in it");
                    }
                    self.nested(|parser| parser.list(true))?;
                }
                b')' if inside => {
                    self.at += 1;
                    return Ok(());
                }
                b')' => return Err("a parenthesis is closed that was not opened"),
                _ => self.simple()?,
            }
        }
    }

    /// One simple command, or a word of the shell's grammar, after which a command may begin.
    fn simple(&mut self) -> Read<()> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.source.as_bytes().get(self.at + 1) != Some(&b'>') => break,
                Some(b'<' | b'>' | b'&') => self.redirect(&mut simple)?,
                Some(b'(') => {
                    let is_function = simple.words.len() == 1
                        && simple.assignments.is_empty()
                        && simple.redirects.is_empty();
                    self.at += 1;
                    self.blanks();
                    if !is_function || !self.eat(b')') {
                        return Err("it has a parenthesis where none is expected");
                    }
                    self.script.repeats = true;
                    return Ok(());
                }
                Some(_) => {
                    let word = self.word()?;
                    if self.add(&mut simple, word)? {
                        return Ok(());
                    }
                }
            }
        }
        if self.script.commands.len() >= MAX_COMMANDS {
            return Err("it has more than 512 commands");
        }
        self.script.commands.push(simple);
        Ok(())
    }

    /// Puts a word where it belongs. Gives whether it was one of the shell's grammar.
    fn add(&mut self, simple: &mut Simple, word: Word) -> Read<bool> {
        let is_number = word.plain && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && let Some(b'<' | b'>') = self.raw() {
            return self.redirect(simple).map(|()| false);
        }
        let is_first = simple.words.is_empty() && simple.assignments.is_empty();
        if is_first && simple.redirects.is_empty() && word.plain {
            match &*word.text {
                "while" | "until" => {
                    self.script.repeats = true;
                    return Ok(true);
                }
                "if" | "then" | "elif" | "else" | "fi" | "do" | "done" | "{" | "}" | "!" => {
                    return Ok(true);
                }
                "for" => return self.for_words().map(|()| true),
                "case" | "esac" | "select" | "function" | "coproc" => {
                    return Err("it has a statement that is not looked into");
                }
                _ => {}
            }
        }
        match assignment(&word) {
            Some(set) if simple.words.is_empty() => {
                if self.raw() == Some(b'(') {
                    return Err("it sets an array");
                }
                simple.assignments.push(set);
            }
            _ => simple.words.push(word),
        }
        Ok(false)
    }

    /// The head of a loop over words.
    fn for_words(&mut self) -> Read<()> {
        self.script.repeats = true;
        self.blanks();
        let name = self.word()?;
        if !name.plain || !is_name(&name.text) {
            return Err("it has a loop that is not looked into");
        }
        self.blanks();
        while self.eat(b'\n') {
            self.blanks();
        }
        if !self.source[self.at..].starts_with("in") {
            return Ok(());
        }
        let list = self.word()?;
        if !list.plain || list.text != "in" {
            return Err("it has a loop that is not looked into");
        }
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';') => return Ok(()),
                Some(b'<' | b'>' | b'(' | b')' | b'&' | b'|') => {
                    return Err("it has a loop that is not looked into");
                }
                Some(_) => self.word().map(drop)?,
            }
        }
    }

    fn redirect(&mut self, simple: &mut Simple) -> Read<()> {
        let writes = if self.eat(b'&') {
            self.eat(b'>');
            self.eat(b'>');
            true
        } else if self.eat(b'<') {
            match self.peek() {
                Some(b'(') => return self.process_substitution(simple),
                Some(b'<') => {
                    self.at += 1;
                    return self.here();
                }
                Some(b'&') => {
                    self.at += 1;
                    return self.duplicate(simple, false);
                }
                _ => self.eat(b'>'),
            }
        } else {
            self.at += 1;
            match self.peek() {
                Some(b'(') => return self.process_substitution(simple),
                Some(b'&') => {
                    self.at += 1;
                    return self.duplicate(simple, true);
                }
                Some(b'>' | b'|') => self.at += 1,
                _ => {}
            }
            true
        };
        let target = self.target()?;
        simple.redirects.push(Redirect { writes, target });
        Ok(())
    }

    /// The word after an operator of redirection.
    fn target(&mut self) -> Read<Word> {
        self.blanks();
        match self.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') => {
                Err("it has a redirection without a target")
            }
            Some(_) => self.word(),
        }
    }

    fn process_substitution(&mut self, simple: &mut Simple) -> Read<()> {
        self.at += 1;
        self.substitution()?;
        // What follows at once would belong to the same word.
        if !self.raw().is_none_or(|next| b" \t\n;&|<>)".contains(&next)) {
            return Err("it has a substitution inside of a word");
        }
        simple.words.push(Word { pipe: true, ..Word::unknown() });
        Ok(())
    }

    /// `>&2` and the like; with a name it is a file.
    fn duplicate(&mut self, simple: &mut Simple, writes: bool) -> Read<()> {
        let target = self.target()?;
        let number = target.text.strip_suffix('-').unwrap_or(&target.text);
        let is_number = target.known && number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            simple.redirects.push(Redirect { writes, target });
        }
        Ok(())
    }

    /// `<<END`, `<<-END` and `<<<word`, after the second sign.
    fn here(&mut self) -> Read<()> {
        if self.eat(b'<') {
            return self.target().map(drop);
        }
        let strips_tabs = self.eat(b'-');
        let end = self.target()?;
        let is_simple = !end.text.is_empty()
            && end.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        if end.fixed().is_none() || !is_simple {
            return Err("it has a here-document with an unusual end");
        }
        self.pending.push(HereDocument { end: end.text, is_literal: !end.plain, strips_tabs });
        Ok(())
    }

    /// The texts that the line before asked for.
    fn here_documents(&mut self) -> Read<()> {
        for document in std::mem::take(&mut self.pending) {
            let start = self.at;
            let body = loop {
                let rest = &self.source[self.at..];
                if rest.is_empty() {
                    return Err("a here-document has no end");
                }
                let line = rest.split('\n').next().unwrap_or_default();
                let begin = self.at;
                self.at = (self.at + line.len() + 1).min(self.source.len());
                let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    break &self.source[start..begin];
                }
            };
            if !document.is_literal {
                if body.contains("\\\n") {
                    return Err("a here-document has joined lines");
                }
                self.inner(body, |parser| parser.expansions())?;
            }
        }
        Ok(())
    }

    /// Reads another text into the same script.
    pub(super) fn inner(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Parser<'_>) -> Read<()>,
    ) -> Read<()> {
        if self.depth >= MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let mut parser = Parser {
            source: text,
            at: 0,
            depth: self.depth + 1,
            home: self.home,
            pending: Vec::new(),
            script: self.script,
        };
        read(&mut parser)
    }

    /// The expansions in the text of a here-document.
    fn expansions(&mut self) -> Read<()> {
        let mut word = Word::default();
        while let Some(next) = self.raw() {
            match next {
                b'\\' => {
                    self.at += 1;
                    self.character();
                }
                b'`' => self.backticks(&mut word, false)?,
                b'$' => self.dollar(&mut word, true)?,
                _ => drop(self.character()),
            }
        }
        Ok(())
    }
}

/// `NAME=value` as a word that sets a variable, if it stands before a command.
fn assignment(word: &Word) -> Option<Assignment> {
    let (name, value) = word.text.split_once('=').filter(|_| word.sets)?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let plain_name = name.split('[').next().unwrap_or_default();
    if !is_name(plain_name) {
        return None;
    }
    let tilde = value.starts_with('~');
    let value = Word { text: value.to_owned(), tilde, ..word.clone() };
    Some(Assignment { name: name.to_owned(), value })
}

pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
