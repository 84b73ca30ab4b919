//! An application plugin: works on all sessions.

use orlop_app::Application;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput};
use orlop_core::{ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Manifest};
use serde_json::json;

pub struct MyPlugin;

impl ApplicationPlugin for MyPlugin {
    fn manifest(&self) -> Manifest {
        Manifest::new("my_plugin", "0.1.0")
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        Answer::ok(vec![ActionDefinition::new("copy", "Copy a session").input(
            "session_id",
            "string",
            true,
        )])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let session_id = input.params["session_id"].as_str().unwrap_or_default();
            let copy = Application::of(cx)?.fork_session(session_id, None, None).await?.session;
            ActionResult::from_json(json!({ "message": message(copy.id()) }))
        })
    }
}

fn message(id: &str) -> String {
    format!("The copy is {id}.")
}

#[test]
fn says_what_the_copy_is() {
    assert_eq!(message("s2"), "The copy is s2.");
}
