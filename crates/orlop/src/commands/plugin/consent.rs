//! Whether a person agrees to what a package asks for. Nothing of the package runs before.

use crate::exit::Failure;
use crate::output;
use orlop_app::ui::plain_line;
use orlop_runtime::{Package, Run};
use std::io::IsTerminal;

/// What there is to agree to.
pub(super) struct Consent<'a> {
    pub(super) name: &'a str,
    pub(super) package: &'a Package,
    /// Where it was fetched from; nowhere if it is the user's own.
    pub(super) fetched: Option<&'a str>,
    /// Whether all it asks for was agreed to before.
    pub(super) is_granted: bool,
    /// Whether the system keeps a process within its grants.
    pub(super) is_confined: bool,
}

impl Consent<'_> {
    /// Asks the person at the terminal, unless there is nothing to ask or `yes` was said.
    pub(super) async fn given(&self, yes: bool) -> Result<bool, Failure> {
        let lines = match self.question() {
            Some(lines) if !yes => lines,
            _ => return Ok(true),
        };
        for line in lines {
            output::tell(&line);
        }
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(Failure::usage("nobody can be asked here; say --yes if it may".to_owned()));
        }
        let answer = output::ask("Allow this? [y/N] ".to_owned()).await;
        Ok(matches!(answer.as_str(), "y" | "yes"))
    }

    /// What to say before the question. Code of others, and code that nothing holds, is asked
    /// about whatever it asks for.
    fn question(&self) -> Option<Vec<String>> {
        let is_bundle = matches!(self.package.run, Run::Bundle(_));
        let runs_freely = !self.is_confined && !is_bundle;
        if self.is_granted && self.fetched.is_none() && !runs_freely {
            return None;
        }
        let wishes: Vec<String> =
            self.package.grants.in_words().iter().map(|wish| plain_line(wish)).collect();
        let mut lines = match wishes.is_empty() {
            true => vec![format!("\"{}\" asks for nothing but to run.", self.name)],
            false => vec![format!("\"{}\" wants to:", self.name)],
        };
        lines.extend(wishes.iter().map(|wish| format!("  - {wish}")));
        if let Some(source) = self.fetched {
            lines.push(format!("It comes from {}.", plain_line(source)));
        }
        if runs_freely {
            lines.push("Nothing on this system keeps it to that: it runs as you.".to_owned());
        }
        if is_bundle && !wishes.is_empty() {
            lines.push("Nothing keeps its programs to that: they run as you.".to_owned());
        }
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn asked(grants: &str, fetched: Option<&str>, is_granted: bool, is_confined: bool) -> String {
        let text =
            format!("[plugin]\nname = \"dice\"\n[run]\ncommand = [\"dice\"]\n[grants]\n{grants}");
        let package = Package::parse(&text, Path::new("/dice")).unwrap();
        let consent = Consent { name: "dice", package: &package, fetched, is_granted, is_confined };
        consent.question().unwrap_or_default().join("\n")
    }

    #[test]
    fn code_of_others_and_code_that_nothing_holds_is_asked_about() {
        let grants = "env = [\"KEY\"]\ndanger = { roll = \"spends money\" }";
        assert_eq!(asked("", None, true, true), "");
        assert_eq!(asked(grants, None, true, true), "");
        assert_eq!(
            asked(grants, None, false, true),
            "\"dice\" wants to:\n  - see the environment variable KEY\n  - offer roll, which spends money"
        );
        // What is not kept to is not promised.
        assert_eq!(
            asked("network = [\"a.example.com\", \"b.example.com\"]", None, false, true),
            "\"dice\" wants to:\n  - use the network, for a.example.com, b.example.com; which hosts it talks to is not enforced"
        );
        assert_eq!(
            asked("", Some("npm:dice"), true, true),
            "\"dice\" asks for nothing but to run.\nIt comes from npm:dice."
        );
        assert_eq!(
            asked("", None, true, false),
            "\"dice\" asks for nothing but to run.\nNothing on this system keeps it to that: it runs as you."
        );
    }
}
