//! The plan of an agent, which its user sees: a tool that sets the list, and a reminder for when
//! the model can no longer see it.

mod list;
mod reminder;

pub use reminder::TodoReminder;

use crate::arguments::{Arguments, reported, schema};
use list::{List, STATES};
use orlop_app::{Application, TurnInfo};
use orlop_core::hooks::{DisplayInput, Hook, HookSet, ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::{Answer, Context, Manifest, Map, Plugin, Result, Tool, Value};
use serde_json::json;

/// The tool, and the key of the session's metadata that holds the list.
const TODO: &str = "todo";

/// The tool `todo`: sets the whole list, each item with how far it is.
pub struct Todo;

impl Plugin for Todo {
    fn manifest(&self) -> Manifest {
        Manifest::new(TODO, "1.0.0").without_models().only(HookSet::of(&[
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::ToDisplayFormat,
            Hook::FormatToolCallPreview,
        ]))
    }
}

impl Tool for Todo {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::ok(vec![schema(json!({
            "name": TODO,
            "description": "Sets your plan, which the user sees. Use it for work of three or more steps: write the plan before you begin, and set it again whenever a step begins or is completed. Always send the whole list; one item at most is in_progress. An empty list takes the plan away.",
            "parameters": {
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array", "maxItems": list::MAX_ITEMS,
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": { "type": "string", "description": "What is to be done, in a few words." },
                                "status": { "type": "string", "enum": STATES },
                            },
                            "required": ["text", "status"],
                        },
                    },
                },
                "required": ["items"],
            },
            "annotations": { "access": "none", "idempotent": true },
        }))])
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move { reported(set(input, cx).await) })
    }

    fn to_display_format<'a>(
        &'a self,
        input: &'a DisplayInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Value>> {
        let items = input.result.data.get("items");
        Answer::ok(
            items.map(|items| json!({ "type": TODO, "items": items, "content": input.text })),
        )
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let list = Arguments::of(input).and_then(|arguments| List::read(arguments.get("items")));
        Answer::ok(list.map_or_else(|_| "plan".to_owned(), |list| list.preview()))
    }
}

async fn set(input: &ToolInput, cx: &Context) -> Result<ToolReport> {
    let list = List::read(Arguments::of(input)?.get("items"))?;
    let items = list.to_json();
    // Without a stored session the plan is in the messages only.
    if let Ok(turn) = TurnInfo::of(cx)
        && turn.stored
    {
        let patch = Map::from_iter([(TODO.to_owned(), items.clone())]);
        Application::of(cx)?.patch_session(&turn.session_id, patch).await?;
    }
    let mut report = ToolReport::ok(list.told());
    report.data.insert("items".to_owned(), items);
    Ok(report)
}
