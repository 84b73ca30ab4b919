//! Killed at any moment, the command line loses nothing it acknowledged and repeats nothing it did.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{NOTES, Place};
use orlop_app::Scope;
use orlop_app::store::{EventQuery, Store};
use orlop_store::SqliteStore;
use serde_json::Value;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How often a process is killed.
const KILLS: u64 = 200;

/// Sessions that share them.
const SESSIONS: u64 = 5;

/// What a process told before it was killed.
struct Told {
    request: String,
    session: String,
    events: Vec<Value>,
}

#[tokio::test] // I-03, I-22, I-24
async fn two_hundred_kills_lose_nothing_and_repeat_nothing() {
    let place = Place::new("crash", None).await;
    let began = Instant::now();
    let (code, _, errors) = place.run(&["run", "--session", "s0", "go first"]).await;
    assert_eq!(code, Some(0), "{errors}");
    let whole = began.elapsed();

    let mut random = 0x5DEE_CE66_u64;
    let mut told = Vec::new();
    for kill in 0..KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        let share = f64::from((random >> 40) as u32) / f64::from(1_u32 << 24);
        told.push(killed(&place, kill, whole.mul_f64(share * 1.1)).await);
    }
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        let (code, out, errors) = place.run(&["run", "--session", &id, "still there?"]).await;
        assert_eq!((code, out.as_str()), (Some(0), "still there?\n"), "{errors}");
    }
    check_messages(&place, &told).await;
    check_notes(&place, &told);
    check_turns(&place, &told).await;
    // Kills that all came too early or too late would prove nothing.
    let (begun, ended) = (count(&told, "request_started"), count(&told, "final"));
    let noted = count(&told, "tool_result");
    println!(
        "{KILLS} kills: {begun} had begun, {ended} had ended, {noted} notes were acknowledged"
    );
    assert!(begun > KILLS / 10 && begun - ended > KILLS / 20, "{begun} begun, {ended} ended");
}

fn count(told: &[Told], kind: &str) -> u64 {
    told.iter().flat_map(|told| &told.events).filter(|event| event["type"] == kind).count() as u64
}

/// Runs a turn and kills it after `time`.
async fn killed(place: &Place, number: u64, time: Duration) -> Told {
    let (request, session) = (format!("r{number}"), format!("s{}", number % SESSIONS));
    let prompt = format!("go {number}");
    let arguments = [
        "run",
        "--session",
        &session,
        "--request-id",
        &request,
        "--output",
        "stream-json",
        &prompt,
    ];
    let mut child = place.command(&arguments).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let reading = tokio::spawn(async move {
        use tokio::io::AsyncReadExt;
        let mut text = Vec::new();
        let mut out = out;
        let _ = out.read_to_end(&mut text).await;
        String::from_utf8_lossy(&text).into_owned()
    });
    tokio::time::sleep(time).await;
    let _ = child.start_kill();
    child.wait().await.unwrap();
    let text = reading.await.unwrap();
    // The last line may be cut.
    let events = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Told { request, session, events }
}

/// Every message that was told of is in its session.
async fn check_messages(place: &Place, told: &[Told]) {
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        let stored = place.messages(&id).await;
        let texts: HashSet<&str> =
            stored.iter().filter_map(|message| message["content"].as_str()).collect();
        for told in told.iter().filter(|told| told.session == id) {
            for event in &told.events {
                let number = &told.request[1..];
                let expected = match event["type"].as_str().unwrap() {
                    "request_started" => format!("go {number}"),
                    "tool_result" => event["message"]["content"].as_str().unwrap().to_owned(),
                    "final" => format!("done {number}"),
                    _ => continue,
                };
                assert!(texts.contains(expected.as_str()), "{id} lost {expected:?}");
            }
        }
        answered_calls(&id, &stored);
    }
}

/// Each call of the model has exactly one result, right behind it.
fn answered_calls(session: &str, messages: &[Value]) {
    for (index, message) in messages.iter().enumerate() {
        let calls = message["metadata"]["tool_calls"].as_array().map(Vec::as_slice);
        for (offset, call) in calls.unwrap_or_default().iter().enumerate() {
            let result = &messages[index + 1 + offset];
            assert_eq!(result["role"], "tool", "{session}: {call}");
            assert_eq!(result["metadata"]["tool_call_id"], call["id"], "{session}");
        }
    }
}

/// No note was taken twice, and each that was acknowledged was taken.
fn check_notes(place: &Place, told: &[Told]) {
    let notes = place.notes();
    let unique: HashSet<&String> = notes.iter().collect();
    assert_eq!(unique.len(), notes.len(), "a tool ran twice");
    let results = told.iter().flat_map(|told| &told.events);
    for event in results.filter(|event| event["type"] == "tool_result") {
        let text = event["message"]["content"].as_str().unwrap();
        if let Some(line) = text.strip_prefix("noted ") {
            assert!(unique.contains(&line.to_owned()), "{line} was acknowledged and not done");
        }
    }
    assert!(notes.len() >= NOTES);
}

/// Each turn that began is settled, with one event that ends it.
async fn check_turns(place: &Place, told: &[Told]) {
    let store = SqliteStore::open(&place.database()).unwrap();
    let scope = Scope::local();
    assert_eq!(store.abandoned(1_000).await.unwrap(), []);
    for told in told {
        let turn = store.turn(&scope, &told.request).await.unwrap();
        let query = EventQuery { request: Some(told.request.clone()), ..EventQuery::default() };
        let events = store.events(&scope, &query).await.unwrap();
        let ends = events.iter().filter(|event| event.kind.ends_request()).count();
        let acknowledged = told.events.iter().any(|event| event["type"] == "request_started");
        match turn {
            Some(turn) => assert!(turn.settled && ends == 1, "{}: {ends} ends", told.request),
            None => assert!(!acknowledged && ends == 0, "{} was lost", told.request),
        }
    }
}
