//! Titles that a model writes.

use crate::stage::*;
use futures::StreamExt;
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::{SessionTitle, Usage};
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::time::Duration;

fn stage(replies: Vec<ScriptedReply>) -> Stage {
    let stage = Stage::default().host(SessionTitle::after(Duration::ZERO));
    replies.into_iter().for_each(|reply| {
        stage.model.reply(reply);
    });
    stage
}

fn text(say: &str) -> ScriptedReply {
    ScriptedReply::text(&[say])
}

/// The title that a session is listed under.
async fn title(app: &Application) -> String {
    let sessions = app.list_sessions(&Default::default()).await.unwrap().sessions;
    sessions[0].title.clone().unwrap_or_default()
}

/// Waits until the model has been asked so often, and everything that follows has happened.
async fn asked(stage: &Stage, times: usize) {
    while stage.model.requests().len() < times {
        tokio::task::yield_now().await;
    }
    rested().await;
}

/// Lets everything run that can.
async fn rested() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

async fn updated(app: &Application, after: impl AsyncFnOnce()) {
    let mut events = app.follow_events(Follow::default()).await.unwrap();
    after().await;
    while let Some(event) = events.next().await {
        if event.kind.name() == "session_updated" {
            return;
        }
    }
}

#[tokio::test]
async fn a_session_is_named_after_its_first_turn_and_only_then() {
    let stage = stage(vec![text("hello"), text("\"A greeting.\""), text("again")]);
    let host = stage.open().await;
    let app = host.app().clone();
    updated(&app, async || {
        chat_to_end(&host, chat("s", "hi there, how are you?")).await;
    })
    .await;
    assert_eq!(title(&app).await, "A greeting");
    let asked_for = stage.model.requests()[1].0[0].get("say").unwrap().as_str().unwrap().to_owned();
    assert!(asked_for.contains("[user]\nhi there, how are you?\n\n[assistant]\nhello"));
    assert_eq!(
        said(&app, "s").await,
        "hi there, how are you?|hello",
        "it is no part of the history"
    );
    chat_to_end(&host, chat("s", "more")).await;
    asked(&stage, 3).await;
    assert_eq!((title(&app).await.as_str(), stage.model.requests().len()), ("A greeting", 3));
    host.stop().await;
}

#[tokio::test]
async fn the_answer_does_not_wait_and_a_title_of_the_user_stays() {
    let gate = Gate::new();
    let stage = stage(vec![text("hello"), text("Too late").waiting_for(&gate)]);
    let host = stage.open().await;
    let app = host.app().clone();
    let events = chat_to_end(&host, chat("s", "hi")).await;
    assert!(names(&events).ends_with("final"));
    asked(&stage, 2).await;
    assert_eq!(title(&app).await, "hi", "until there is a better one");
    app.patch_session("s", Map::from_iter([("title".to_owned(), json!("Mine"))])).await.unwrap();
    gate.open();
    rested().await;
    assert_eq!(title(&app).await, "Mine");
    host.stop().await;
}

#[tokio::test]
async fn a_model_that_fails_or_a_switch_that_is_off_leave_the_first_words() {
    let failing = ScriptedReply::default().failing(Error::unavailable("gone"));
    let failed = stage(vec![text("hello"), failing, text("again"), text("Better")]);
    let host = failed.open().await;
    chat_to_end(&host, chat("s", "hi there")).await;
    asked(&failed, 2).await;
    assert_eq!(title(host.app()).await, "hi there");
    // The next turn tries again.
    updated(host.app(), async || {
        chat_to_end(&host, chat("s", "more")).await;
    })
    .await;
    assert_eq!(title(host.app()).await, "Better");
    host.stop().await;

    let off = stage(vec![text("hello")]).settings("session_title.enabled = false");
    let host = off.open().await;
    chat_to_end(&host, chat("s", "hi there")).await;
    rested().await;
    assert_eq!((title(host.app()).await.as_str(), off.model.requests().len()), ("hi there", 1));
    host.stop().await;
}

#[tokio::test]
async fn what_it_costs_is_counted_to_it() {
    let usage = json!({ "usage": { "input_tokens": 100, "output_tokens": 5 } });
    let named = json!({ "who": "assistant", "say": "A greeting", "_metadata": usage });
    let stage = stage(vec![text("hello"), ScriptedReply::items(vec![named])])
        .feature(Usage::default())
        .settings("session_title.agent_id = \"small\"")
        .more("[agents.small]\nprovider = \"scripted\"\nmodel = \"tiny\"");
    let host = stage.open().await;
    let app = host.app().clone();
    updated(&app, async || {
        chat_to_end(&host, chat("s", "hi")).await;
    })
    .await;
    let state = app.plugin_state("s", "usage").await.unwrap().unwrap().value;
    assert_eq!(state["plugins"]["session_title"]["input_tokens"], 100);
    let days = app.user_state("usage").await.unwrap().unwrap().value;
    let day = days["days"].as_object().unwrap().values().next().unwrap();
    assert_eq!(day["agents"]["small"]["requests"], 1);
    assert_eq!(stage.model.requests()[1].1.config.text("model"), Some("tiny"));
    host.stop().await;
}

#[tokio::test]
async fn a_program_that_ends_at_once_asks_for_none() {
    let stage = Stage::says(&["hello"]).host(SessionTitle::default());
    let host = stage.open().await;
    chat_to_end(&host, chat("s", "hi")).await;
    host.stop().await;
    rested().await;
    assert_eq!(stage.model.requests().len(), 1);
}
