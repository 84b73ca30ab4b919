//! The screens that the README and the page of the chat show, taken from the real program.

use super::{CONTROL_D, ESCAPE};
use crate::common::pty::open;
use crate::common::{Place, capture};
use orlop_testkit::mock_model::Reply;

#[tokio::test(flavor = "multi_thread")]
async fn the_walk_of_the_readme_is_what_the_screen_shows() {
    let place = Place::new("chat-walk").await;
    let reply = "Two are free:\n\n| berth | depth |\n| --- | ---: |\n| 2 | 3.5 m |\n| 5 | 2.1 m |\n\n```sh\norlop run \"Book berth 2\"\n```\n";
    place.model.reply(Reply::text([reply]).usage(1180, 64));
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    terminal.press("Which berths are free?\r");
    terminal.shows("tokens");
    let asked = terminal.hides("Esc stops");
    terminal.press("/ses");
    let offered = terminal.until("offered it", |screen| {
        screen.contains("/list_permissions") && screen.ends_with("^K commands")
    });
    let live = offered.lines().skip_while(|line| !line.starts_with("› /ses")).collect::<Vec<_>>();
    let said = asked.rsplit_once("\n›").unwrap().0;
    capture::check("README.md", "walk", &format!("{said}\n{}", live.join("\n")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_offer_is_as_the_page_shows_it() {
    let place = Place::new("walk-offer").await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    let mut terminal = open(&place, &[], &[]);
    let screen = terminal.shows("Bring it now? [Y/n]");
    capture::check("docs/terminal.md", "offer", &screen);
    terminal.press("n\n");
    terminal.shows("^K commands");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_asks_is_as_the_page_shows_it() {
    let place = Place::new("walk-edit").await;
    place.write("harbour/berths.txt", "1: Anna\n2: free\n3: Berta\n");
    let input = serde_json::json!({
        "path": "berths.txt", "old_string": "2: free", "new_string": "2: Clara",
    });
    place.model.reply(
        Reply::text(["I put her down for berth 2."]).usage(1240, 38).then_tool_calls([(
            "c1",
            "edit_file",
            input.to_string(),
        )]),
    );
    let mut terminal = open(&place, &["-C", "harbour", "Give Clara the free berth"], &[]);
    let screen = terminal
        .until("asked", |screen| screen.contains("allow once") && screen.ends_with("^K commands"));
    // What moves is left out.
    let still: Vec<&str> = screen.lines().filter(|line| !line.contains("Esc stops")).collect();
    capture::check("docs/terminal.md", "approval", &still.join("\n"));
    terminal.press("n");
    terminal.hides("allow once");
    terminal.press(ESCAPE);
    terminal.hides("Esc stops");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

/// The screen with one date in place of all of them: they are those of the test.
fn on_one_day(screen: &str) -> String {
    const DAY: &str = "2026-03-01 09:30";
    let is_date = |text: &[u8]| {
        let same =
            |(a, b): (&u8, &u8)| if b.is_ascii_digit() { a.is_ascii_digit() } else { a == b };
        text.iter().zip(DAY.as_bytes()).all(same)
    };
    let mut dated = screen.to_owned();
    while let Some(place) =
        dated.as_bytes().windows(DAY.len()).position(|text| is_date(text) && text != DAY.as_bytes())
    {
        dated.replace_range(place..place + DAY.len(), DAY);
    }
    dated
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_sessions_is_as_the_page_shows_it() {
    let place = Place::new("walk-sessions").await;
    for (id, title, text) in [
        ("s1", "Berths", "Which berths are free?"),
        ("s2", "Tides", "When is high water on Friday?"),
        ("s3", "Lighthouses", "Who keeps the lighthouse?"),
    ] {
        place.run(&["run", "--session", id, "--title", title, text]).await.ok();
    }
    let mut terminal = open(&place, &["--resume"], &[]);
    terminal.shows("Sessions:");
    terminal.press("water");
    let screen = terminal.until("found it", |screen| {
        screen.contains("▸ Tides")
            && screen.contains("│ You said:")
            && screen.ends_with("^K commands")
    });
    capture::check("docs/terminal.md", "sessions", &on_one_day(&screen));
    terminal.press(ESCAPE);
    terminal.hides("Sessions:");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
