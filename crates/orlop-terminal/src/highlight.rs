//! Colours for code, line by line: comments, strings, numbers and the words of a language.
//!
//! It looks nothing up in grammars, so that it costs nothing to start and can colour a block that is
//! still being written. What goes on over lines, such as a comment, is remembered from one to the
//! next. What a language looks like is in `languages.rs`; markup and style sheets, which are not made
//! of words and strings, have files of their own.

mod code;
mod languages;
mod markup;
mod style_sheet;

use crate::text::{Colour, Line, Style};
use code::Code;
use markup::Markup;
use std::borrow::Cow;
use style_sheet::StyleSheet;

/// Colours the lines of one block.
pub(crate) struct Highlighter(Block);

enum Block {
    Plain,
    Diff,
    Code(Code),
    Markup(Box<Markup>),
    StyleSheet(StyleSheet),
}

impl Highlighter {
    /// For a language by any of its names; without a name, or with another one, nothing is coloured.
    pub(crate) fn new(language: &str) -> Self {
        let name = language.to_lowercase();
        Self(match name.as_str() {
            "diff" | "patch" => Block::Diff,
            "html" | "htm" | "xml" | "svg" | "vue" | "xhtml" => Block::Markup(Box::default()),
            "css" | "scss" | "less" => Block::StyleSheet(StyleSheet::default()),
            name => languages::named(name).map_or(Block::Plain, |it| Block::Code(Code::new(it))),
        })
    }

    /// The next line of the block.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        match &mut self.0 {
            Block::Plain => Line::from(text),
            Block::Diff => diff_line(text),
            Block::Code(code) => code.line(text),
            Block::Markup(markup) => markup.line(text),
            Block::StyleSheet(sheet) => sheet.line(text),
        }
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

fn string() -> Style {
    Style::of(Colour::Green)
}

fn number() -> Style {
    Style::of(Colour::Yellow)
}

/// A comment or a string that has begun and not ended yet.
#[derive(Clone)]
struct Open {
    end: Cow<'static, str>,
    /// Whether a backslash takes the meaning from what follows it.
    escapes: bool,
    over_lines: bool,
    style: Style,
}

impl Open {
    /// A string that ends with this mark, on whatever line.
    fn string(end: impl Into<Cow<'static, str>>) -> Self {
        Self { end: end.into(), escapes: false, over_lines: true, style: string() }
    }

    fn comment(end: &'static str) -> Self {
        Self { end: end.into(), escapes: false, over_lines: true, style: comment() }
    }

    /// How much of a text belongs to it, and whether it ends there.
    fn reach(&self, text: &str) -> (usize, bool) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix(&*self.end) {
                return (text.len() - after.len(), true);
            }
            rest = &rest[first.len_utf8()..];
            if first == '\\' && self.escapes {
                rest = rest.strip_prefix(|_: char| true).unwrap_or(rest);
            }
        }
        (text.len(), false)
    }

    /// Colours what belongs to it; gives it back if it goes on, and what comes after it.
    fn take<'a>(self, text: &'a str, line: &mut Line) -> (Option<Self>, &'a str) {
        let (length, is_over) = self.reach(text);
        line.push(&text[..length], self.style.clone());
        ((!is_over).then_some(self), &text[length..])
    }
}

