//! The provider `scripted` in the real program, as the README shows it.

use crate::common::Place;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scripts/harbour.toml");

/// A place without a configuration.
async fn place(name: &str) -> (Place, [String; 4]) {
    let place = Place::new(name).await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    let set = ["--set", "provider=scripted", "--set", &format!("script={SCRIPT}")];
    (place, set.map(str::to_owned))
}

#[tokio::test] // M-30
async fn the_script_of_the_readme_answers_over_several_processes() {
    let (place, set) = place("scripted").await;
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let run = |words: &'static [&'static str]| {
        let arguments = [&["run"], &*set, words].concat();
        let place = &place;
        async move { place.run(&arguments).await }
    };
    let readme = include_str!("../../../../README.md");
    let shown = "run --set provider=scripted --set script=examples/scripts/harbour.toml \"Is a berth free?\"";
    assert!(readme.contains(shown));
    let answer = run(&["Is a berth free?"]).await.ok();
    assert_eq!(answer, "Berth 2 and berth 5 are free.\n");
    assert!(readme.contains(&format!("```text\n{answer}```")));

    let first = "Harbour office. Ask about a berth, or tell me the name of your ship.\n";
    assert_eq!(run(&["hello"]).await.ok(), first);
    let second = "I only know berths and ships.\n";
    assert_eq!(run(&["--continue", "what?"]).await.ok(), second);
    let noted = "Noted: My ship is the Vasa\n";
    assert_eq!(run(&["--continue", "My ship is the Vasa"]).await.ok(), noted);
    assert_eq!(run(&["--continue", "and?"]).await.ok(), second);
    let failed = run(&["is there a storm?"]).await;
    failed.fails(1, &["the line is down", "scripted"]);
    assert_eq!(place.times_asked(), 0);
}

#[tokio::test] // M-30
async fn a_script_that_is_wrong_is_named() {
    let (place, _) = place("scripted-wrong").await;
    let path = place.write("s.toml", "[[replies]]\ntext = 'a'\npace_ms = 'slow'\n");
    let set = format!("script={}", path.display());
    let run = place.run(&["run", "--set", "provider=scripted", "--set", &set, "x"]).await;
    run.fails(2, &["s.toml: replies[0].pace_ms: \"slow\" stands where a whole number must be"]);
    let missing = place.run(&["run", "--set", "provider=scripted", "x"]).await;
    missing.fails(3, &["script"]);
}
