//! The plugins to learn from, in an application.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::store::ListQuery;
use orlop_app::*;
use orlop_core::*;
use orlop_examples::plugins::{
    BackgroundJob, Bookkeeping, LastWords, SessionDefaults, SummarizeRange,
};
use orlop_store::SqliteStore;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

struct Scene {
    model: ScriptedProvider,
    app: Application,
}

impl Scene {
    async fn new(plugin: impl ApplicationPlugin, settings: &str) -> Self {
        Self::with(|plugins| plugins.application(Arc::new(plugin)), settings).await
    }

    async fn with(add: impl FnOnce(Plugins) -> Plugins, settings: &str) -> Self {
        let model = ScriptedProvider::new("scripted");
        let plugins = add(Plugins::new().provider(Arc::new(model.clone()), vec![]));
        let text = format!(
            "default_agent = \"a\"\n{settings}\n[agents.a]\nprovider = \"scripted\"\nmodel = \"m\"\n[agents.b]\nextends = \"a\"\n"
        );
        let env = RuntimeEnv::from_vars(Vars::new());
        let config = AppConfig::from_text(Path::new("orlop.toml"), &text, env).unwrap();
        let store = Arc::new(SqliteStore::open_in_memory().unwrap());
        let app = Application::builder(config, store).plugins(plugins).start().await.unwrap();
        Self { model, app }
    }

    async fn create(&self, id: &str, metadata: Value) {
        let metadata = metadata.as_object().unwrap().clone();
        let new = NewSession { id: Some(id.to_owned()), metadata, ..NewSession::default() };
        self.app.create_session(new).await.unwrap();
    }

    /// A request that the model answers with `answer`, or fails.
    async fn ask(&self, id: &str, answer: Result<&str>) {
        self.model.reply(match answer {
            Ok(text) => ScriptedReply::text(&[text]),
            Err(error) => ScriptedReply::text(&[]).failing(error),
        });
        let request = Request {
            session: Target::Stored(id.to_owned()),
            message: Some(Message::user("hi")),
            ..Request::default()
        };
        let _ = self.app.send_request(request).await.unwrap().finish().await;
    }

    async fn metadata(&self, id: &str, key: &str) -> Value {
        let session = self.app.session(id).await.unwrap().session;
        session.metadata().get(key).cloned().unwrap_or_default()
    }

    async fn book(&self, id: &str) -> Value {
        self.metadata(id, "bookkeeping").await
    }

    /// What the plugin keeps with the user.
    async fn answered(&self) -> Value {
        let held = self.app.user_state("bookkeeping").await.unwrap();
        held.map(|held| held.value).unwrap_or_default()
    }
}

#[tokio::test] // M-25
async fn defaults_are_there_from_the_beginning_and_stay_as_they_were_changed() {
    let settings = "[session_defaults.metadata]\nteam = \"harbour\"\nstars = 0";
    let scene = Scene::new(SessionDefaults, settings).await;
    scene.create("s", json!({ "stars": 3 })).await;
    let held = |key: &'static str| scene.metadata("s", key);
    assert_eq!((held("team").await, held("stars").await), (json!("harbour"), json!(3)));
    // Both triggers, again and again.
    scene.ask("s", Ok("one")).await;
    scene.ask("s", Ok("two")).await;
    assert_eq!((held("team").await, held("stars").await), (json!("harbour"), json!(3)));
    let call = ActionCall::new("session_defaults", "ensure_session_defaults");
    let result = scene.app.execute_action(call, Some("s")).await.unwrap();
    assert_eq!(result["status"], "noop");
}

#[tokio::test] // M-25
async fn a_session_that_is_older_than_the_plugin_gets_them_with_its_next_request() {
    let settings = "[session_defaults.metadata]\nteam = \"harbour\"";
    let scene = Scene::new(SessionDefaults, settings).await;
    let old = json!({ "session_id": "old", "messages": [], "metadata": {} });
    scene.app.import_session(&old.to_string(), "json", Some("old")).await.unwrap();
    scene.ask("old", Ok("one")).await;
    assert_eq!(scene.metadata("old", "team").await, "harbour");
}

#[tokio::test] // M-26
async fn titles_are_tidied_before_they_are_saved() {
    let scene = Scene::new(Bookkeeping, "").await;
    scene.create("s", json!({ "title": "  all \n hands " })).await;
    assert_eq!(scene.metadata("s", "title").await, "all hands");
}

#[tokio::test] // M-26
async fn successes_are_counted() {
    let scene = Scene::new(Bookkeeping, "").await;
    scene.create("s", json!({})).await;
    scene.ask("s", Ok("one")).await;
    scene.ask("s", Ok("two")).await;
    assert_eq!(scene.book("s").await, json!({ "requests": 2 }));
    assert_eq!(scene.answered().await, json!({ "s": 2 }));
}

#[tokio::test] // M-26
async fn failures_are_noted() {
    let scene = Scene::new(Bookkeeping, "").await;
    scene.create("s", json!({})).await;
    scene.ask("s", Err(Error::bad_argument("too long"))).await;
    let book = scene.book("s").await;
    assert!(book["last_error"].as_str().unwrap().contains("too long"), "{book}");
    assert_eq!(book.get("requests"), None);
}

