//! The table in docs/providers-conformance.md: what holds for which provider, and what does not
//! apply to one and why. With `UPDATE_EXPECT=1` the test writes it.

use crate::cases::CASES;
use crate::subject::subjects;
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "# What every provider does

One suite of tests runs for every provider: `cargo test -p orlop-providers --test conformance`. It
writes this table (`UPDATE_EXPECT=1` in the environment), and fails if the table is not what it would
write. A provider that speaks to a server is tested against a local one that refuses what the real
one refuses: calls without results, turns out of order, changed signatures, unknown fields.

";

/// The table as it has to be.
fn table() -> String {
    let (subjects, mut notes) = (subjects(), Vec::new());
    let mut table = HEAD.to_owned();
    let names: String = subjects.iter().map(|subject| format!(" `{}` |", subject.name)).collect();
    let _ = writeln!(table, "| what holds |{names}");
    let _ = writeln!(table, "| --- |{}", " :-: |".repeat(subjects.len()));
    for case in CASES {
        let mut row = format!("| {} |", case.says);
        for subject in &subjects {
            match subject.exempt(case.name) {
                None => row.push_str(" yes |"),
                Some(why) => {
                    let known = notes.iter().position(|note| *note == why);
                    let number = known.unwrap_or_else(|| {
                        notes.push(why);
                        notes.len() - 1
                    });
                    let _ = write!(row, " -- ({}) |", number + 1);
                }
            }
        }
        let _ = writeln!(table, "{row}");
    }
    if !notes.is_empty() {
        table.push_str("\nWhat does not apply:\n\n");
        for (position, note) in notes.iter().enumerate() {
            let _ = writeln!(table, "{}. {note}", position + 1);
        }
    }
    table
}

#[test]
fn the_table_says_what_is_tested() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers-conformance.md");
    let table = table();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == table,
        "docs/providers-conformance.md is out of date; run the test with UPDATE_EXPECT=1"
    );
}

#[test]
fn an_exemption_names_a_case() {
    for subject in subjects() {
        for (name, why) in subject.exemptions {
            assert!(CASES.iter().any(|case| case.name == *name), "no case {name:?}: {why}");
        }
    }
}

#[test]
fn each_provider_is_tested_once() {
    let names: Vec<&str> = subjects().iter().map(|subject| subject.name).collect();
    let unique: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), unique.len(), "{names:?}");
}
