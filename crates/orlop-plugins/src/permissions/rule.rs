//! Rules as people write them: a tool, and what of its argument they cover.
//!
//! `read_file`, `edit_file(src/**)`, `shell(git commit *)`, `web_fetch(domain:docs.rs)`, `mcp__x__*`,
//! or all tools of one kind: `@edit(secrets/**)`.

use super::command::parse::rule_words;
use super::command::runs::base_name;
use super::command::script::Word;
use super::glob;
use super::places::{Place, Places, normal, steps};
use crate::workspace::real_path;
use orlop_core::{Error, Result};
use std::path::{Path, PathBuf};

/// What a tool does, as its schema says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Runs programs.
    Run,
    /// Reaches other machines.
    Network,
    /// None of that.
    None,
}

impl Access {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "run" => Self::Run,
            "network" => Self::Network,
            "none" => Self::None,
            _ => return None,
        })
    }
}

/// One rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// As it was written.
    pub(crate) text: String,
    tool: String,
    access: Option<Access>,
    argument: Option<String>,
    words: Option<Vec<Word>>,
}

/// Whether a rule covers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Covers {
    No,
    /// It cannot be told before it runs.
    Maybe,
    Yes,
}

impl Rule {
    /// Reads a rule.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Err(Error::bad_argument(format!(
                "{text:?} is no rule of permissions: {what}; write a tool, such as read_file, or with an argument, such as shell(git status *)"
            )))
        };
        let trimmed = text.trim();
        let (tool, argument) = match trimmed.split_once('(') {
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(argument) => (tool.trim(), Some(argument.trim().to_owned())),
                None => return wrong("its parenthesis is not closed"),
            },
            None => (trimmed, None),
        };
        if tool.is_empty() || tool.contains(char::is_whitespace) || tool.contains(')') {
            return wrong("it names no tool");
        }
        let access = match tool.strip_prefix('@') {
            Some(name) => match Access::named(name) {
                Some(access) => Some(access),
                None => return wrong("after @ stands read, edit, run, network or none"),
            },
            None => None,
        };
        let argument = argument.filter(|argument| !matches!(&**argument, "" | "*" | "**"));
        let words = argument.as_deref().and_then(rule_words);
        Ok(Self { text: trimmed.to_owned(), tool: tool.to_owned(), access, argument, words })
    }

    /// Whether the rule is about a tool. Rules that refuse read names without regard to case.
    pub(crate) fn is_about(&self, tool: &str, access: Option<Access>, refuses: bool) -> bool {
        match self.access {
            Some(wanted) => access == Some(wanted),
            None if refuses => glob::matches(&self.tool.to_lowercase(), &tool.to_lowercase()),
            None => glob::matches(&self.tool, tool),
        }
    }

    /// Whether the rule is about a kind of access to files, whichever tool it is done with.
    pub(crate) fn is_about_paths(&self, access: Access) -> bool {
        self.access == Some(access) && self.argument.is_some()
    }

    /// Whether it covers every call of its tool.
    pub(crate) fn covers_all(&self) -> bool {
        self.argument.is_none()
    }

    /// Whether a rule that allows covers a command. `code_at` is the word from which on it says
    /// what is run: a `*` at the end does not reach that far.
    pub(crate) fn allows_command(&self, words: &[Word], code_at: Option<usize>) -> bool {
        let Some((fixed, is_open)) = self.command() else { return false };
        if words.len() < fixed.len() || (!is_open && words.len() != fixed.len()) {
            return false;
        }
        if is_open && code_at.is_some_and(|at| at >= fixed.len()) {
            return false;
        }
        let fits = |(wanted, word): (&Word, &Word)| match wanted.glob {
            true => {
                word.known && !word.tilde && !word.pipe && glob::matches(&wanted.text, &word.text)
            }
            false => match wanted.tilde {
                true => word.known && word.tilde && !word.glob && word.text == wanted.text,
                false => word.fixed() == Some(&wanted.text),
            },
        };
        fixed.iter().zip(words).all(fits)
    }

    /// Whether a rule that refuses covers a command: by the name of its program in any folder,
    /// with options before what the rule names, and without regard to case.
    pub(crate) fn refuses_command(&self, words: &[Word]) -> Covers {
        let Some((fixed, is_open)) = self.command() else {
            // A rule that is no command cannot be compared with one.
            return if self.argument.is_some() { Covers::Maybe } else { Covers::No };
        };
        let Some(program) = words.first() else { return Covers::No };
        if !program.known || program.glob || program.tilde {
            return Covers::Maybe;
        }
        let fits = |wanted: &Word, text: &str| {
            glob::matches(&wanted.text.to_lowercase(), &text.to_lowercase())
        };
        if !(fits(&fixed[0], &program.text) || fits(&fixed[0], base_name(&program.text))) {
            return Covers::No;
        }
        let mut rest = &words[1..];
        let mut after_option = false;
        for (number, wanted) in fixed[1..].iter().enumerate() {
            loop {
                let Some(word) = rest.first() else { return Covers::No };
                rest = &rest[1..];
                if !word.known {
                    return Covers::Maybe;
                }
                if fits(wanted, &word.text) {
                    break;
                }
                // Options of the program itself, and perhaps their values, may come first.
                let is_option = word.text.starts_with('-');
                if number > 0 || !(is_option || after_option) {
                    return Covers::No;
                }
                after_option = is_option;
            }
        }
        match is_open || rest.is_empty() {
            true => Covers::Yes,
            false if rest.iter().any(|word| !word.known) => Covers::Maybe,
            false => Covers::No,
        }
    }

    /// The words of a command rule, and whether more may follow.
    fn command(&self) -> Option<(&[Word], bool)> {
        match self.words.as_deref()? {
            [words @ .., last] if last.plain && last.text == "*" && !words.is_empty() => {
                Some((words, true))
            }
            words => Some((words, false)),
        }
    }

    /// The first word of a rule about commands.
    pub(crate) fn program(&self) -> Option<&str> {
        Some(self.words.as_deref()?.first()?.text.as_str())
    }

    /// Whether the rule covers a path. One that allows has to cover the real place; one that
    /// refuses also what was written, without regard to case.
    pub(crate) fn covers_path(&self, place: &Place, places: &Places<'_>, refuses: bool) -> bool {
        let Some(pattern) = &self.argument else { return true };
        let root = places.workspace.root();
        let trimmed = pattern.trim_end_matches('/');
        if !trimmed.contains('/') && !trimmed.starts_with('~') && trimmed != "." {
            return covers_name(trimmed, place, places, refuses);
        }
        let whole = match (trimmed.strip_prefix("~/"), places.home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            (Some(_), None) => return false,
            _ => root.join(trimmed),
        };
        let whole = normal(&whole);
        let real = real_beginning(&whole);
        match refuses {
            true => [&whole, &real].iter().any(|pattern| {
                [&place.real, &place.lexical].iter().any(|path| {
                    let lower = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
                    path_matches(&lower(pattern), &lower(path))
                })
            }),
            false => path_matches(&whole, &place.real) || path_matches(&real, &place.real),
        }
    }

    /// Whether the rule names a part of a path that gives power, rather than meaning it by a star.
    pub(crate) fn names(&self, part: &str) -> bool {
        self.argument
            .as_deref()
            .is_some_and(|pattern| pattern.split('/').any(|step| step.eq_ignore_ascii_case(part)))
    }

    /// Whether the rule covers an address.
    pub(crate) fn covers_url(&self, url: &str, refuses: bool) -> bool {
        let Some(pattern) = &self.argument else { return true };
        match (pattern.strip_prefix("domain:"), refuses) {
            (Some(domain), true) => {
                let plain = url.replace('\\', "/");
                [host_of(url), host_of(&plain)].iter().any(|host| is_within(host, domain))
            }
            (Some(domain), false) => is_plain_url(url) && is_within(&host_of(url), domain),
            (None, true) => glob::matches(&pattern.to_lowercase(), &url.to_lowercase()),
            (None, false) => is_plain_url(url) && glob::matches(pattern, url),
        }
    }

    /// Whether the rule covers some text of a call whose arguments nobody explained.
    pub(crate) fn covers_text(&self, text: &str) -> bool {
        self.argument
            .as_ref()
            .is_none_or(|pattern| glob::matches(&pattern.to_lowercase(), &text.to_lowercase()))
    }
}

