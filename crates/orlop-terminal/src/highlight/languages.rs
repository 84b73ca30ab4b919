//! What languages look like from afar.

use super::{Open, comment, string as string_style};

/// One language, or several that look alike.
pub(super) struct Language {
    names: &'static [&'static str],
    /// Strings and comments with a beginning and an end; a longer beginning stands before a shorter.
    pub(super) spans: &'static [Span],
    pub(super) line_comments: &'static [&'static str],
    /// Whether a comment needs a space before it.
    pub(super) comments_stand_alone: bool,
    /// Whether an apostrophe begins a single character, and may be something else.
    pub(super) has_characters: bool,
    /// Letters that may stand before a string and belong to it.
    pub(super) string_letters: &'static str,
    /// Whether there are strings such as `r#"..."#`.
    pub(super) has_raw_strings: bool,
    ignores_case: bool,
    words: &'static str,
}

impl Language {
    /// Whether this is a word of the language itself.
    pub(super) fn knows(&self, word: &str) -> bool {
        self.words.split(' ').any(|known| match self.ignores_case {
            true => known.eq_ignore_ascii_case(word),
            false => known == word,
        })
    }
}

/// Something with a beginning and an end.
pub(super) struct Span {
    pub(super) start: &'static str,
    end: &'static str,
    is_comment: bool,
    escapes: bool,
    over_lines: bool,
    /// Whether it cannot begin in the middle of a word.
    pub(super) is_apart: bool,
}

impl Span {
    const fn over_lines(self) -> Self {
        Self { over_lines: true, ..self }
    }

    /// Without escapes.
    const fn raw(self) -> Self {
        Self { escapes: false, ..self }
    }

    const fn apart(self) -> Self {
        Self { is_apart: true, ..self }
    }

    /// What it is once it has begun.
    pub(super) fn open(&self) -> Open {
        Open {
            end: self.end.into(),
            escapes: self.escapes,
            over_lines: self.over_lines,
            style: if self.is_comment { comment() } else { string_style() },
        }
    }
}

const fn between(start: &'static str, end: &'static str) -> Span {
    Span { start, end, is_comment: false, escapes: false, over_lines: true, is_apart: false }
}

const fn block(start: &'static str, end: &'static str) -> Span {
    Span { is_comment: true, ..between(start, end) }
}

/// A string on one line, with escapes.
const fn string(mark: &'static str) -> Span {
    Span { escapes: true, over_lines: false, ..between(mark, mark) }
}

/// The language with this name, in small letters.
pub(super) fn named(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|known| known.names.contains(&name))
}

const PLAIN: Language = Language {
    names: &[],
    spans: &[],
    line_comments: &[],
    comments_stand_alone: false,
    has_characters: false,
    string_letters: "",
    has_raw_strings: false,
    ignores_case: false,
    words: "",
};

const SHELL: Language = Language {
    line_comments: &["#"],
    comments_stand_alone: true,
    words: "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read return set shift source test then trap unset until while",
    ..PLAIN
};

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        spans: &[block("/*", "*/"), string("\"").over_lines()],
        line_comments: &["//"],
        has_characters: true,
        string_letters: "bcr",
        has_raw_strings: true,
        words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
        ..PLAIN
    },
    Language {
        names: &["python", "py"],
        spans: &[
            string("\"\"\"").over_lines(),
            string("'''").over_lines(),
            string("\""),
            string("'"),
        ],
        line_comments: &["#"],
        string_letters: "bfrtuBFRTU",
        words: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield self",
        ..PLAIN
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs", "cjs"],
        spans: &[
            block("/*", "*/"),
            string("`").over_lines(),
            string("\"").apart(),
            string("'").apart(),
        ],
        line_comments: &["//"],
        words: "abstract any as async await boolean break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null number of private protected public readonly return static string super switch this throw true try type typeof undefined var void while yield",
        ..PLAIN
    },
    Language {
        names: &["go", "golang"],
        spans: &[block("/*", "*/"), string("`").raw().over_lines(), string("\"")],
        line_comments: &["//"],
        has_characters: true,
        words: "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var",
        ..PLAIN
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "cs", "csharp", "kotlin", "kt", "swift",
            "scala", "dart", "zig", "php",
        ],
        spans: &[
            block("/*", "*/"),
            string("\"\"\"").over_lines(),
            string("\""),
            string("'").apart(),
        ],
        line_comments: &["//"],
        words: "abstract auto bool boolean break byte case catch char class const constexpr continue default defer delete do double else enum explicit export extends extern false final finally float for fun func function goto guard if implements import in include inline int interface internal let long namespace new nil null nullptr object operator override package private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile while",
        ..PLAIN
    },
    Language {
        names: &["sh", "bash", "zsh", "shell", "fish"],
        spans: &[string("\"").over_lines(), string("'").raw().over_lines().apart()],
        ..SHELL
    },
    Language {
        // What commands print stands there, too: a quote in it opens nothing.
        names: &["console", "shell-session", "shellsession"],
        spans: &[string("\""), string("'").raw().apart()],
        ..SHELL
    },
    Language {
        names: &["ruby", "rb", "perl", "pl", "elixir", "ex", "r", "julia", "jl"],
        spans: &[string("\"\"\"").over_lines(), string("\""), string("'").apart()],
        line_comments: &["#"],
        comments_stand_alone: true,
        words: "alias and begin break case class def defmodule do else elsif end ensure false for function if in include module my next nil not or package redo rescue require retry return self sub super then true undef unless until use when while yield",
        ..PLAIN
    },
    Language {
        names: &["sql"],
        spans: &[block("/*", "*/"), string("'").raw().over_lines(), string("\"").raw()],
        line_comments: &["--"],
        ignores_case: true,
        words: "select from where and or not insert into values update set delete create table index view drop alter join left right inner outer on as group by order having limit offset union all distinct null primary key foreign references default case when then else end with in is like between exists",
        ..PLAIN
    },
    Language {
        names: &["toml"],
        spans: &[
            string("\"\"\"").over_lines(),
            string("'''").raw().over_lines(),
            string("\""),
            string("'").raw(),
        ],
        line_comments: &["#"],
        words: "true false",
        ..PLAIN
    },
    Language {
        names: &["yaml", "yml", "ini", "conf", "dockerfile", "make", "makefile", "cmake", "hcl"],
        spans: &[string("\"").apart(), string("'").raw().apart()],
        line_comments: &["#"],
        comments_stand_alone: true,
        words: "true false null yes no on off FROM RUN COPY CMD ENTRYPOINT ENV WORKDIR EXPOSE",
        ..PLAIN
    },
    Language {
        names: &["nix"],
        spans: &[block("/*", "*/"), between("''", "''"), string("\"").over_lines()],
        line_comments: &["#"],
        words: "assert else false if in inherit let null or rec then true with",
        ..PLAIN
    },
    Language {
        names: &["json", "jsonc", "json5"],
        spans: &[block("/*", "*/"), string("\"")],
        line_comments: &["//"],
        words: "true false null",
        ..PLAIN
    },
    Language {
        names: &["lua"],
        spans: &[block("--[[", "]]"), between("[[", "]]"), string("\""), string("'")],
        line_comments: &["--"],
        words: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
        ..PLAIN
    },
    Language {
        names: &["haskell", "hs", "elm"],
        spans: &[block("{-", "-}"), string("\"")],
        line_comments: &["--"],
        has_characters: true,
        words: "case class data deriving do else if import in instance let module newtype of then type where",
        ..PLAIN
    },
];
