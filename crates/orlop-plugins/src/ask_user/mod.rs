//! A question to the user in the middle of the work: answered on any surface, also after a
//! restart. The application asks and checks the answer; this tool tells it to the model.

use crate::arguments::{Arguments, reported, schema, shortened};
use orlop_app::TurnInfo;
use orlop_core::hooks::{DisplayInput, Hook, HookSet, ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::{Answer, Context, Error, Manifest, Map, Plugin, Result, Tool, Value};
use serde_json::json;

/// The tool `ask_user`.
pub struct AskUser;

impl Plugin for AskUser {
    fn manifest(&self) -> Manifest {
        Manifest::new("ask_user", "1.0.0").without_models().only(HookSet::of(&[
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::ToDisplayFormat,
            Hook::FormatToolCallPreview,
        ]))
    }
}

impl Tool for AskUser {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::ok(vec![schema(json!({
            "name": "ask_user",
            "description": "Asks the user a question and waits for the answer. Use it when a decision is theirs and cannot be found out otherwise; not to ask for permission, and not for what you can look up. Offer options where there are some: the user may pick one or write something else.",
            "parameters": {
                "type": "object",
                "properties": {
                    "question": { "type": "string", "description": "The question, with what the user needs to know to answer it." },
                    "options": {
                        "type": "array", "description": "Answers to choose from, the recommended one first.",
                        "items": { "anyOf": [
                            { "type": "string" },
                            { "type": "object", "properties": { "label": { "type": "string" }, "description": { "type": "string" } }, "required": ["label"] },
                        ] },
                    },
                    "multiple": { "type": "boolean", "description": "Whether several options may be chosen." },
                    "form": { "type": "object", "description": "For several answers at once: a JSON Schema of type object with one property per field. Not together with options." },
                },
                "required": ["question"],
            },
            "annotations": { "access": "none", "approval": "answer", "idempotent": true },
        }))])
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        reported(told(input, cx)).into()
    }

    fn to_display_format<'a>(
        &'a self,
        input: &'a DisplayInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Value>> {
        let data = &input.result.data;
        let display = data.get("answer").map(|answer| {
            json!({ "type": "answer", "question": data.get("question"), "answer": answer, "content": input.text })
        });
        Answer::ok(display)
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let question = input.payload.get("question").and_then(Value::as_str).unwrap_or_default();
        Answer::ok(format!("asks: {}", shortened(question, 100)))
    }
}

fn told(input: &ToolInput, cx: &Context) -> Result<ToolReport> {
    // Only an application asks people; what a model puts under "answer" itself is none.
    TurnInfo::of(cx).map_err(|_| {
        Error::unavailable("nobody can be asked here; decide yourself, and say what you assumed")
    })?;
    let arguments = Arguments::of(input)?;
    let question = arguments.needed_text("question")?;
    let answer = arguments.get("answer").ok_or_else(|| Error::bad_state("there is no answer"))?;
    let words = match answer {
        Value::String(text) => text.clone(),
        Value::Array(chosen) if chosen.iter().all(Value::is_string) => {
            chosen.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    };
    let mut report = ToolReport::ok(format!("The user answered: {words}"));
    report.data.insert("question".to_owned(), question.into());
    report.data.insert("answer".to_owned(), answer.clone());
    Ok(report)
}