fn covers_name(pattern: &str, place: &Place, places: &Places<'_>, refuses: bool) -> bool {
    if refuses {
        let pattern = pattern.to_lowercase();
        return [&place.real, &place.lexical].iter().any(|path| {
            steps(path).iter().any(|step| glob::matches(&pattern, &step.to_lowercase()))
        });
    }
    let folders = places.workspace.folders().iter();
    let mut inner = folders.filter_map(|folder| place.real.strip_prefix(folder).ok());
    inner.any(|path| path.iter().any(|step| glob::matches(pattern, &step.to_string_lossy())))
}

fn path_matches(pattern: &Path, path: &Path) -> bool {
    let pattern: Vec<String> = steps(pattern).into_iter().map(str::to_owned).collect();
    glob::matches_path(&pattern, &steps(path))
}

/// A pattern whose beginning without wildcards is followed to where it leads.
fn real_beginning(pattern: &Path) -> PathBuf {
    let all = steps(pattern);
    let fixed = all.iter().take_while(|step| !step.contains(['*', '?'])).count();
    let beginning: PathBuf = std::iter::once("/").chain(all[..fixed].iter().copied()).collect();
    let mut real = real_path(&beginning).unwrap_or(beginning);
    real.extend(&all[fixed..]);
    real
}

/// The machine an address leads to, in small letters.
pub(crate) fn host_of(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.').to_lowercase()
}

fn is_within(host: &str, domain: &str) -> bool {
    let domain = domain.trim().trim_start_matches("*.").to_lowercase();
    host == domain || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether everybody reads an address in the same way.
pub(crate) fn is_plain_url(url: &str) -> bool {
    let after = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    !authority.is_empty()
        && authority.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
        && !url.contains('\\')
        && !url.chars().any(|c| c.is_control() || c.is_whitespace())
}
