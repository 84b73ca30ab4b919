//! What is done to a stored session without reading its messages is the same as what is done to
//! one in memory, its native history included.

use crate::common::doubles::StoreDouble;
use crate::common::*;
use orlop_app::store::Store;
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

/// How many messages a fork looks at for its title, and for where native history ends.
const LOOKED_AT: usize = 17;

/// Twenty turns on the session `s`, and a store that counts what is read of it.
async fn talked() -> (Scene, Application, Arc<StoreDouble>) {
    let mut scene = Scene::default();
    let app = scene.start().await;
    for turn in 0..20 {
        scene.provider.reply(ScriptedReply::text(&[&format!("answer {turn}")]));
        talk(&app, "s", &format!("question {turn}")).await;
    }
    assert!(app.session("s").await.unwrap().session.is_side_by_side());
    let double = StoreDouble::new(scene.store.clone(), &Log::new());
    scene.store = double.clone();
    (scene, app, double)
}

/// The session as a process that never saw it reads it.
async fn stored(scene: &Scene, id: &str) -> Session {
    scene.start().await.stored_session(id).await.unwrap()
}

#[tokio::test] // K-09
async fn a_fork_is_made_without_reading_its_source() {
    let (scene, app, store) = talked().await;
    for (number, upto) in [None, Some(39), Some(7), Some(-1), Some(-3), Some(0)].iter().enumerate()
    {
        let id = format!("f{number}");
        let expected = app.fork_session("s", *upto, None).await.unwrap().session;
        let unknowing = scene.start().await;
        store.messages_read();
        unknowing.fork_stored("s", *upto, Some(&id)).await.unwrap();
        assert!(store.messages_read() <= LOOKED_AT, "{upto:?}");
        let fork = stored(&scene, &id).await;
        assert_eq!(fork, expected.with_id(id.as_str()), "{upto:?}");
        fork.verify().unwrap();
        let titles = [id.as_str(), expected.id()].map(|id| async {
            scene.store.head(&Scope::local(), id).await.unwrap().unwrap().title
        });
        let [own, other] = titles;
        assert_eq!(own.await, other.await, "{upto:?}");
    }
}

#[tokio::test] // K-09
async fn a_fork_that_nobody_read_goes_on_and_can_be_forked() {
    let (scene, _, store) = talked().await;
    scene.start().await.fork_stored("s", Some(3), Some("f")).await.unwrap();
    scene.start().await.fork_stored("f", Some(1), Some("g")).await.unwrap();
    scene.provider.reply(ScriptedReply::text(&["other"]));
    let said = talk(&scene.start().await, "g", "again").await;
    assert_eq!(said, "question 0|answer 0|again|other");
    let fork = stored(&scene, "g").await;
    fork.verify().unwrap();
    let kept = store.load(&Scope::local(), "g").await.unwrap().unwrap().session.native_integrity;
    assert_eq!(kept, fork.native().unwrap().seal(), "a turn writes the integrity value");
    // The sources are as they were.
    assert_eq!(stored(&scene, "f").await.messages().len(), 4);
    assert_eq!(stored(&scene, "s").await.messages().len(), 40);
}

#[tokio::test] // K-09
async fn messages_are_added_and_cut_off_without_reading_the_others() {
    let (scene, app, store) = talked().await;
    let new = || vec![Message::user("more"), Message::assistant("yes")];
    let twin = app.fork_session("s", None, Some("twin")).await.unwrap().session;
    app.add_messages("twin", new()).await.unwrap();
    let unknowing = scene.start().await;
    store.messages_read();
    unknowing.add_messages("s", new()).await.unwrap();
    assert_eq!(store.messages_read(), 0);
    let expected = app.stored_session("twin").await.unwrap();
    assert_eq!(stored(&scene, "s").await, expected.with_id("s"));
    assert_eq!(expected.messages().len(), twin.messages().len() + 2);

    let slice = || Slice::range(None, -3);
    app.slice_session("twin", slice()).await.unwrap();
    let unknowing = scene.start().await;
    store.messages_read();
    unknowing.slice_stored("s", slice()).await.unwrap();
    assert_eq!(store.messages_read(), 1);
    let expected = app.stored_session("twin").await.unwrap();
    assert_eq!(stored(&scene, "s").await, expected.with_id("s"));
    // What was remembered of the session before is not mistaken for it.
    assert_eq!(app.stored_session("s").await.unwrap(), expected.with_id("s"));
}

