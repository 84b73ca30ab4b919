//! The requirement rows, read from the tables in `docs/spec/*.md`.
//!
//! A row is a line that begins with `| A-01 |`. A heading such as `### C.1 Common` begins a
//! section, which lasts until the next heading of its level or above.

use std::{collections::BTreeMap, fs};

use super::id::{Id, Section};
use crate::workspace::Workspace;

/// Where the requirement tables live.
const FOLDER: &str = "docs/spec";

/// All rows of the specification.
#[derive(Debug, Default)]
pub(super) struct Spec {
    rows: BTreeMap<Id, Option<Section>>,
}

impl Spec {
    /// Reads every file of `docs/spec`.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, String> {
        let cannot = |error| format!("cannot read {FOLDER}: {error}");
        let mut spec = Self::default();
        for entry in fs::read_dir(workspace.root().join(FOLDER)).map_err(cannot)? {
            let name = entry.map_err(cannot)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                let file = format!("{FOLDER}/{name}");
                spec.add(&file, &workspace.read(&file)?)?;
            }
        }
        if spec.rows.is_empty() {
            return Err(format!("{FOLDER} has no requirement row (`| A-01 | ... |`)"));
        }
        Ok(spec)
    }

    /// Whether there is a row with this id.
    pub(super) fn has(&self, id: Id) -> bool {
        self.rows.contains_key(&id)
    }

    /// The ids of all rows, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> {
        self.rows.keys().copied()
    }

    /// The ids of the rows in one section.
    pub(super) fn section(&self, wanted: Section) -> impl Iterator<Item = Id> {
        self.rows.iter().filter(move |(_, section)| **section == Some(wanted)).map(|(id, _)| *id)
    }

    fn add(&mut self, file: &str, text: &str) -> Result<(), String> {
        let mut section = None;
        for (index, line) in text.lines().enumerate() {
            if let Some((level, title)) = heading(line) {
                let named = title.split_whitespace().next().and_then(|word| word.parse().ok());
                if named.is_some() || level <= 3 {
                    section = named;
                }
            } else if let Some(id) = row(line)
                && self.rows.insert(id, section).is_some()
            {
                return Err(format!("{file}:{}: {id} has a second row", index + 1));
            }
        }
        Ok(())
    }

    /// A specification from one text, for tests.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        let mut spec = Self::default();
        spec.add("spec.md", text).unwrap();
        spec
    }
}

/// Level and text of a Markdown heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (level > 0 && title.starts_with(' ')).then(|| (level, title.trim()))
}

/// The id of a requirement row.
fn row(line: &str) -> Option<Id> {
    let (id, _) = line.strip_prefix("| ")?.split_once(" |")?;
    id.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# C. Plugins

| ID | Behaviour |
|---|---|
| C-01 | Before any section. See B-03. |

### C.1 Common

| C-02 | Two. |
#### A remark
| C-03 | Three. |

### C.2 Provider
 | C-99 | Not at the start of the line. |
| Q1 | Not a row. |
| C-04 | Four. |

### Notes
| C-05 | Five. |
";

    fn ids(ids: impl Iterator<Item = Id>) -> String {
        ids.map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_are_lines_that_begin_with_an_id_cell() {
        assert_eq!(ids(Spec::of(TEXT).ids()), "C-01 C-02 C-03 C-04 C-05");
    }

    #[test]
    fn a_section_reaches_to_the_next_heading_of_its_level() {
        let spec = Spec::of(TEXT);
        assert_eq!(ids(spec.section("C.1".parse().unwrap())), "C-02 C-03");
        assert_eq!(ids(spec.section("C.2".parse().unwrap())), "C-04");
        assert_eq!(ids(spec.section("C.3".parse().unwrap())), "");
    }

    #[test]
    fn a_second_row_with_the_same_id_is_refused_with_its_place() {
        let mut spec = Spec::of("| A-01 | One. |");
        let error = spec.add("docs/spec/a.md", "\n| A-01 | Again. |").unwrap_err();
        assert_eq!(error, "docs/spec/a.md:2: A-01 has a second row");
    }
}
