//! The system message of an agent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_core::*;
use orlop_plugins::SystemMessage;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

struct Scene {
    provider: ScriptedProvider,
    core: Core,
}

impl Scene {
    fn new(answers: usize) -> Self {
        let provider = ScriptedProvider::default();
        for _ in 0..answers {
            provider.reply(ScriptedReply::text(&["ok"]));
        }
        let mut core = core_with(&provider).unwrap();
        core.register_feature(Arc::new(SystemMessage)).unwrap();
        Self { provider, core }
    }

    async fn ask(&self, session: &Session, text: &str, config: &Config) -> Session {
        let session = self.core.add_message(session, Message::user(text), config).await.unwrap();
        let sent = self.core.send_request(&session, config, RequestOptions::default()).await;
        sent.unwrap().session
    }
}

#[tokio::test] // M-07
async fn it_is_there_once_however_many_turns_there_are() {
    let scene = Scene::new(3);
    let config = config(json!({"system_message": "be kind"}));
    let mut session = Session::new("s");
    for text in ["a", "b", "c"] {
        session = scene.ask(&session, text, &config).await;
        session.verify().unwrap();
    }
    assert_eq!(scene.provider.last_request(), "be kind|a|ok|b|ok|c");
    let cut = scene.core.split_session(&session, Slice::range(0, 3), Some(&config)).await;
    let joined = scene.core.join_sessions(&cut.kept, &cut.removed, Some(&config)).await.unwrap();
    assert_eq!(texts(&joined), "be kind|a|ok|b|ok|c|ok");
}

#[tokio::test] // M-08
async fn another_text_takes_its_place() {
    let scene = Scene::new(3);
    let told = |text: &str| config(json!({ "system_message": text }));
    let session = scene.ask(&Session::new("s"), "a", &told("be kind")).await;
    let session = scene.ask(&session, "b", &told("be brief")).await;
    assert_eq!(scene.provider.last_request(), "be brief|a|ok|b");
    let session = scene.ask(&session, "c", &told("")).await;
    assert_eq!(scene.provider.last_request(), "a|ok|b|ok|c");
    assert_eq!(texts(&session), "a|ok|b|ok|c|ok");
}

#[tokio::test] // M-07
async fn without_a_text_it_does_nothing() {
    let scene = Scene::new(1);
    let session = scene.ask(&Session::new("s"), "a", &Config::empty()).await;
    assert_eq!((scene.provider.last_request().as_str(), texts(&session).as_str()), ("a", "a|ok"));
}
