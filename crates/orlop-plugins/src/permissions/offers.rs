//! Rules that are offered to be remembered for a command: as wide as is known to be safe, else
//! exactly what was shown.

use super::command::runs::{Itself, Runs};
use super::command::script::Word;
use super::rule::Rule;

/// Programs whose commands may be allowed with any arguments. None of them runs what its arguments
/// say, except by options that no `*` reaches.
const BY_COMMAND: &[(&str, &[&str])] = &[
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree"]),
    ("git", &["add", "commit", "mv", "switch"]),
    ("go", &["build", "fmt", "test", "vet"]),
    ("npm", &["ci", "ls", "test"]),
    ("pnpm", &["ls", "test"]),
    ("yarn", &["test"]),
];

/// Programs that may be allowed with any arguments.
const BY_NAME: &[&str] = &["black", "gofmt", "mypy", "ruff", "rustfmt", "tsc"];

/// The rule that would allow a command of these words.
pub(super) fn for_command(tool: &str, words: &[Word], runs: &Runs) -> Option<String> {
    let is_script = runs.itself == Itself::Opaque("it runs code") && runs.code_at.is_none();
    if runs.itself != Itself::Plain && !is_script {
        return None;
    }
    let fixed = |at: usize| words.get(at).and_then(Word::fixed);
    let program = fixed(0)?;
    let commands =
        BY_COMMAND.iter().find(|(known, _)| *known == program).map(|(_, commands)| commands);
    let is_wide = runs.code_at.is_none();
    let text = match commands {
        Some(commands)
            if is_wide && fixed(1).is_some_and(|command| commands.contains(&command)) =>
        {
            format!("{tool}({program} {} *)", fixed(1)?)
        }
        _ if is_wide && BY_NAME.contains(&program) => format!("{tool}({program} *)"),
        _ => {
            let quoted: Option<Vec<String>> =
                words.iter().map(|word| quoted(word.fixed()?)).collect();
            format!("{tool}({})", quoted?.join(" "))
        }
    };
    // What is offered has to do what it says.
    let rule = Rule::new(&text).ok()?;
    (text.len() <= 300 && rule.allows_command(words, runs.code_at)).then_some(text)
}

fn quoted(word: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "_./:@%+=,-".contains(c);
    match word {
        "" => None,
        _ if word.chars().all(is_plain) => Some(word.to_owned()),
        _ if word.contains('\'') || word.chars().any(char::is_control) => None,
        _ => Some(format!("'{word}'")),
    }
}
