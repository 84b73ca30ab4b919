//! The tools `remember`, `recall` and `forget`, for the agent.

use super::facts::{Fact, MAX_TEXT, Source};
use super::{change, of_user};
use crate::arguments::{Arguments, reported, schema, shortened};
use orlop_app::Application;
use orlop_core::hooks::{Hook, HookSet, ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::{Answer, Context, Error, Manifest, Map, Plugin, Result, Tool, Value};
use serde_json::json;

/// How many facts are recalled at a time.
const MAX_RECALLED: usize = 30;

/// The tool plugin `memory`.
pub struct Memory;

impl Plugin for Memory {
    fn manifest(&self) -> Manifest {
        Manifest::new("memory", "1.0.0").without_models().only(HookSet::of(&[
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::FormatToolCallPreview,
        ]))
    }
}

impl Tool for Memory {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let tool = |name: &str,
                    description: &str,
                    argument: (&str, &str, bool),
                    idempotent: bool| {
            let (key, says, needed) = argument;
            let required = if needed { vec![key] } else { Vec::new() };
            schema(json!({
                "name": name, "description": description,
                "parameters": {
                    "type": "object", "properties": { key: { "type": "string", "description": says } },
                    "required": required,
                },
                "annotations": { "access": "none", "idempotent": idempotent },
            }))
        };
        Answer::ok(vec![
            tool(
                "remember",
                "Remembers a lasting fact about the user or their wishes for all later conversations. Use it when the user asks for it, or says something that will matter again; not for the work at hand, and never for passwords, keys or other secrets.",
                (
                    "fact",
                    &format!("The fact in a sentence of its own, {MAX_TEXT} characters at most."),
                    true,
                ),
                true,
            ),
            tool(
                "recall",
                "Finds what is remembered of the user, each fact with its id.",
                ("query", "Words to look for; without any, the newest facts.", false),
                true,
            ),
            tool(
                "forget",
                "Forgets a remembered fact that is wrong or no longer wanted.",
                ("id", "The id of the fact, as recall gives it.", true),
                false,
            ),
        ])
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move { reported(run(input, cx).await) })
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let said = ["fact", "query", "id"].iter().find_map(|key| input.payload.get(*key)?.as_str());
        let said = said.map(|said| format!(": {}", shortened(said, 100))).unwrap_or_default();
        Answer::ok(format!("{}{said}", input.tool_name))
    }
}

async fn run(input: &ToolInput, cx: &Context) -> Result<ToolReport> {
    let app = Application::of(cx)?;
    let arguments = Arguments::of(input)?;
    match input.tool_name.as_str() {
        "remember" => {
            let fact = arguments.needed_text("fact")?;
            let at = orlop_app::now();
            let id = change(&app, |facts| facts.add(fact, Source::Agent, &at)).await?;
            Ok(ToolReport::ok(format!("Remembered as {id}.")))
        }
        "recall" => recall(&app, arguments.text("query")?).await,
        "forget" => {
            let id = arguments.needed_text("id")?;
            let text = change(&app, |facts| facts.forget(id)).await?;
            Ok(ToolReport::ok(format!("Forgotten: {text}")))
        }
        other => Err(Error::not_found(format!("there is no tool \"{other}\" here"))),
    }
}

async fn recall(app: &Application, query: Option<&str>) -> Result<ToolReport> {
    let facts = of_user(app).await?;
    let ranked = facts.by_relevance(query.unwrap_or_default());
    let found: Vec<&Fact> = ranked
        .into_iter()
        .filter(|(_, score)| query.is_none() || *score > 0)
        .map(|(fact, _)| fact)
        .collect();
    if found.is_empty() {
        let text = match facts.all().len() {
            0 => "Nothing is remembered.".to_owned(),
            all => format!(
                "None of the {all} facts has these words; recall without a query shows the newest."
            ),
        };
        return Ok(ToolReport::ok(text));
    }
    let mut lines: Vec<String> =
        found.iter().take(MAX_RECALLED).map(|fact| format!("{}: {}", fact.id, fact.text)).collect();
    if found.len() > MAX_RECALLED {
        lines.push(format!("and {} more; look for other words", found.len() - MAX_RECALLED));
    }
    let mut report = ToolReport::ok(lines.join("\n"));
    report.data.insert("facts".to_owned(), Value::from(found.len()));
    Ok(report)
}
