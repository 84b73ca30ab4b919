//! A feature with an action, a tag and a button: a model sums messages up, for people to read. The
//! conversation stays as it is.

use orlop_app::side_request;
use orlop_core::hooks::{ActionInput, ActionsInput, TagsInput, UiInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, Context, Feature, Manifest, Message, Plugin,
    RequestOptions, Result, Value,
};
use serde_json::json;

const NAME: &str = "summarize_range";

/// Sums a range of messages up and keeps the summary in the session's metadata.
pub struct SummarizeRange;

impl Plugin for SummarizeRange {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, "1.0.0").without_models()
    }

    fn get_tags<'a>(&'a self, _: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        Answer::ok(vec!["summarize_range_capable".to_owned()])
    }

    fn get_ui_elements<'a>(&'a self, _: &'a UiInput, _: &'a Context) -> Answer<'a, Vec<Value>> {
        Answer::ok(vec![json!({
            "ui_type": "session_action",
            "id": NAME,
            "label": "Summarize range",
            "icon": "compress",
            "order": 45,
            "action_id": NAME,
            "dialog": {
                "kind": "form",
                "title": "Summarize range",
                "inputs": [
                    { "name": "start", "type": "integer", "label": "Start" },
                    { "name": "end", "type": "integer", "label": "End" },
                ],
            },
        })])
    }
}

impl Feature for SummarizeRange {
    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let action = ActionDefinition::new(NAME, "Summarize range");
        Answer::ok(vec![action.input("start", "integer", false).input("end", "integer", false)])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let number = |key: &str| input.params.get(key).and_then(Value::as_u64);
            let place = |key: &str| number(key).and_then(|number| usize::try_from(number).ok());
            let start = place("start").unwrap_or(0);
            let end = place("end").unwrap_or(usize::MAX);
            let chosen = input.session.messages().iter().take(end).skip(start);
            let lines: Vec<String> = chosen
                .map(|message| format!("{}: {}", message.role().as_str(), message.text()))
                .collect();
            if lines.is_empty() {
                return ActionResult::from_json(json!({ "status": "noop" }));
            }
            // A failure as data: the caller sees it, and the session stays as it was.
            let summary = match ask(&lines.join("\n"), cx).await {
                Ok(summary) => summary,
                Err(error) => {
                    return Ok(ActionResult::error(error.class().as_str(), error.message()));
                }
            };
            ActionResult::from_json(json!({
                "session_metadata": { "last_summary": summary },
                "display": { "title": "Summary", "body": summary },
            }))
        })
    }
}

/// Asks the model of the agent, on a session that nobody keeps.
async fn ask(text: &str, cx: &Context) -> Result<String> {
    let (core, config) = (cx.core(), cx.config());
    let question = Message::user(format!("Sum this up in a sentence:\n{text}"));
    let side = core.add_message(&core.create_session(None), question, config).await?;
    let options = RequestOptions {
        context: side_request(NAME, cx),
        without_tools: true,
        ..RequestOptions::default()
    };
    let answer = core.send_request(&side, config, options).await?;
    Ok(answer.messages.last().map(|message| message.text().to_owned()).unwrap_or_default())
}
