//! What plugins show and do in the chat: displays and their follow-ups, effects, settings, changes
//! that are taken back, long results, and plugins that break or never end.

use super::{CONTROL_D, CONTROL_K, ESCAPE, open, open_with, place};
use crate::common::pty::Terminal;

/// Does what the palette calls this.
fn choose(terminal: &mut Terminal, command: &str) {
    terminal.press(CONTROL_K);
    terminal.shows("Commands:");
    terminal.press(command);
    terminal.until("found it", |screen| screen.contains(&format!("▸ {command}")));
    terminal.press("\r");
}

#[tokio::test(flavor = "multi_thread")] // K-06, K-14, K-15, K-16, K-17
async fn a_display_stays_with_its_numbered_follow_ups_until_another_takes_its_place() {
    let place = place("chat-display").await;
    // What opens pages on this machine.
    let opener = place.write(
        if cfg!(target_os = "macos") { "bin/open" } else { "bin/xdg-open" },
        "#!/bin/sh\necho \"$1\" > opened.new && mv opened.new opened\n",
    );
    std::fs::set_permissions(&opener, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let path = format!("{}/bin:{}", place.path().display(), std::env::var("PATH").unwrap());
    let mut terminal = open_with(&place, &["hello"], &[("PATH", &path)]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    choose(&mut terminal, "Knock at the gate");
    let screen = terminal.shows("▌ The code is ABCD.");
    for row in [
        "▌ Gate",
        "▌ 1. Copy the code",
        "▌ 2. Look",
        "▌ 3. Open",
        "▌ 4. Map (https://example.test/map)",
    ] {
        assert!(screen.contains(row), "{row}:\n{screen}");
    }
    // Copied with OSC 52, which terminals take over SSH as well.
    terminal.press("\x1b1");
    terminal.shows("Copied: ABCD");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains("\x1b]52;c;QUJDRA==\x1b\\"), "{bytes:?}");
    terminal.press("\x1b4");
    let opened = place.path().join("opened");
    while !opened.exists() {
        tokio::task::yield_now().await;
    }
    assert_eq!(std::fs::read_to_string(&opened).unwrap(), "https://example.test/map\n");
    // This follow-up leaves the display where it is.
    terminal.press("\x1b2");
    let screen = terminal.shows("✓ It is still shut");
    assert!(screen.contains("▌ The code is ABCD."), "{screen}");
    // The same as before, by its id: it takes the place of the old one.
    terminal.press("\x1b3");
    let screen = terminal.shows("▌ It is open.");
    assert!(!screen.contains("ABCD."), "{screen}");
    assert_eq!(screen.matches("▌ Gate").count(), 1, "{screen}");
    terminal.press(ESCAPE);
    terminal.hides("▌ Gate");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-18, K-19
async fn where_an_action_leads_the_chat_goes() {
    let place = place("chat-effects").await;
    place.run(&["run", "--session", "s2", "about lighthouses"]).await.ok();
    let mut terminal = open(&place, &["hello"]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    choose(&mut terminal, "Travel to the other session");
    terminal.shows("You said: about lighthouses");
    terminal.press("and now?\r");
    terminal.shows("You said: and now?");
    terminal.hides("Esc stops");
    assert_eq!(place.messages("s2").await.len(), 4);
    // A session that an action deleted is left, and the list of the others comes up.
    choose(&mut terminal, "Sink this session");
    terminal.shows("✓ Gone");
    terminal.shows("── New session");
    terminal.shows("Sessions:");
    terminal.press(ESCAPE);
    terminal.hides("Sessions:");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-05, K-08
async fn the_change_of_an_action_is_taken_back() {
    let place = place("chat-undo").await;
    place.run(&["run", "--session", "s1", "hello"]).await.ok();
    let mark = async || {
        let session = place.run(&["session", "export", "s1"]).await.json();
        session["metadata"]["mark"].as_str().unwrap_or("none").to_owned()
    };
    let mut terminal = open(&place, &["--resume", "s1"]);
    terminal.shows("You said: hello");
    choose(&mut terminal, "Mark it red");
    terminal.shows("✓ Marked");
    assert_eq!(mark().await, "red");
    choose(&mut terminal, "Take back the change of an action");
    terminal.shows("mark of marks");
    terminal.press("\r");
    terminal.shows("Taken back");
    assert_eq!(mark().await, "none");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // J-14, J-23
async fn settings_of_plugins_are_typed_and_hold_in_the_session() {
    let place = place("chat-plugin-settings").await;
    let mut terminal = open(&place, &["hello"]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    terminal.press("/settings\r");
    terminal.shows("not set · marks.size");
    terminal.press("Size");
    terminal.shows("▸ Size of marks");
    terminal.press("\r");
    terminal.shows("Size of marks (empty: as the agent has it)");
    terminal.press("large\r");
    terminal.shows("must be a whole number");
    terminal.press("\x1512\r");
    terminal.shows("✓ Size of marks: 12");
    terminal.press("/settings\r");
    terminal.shows("12 · marks.size");
    terminal.press(ESCAPE);
    terminal.hides("12 · marks.size");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-03
async fn a_long_result_is_folded_and_a_key_opens_it() {
    let place = place("chat-fold").await;
    let mut terminal = open(&place, &["list"]);
    terminal.shows("allow once");
    terminal.press("y");
    terminal.shows("The tool said:");
    terminal.hides("Esc stops");
    let everything = terminal.everything();
    let card: Vec<&str> =
        everything.lines().skip_while(|line| !line.starts_with("● list")).take(10).collect();
    assert_eq!((card[1], card[8]), ("  ship 1", "  ship 8"), "{everything}");
    assert_eq!(card[9], "  … 32 more lines, ^O shows all");
    terminal.press("\x0f");
    terminal.until("opened it", |screen| screen.lines().any(|line| line == "ship 40"));
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_breaks_does_not_break_the_screen() {
    let place = place("chat-broken").await;
    let mut terminal = open(&place, &["break"]);
    terminal.shows("allow once");
    terminal.press("y");
    terminal.shows("The tool said:");
    let screen = terminal.hides("Esc stops");
    // It is told as a failure of the tool; where it happened is in the log.
    assert!(screen.contains("✗ break") && !screen.contains("RUST_BACKTRACE"), "{screen}");
    let log = std::fs::read_to_string(place.home().join("logs/chat.log")).unwrap();
    assert!(log.contains("a plugin broke"), "{log}");
    // The terminal still gives keys one by one, and echoes nothing by itself.
    let given_back = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains("\x1b[?2004l");
    assert!(!given_back(terminal.bytes()));
    terminal.press("hello");
    terminal.shows("› hello");
    terminal.press("\r");
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_ends_does_not_hold_up_leaving() {
    let place = place("chat-never-ends").await;
    let mut terminal = open(&place, &[]);
    terminal.press("\x03");
    terminal.shows("Ctrl-C again leaves");
    terminal.press("\x03");
    // Its host plugin `never_ends` is still busy with its end, and would be for ever.
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_tool_says_acts_on_the_terminal() {
    let place = place("chat-hostile").await;
    let mut terminal = open(&place, &["hostile"]);
    terminal.shows("allow once");
    terminal.press("y");
    terminal.shows("The tool said:");
    terminal.hides("Esc stops");
    terminal.press("\x0f");
    terminal.until("opened it", |screen| screen.lines().filter(|it| *it == "quay").count() > 8);
    terminal.press(CONTROL_D);
    let written = loop {
        let bytes = terminal.bytes();
        if String::from_utf8_lossy(&bytes).contains("\x1b[?2004l") {
            break String::from_utf8_lossy(&bytes).into_owned();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(terminal.ends(), 0);
    for act in ["\x1b[2J", "\u{9b}", "\x1b]52", "\u{9d}", "owned", "\u{202e}", "\u{2066}", "\u{85}"]
    {
        assert!(!written.contains(act), "{act:?}");
    }
}

#[tokio::test(flavor = "multi_thread")] // K-06
async fn what_plugins_publish_is_shown_in_its_session() {
    let place = place("chat-published").await;
    let mut terminal = open(&place, &["hello"]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    choose(&mut terminal, "Announce a ship");
    terminal.shows("✓ Announced");
    // The second of one id took the place of the first, and the one of another session is not here.
    let screen = terminal.shows("▌ A brig comes in.");
    assert_eq!(screen.matches("▌ Lookout").count(), 1, "{screen}");
    assert!(!terminal.everything().contains("raft"), "{screen}");
    terminal.press(ESCAPE);
    terminal.hides("▌ Lookout");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // J-18, J-19, K-13
async fn actions_of_the_list_of_sessions_are_in_their_order_and_ask_for_a_session() {
    let place = place("chat-list-actions").await;
    place.run(&["run", "--session", "s1", "about lighthouses"]).await.ok();
    let mut terminal = open(&place, &[]);
    terminal.press(CONTROL_K);
    terminal.press("of a session in the list");
    let screen = terminal.shows("Unload it");
    let at = |label: &str| screen.find(label).unwrap_or_else(|| panic!("{label}:\n{screen}"));
    assert!(at("Anchor it") < at("Couple it") && at("Couple it") < at("Unload it"), "{screen}");
    terminal.press(ESCAPE);
    terminal.hides("Unload it");
    choose(&mut terminal, "Anchor it");
    terminal.shows("▸ about lighthouses");
    terminal.press("\r");
    let screen = terminal.shows("Anchored \"s1\"");
    assert!(!screen.contains("not in a list"), "{screen}");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // H-32
async fn hooks_of_the_host_are_told_of_the_terminal() {
    let place = place("chat-context").await;
    let mut terminal = open(&place, &["hello"]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    let told = std::fs::read_to_string(place.path().join("terminal.json")).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told, serde_json::json!({ "plain": false, "columns": 80, "rows": 24 }));
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
