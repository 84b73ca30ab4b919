//! The flags of `orlop run` that change what one request does, and the commands for what it leaves.

use crate::common::Place;
use serde_json::{Value, json};

/// The texts that the model was last told, by role.
fn told(place: &Place) -> String {
    let asked = place.asked();
    let messages = asked["messages"].as_array().unwrap().iter();
    let line = |message: &Value| {
        format!("{}: {}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap())
    };
    messages.map(line).collect::<Vec<_>>().join("|")
}

#[tokio::test]
async fn what_the_agent_is_told_first_can_be_replaced_and_added_to() {
    let place = Place::new("flags-system").await;
    let config = place.config().replacen(
        "[agents.other]",
        "system_message = \"Be kind.\"\n[agents.other]",
        1,
    );
    place.write("orlop.toml", config);
    place.run(&["run", "--append-system-prompt", "Be brief.", "hi"]).await.ok();
    assert_eq!(told(&place), "system: Be kind.\n\nBe brief.|user: hi");
    place.run(&["run", "--system-prompt", "Be a pirate.", "hi"]).await.ok();
    assert_eq!(told(&place), "system: Be a pirate.|user: hi");
    place.run(&["run", "hi"]).await.ok();
    assert_eq!(told(&place), "system: Be kind.|user: hi");
}

/// A place whose model wants to write a file, and tells what came of it.
async fn writing(name: &str, more: &str) -> Place {
    let place = Place::new(name).await;
    place.write("orlop.toml", format!(
        "[agents.default]\nprovider = \"scripted\"\ntools = [\"files\", \"shell\"]\nscript = {{ at_end = \"loop\", replies = [{{ when = {{ tool_result = true }}, text = \"\", echo = true }}, {{ tool_calls = [{{ name = \"write_file\", arguments = {{ path = \"a.txt\", content = \"new\" }} }}], usage = {{ input_tokens = 100, output_tokens = 10 }} }}] }}\n[agents.default.session_title]\nenabled = false\n{more}"
    ));
    place
}

#[tokio::test]
async fn flags_say_which_tool_calls_run() {
    let place = writing("flags-tools", "").await;
    let wrote = async |flags: &[&str]| {
        let _ = std::fs::remove_file(place.path().join("work/a.txt"));
        let done = place.run_in("work", &[&["run"], flags, &["go"]].concat()).await;
        assert_eq!(done.code, Some(0), "{done:?}");
        (place.path().join("work/a.txt").exists(), done.out, done.err)
    };
    assert!(!wrote(&[]).await.0, "nobody can be asked");
    assert!(wrote(&["--permission-mode", "accept_edits"]).await.0);
    assert!(wrote(&["--allowed-tools", "write_file(./a.txt)"]).await.0);
    assert!(!wrote(&["--allowed-tools", "write_file(./b.txt)"]).await.0);
    let (ran, out, _) = wrote(&["--yes", "--disallowed-tools", "write_file"]).await;
    assert!(!ran && out.contains("the rule write_file denies it"), "{out}");
    let (ran, out, _) = wrote(&["--yes", "--permission-mode", "read_only"]).await;
    assert!(!ran && out.contains("read_only"), "{out}");
    let (ran, out, _) = wrote(&["--allowed-tools", "write_file", "--dry-run"]).await;
    assert!(!ran && out.contains("@edit denies it"), "{out}");

    // Only the flag that says it is dangerous goes over what is denied.
    let denying = "[agents.default.permissions]\ndeny = [\"write_file\"]\n";
    place.write(
        "orlop.toml",
        std::fs::read_to_string(place.path().join("orlop.toml")).unwrap() + denying,
    );
    assert!(!wrote(&["--yes", "--permission-mode", "all"]).await.0);
    let (ran, _, err) = wrote(&["--dangerously-skip-permissions"]).await;
    assert!(ran && err.starts_with("orlop: permissions are skipped"), "{err}");
}

#[tokio::test]
async fn a_mode_of_the_request_goes_before_that_of_the_session() {
    let place = writing("flags-mode", "").await;
    place.run_in("work", &["run", "--session", "s", "/permissions all"]).await.ok();
    place.run_in("work", &["run", "--session", "s", "--permission-mode", "read_only", "go"]).await;
    assert!(!place.path().join("work/a.txt").exists());
    place.run_in("work", &["run", "--session", "s", "go"]).await;
    assert!(place.path().join("work/a.txt").exists());
}

#[tokio::test]
async fn a_dry_run_leaves_nothing_behind() {
    let place = writing("flags-dry", "").await;
    place.run_in("work", &["run", "--dry-run", "go"]).await.ok();
    let sessions = place.run(&["session", "list", "--json"]).await.json();
    assert_eq!(sessions["sessions"], json!([]));
    assert!(!place.path().join("work/a.txt").exists());
}

#[tokio::test]
async fn steps_and_cost_are_bounded() {
    let place = writing("flags-bounds", "[agents.default.permissions]\nmode = \"all\"\n").await;
    let run =
        async |flags: &[&str]| place.run_in("work", &[&["run"], flags, &["go"]].concat()).await;
    let done = run(&["--max-turns", "1"]).await;
    done.fails(1, &["more than 1 steps"]);
    run(&["--max-turns", "2"]).await.ok();
    assert_eq!(run(&["--max-turns", "0"]).await.code, Some(2));
    // The first call is made; what it cost ends the request before the second.
    let dear = "[agents.default.usage.price]\ninput = 1000000.0\noutput = 1000000.0\n";
    place.write(
        "orlop.toml",
        std::fs::read_to_string(place.path().join("orlop.toml")).unwrap() + dear,
    );
    run(&["--max-budget", "0.000001"]).await.fails(1, &["max_cost_per_turn"]);
    run(&["--max-budget", "1000000"]).await.ok();
    assert_eq!(run(&["--max-budget", "much"]).await.code, Some(2));
}

#[tokio::test]
async fn a_run_works_in_another_folder_and_with_further_ones() {
    let place = Place::new("flags-folders").await;
    let script = "[agents.default]\nprovider = \"scripted\"\ntools = [\"files\"]\nscript = [{ when = { tool_result = true }, text = \"\", echo = true }, { tool_calls = [{ name = \"read_file\", arguments = { path = \"NOTE\" } }] }]\n[agents.default.session_title]\nenabled = false\n";
    place.write("there/orlop.toml", script.replace("NOTE", "note.txt"));
    place.write("there/note.txt", "over there");
    let read = place.run(&["-C", "there", "run", "go"]).await.ok();
    assert!(read.contains("over there"), "{read}");
    place.run(&["--cd", "nowhere", "run", "go"]).await.fails(2, &["--cd", "nowhere"]);

    let note = place.write("more/note.txt", "further away").display().to_string();
    place.write("here/orlop.toml", script.replace("NOTE", &note));
    let refused = place.run_in("here", &["run", "go"]).await;
    assert!(!refused.out.contains("further away"), "{refused:?}");
    let read = place.run_in("here", &["run", "--add-dir", "../more", "go"]).await.ok();
    assert!(read.contains("further away"), "{read}");
    place.run_in("here", &["run", "--add-dir", "../none", "go"]).await.fails(2, &["--add-dir"]);
}

#[tokio::test]
async fn a_session_is_named_forked_and_branched() {
    let place = Place::new("flags-branch").await;
    place.run(&["run", "--session", "s", "--title", "Mine", "one"]).await.ok();
    let title = async |id: &str| {
        place.run(&["session", "show", id, "--json"]).await.json()["title"].clone()
    };
    assert_eq!(title("s").await, "Mine");
    place.run(&["run", "--resume", "s", "--title", "Ours", "two"]).await.ok();
    assert_eq!(title("s").await, "Ours");
    let session_of = |answer: Value| answer["session_id"].as_str().unwrap().to_owned();
    let forked = place.run(&["run", "-s", "s", "--fork", "-o", "json", "three"]).await.json();
    let fork = session_of(forked);
    assert_ne!(fork, "s");
    assert_eq!(place.messages("s").await.len(), 4);
    assert_eq!(place.messages(&fork).await.len(), 6);

    let again =
        place.run(&["run", "-s", "s", "--branch-at", "-1", "--output-format", "json"]).await;
    let again = session_of(again.json());
    assert_eq!(
        place.messages(&again).await,
        ["user: one", "assistant: You said: one", "user: two", "assistant: You said: two"]
    );
    let other = place.run(&["run", "-s", "s", "--branch-at", "2", "-o", "json", "zwei"]).await;
    let other = session_of(other.json());
    let tries = place.run(&["session", "branches", "s", "2", "--json"]).await.json();
    let ids: Vec<&str> = tries["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["session_id"].as_str().unwrap())
        .collect();
    assert_eq!((ids, &tries["current"]), (vec!["s", &again, &other], &json!(0)));
    let table = place.run(&["session", "branches", &other]).await.ok();
    assert!(table.lines().nth(3).unwrap().starts_with("3/3* "), "{table}");
    place.run(&["run", "--fork", "x"]).await.fails(2, &["--session"]);
}

#[tokio::test]
async fn sessions_are_put_away_and_pinned() {
    let place = Place::new("flags-archive").await;
    for id in ["a", "b", "c"] {
        place.run(&["run", "--session", id, id]).await.ok();
    }
    let ids = async |flags: &[&str]| {
        let page = place.run(&[&["session", "list", "--json"][..], flags].concat()).await.json();
        let ids = page["sessions"].as_array().unwrap().iter();
        ids.map(|it| it["session_id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    place.run(&["session", "archive", "b"]).await.ok();
    place.run(&["session", "pin", "a"]).await.ok();
    place.run(&["run", "--session", "c", "more"]).await.ok();
    assert_eq!(ids(&[]).await, "a c");
    assert_eq!(ids(&["--archived"]).await, "b");
    assert_eq!(ids(&["--all"]).await, "a c b");
    assert_eq!(ids(&["--pinned"]).await, "a");
    // What was pinned or put away is not what --continue means.
    let went_on = place.run(&["run", "--continue", "-o", "json", "on"]).await.json();
    assert_eq!(went_on["session_id"], "c");
    place.run(&["session", "archive", "--undo", "b"]).await.ok();
    place.run(&["session", "pin", "--undo", "a"]).await.ok();
    assert_eq!(ids(&["--pinned"]).await, "");
    assert_eq!(ids(&["--archived"]).await, "");
    place.run(&["session", "pin", "a", "nope"]).await.fails(4, &["nope"]);
    assert_eq!(ids(&["--pinned"]).await, "", "all or none");
}

#[tokio::test]
async fn files_are_attached_under_any_name_of_the_flag() {
    let place = Place::new("flags-file").await;
    place.write("note.txt", "in the file");
    for flag in ["-f", "--file", "--image", "-i", "--attach"] {
        place.run(&["run", flag, "note.txt", "read it"]).await.ok();
        assert!(place.asked().to_string().contains("in the file"), "{flag}");
    }
}

#[tokio::test]
async fn a_command_from_a_pipe_is_not_run_unless_everything_may() {
    let place = writing("flags-command", "").await;
    let refused = place.run_with(&["run", "-"], "!touch a.txt").await;
    refused.fails(2, &["--yes", "a space in front"]);
    assert!(!place.path().join("a.txt").exists());
    let ran = place.run_in("work", &["run", "--yes", "!echo ahoy > a.txt; cat a.txt"]).await.ok();
    assert_eq!(ran, "ahoy\n[exit code 0]\n");
    assert_eq!(std::fs::read_to_string(place.path().join("work/a.txt")).unwrap(), "ahoy\n");
}
