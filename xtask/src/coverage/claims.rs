//! `spec-status.toml`: the rows that the project claims to meet.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    id::{self, Id},
    spec::Spec,
};
use crate::workspace::Workspace;

const FILE: &str = "spec-status.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecStatus {
    claimed: Vec<String>,
}

/// Reads the file and names each claimed row.
pub(super) fn read(workspace: &Workspace, spec: &Spec) -> Result<BTreeSet<Id>, String> {
    parse(&workspace.read(FILE)?, spec)
}

fn parse(text: &str, spec: &Spec) -> Result<BTreeSet<Id>, String> {
    let status: SpecStatus = toml::from_str(text).map_err(|error| format!("{FILE}: {error}"))?;
    let mut claimed = BTreeSet::new();
    for claim in &status.claimed {
        let rows =
            rows_of(claim, spec).map_err(|why| format!("{FILE}: the claim `{claim}`: {why}"))?;
        claimed.extend(rows);
    }
    Ok(claimed)
}

/// The rows a claim stands for: a group `A`, a section `C.1`, a range `H-17..H-25`, a row `H-02`.
fn rows_of(claim: &str, spec: &Spec) -> Result<Vec<Id>, String> {
    let rows: Vec<Id> = if let Some(group) = id::group(claim) {
        spec.ids().filter(|id| id.group == group).collect()
    } else if let Ok(section) = claim.parse() {
        spec.section(section).collect()
    } else {
        let (first, last) = claim.split_once("..").unwrap_or((claim, claim));
        range(first.parse()?, last.parse()?, spec)?
    };
    if rows.is_empty() { Err("docs/spec has no such rows".into()) } else { Ok(rows) }
}

fn range(first: Id, last: Id, spec: &Spec) -> Result<Vec<Id>, String> {
    if first.group != last.group || first > last {
        return Err("a range goes upwards within one group".into());
    }
    match [first, last].into_iter().find(|id| !spec.has(*id)) {
        Some(missing) => Err(format!("docs/spec has no row {missing}")),
        None => Ok(spec.ids().filter(|id| (first..=last).contains(id)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "\
| A-01 | |
| A-02 | |
### C.1 Common
| C-01 | |
| C-02 | |
### C.2 Provider
| C-03 | |
## H. Lifecycles
| H-17 | |
| H-18 | |
| H-20 | |
";

    fn claims(list: &str) -> Result<String, String> {
        let claimed = parse(&format!("claimed = [{list}]"), &Spec::of(ROWS))?;
        Ok(claimed.iter().map(Id::to_string).collect::<Vec<_>>().join(" "))
    }

    fn check(list: &str, expected: &str) {
        assert_eq!(claims(list).unwrap(), expected);
    }

    fn check_refused(list: &str, reason: &str) {
        let message = claims(list).unwrap_err();
        assert!(message.starts_with("spec-status.toml: "), "{message}");
        assert!(message.contains(reason), "{message}");
    }

    #[test]
    fn a_claim_is_a_group_a_section_a_row_or_a_range() {
        check(r#""A""#, "A-01 A-02");
        check(r#""C.1""#, "C-01 C-02");
        check(r#""H-18""#, "H-18");
        check(r#""H-17..H-20""#, "H-17 H-18 H-20");
    }

    #[test]
    fn claims_may_overlap() {
        check(r#""C", "C.2", "C-03""#, "C-01 C-02 C-03");
        check("", "");
    }

    #[test]
    fn a_claim_of_nothing_is_refused() {
        check_refused(r#""B""#, "the claim `B`: docs/spec has no such rows");
        check_refused(r#""C.9""#, "no such rows");
        check_refused(r#""H-19""#, "docs/spec has no row H-19");
        check_refused(r#""H-17..H-21""#, "docs/spec has no row H-21");
    }

    #[test]
    fn a_range_goes_upwards_within_one_group() {
        check_refused(r#""H-18..H-17""#, "upwards");
        check_refused(r#""A-01..C-01""#, "within one group");
    }

    #[test]
    fn other_texts_and_keys_are_refused() {
        check_refused(r#""all""#, "`all` is not a requirement id");
        check_refused(r#""H-17..""#, "`` is not a requirement id");
        assert!(parse("claims = []", &Spec::of(ROWS)).is_err());
    }
}
