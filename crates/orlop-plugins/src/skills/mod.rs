//! Agent Skills: folders with a `SKILL.md` in which people write down how a kind of task is done.
//!
//! One value is two plugins. As a feature it puts names and descriptions into the system message, as
//! a tool plugin it gives the model the instructions, and the files beside them, when it asks.

mod catalogue;
mod content;
mod find;

use crate::system_message::SYSTEM_CONTEXT;
use find::{Found, Places};
use orlop_app::config::RuntimeEnv;
use orlop_core::hooks::{
    ActionInput, ActionsInput, Hook, HookSet, RequestChange, RequestInput, StateChange, ToolInput,
    ToolSchemasInput,
};
use orlop_core::types::ToolReport;
use orlop_core::{
    ActionDefinition, ActionResult, Answer, Config, Context, Feature, Manifest, Map, Plugin, Tool,
    Value,
};
use serde_json::json;
use std::sync::Arc;

/// The name of the tool.
const TOOL: &str = "skill";

/// Skills of the project and the user. Clones share what they have read; register one as a feature
/// and one as a tool plugin.
#[derive(Clone, Default)]
pub struct Skills {
    read: Arc<find::Read>,
}

impl Skills {
    fn find(&self, config: &Config, cx: &Context) -> Found {
        match cx.handle::<RuntimeEnv>("env") {
            Some(env) => self.read.find(&Places::of(&env, config)),
            None => Found::default(),
        }
    }
}

impl Plugin for Skills {
    fn manifest(&self) -> Manifest {
        Manifest::new("skills", "1.0.0")
            .acting_at(&[])
            // Before the system message, which tells of the skills.
            .priority(5)
            .without_models()
            .only(HookSet::of(&[
                Hook::FeatureInitializeRequest,
                Hook::FeatureGetActions,
                Hook::FeatureExecuteAction,
                Hook::GetToolSchemas,
                Hook::ExecuteTool,
                Hook::FormatToolCallPreview,
            ]))
            .config(
                "skills",
                json!({
                    "type": "object",
                    "description": "Folders with instructions for kinds of tasks.",
                    "properties": {
                        "folders": { "type": "array", "items": { "type": "string" }, "description": "Further folders in which skills are." },
                        "project": { "type": "boolean", "default": true, "description": "Whether skills of the project are used." },
                        "off": { "type": "array", "items": { "type": "string" }, "description": "Names of skills that are not used." },
                    },
                }),
            )
    }
}

impl Feature for Skills {
    fn initialize_request<'a>(
        &'a self,
        _: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        // Without the tool there would be nothing to do with a name.
        if !cx.tools().iter().any(|tool| tool.name() == Some(TOOL)) {
            return Answer::default();
        }
        let told = catalogue::told(&self.find(cx.config(), cx).skills);
        let change = told.map(|text| StateChange::set(SYSTEM_CONTEXT, json!({ "skills": text })));
        Answer::ok(RequestChange::state(change.unwrap_or_default()))
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let list = ActionDefinition::new("list_skills", "Show skills")
            .describing("Lists the skills there are, and what is wrong with others.");
        Answer::ok(vec![list])
    }

    fn execute_action<'a>(
        &'a self,
        _: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::Ready(ActionResult::from_json(catalogue::listed(&self.find(cx.config(), cx))))
    }
}

impl Tool for Skills {
    fn get_tool_schemas<'a>(
        &'a self,
        input: &'a ToolSchemasInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        if self.find(&input.config, cx).skills.is_empty() {
            return Answer::default();
        }
        let schema = json!({
            "name": TOOL,
            "description": "Gives the instructions of a skill, or a file of it. Call it before you begin a task that a skill is for.",
            "parameters": {
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "the name of the skill" },
                    "file": { "type": "string", "description": "a file of the skill, as its instructions name it; leave it out for the instructions" },
                },
                "required": ["name"],
                "additionalProperties": false,
            },
            "annotations": { "access": "none", "idempotent": true, "concurrent": true },
        });
        Answer::ok(schema.as_object().cloned().into_iter().collect())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        let text = |key: &str| input.payload.get(key).and_then(Value::as_str);
        let Some(name) = text("name") else {
            return Answer::ok(ToolReport::failed("name is missing; give the name of a skill"));
        };
        let found = self.find(cx.config(), cx);
        let Some(skill) = found.skills.iter().find(|skill| skill.name == name) else {
            let known: Vec<&str> = found.skills.iter().map(|skill| skill.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let said = format!("there is no skill {name:?}; there are: {known}");
            return Answer::ok(ToolReport::failed(said));
        };
        let content = match text("file").filter(|file| !file.is_empty() && *file != "SKILL.md") {
            Some(file) => content::file(skill, file),
            None => content::instructions(skill),
        };
        Answer::ok(match content {
            Ok(text) => ToolReport::ok(text),
            Err(error) => ToolReport::failed(error),
        })
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let text = |key: &str| input.payload.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or("?");
        Answer::ok(match text("file") {
            Some(file) => format!("{name}/{file}"),
            None => name.to_owned(),
        })
    }
}
