//! What the coverage check prints.

use std::{collections::BTreeSet, fmt::Write};

use super::{Tested, id::Id, spec::Spec};

/// One line for each group: rows, rows with a test, claimed rows, and which rows have no test.
pub(super) fn table(spec: &Spec, tested: &Tested, claimed: &BTreeSet<Id>) -> String {
    let ids: Vec<Id> = spec.ids().collect();
    let mut text = String::from("group  rows  tested  claimed  without a test\n");
    for rows in ids.chunk_by(|a, b| a.group == b.group) {
        let group = rows.first().map(|id| id.group.to_string()).unwrap_or_default();
        push_line(&mut text, &group, rows, tested, claimed, compact);
    }
    push_line(&mut text, "all", &ids, tested, claimed, |untested| untested.len().to_string());
    text
}

fn push_line(
    text: &mut String,
    name: &str,
    rows: &[Id],
    tested: &Tested,
    claimed: &BTreeSet<Id>,
    show_untested: fn(&[Id]) -> String,
) {
    let (with, without): (Vec<Id>, Vec<Id>) = rows.iter().partition(|id| tested.contains_key(id));
    let claims = rows.iter().filter(|id| claimed.contains(id)).count();
    let (rows, with, without) = (rows.len(), with.len(), show_untested(&without));
    let line = format!("{name:<5}  {rows:>4}  {with:>6}  {claims:>7}  {without}");
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Each row with the places of its tests.
pub(super) fn tests(spec: &Spec, tested: &Tested) -> String {
    let mut text = String::new();
    for id in spec.ids() {
        let marks = tested.get(&id).map(Vec::as_slice).unwrap_or_default();
        let places = marks.iter().map(|mark| format!("{}:{}", mark.file, mark.line));
        let places = places.collect::<Vec<_>>().join(", ");
        let places = if places.is_empty() { "no test" } else { &places };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{id}  {places}");
    }
    text
}

/// Ids in order, with runs of three and more written as `B-03..B-07`.
pub(super) fn compact(ids: &[Id]) -> String {
    let runs = ids.chunk_by(|a, b| a.group == b.group && a.number + 1 == b.number);
    let runs = runs.map(|run| match run {
        [first, _, .., last] => format!("{first}..{last}"),
        short => short.iter().map(Id::to_string).collect::<Vec<_>>().join(", "),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{super::marks::Mark, *};

    fn ids(text: &str) -> Vec<Id> {
        text.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn runs_of_three_are_written_as_ranges() {
        assert_eq!(compact(&[]), "");
        assert_eq!(compact(&ids("B-03")), "B-03");
        assert_eq!(compact(&ids("B-03 B-04")), "B-03, B-04");
        assert_eq!(compact(&ids("B-03 B-04 B-05 B-07 C-08")), "B-03..B-05, B-07, C-08");
    }

    fn sample() -> (Spec, Tested) {
        let spec = Spec::of("| A-01 | |\n| A-02 | |\n| B-01 | |");
        let mark = |line| Mark { id: ids("A-02")[0], file: "x.rs".into(), line };
        (spec, Tested::from([(ids("A-02")[0], vec![mark(3), mark(9)])]))
    }

    #[test]
    fn the_table_has_a_line_for_each_group_and_a_sum() {
        let (spec, tested) = sample();
        let claimed = ids("A-01 A-02").into_iter().collect();
        let expected = "\
group  rows  tested  claimed  without a test
A         2       1        2  A-01
B         1       0        0  B-01
all       3       1        2  2
";
        assert_eq!(table(&spec, &tested, &claimed), expected);
    }

    #[test]
    fn the_long_form_names_the_place_of_every_test() {
        let (spec, tested) = sample();
        assert_eq!(
            super::tests(&spec, &tested),
            "A-01  no test\nA-02  x.rs:3, x.rs:9\nB-01  no test\n"
        );
    }
}
