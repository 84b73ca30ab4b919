//! `cargo xtask coverage`: which requirement rows have a test that carries their id.
//!
//! Rows come from `docs/spec` ([`spec`]), ids from the tests ([`marks`]), and `spec-status.toml`
//! says which rows are claimed as met ([`claims`]). A claimed row without a test fails the check,
//! and so does a test with an id that no row has.

mod claims;
mod id;
mod marks;
mod report;
mod spec;

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
};

use crate::workspace::Workspace;
use id::Id;
use marks::Mark;
use spec::Spec;

/// Which tests cover a row, by id.
type Tested = BTreeMap<Id, Vec<Mark>>;

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    let verbose = match arguments {
        [] => false,
        ["--verbose"] => true,
        other => return Err(crate::unknown_arguments("coverage", other)),
    };
    check(workspace, verbose).map(|()| ExitCode::SUCCESS)
}

/// Prints the table, and fails with all that is wrong.
pub(crate) fn check(workspace: &Workspace, verbose: bool) -> Result<(), String> {
    let spec = Spec::read(workspace)?;
    let marks = marks::read(workspace)?;
    let claimed = claims::read(workspace, &spec)?;

    let mut problems = marks.problems;
    let tested = tests_by_row(&spec, marks.marks, &mut problems);
    print!("{}", report::table(&spec, &tested, &claimed));
    if verbose {
        print!("\n{}", report::tests(&spec, &tested));
    }
    problems.extend(untested_claims(&claimed, &tested));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn tests_by_row(spec: &Spec, marks: Vec<Mark>, problems: &mut Vec<String>) -> Tested {
    let mut tested = Tested::new();
    for mark in marks {
        if spec.has(mark.id) {
            tested.entry(mark.id).or_default().push(mark);
        } else {
            let Mark { id, file, line } = mark;
            problems.push(format!("{file}:{line}: {id} is not a row of docs/spec"));
        }
    }
    tested
}

fn untested_claims(claimed: &BTreeSet<Id>, tested: &Tested) -> Option<String> {
    let untested = claimed.iter().filter(|id| !tested.contains_key(id));
    let untested: Vec<Id> = untested.copied().collect();
    (!untested.is_empty()).then(|| {
        format!(
            "{} claimed in spec-status.toml but without a test: {}",
            untested.len(),
            report::compact(&untested)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(id: &str) -> Mark {
        Mark { id: id.parse().unwrap(), file: "crates/a/src/lib.rs".into(), line: 7 }
    }

    #[test]
    fn a_test_for_a_row_that_does_not_exist_is_named_with_its_place() {
        let spec = Spec::of("| A-01 | One. |");
        let mut problems = Vec::new();
        let tested = tests_by_row(&spec, vec![mark("A-01"), mark("A-02")], &mut problems);
        assert_eq!(problems, ["crates/a/src/lib.rs:7: A-02 is not a row of docs/spec"]);
        assert_eq!(tested.len(), 1);
    }

    #[test]
    fn claimed_rows_without_a_test_are_listed() {
        let claimed: BTreeSet<Id> =
            ["A-01", "A-02", "A-03", "A-04"].iter().map(|id| id.parse().unwrap()).collect();
        let mut tested = Tested::from([("A-01".parse().unwrap(), vec![mark("A-01")])]);
        assert_eq!(
            untested_claims(&claimed, &tested).unwrap(),
            "3 claimed in spec-status.toml but without a test: A-02..A-04"
        );
        for id in ["A-02", "A-03", "A-04"] {
            tested.insert(id.parse().unwrap(), vec![mark(id)]);
        }
        assert_eq!(untested_claims(&claimed, &tested), None);
    }
}
