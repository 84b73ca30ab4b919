//! Colours for code: comments, strings, numbers and the words of a language, line by line.
//!
//! It knows what most languages share and looks nothing up in grammars, so that it costs nothing
//! to start and can colour a block that is still being written.

use crate::text::{Colour, Line, Style};

/// What a language looks like from afar.
struct Language {
    names: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
    words: &'static str,
}

const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"'],
        words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
    },
    Language {
        names: &["python", "py"],
        line_comments: &["#"],
        block_comment: Some(("\"\"\"", "\"\"\"")),
        quotes: &['"', '\''],
        words: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield self",
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"', '\'', '`'],
        words: "abstract any as async await boolean break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null number of private protected public readonly return static string super switch this throw true try type typeof undefined var void while yield",
    },
    Language {
        names: &["go", "golang"],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"', '\'', '`'],
        words: "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var",
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "cs", "csharp", "kotlin", "kt", "swift",
            "scala", "dart", "zig", "php",
        ],
        line_comments: &["//"],
        block_comment: C_BLOCK,
        quotes: &['"', '\''],
        words: "abstract auto bool boolean break byte case catch char class const constexpr continue default defer delete do double else enum explicit export extends extern false final finally float for fun func function goto guard if implements import in include inline int interface internal let long namespace new nil null nullptr object operator override package private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile while",
    },
    Language {
        names: &["sh", "bash", "zsh", "shell", "console", "fish"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        words: "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read return set shift source test then trap unset until while",
    },
    Language {
        names: &["ruby", "rb", "perl", "pl", "elixir", "ex", "r", "julia", "jl"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        words: "alias and begin break case class def defmodule do else elsif end ensure false for function if in include module my next nil not or package redo rescue require retry return self sub super then true undef unless until use when while yield",
    },
    Language {
        names: &["sql"],
        line_comments: &["--"],
        block_comment: C_BLOCK,
        quotes: &['\''],
        words: "SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX VIEW DROP ALTER JOIN LEFT RIGHT INNER OUTER ON AS GROUP BY ORDER HAVING LIMIT OFFSET UNION ALL DISTINCT NULL PRIMARY KEY FOREIGN REFERENCES DEFAULT CASE WHEN THEN ELSE END WITH IN IS LIKE BETWEEN EXISTS select from where and or not insert into values update set delete create table index view drop alter join left right inner outer on as group by order having limit offset union all distinct null primary key foreign references default case when then else end with in is like between exists",
    },
    Language {
        names: &[
            "toml",
            "yaml",
            "yml",
            "ini",
            "conf",
            "dockerfile",
            "make",
            "makefile",
            "cmake",
            "nix",
            "hcl",
        ],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
        words: "true false null yes no on off FROM RUN COPY CMD ENTRYPOINT ENV WORKDIR EXPOSE",
    },
    Language {
        names: &["json", "jsonc", "json5"],
        line_comments: &["//"],
        block_comment: None,
        quotes: &['"'],
        words: "true false null",
    },
    Language {
        names: &["lua", "haskell", "hs", "elm"],
        line_comments: &["--"],
        block_comment: None,
        quotes: &['"', '\''],
        words: "and break case class data deriving do else elseif end false for function if import in instance let local module newtype nil not of or repeat return then true type until where while",
    },
    Language {
        names: &["html", "xml", "svg", "vue"],
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        quotes: &['"'],
        words: "",
    },
    Language {
        names: &["css", "scss", "less"],
        line_comments: &[],
        block_comment: C_BLOCK,
        quotes: &['"', '\''],
        words: "",
    },
];

/// Colours the lines of one block.
pub(crate) struct Highlighter {
    language: Option<&'static Language>,
    is_diff: bool,
    in_comment: bool,
}

impl Highlighter {
    /// For a language by any of its names; without a name, or with another one, nothing is coloured.
    pub(crate) fn new(language: &str) -> Self {
        let name = language.to_lowercase();
        let language = LANGUAGES.iter().find(|known| known.names.contains(&name.as_str()));
        let is_diff = matches!(name.as_str(), "diff" | "patch");
        Self { language, is_diff, in_comment: false }
    }

    /// The next line of the block.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        if self.is_diff {
            return diff_line(text);
        }
        match self.language {
            Some(language) => self.coloured(language, text),
            None => Line::from(text),
        }
    }

    fn coloured(&mut self, language: &Language, text: &str) -> Line {
        let mut line = Line::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (length, style) = if self.in_comment {
                let end = language.block_comment.map_or("", |(_, end)| end);
                match rest.find(end) {
                    Some(place) => {
                        self.in_comment = false;
                        (place + end.len(), comment())
                    }
                    None => (rest.len(), comment()),
                }
            } else if language.line_comments.iter().any(|mark| rest.starts_with(mark)) {
                (rest.len(), comment())
            } else if let Some((start, _)) =
                language.block_comment.filter(|(start, _)| rest.starts_with(start))
            {
                self.in_comment = true;
                (start.len(), comment())
            } else if language.quotes.contains(&first) {
                (quoted(rest, first), Style::of(Colour::Green))
            } else if first.is_ascii_digit() {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                (prefix(rest, is_part), Style::of(Colour::Yellow))
            } else if first.is_alphabetic() || first == '_' {
                let length = prefix(rest, |c| c.is_alphanumeric() || c == '_');
                (length, word(language, &rest[..length], &rest[length..]))
            } else {
                (first.len_utf8(), Style::default())
            };
            line.push(&rest[..length], style);
            rest = &rest[length..];
        }
        line
    }
}

