//! The page of what people expect names tests; each of them is there.

use std::path::Path;

/// Whether a test is there that the page names as `CRATE/FILE::TEST`, or `web/FILE::WORDS` of its name.
fn is_there(root: &Path, name: &str) -> bool {
    let Some((place, test)) = name.split_once("::") else { return false };
    let Some((member, file)) = place.split_once('/') else { return false };
    if member == "web" {
        let path = root.join("web/e2e").join(format!("{file}.e2e.ts"));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        return text.contains(&format!("test(\"{test}\""));
    }
    let tests = root.join("crates").join(member).join("tests");
    [tests.join("suite"), tests].iter().any(|folder| {
        let text = std::fs::read_to_string(folder.join(format!("{file}.rs"))).unwrap_or_default();
        text.contains(&format!("fn {test}("))
    })
}

#[test]
fn every_test_of_the_page_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reference/expectations.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    let (mut missing, mut count) = (Vec::new(), 0);
    for (place, row) in rows.iter().enumerate() {
        assert!(row.starts_with(&format!("| {} |", place + 1)), "row {}: {row}", place + 1);
        let cells: Vec<&str> = row.split(" | ").collect();
        let [_, _, where_it_is, shown] = cells.as_slice() else { panic!("{row}") };
        let tests: Vec<&str> =
            shown.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
        // What has no test says which surface it belongs to.
        assert!(!tests.is_empty() || where_it_is.contains("terminal"), "{row}");
        count += tests.len();
        missing.extend(tests.into_iter().filter(|name| !is_there(&root, name)));
    }
    assert_eq!(rows.len(), 55);
    assert!(missing.is_empty(), "there is no {missing:#?}");
    assert!(count > 60, "{count}");
    assert!(!is_there(&root, "orlop/expectations::no_such_test"));
    assert!(!is_there(&root, "web/chat::no such test"));
}
