//! What a command line comes to: the simple commands in it, in the order they are written, whatever
//! stands around them.

/// The simple commands of a command line, those inside of substitutions among them.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Simple>,
    /// Why the line is not understood. What was found before is kept, for rules that deny.
    pub(crate) unclear: Option<&'static str>,
    /// Whether parts may run more than once, or in another order than they are written in.
    pub(crate) repeats: bool,
}

/// Assignments, words and redirections; each may be missing.
#[derive(Debug, Default, Clone)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// `NAME=value` before a command, or alone.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Word,
}

/// A file that a command reads from or writes to.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: Word,
}

/// One word, without its quotes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Whether `text` is what the program gets; else something is only known when it runs.
    pub(crate) known: bool,
    /// Nothing in it was quoted, escaped or expanded.
    pub(crate) plain: bool,
    /// It has `*`, `?` or `[` that the shell replaces by names of files.
    pub(crate) glob: bool,
    /// It begins with a `~` that the shell replaces.
    pub(crate) tilde: bool,
    /// It is a process substitution: a pipe, and no file.
    pub(crate) pipe: bool,
    /// Everything before the first `=` was written plainly, as in an assignment.
    pub(crate) sets: bool,
}

impl Default for Word {
    fn default() -> Self {
        let text = String::new();
        Self { text, known: true, plain: true, glob: false, tilde: false, pipe: false, sets: false }
    }
}

impl Word {
    /// A word that is only known when it runs.
    pub(crate) fn unknown() -> Self {
        Self { known: false, plain: false, ..Self::default() }
    }

    /// The text, if the program gets exactly that.
    pub(crate) fn fixed(&self) -> Option<&str> {
        (self.known && !self.glob && !self.tilde && !self.pipe).then_some(&*self.text)
    }
}

impl Assignment {
    /// The assignment as a word of a rule.
    pub(crate) fn as_word(&self) -> Word {
        Word { text: format!("{}={}", self.name, self.value.text), ..self.value.clone() }
    }
}

impl Simple {
    /// A command of these words alone.
    pub(crate) fn of(words: Vec<Word>) -> Self {
        Self { words, ..Self::default() }
    }

    /// The command as people read it: its assignments and words, one blank between them.
    pub(crate) fn shown(&self) -> String {
        let set = self.assignments.iter().map(|set| format!("{}={}", set.name, shown(&set.value)));
        let words = self.words.iter().map(shown);
        set.chain(words).collect::<Vec<_>>().join(" ")
    }
}

fn shown(word: &Word) -> String {
    match word.known {
        true => word.text.clone(),
        false => format!("{}\u{2026}", word.text),
    }
}
