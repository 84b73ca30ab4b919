//! What users do with what is remembered of them: see it, change it, have it forgotten.

use super::facts::Source;
use super::{NAME, change, of_user};
use orlop_app::Application;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Result,
    Value,
};
use serde_json::json;

/// The application plugin `user_memory`.
pub struct MemoryActions;

impl ApplicationPlugin for MemoryActions {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, "1.0.0").acting_at(&[])
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let action = |id: &str, label: &str, description: &str| {
            ActionDefinition::new(id, label).describing(description)
        };
        Answer::ok(vec![
            action("list_memory", "Show memory", "Shows what is remembered of you."),
            action("add_memory", "Remember", "Remembers a fact for all sessions.")
                .input("text", "string", true),
            action("edit_memory", "Edit memory", "Puts another text in place of a fact's.")
                .input("id", "string", true)
                .input("text", "string", true),
            action("forget_memory", "Forget", "Forgets one fact.").input("id", "string", true),
            action(
                "forget_everything",
                "Forget everything",
                "Forgets all that is remembered of you.",
            ),
        ])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move { act(input, &Application::of(cx)?).await })
    }
}

async fn act(input: &ApplicationActionInput, app: &Application) -> Result<ActionResult> {
    let text = |key: &str| input.params.get(key).and_then(Value::as_str).unwrap_or_default();
    let at = orlop_app::now();
    let message = match input.action_id.as_str() {
        "list_memory" => return listed(app).await,
        "add_memory" => {
            let id = change(app, |facts| facts.add(text("text"), Source::User, &at)).await?;
            format!("Remembered as {id}.")
        }
        "edit_memory" => {
            change(app, |facts| facts.edit(text("id"), text("text"), &at)).await?;
            format!("Changed {}.", text("id"))
        }
        "forget_memory" => {
            let forgotten = change(app, |facts| facts.forget(text("id"))).await?;
            format!("Forgotten: {forgotten}")
        }
        "forget_everything" => {
            let count = change(app, |facts| Ok(facts.forget_all())).await?;
            format!("Forgot {count} facts.")
        }
        other => return Err(Error::not_found(format!("there is no action \"{other}\" here"))),
    };
    ActionResult::from_json(json!({ "message": message }))
}

async fn listed(app: &Application) -> Result<ActionResult> {
    let facts = of_user(app).await?;
    let lines: Vec<String> =
        facts.all().iter().map(|fact| format!("{}: {}", fact.id, fact.text)).collect();
    let message = match lines.is_empty() {
        true => "Nothing is remembered.".to_owned(),
        false => lines.join("\n"),
    };
    ActionResult::from_json(json!({ "facts": facts.all(), "message": message }))
}