#[tokio::test] // K-09
async fn the_first_message_gives_a_session_its_title() {
    let (scene, app, _) = talked().await;
    app.create_session(NewSession { id: Some("n".to_owned()), ..Default::default() })
        .await
        .unwrap();
    scene.start().await.add_messages("n", vec![Message::user("hello there")]).await.unwrap();
    let head = scene.store.head(&Scope::local(), "n").await.unwrap().unwrap();
    assert_eq!((head.title.as_deref(), head.message_count), (Some("hello there"), 1));
}

#[tokio::test] // H-32
async fn plugins_that_listen_see_the_whole_session() {
    for lifecycle in ["session_fork", "session_save_prepare"] {
        let (scene, _, store) = talked().await;
        let log = Log::new();
        let heard = log.clone();
        let scene = scene.application(
            ScriptedApplication::new("audit").actions(vec![at(lifecycle)]).execute_action(
                move |_, cx| {
                    heard.add(cx.session().unwrap().messages().len().to_string());
                    async { Ok(patch(json!({ "audited": true }))) }
                },
            ),
        );
        let app = scene.start().await;
        store.messages_read();
        app.fork_stored("s", Some(5), Some("f")).await.unwrap();
        assert_eq!((log.lines(), store.messages_read()), (vec!["6".to_owned()], 40));
        assert_eq!(stored(&scene, "f").await.metadata()["audited"], true);
    }
}

#[tokio::test] // K-09
async fn history_that_another_provider_wrote_is_read() {
    let (scene, _, store) = talked().await;
    let other = ScriptedProvider::new("second");
    let mut scene = scene.config(&CONFIG.replace("\"scripted\"", "\"second\""));
    scene.plugins = scene.plugins.provider(Arc::new(other), vec![]);
    let app = scene.start().await;
    store.messages_read();
    app.fork_stored("s", Some(5), Some("f")).await.unwrap();
    assert!(store.messages_read() >= 40);
    let fork = stored(&scene, "f").await;
    assert_eq!((fork.messages().len(), fork.native()), (6, None));
}

#[tokio::test]
async fn a_session_that_is_brought_along_cannot_claim_to_have_been_cut_here() {
    let (scene, app, _) = talked().await;
    let mut brought = app.stored_session("s").await.unwrap().to_json();
    brought["metadata"][types::session::NATIVE_INTEGRITY] = orlop_app::store::CUT_UNREAD.into();
    brought["messages"][0]["content"] = "other".into();
    app.import_session(&brought.to_string(), "json", Some("i")).await.unwrap();
    assert!(stored(&scene, "i").await.verify().is_err());
}

#[tokio::test]
async fn a_turn_reads_its_session_once_however_many_others_are_used_meanwhile() {
    let (scene, app, store) = talked().await;
    for number in 0..100 {
        let new = NewSession { id: Some(format!("other-{number}")), ..NewSession::default() };
        app.create_session(new).await.unwrap();
    }
    let app = scene.start().await;
    let gate = orlop_testkit::Gate::new();
    scene.provider.reply(ScriptedReply::text(&["last"]).waiting_for(&gate));
    let request = app.send_request(ask("s", "again")).await.unwrap();
    gate.reached().await;
    for number in 0..100 {
        app.session(&format!("other-{number}")).await.unwrap();
    }
    gate.open();
    request.finish().await.unwrap();
    assert_eq!(store.messages_read(), 40, "that of twenty turns, once");
    let session = stored(&scene, "s").await;
    assert_eq!(session.messages().len(), 42);
    session.verify().unwrap();
}
