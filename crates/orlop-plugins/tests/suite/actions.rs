//! Actions that models may call.

use crate::stage::*;
use orlop_core::types::ActionDefinition;
use orlop_core::*;
use orlop_plugins::ActionTools;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn exposed(id: &str) -> ActionDefinition {
    let mut action = ActionDefinition::new(id, "Water the plants")
        .describing("Waters the plants of a room.")
        .input("room", "string", true)
        .input("session_id", "string", true);
    action.extra.insert("expose_to_model".to_owned(), true.into());
    action
}

fn gardener(name: &str, actions: Vec<ActionDefinition>) -> ScriptedApplication {
    let own = name.to_owned();
    ScriptedApplication::new(name).actions(actions).execute_action(move |input, _| {
        let own = own.clone();
        async move {
            let room = input.params["room"].as_str().unwrap_or_default().to_owned();
            let result = match room.as_str() {
                "cellar" => json!({ "status": "error", "message": "nothing grows there" }),
                _ => json!({ "message": format!("{own} watered {room} for {}", input.params["session_id"]) }),
            };
            ActionResult::from_json(result)
        }
    })
}

fn stage() -> Stage {
    let tools = Arc::new(ActionTools::default());
    Stage::default().with(|plugins| plugins.tool(tools.clone()).host(tools))
}

#[tokio::test]
async fn one_declaration_is_an_action_and_a_tool() {
    let hidden = ActionDefinition::new("prune", "Prune");
    let stage = stage().application(gardener("garden", vec![exposed("water"), hidden]));
    let host = stage.open().await;
    let app = host.app();
    let (core, config) = app.agent("default").unwrap();
    let tools = core.tool_schemas(&config).await.unwrap();
    let shown = json!(tools).to_string();
    assert!(shown.contains("water") && !shown.contains("prune"), "{shown}");
    assert!(!shown.contains("session_id"), "the session is the one of the turn: {shown}");
    let read = run_call(app, &stage.model, "water", json!({ "room": "kitchen" })).await;
    assert!(read.starts_with("garden watered kitchen for \"s-"), "{read}");
    let read = run_call(app, &stage.model, "water", json!({ "room": "cellar" })).await;
    assert_eq!(read, "nothing grows there");
}

#[tokio::test]
async fn an_action_takes_no_name_from_a_tool() {
    let garden = gardener("garden", vec![exposed("water"), exposed("write_file")]);
    let stage = stage().tool(echo("write_file")).application(garden);
    let host = stage.open().await;
    let (app, room) = (host.app(), json!({ "room": "shed" }));
    let read = run_call(app, &stage.model, "write_file", room.clone()).await;
    assert_eq!(read, r#"{"room":"shed"}"#);
    let read = run_call(app, &stage.model, "garden_write_file", room.clone()).await;
    assert!(read.starts_with("garden watered shed"), "{read}");
    let read = run_call(app, &stage.model, "water", room).await;
    assert!(read.starts_with("garden watered shed"), "{read}");
}

#[tokio::test]
async fn names_that_clash_are_told_apart() {
    let stage = stage()
        .application(gardener("front", vec![exposed("water")]))
        .application(gardener("back", vec![exposed("water")]));
    let host = stage.open().await;
    let app = host.app();
    let read = run_call(app, &stage.model, "back_water", json!({ "room": "shed" })).await;
    assert!(read.starts_with("back watered shed"), "{read}");
    let read = run_call(app, &stage.model, "front_water", json!({ "room": "porch" })).await;
    assert!(read.starts_with("front watered porch"), "{read}");
}
