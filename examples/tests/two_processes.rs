//! Two processes on one database, on the same and on different sessions: no update is lost, nobody
//! waits for ever, and no user hears of a locked database.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Place;
use orlop_testkit::postgres::PostgresServer;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long two processes work; a minute where `ORLOP_SOAK_SECONDS` asks for it.
fn time() -> Duration {
    let asked = std::env::var("ORLOP_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(asked.unwrap_or(20))
}

/// One after another, a process of the command line for each turn: every second one on the session
/// that both share. Gives the names of the turns that were answered, with their sessions.
async fn work(place: &Place, name: &str) -> Vec<(String, String)> {
    let end = Instant::now() + time();
    let mut answered = Vec::new();
    let mut turn = 0;
    while Instant::now() < end {
        let prompt = format!("{name} {turn}");
        let session = if turn % 2 == 0 { "shared".to_owned() } else { format!("own-{name}") };
        let (code, out, errors) = place.run(&["run", "--session", &session, &prompt]).await;
        assert_eq!((code, out.trim_end()), (Some(0), prompt.as_str()), "{errors}");
        assert_eq!(errors, "");
        answered.push((session, prompt));
        turn += 1;
    }
    answered
}

async fn check(store: Option<&str>, name: &str) {
    let place = Place::new(name, store).await;
    let (a, b) = futures::join!(work(&place, "a"), work(&place, "b"));
    println!("{name}: {} and {} turns", a.len(), b.len());
    assert!(a.len() > 2 && b.len() > 2);
    let answered: Vec<_> = a.into_iter().chain(b).collect();
    for session in ["shared", "own-a", "own-b"] {
        let messages = place.messages(session).await;
        let expected: HashSet<&str> = answered
            .iter()
            .filter(|(held, _)| held == session)
            .map(|(_, prompt)| prompt.as_str())
            .collect();
        // Each turn is its two messages side by side, and there is nothing else.
        assert_eq!(messages.len(), expected.len() * 2, "{session}");
        let mut seen = HashSet::new();
        for pair in messages.chunks(2) {
            let text = pair[0]["content"].as_str().unwrap();
            assert_eq!((&pair[0]["role"], &pair[1]["role"]), (&"user".into(), &"assistant".into()));
            assert_eq!(pair[1]["content"], text);
            assert!(expected.contains(text) && seen.insert(text), "{text}");
        }
    }
}

#[tokio::test] // I-28, I-29
async fn two_processes_share_a_sqlite_file() {
    check(None, "sqlite").await;
}

#[tokio::test] // I-28, I-29
async fn two_processes_share_a_postgres_database() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().unwrap();
    check(Some(&database), "postgres").await;
}