#[tokio::test] // M-26
async fn a_fork_begins_a_book_of_its_own() {
    let scene = Scene::new(Bookkeeping, "").await;
    scene.create("s", json!({})).await;
    scene.ask("s", Ok("one")).await;
    scene.app.fork_session("s", None, Some("f")).await.unwrap();
    assert_eq!(scene.book("f").await, json!({ "forked_from": "s", "requests": 0 }));
    assert_eq!(scene.book("s").await, json!({ "requests": 1 }));
}

#[tokio::test] // M-26
async fn a_switch_of_agents_is_prepared_and_finished() {
    let scene = Scene::new(Bookkeeping, "").await;
    scene.create("s", json!({})).await;
    scene.app.switch_agent("s", "b").await.unwrap();
    scene.app.switch_agent("s", "a").await.unwrap();
    assert_eq!(scene.book("s").await, json!({ "earlier_agents": ["a", "b"] }));
}

#[tokio::test] // M-26
async fn what_is_kept_of_a_session_goes_with_it() {
    let scene = Scene::new(Bookkeeping, "").await;
    for id in ["s", "t"] {
        scene.create(id, json!({})).await;
        scene.ask(id, Ok("one")).await;
    }
    scene.app.delete_session("s", None).await.unwrap();
    assert_eq!(scene.answered().await, json!({ "t": 1 }));
}

#[tokio::test] // M-27
async fn lists_of_sessions_tell_the_last_words() {
    let scene = Scene::new(LastWords, "").await;
    scene.create("empty", json!({})).await;
    scene.create("s", json!({})).await;
    scene.ask("s", Ok("aye aye")).await;
    let list = scene.app.list_sessions(&ListQuery::default()).await.unwrap();
    let told: Map = list
        .sessions
        .into_iter()
        .map(|summary| (summary.session_id, Value::Object(summary.plugins)))
        .collect();
    let expected = json!({
        "s": { "last_words": { "role": "assistant", "words": "aye aye" } },
        "empty": {},
    });
    assert_eq!(Value::Object(told), expected);
}

#[tokio::test(start_paused = true)] // M-24
async fn a_job_runs_from_start_to_stop_and_not_after() {
    let log = Log::new();
    let ticks = log.clone();
    let job = BackgroundJob::new("tidy", Duration::from_secs(60), move |app| {
        ticks.add(app.scope().user().to_owned());
        async {}
    });
    let scene = Scene::with(|plugins| plugins.host(Arc::new(job)), "").await;
    let pass = async |seconds| {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::task::yield_now().await;
    };
    pass(600).await;
    assert_eq!(log.take().len(), 0, "before the start");
    let host = Host::start(scene.app.clone(), None).await.unwrap();
    tokio::task::yield_now().await;
    pass(60).await;
    pass(60).await;
    assert_eq!(log.take(), ["local", "local", "local"]);
    host.stop().await;
    pass(600).await;
    assert_eq!(log.take().len(), 0, "after the stop");
}

#[test] // M-29
fn the_guide_for_authors_has_an_example_of_each_kind() {
    // That the examples compile is seen by the tests of documentation of this crate.
    let guide = include_str!("../../docs/plugins/authors.md");
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    for kind in ["Provider", "Extension", "Feature", "Tool", "ApplicationPlugin", "HostPlugin"] {
        let example = format!("impl {kind} for ");
        let of_kind = blocks.iter().filter(|block| block.contains(&example));
        assert_eq!(of_kind.count(), 1, "{kind}");
    }
}

#[tokio::test] // M-17
async fn a_feature_sums_messages_up_and_leaves_them_as_they_are() {
    let scene = Scene::with(|plugins| plugins.feature(Arc::new(SummarizeRange)), "").await;
    scene.create("s", json!({})).await;
    scene.ask("s", Ok("hello")).await;
    scene.ask("s", Ok("again")).await;
    let call = ActionCall::new("summarize_range", "summarize_range").param("end", 2);
    scene.model.reply(ScriptedReply::text(&["a greeting"]));
    let result = scene.app.execute_action(call.clone(), Some("s")).await.unwrap();
    assert_eq!(result["display"]["body"], "a greeting");
    assert!(scene.model.last_request().ends_with(":\nuser: hi\nassistant: hello"));
    assert_eq!(scene.metadata("s", "last_summary").await, "a greeting");
    assert_eq!(texts(&scene.app.session("s").await.unwrap().session), "hi|hello|hi|again");
    // The model says nothing more: the failure is told, and nothing changes.
    let failed = scene.app.execute_action(call.clone(), Some("s")).await.unwrap();
    assert_eq!(failed["error"]["type"], "provider");
    assert_eq!(scene.metadata("s", "last_summary").await, "a greeting");
    let none = scene.app.execute_action(call.param("start", 2), Some("s")).await.unwrap();
    assert_eq!(none["status"], "noop");
    let button = &scene.app.ui_schema("a", Some("s")).await.unwrap()[0];
    assert_eq!(
        (button["ui_type"].clone(), button["action_id"].clone()),
        (json!("session_action"), json!("summarize_range"))
    );
    let (core, config) = scene.app.agent("a").unwrap();
    assert_eq!(core.tags_for(&config).await.unwrap(), ["summarize_range_capable"]);
}
