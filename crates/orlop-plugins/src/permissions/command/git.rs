//! Git: which of its commands only look, and which of its options run something.

use super::effect::{Doubt, Effect, paths};
use super::runs::{is_option, options_at};
use super::script::Word;

/// Commands that only look, whatever their arguments, but for `CHANGING`.
const LOOKING: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "whatchanged",
];

/// Options that make one of them write, run something, or leave the repository.
const CHANGING: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "--no-index",
    "--open-files-in-pager",
    "--contents",
    "--show-signature",
    "--upload-pack",
    "--exec",
    "--filters",
];

/// Options by which the commands of git run what they are told to.
const RUNNING: &[(&str, &[&str])] = &[
    ("archive", &["--exec", "--remote", "--output", "-o"]),
    ("clone", &["-c", "--config", "-u", "--upload-pack", "--template", "--separate-git-dir"]),
    ("diff", &["--ext-diff", "--output"]),
    ("fetch", &["--upload-pack"]),
    ("grep", &["-O", "--open-files-in-pager"]),
    ("init", &["--template", "--separate-git-dir"]),
    ("log", &["--ext-diff", "--output"]),
    ("ls-remote", &["--upload-pack", "--exec"]),
    ("pull", &["--upload-pack", "-X", "--strategy-option", "-s", "--strategy"]),
    ("push", &["--receive-pack", "--exec"]),
    ("rebase", &["-x", "--exec", "-s", "--strategy"]),
    ("show", &["--ext-diff", "--output"]),
];

/// Commands that run others, or set what will be run.
const RUNNERS: &[&str] = &[
    "bisect",
    "config",
    "credential",
    "daemon",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "hook",
    "instaweb",
    "p4",
    "svn",
    "web--browse",
    "mergetool",
    "send-email",
    "submodule",
    "update-index",
];

/// The command of git: where it stands, if the options before it are harmless.
fn command_at(words: &[Word]) -> Result<usize, usize> {
    for (at, word) in words.iter().enumerate() {
        match word.fixed() {
            Some("--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs") => {}
            Some(text) if !text.starts_with('-') => return Ok(at),
            _ => return Err(at),
        }
    }
    Err(words.len())
}

/// The word from which on a call of git says what is run.
pub(super) fn code_at(words: &[Word]) -> Option<usize> {
    if let Some(remote) = words.iter().rposition(|word| word.text.starts_with("ext::")) {
        return Some(remote);
    }
    let at = match command_at(&words[1..]) {
        Ok(at) => at + 1,
        Err(at) => return Some(at + 1),
    };
    let command = &*words[at].text;
    if RUNNERS.contains(&command) {
        return Some(at + 1);
    }
    let (_, options) = RUNNING.iter().find(|(known, _)| *known == command)?;
    options_at(&words[at..], options).map(|option| at + option)
}

/// What a call of git touches, without the word `git`.
pub(super) fn effect(words: &[Word]) -> Result<Effect, Doubt> {
    if let [one] = words
        && matches!(one.fixed(), Some("--version" | "version"))
    {
        return Ok(Effect::default());
    }
    let at = command_at(words).map_err(|_| "one of its options changes what git does")?;
    let (command, rest) = (&*words[at].text, &words[at + 1..]);
    let is_changing = |word: &Word| CHANGING.iter().any(|option| is_option(&word.text, option));
    if rest.iter().any(is_changing)
        || (command == "grep" && rest.iter().any(|word| is_option(&word.text, "-O")))
    {
        return Err("one of its options makes it write or run something");
    }
    if LOOKING.contains(&command) || lists(command, rest) {
        return Ok(Effect { reads: paths(rest, false)?, needs_root: true, ..Effect::default() });
    }
    Err("it may change the repository")
}

/// Whether a command that can do more is only asked to list.
fn lists(command: &str, rest: &[Word]) -> bool {
    let texts: Option<Vec<&str>> = rest.iter().map(Word::fixed).collect();
    let Some(texts) = texts else { return false };
    let all = |known: &[&str]| texts.iter().all(|text| known.contains(text));
    match command {
        "branch" => all(&[
            "-a",
            "--all",
            "-r",
            "--remotes",
            "-v",
            "-vv",
            "--verbose",
            "--list",
            "-l",
            "--show-current",
            "--no-color",
        ]),
        "tag" => all(&["-l", "--list", "-n", "--no-color"]),
        "remote" => all(&["-v", "--verbose"]) || texts.first() == Some(&"get-url"),
        "stash" => {
            matches!(texts.first(), Some(&"list")) || matches!(&*texts, ["show"] | ["show", "-p"])
        }
        "worktree" => matches!(&*texts, ["list"] | ["list", "--porcelain"]),
        "reflog" => texts.is_empty() || matches!(&*texts, ["show"] | ["show", "HEAD"]),
        _ => false,
    }
}