/// The length of the first characters of which this holds.
fn prefix(text: &str, holds: impl Fn(char) -> bool) -> usize {
    text.find(|c| !holds(c)).unwrap_or(text.len())
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
        check("go", "s := \"never ends\nx", expect!["s := <Green \"never ends>\nx\n"]);
        check(
            "json",
            "{\"ключ\": [true, 1.5e3]}",
            expect!["{<Green \"ключ\">: [<Magenta true>, <Yellow 1.5e3>]}\n"],
        );
        check("diff", "-a\n+b\n c", expect!["<Red -a>\n<Green +b>\n c\n"]);
    }

    #[test]
    fn rust_has_raw_strings_characters_and_lifetimes() {
        check(
            "rs",
            "let s = r#\"a \"b\"\nfn c\"#; d\nmatch c { '\"' | '\\'' => 'x', b'\\n' => br\"\\\", }\nfn f<'a>(x: &'a str) -> &'static str\nlet t = \"one\n  two\"; e",
            expect![[r##"
                <Magenta let> s = <Green r#"a "b">
                <Green fn c"#>; d
                <Magenta match> c { <Green '"'> | <Green '\''> => <Green 'x'>, <Green b'\n'> => <Green br"\">, }
                <Magenta fn> f<'a>(x: &'a str) -> &'<Magenta static> str
                <Magenta let> t = <Green "one>
                <Green   two">; e
            "##]],
        );
    }

    #[test]
    fn python_has_strings_of_many_lines_and_with_letters_before_them() {
        check(
            "py",
            "x = '''it's\n# no comment\n''' + y\n\"\"\"Told \"so\".\"\"\"\nz = f\"{a}\" if rb'\\'' else 1#why",
            expect![[r##"
                x = <Green '''it's>
                <Green # no comment>
                <Green '''> + y
                <Green """Told "so".""">
                z = <Green f"{a}"> <Magenta if> <Green rb'\''> <Magenta else> <Yellow 1><Grey #why>
            "##]],
        );
    }

    #[test]
    fn javascript_has_templates_of_many_lines() {
        check(
            "ts",
            "const s = `a\n  // ${b} \\` 'c\n`; // d\n<p>Don't</p> + 'e'",
            expect![[r##"
                <Magenta const> s = <Green `a>
                <Green   // ${b} \` 'c>
                <Green `>; <Grey // d>
                <p>Don't</p> + <Green 'e'>
            "##]],
        );
    }

    #[test]
    fn go_has_raw_strings_of_many_lines_and_runes() {
        check(
            "go",
            "s := `a\\\nfunc` + \"b\"; r := '\"'",
            expect![[r##"
                s := <Green `a\>
                <Green func`> + <Green "b">; r := <Green '"'>
            "##]],
        );
    }

    #[test]
    fn c_and_its_kin_have_marks_in_numbers_and_text_blocks() {
        check(
            "cpp",
            "int n = 1'000'000; char c = '\"'; // '",
            expect![[r##"
                <Magenta int> n = <Yellow 1>'<Yellow 000>'<Yellow 000>; <Magenta char> c = <Green '"'>; <Grey // '>
            "##]],
        );
        check(
            "java",
            "var s = \"\"\"\n  \"a\" // b\n  \"\"\"; return s;",
            expect![[r##"
                <Magenta var> s = <Green """>
                <Green   "a" // b>
                <Green   """>; <Magenta return> s;
            "##]],
        );
    }

    #[test]
    fn a_shell_has_hashes_and_apostrophes_in_words() {
        check(
            "bash",
            "curl http://x/#top ${#a} # why\npython -c 'print(1)\nprint(\"\\\\\")' && echo don't $x",
            expect![[r##"
                curl http://x/#top ${#a} <Grey # why>
                python -c <Green 'print(1)>
                <Green print("\\")'> && <Magenta echo> don't $x
            "##]],
        );
        // What a command printed is no code.
        check("console", "$ ls 'a b\nit goes on", expect!["$ ls <Green 'a b>\nit goes on\n"]);
    }

    #[test]
    fn yaml_and_toml_have_apostrophes_of_their_own() {
        check(
            "yaml",
            "name: it's a#b # why\npath: 'C:\\' # d\non: \"a \\\" b\"",
            expect![[r##"
                name: it's a#b <Grey # why>
                path: <Green 'C:\'> <Grey # d>
                <Magenta on>: <Green "a \" b">
            "##]],
        );
        check(
            "toml",
            "a = '''x\n# y''' # z\nb = 'C:\\'",
            expect![[r##"
                a = <Green '''x>
                <Green # y'''> <Grey # z>
                b = <Green 'C:\'>
            "##]],
        );
    }

    #[test]
    fn sql_has_words_in_any_case_and_doubled_quotes() {
        check(
            "sql",
            "Select 'it''s \\' FROM t -- why\nwhere a = 1",
            expect![[r##"
                <Magenta Select> <Green 'it''s \'> <Magenta FROM> t <Grey -- why>
                <Magenta where> a = <Yellow 1>
            "##]],
        );
    }

    #[test]
    fn lua_haskell_and_ruby_keep_their_comments_and_strings() {
        check(
            "lua",
            "--[[ a\nb ]] local s = [[x\ny]] -- c",
            expect![[r##"
                <Grey --[[ a>
                <Grey b ]]> <Magenta local> s = <Green [[x>
                <Green y]]> <Grey -- c>
            "##]],
        );
        check(
            "haskell",
            "{- a\n-} let x' = 'c' -- d",
            expect![[r##"
                <Grey {- a>
                <Grey -}> <Magenta let> x' = <Green 'c'> <Grey -- d>
            "##]],
        );
        check(
            "ruby",
            "puts \"#{a}\" if b # c",
            expect![[r##"
                puts <Green "#{a}"> <Magenta if> b <Grey # c>
            "##]],
        );
    }

    #[test]
    fn markup_has_tags_attributes_and_code_inside() {
        check(
            "html",
            "<!-- a\nb --><a href=\"x\n>y\" disabled>Don't &amp; 1 < 2</a>\n<script type='module'>let a = \"</p>\" < 1;\n// b</script><br/>\n<style>a { color: red; }</style>",
            expect![[r##"
                <Grey <!-- a>
                <Grey b -->><Magenta <a> <Blue href>=<Green "x>
                <Green >y"> <Blue disabled><Magenta >>Don't <Yellow &amp;> 1 < 2<Magenta </a>>
                <Magenta <script> <Blue type>=<Green 'module'><Magenta >let> a = <Green "</p>"> < <Yellow 1>;
                <Grey // b><Magenta </script><br/>>
                <Magenta <style>><Cyan a> { <Blue color>: red; }<Magenta </style>>
            "##]],
        );
    }

    #[test]
    fn style_sheets_have_selectors_properties_and_values() {
        check(
            "scss",
            "@media (min-width: 40em) { // why\n  .a > li:hover, #b {\n    color: #fff; margin: -1.5px 0 !important;\n    background: url(http://x/y) /* z\n*/; &:focus { --x: \"}\"; }\n  }\n}",
            expect![[r##"
                <Magenta @media> (min-width: <Yellow 40em>) { <Grey // why>
                  <Cyan .a> > <Cyan li>:<Cyan hover>, <Cyan #b> {
                    <Blue color>: <Yellow #fff>; <Blue margin>: -<Yellow 1.5px> <Yellow 0> <Magenta !important>;
                    <Blue background>: url(http://x/y) <Grey /* z>
                <Grey */>; &:<Cyan focus> { <Blue --x>: <Green "}">; }
                  }
                }
            "##]],
        );
    }
}