/// A line of a diff.
pub(crate) fn diff_line(text: &str) -> Line {
    let style = match text.as_bytes().first() {
        Some(b'+') => Style::of(Colour::Green),
        Some(b'-') => Style::of(Colour::Red),
        Some(b'@') => Style::of(Colour::Cyan),
        _ => Style::default(),
    };
    Line::styled(text, style)
}

fn comment() -> Style {
    Style { italic: true, ..Style::of(Colour::Grey) }
}

fn word(language: &Language, word: &str, after: &str) -> Style {
    if language.words.split(' ').any(|known| known == word) {
        Style::of(Colour::Magenta)
    } else if after.starts_with('(') {
        Style::of(Colour::Blue)
    } else {
        Style::default()
    }
}

fn prefix(text: &str, holds: impl Fn(char) -> bool) -> usize {
    text.find(|c| !holds(c)).unwrap_or(text.len())
}

/// The length of a string with its quotes; one that does not end goes to the end of the line.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return place + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(language: &str, code: &str, expected: Expect) {
        let mut highlighter = Highlighter::new(language);
        let mut shown = String::new();
        for line in code.lines() {
            for span in highlighter.line(line).spans {
                match span.style.colour {
                    Colour::Plain => shown.push_str(&span.text),
                    colour => shown.push_str(&format!("<{colour:?} {}>", span.text)),
                }
            }
            shown.push('\n');
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn the_parts_of_code_are_told_apart() {
        check(
            "rust",
            "fn main() { let x = 0x1f; } // done\n/* a\nb */ \"s\\\"t\" + y",
            expect![[r#"
                <Magenta fn> <Blue main>() { <Magenta let> x = <Yellow 0x1f>; } <Grey // done>
                <Grey /* a>
                <Grey b */> <Green "s\"t"> + y
            "#]],
        );
        check(
            "Python",
            "def f(a='x'):  # why\n    return None",
            expect![[r#"
                <Magenta def> <Blue f>(a=<Green 'x'>):  <Grey # why>
                    <Magenta return> <Magenta None>
            "#]],
        );
    }

    #[test]
    fn what_nobody_knows_stays_as_it_is() {
        check("brainfuck", "+[-->]", expect!["+[-->]\n"]);
        check("rust", "let s = \"never ends", expect!["<Magenta let> s = <Green \"never ends>\n"]);
        check(
            "json",
            "{\"ключ\": [true, 1.5e3]}",
            expect!["{<Green \"ключ\">: [<Magenta true>, <Yellow 1.5e3>]}\n"],
        );
        check("diff", "-a\n+b\n c", expect!["<Red -a>\n<Green +b>\n c\n"]);
    }
}
