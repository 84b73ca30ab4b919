//! Counting the requests under way.

use crate::stage::{Stage, chat, chat_to_end};
use orlop_app::*;
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_plugins::Activity;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn counted(stage: Stage, activity: &Activity) -> Stage {
    stage.host(activity.clone()).application(activity.clone())
}

async fn asked(app: &Application) -> Map {
    app.execute_action(ActionCall::new("activity", "list_active"), None).await.unwrap()
}

/// A tool that notes what is told of the activity while it runs.
fn watcher(activity: &Activity, seen: &Log) -> ScriptedTool {
    let (activity, seen) = (activity.clone(), seen.clone());
    ScriptedTool::new("watch").offering(&["watch"]).execute_tool(move |_, _| {
        seen.add(activity.count().to_string());
        Ok(ToolReport::ok("seen"))
    })
}

#[tokio::test] // M-23
async fn a_request_counts_from_its_start_to_its_end() {
    let (activity, seen) = (Activity::default(), Log::new());
    let stage = Stage::calls(&[("c1", "watch", json!({}))]).tool(watcher(&activity, &seen));
    let host = counted(stage, &activity).open().await;
    chat_to_end(&host, chat("s", "go")).await;
    assert_eq!((seen.take(), activity.count()), (vec!["1".to_owned()], 0));
}

#[tokio::test] // M-23
async fn it_is_zero_again_after_failures() {
    let activity = Activity::default();
    let stage = counted(Stage::default(), &activity);
    stage.model.reply(ScriptedReply::text(&[]).failing(Error::unavailable("no model")));
    let host = stage.open().await;
    chat_to_end(&host, chat("s", "go")).await;
    assert_eq!(activity.count(), 0);
    // One that is refused before it begins.
    assert!(host.chat(ChatRequest { content: "".into(), ..chat("s", "") }).await.is_err());
    assert_eq!(activity.count(), 0);
}

/// A tool that waits until it is let go.
struct Waiting(Arc<tokio::sync::Notify>);

impl Plugin for Waiting {
    fn manifest(&self) -> Manifest {
        Manifest::new("wait", "1.0.0").without_models()
    }
}

impl Tool for Waiting {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a hooks::ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = json!({ "name": "wait", "parameters": { "type": "object" } });
        Answer::ok(schema.as_object().cloned().into_iter().collect())
    }

    fn execute_tool<'a>(
        &'a self,
        _: &'a hooks::ToolInput,
        _: &'a Context,
    ) -> Answer<'a, ToolReport> {
        Answer::later(async {
            self.0.notified().await;
            Ok(ToolReport::ok("done"))
        })
    }
}

#[tokio::test] // M-23
async fn users_see_their_own_requests_and_no_others() {
    let (activity, gate) = (Activity::default(), Arc::new(tokio::sync::Notify::new()));
    let stage = counted(Stage::calls(&[("c1", "wait", json!({}))]), &activity);
    let host = stage.tool(Waiting(gate.clone())).open().await;
    let mut chat = host.chat(chat("s", "go")).await.unwrap();
    while chat.next().await.is_some_and(|event| event.kind.name() != "tool_call") {}
    let mine = asked(host.app()).await;
    assert_eq!((&mine["active"], &mine["requests"][0]["session_id"]), (&json!(1), &json!("s")));
    let other = Scope::new("local", "bea").unwrap();
    let theirs = asked(&host.app().for_scope(other.clone())).await;
    assert_eq!((&theirs["active"], activity.count_of(&other)), (&json!(0), 0));
    gate.notify_one();
    while chat.next().await.is_some() {}
    chat.ended().await;
    assert_eq!(asked(host.app()).await["message"], "Nothing is running.");
}
