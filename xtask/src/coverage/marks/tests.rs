//! Examples of marked tests. Each source line is a string of its own, so that the scan of this
//! very file finds no attribute with an id.

use super::*;

/// Reads the lines and shows marks as `id@line`, then problems.
fn read_as(language: Language, lines: &[&str]) -> String {
    let mut marks = Marks::default();
    marks.read_text("a.rs", &lines.join("\n"), language);
    let ids = marks.marks.iter().map(|mark| format!("{}@{}", mark.id, mark.line));
    ids.chain(marks.problems).collect::<Vec<_>>().join(" ")
}

fn check(lines: &[&str], expected: &str) {
    assert_eq!(read_as(Language::Rust, lines), expected);
}

fn check_refused(line: &str, word: &str) {
    let found = read_as(Language::Rust, &[line]);
    assert!(found.contains("a.rs:1: "), "{found}");
    assert!(found.contains(&format!("`{word}` is not a requirement id")), "{found}");
}

#[test]
fn an_id_stands_beside_the_test_attribute() {
    check(&["#[test] // B-03", "fn a() {}"], "B-03@1");
    check(&["", "    #[test]  //  B-03 , B-04,C-10 "], "B-03@2 B-04@2 C-10@2");
    check(&["#[tokio::test] // A-01"], "A-01@1");
    check(&[r#"#[tokio::test(flavor = "multi_thread", worker_threads = 2)] // A-01"#], "A-01@1");
}

#[test]
fn an_id_stands_beside_a_test_in_a_macro() {
    let lines = [
        "proptest! {",
        "    #![proptest_config(ProptestConfig::with_cases(64))]",
        "    #[test] // A-04",
        "    fn round_trip(s in session()) {}",
        "}",
    ];
    check(&lines, "A-04@3");
}

#[test]
fn long_lists_stand_directly_above_the_test_attribute() {
    check(&["// covers: B-03, B-04", "#[test]", "fn a() {}"], "B-03@1 B-04@1");
    check(&["// covers: B-03", "// covers: B-04", "#[test] // B-05"], "B-03@1 B-04@2 B-05@3");
    check(&["// covers: B-03", "#[tokio::test(", "    start_paused = true", ")]"], "B-03@1");
    check(&["// covers: B-03", "", "#[test]"], "");
    check(&["// covers: B-03", "/// Says why.", "#[test]"], "");
    check(&["// covers: B-03", "fn helper() {}"], "");
}

#[test]
fn ids_in_other_comments_are_prose() {
    check(&["// B-03", "#[test]", "// B-04", "fn a() {} // B-05"], "");
    check(&["#[test] // slow, see B-03"], "");
    check(&["#[test_case(1)] // B-03", "#[cfg(test)] // B-03", "#[ignore] // B-04"], "");
    check(&["/// #[test] // B-03", "let s = \"#[test] // B-03\";"], "");
}

#[test]
fn what_is_meant_as_a_list_of_ids_must_be_one() {
    check_refused("#[test] // B-03: at the start", "B-03: at the start");
    check_refused("#[test] // B-03..B-05", "B-03..B-05");
    check_refused("#[test] // B-03, ", "");
    check_refused("#[test] // Z-03", "Z-03");
    let found = read_as(Language::Rust, &["// covers: everything", "#[test]"]);
    assert!(found.contains("`everything` is not a requirement id"), "{found}");
}

#[test]
fn other_languages_name_ids_above_the_test() {
    let typescript = ["// covers: K-01", "test(\"page\", () => {", "  it(\"x\", f); // K-02"];
    assert_eq!(read_as(Language::TypeScript, &typescript), "K-01@1");
    let python = ["# covers: C-01", "def test_name():", "# covers: C-02", "async def test_b():"];
    assert_eq!(read_as(Language::Python, &python), "C-01@1 C-02@3");
}

#[test]
fn the_examples_of_this_file_are_not_counted() {
    let mut marks = Marks::default();
    marks.read_text("tests.rs", include_str!("tests.rs"), Language::Rust);
    assert_eq!((marks.marks.len(), marks.problems), (0, Vec::new()));
}

#[test]
fn a_test_file_that_no_program_has_is_a_problem() {
    let is_left_out = |file: &str| is_left_out(Path::new(file), "//! All.\n\nmod listed;\n");
    assert!(is_left_out("crates/a/tests/suite/forgotten.rs"));
    assert!(!is_left_out("crates/a/tests/suite/listed.rs"));
    assert!(!is_left_out("crates/a/tests/suite/main.rs"));
    assert!(!is_left_out("crates/a/tests/suite/script.py"));
}
