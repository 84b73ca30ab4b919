//! Names of tools as models accept them: `mcp__server__tool`.

use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// The longest name that all providers take.
const MAX_NAME: usize = 64;
/// How much of it a server may use.
const MAX_SERVER: usize = 24;
/// The end of a name that had to be changed so much that another could become the same.
const MARK: usize = 6;

/// Gives out names that no other tool of a server has.
pub(crate) struct Names {
    start: String,
    taken: HashSet<String>,
}

impl Names {
    pub(crate) fn of_server(server: &str) -> Self {
        let plain = plain(server);
        let part = match plain.len() <= MAX_SERVER {
            true => plain,
            false => marked(&plain, server, MAX_SERVER),
        };
        Self { start: format!("mcp__{part}__"), taken: HashSet::new() }
    }

    /// The name of a tool; always the same for the same tools in the same order.
    pub(crate) fn of_tool(&mut self, tool: &str) -> String {
        let room = MAX_NAME - self.start.len();
        let plain = plain(tool);
        let short = match plain.len() <= room {
            true => plain.clone(),
            false => marked(&plain, tool, room),
        };
        let mut name = format!("{}{short}", self.start);
        if self.taken.contains(&name) {
            name = format!("{}{}", self.start, marked(&plain, tool, room));
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Letters, digits, `_` and `-` stay; all others become `_`.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if plain.is_empty() { "_".to_owned() } else { plain }
}

/// A name cut to `room`, with a mark of the whole of it at its end.
fn marked(plain: &str, whole: &str, room: usize) -> String {
    let digest = Sha256::digest(whole.as_bytes());
    let mark: String = digest.iter().map(|byte| format!("{byte:02x}")).take(MARK / 2).collect();
    let kept = plain.len().min(room.saturating_sub(MARK + 1));
    format!("{}_{mark}", plain.get(..kept).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(server: &str, tools: &[&str]) -> Vec<String> {
        let mut names = Names::of_server(server);
        tools.iter().map(|tool| names.of_tool(tool)).collect()
    }

    #[test]
    fn names_fit_and_stay_readable() {
        assert_eq!(names("db", &["query"]), ["mcp__db__query"]);
        assert_eq!(
            names("my db", &["get-sum", "a.b/c"]),
            ["mcp__my_db__get-sum", "mcp__my_db__a_b_c"]
        );
        assert_eq!(names("", &["é"]), ["mcp______"]);
    }

    #[test]
    fn names_that_would_be_the_same_are_told_apart() {
        let found = names("db", &["a.b", "a_b", "a/b"]);
        assert_eq!(found, ["mcp__db__a_b", "mcp__db__a_b_648fa9", "mcp__db__a_b_c14cdd"]);
    }

    #[test]
    fn long_names_are_cut_and_marked() {
        let long = "x".repeat(100);
        let found = names(&long, &[&long, &format!("{long}y")]);
        assert!(found.iter().all(|name| name.len() == 64), "{found:?}");
        assert_ne!(found[0], found[1]);
        assert!(found[0].starts_with("mcp__xxx"));
    }
}
