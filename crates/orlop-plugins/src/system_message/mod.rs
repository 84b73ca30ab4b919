//! The feature behind the setting `system_message`: what an agent is told before everything else.
//!
//! Three things make the text: the setting, which is a template; the instructions that people keep
//! in files of the project; and what other features put into the state under `system_context`.

mod instructions;
mod template;

use instructions::{InstructionFiles, told};
use orlop_app::config::RuntimeEnv;
use orlop_core::hooks::{ActionInput, ActionsInput, Hook, HookSet, RequestChange, RequestInput};
use orlop_core::types::Edit;
use orlop_core::{
    ActionDefinition, ActionResult, Answer, CallContext, Change, Context, Feature, Manifest, Map,
    Message, NativeItem, Plugin, Result, Seq, Value,
};
use serde_json::json;

/// What marks a native item as the system message, with the text it was made of.
const MARK: &str = "system_message";

/// The entry of the state in which features that run earlier, with a priority below 10, leave texts
/// for the system message: a mapping of their name to a text.
pub const SYSTEM_CONTEXT: &str = "system_context";

/// Puts the system message in front of the history, once. Another text takes the place of the old
/// one with the next request.
#[derive(Default)]
pub struct SystemMessage {
    files: InstructionFiles,
}

impl SystemMessage {
    /// The text as it has to be now, if there is one.
    fn text(&self, input: &RequestInput, cx: &Context) -> Result<Option<String>> {
        let configured = cx.config().text("system_message").unwrap_or_default();
        let mut parts = vec![template::render(configured, cx)?];
        parts.extend(told(&self.instructions(cx)));
        if let Some(Value::Object(texts)) = input.state.values.get(SYSTEM_CONTEXT) {
            parts.extend(texts.values().filter_map(Value::as_str).map(str::to_owned));
        }
        parts.retain(|part| !part.trim().is_empty());
        Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
    }

    fn instructions(&self, cx: &Context) -> Vec<instructions::Instructions> {
        let wanted = cx.config().get("instructions").and_then(Value::as_bool).unwrap_or(true);
        let env = cx.handle::<RuntimeEnv>("env").filter(|_| wanted);
        env.map(|env| self.files.find(&env)).unwrap_or_default()
    }
}

impl Plugin for SystemMessage {
    fn manifest(&self) -> Manifest {
        Manifest::new("system_message", "1.0.0")
            .acting_at(&[])
            .priority(10)
            .without_models()
            .only(HookSet::of(&[
                Hook::FeatureInitializeRequest,
                Hook::FeatureGetActions,
                Hook::FeatureExecuteAction,
            ]))
            .config(
                "system_message",
                json!({
                    "type": "string",
                    "description": "What the agent is told before everything else; a template with {{ date }}, {{ working_folder }}, {{ agent }}, {{ provider }}, {{ model }}, {{ os }}, {{ tools }}, {{ user }} and {{ tenant }}.",
                }),
            )
            .config(
                "instructions",
                json!({
                    "type": "boolean",
                    "default": true,
                    "description": "Whether AGENTS.md files (CLAUDE.md in a folder without one) are part of it.",
                }),
            )
    }
}

impl Feature for SystemMessage {
    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        let wanted = match self.text(input, cx) {
            Ok(wanted) => wanted,
            Err(error) => return Answer::Ready(Err(error)),
        };
        let native = &input.native_messages;
        // Where it is kept it stands first, so the common case looks at one item.
        let first = native.get(0).and_then(marked_text);
        if first.is_some() && first == wanted.as_deref() {
            return Answer::default();
        }
        let held = positions(native);
        if wanted.is_none() && held.is_empty() {
            return Answer::default();
        }
        Answer::later(async move {
            let mut edits: Vec<Edit<NativeItem>> = held
                .into_iter()
                .rev()
                .map(|at| Edit::Replace { start: at, end: at + 1, items: Vec::new() })
                .collect();
            if let Some(text) = wanted {
                let messages = vec![Message::system(text.as_str())];
                let context = CallContext::new("system_message");
                let items =
                    cx.core().core_messages_to_native(messages, cx.config(), &context).await?;
                let items = items.iter().map(|item| with_mark(item, &text)).collect();
                edits.push(Edit::Replace { start: 0, end: 0, items });
            }
            Ok(RequestChange::native(Change::Edit(edits)))
        })
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let list = ActionDefinition::new("list_instructions", "Show instructions")
            .describing("Lists the AGENTS.md files that the agent is told of.");
        Answer::ok(vec![list])
    }

    fn execute_action<'a>(
        &'a self,
        _: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        let files = self.instructions(cx);
        let lines: Vec<String> = files
            .iter()
            .map(|file| {
                let cut = if file.is_cut { ", the beginning is used" } else { "" };
                format!("{} ({} bytes{cut})", file.path.display(), file.size)
            })
            .collect();
        let message = match lines.is_empty() {
            true => "There are no instructions; write an AGENTS.md.".to_owned(),
            false => lines.join("\n"),
        };
        let listed: Vec<Value> = files
            .iter()
            .map(|file| json!({ "path": file.path, "bytes": file.size, "cut": file.is_cut }))
            .collect();
        Answer::Ready(ActionResult::from_json(json!({ "message": message, "files": listed })))
    }
}

fn marked_text(item: &NativeItem) -> Option<&str> {
    item.metadata().get(MARK).and_then(Value::as_str)
}

fn positions(native: &Seq<NativeItem>) -> Vec<usize> {
    let marked = native.iter().enumerate().filter(|(_, item)| marked_text(item).is_some());
    marked.map(|(position, _)| position).collect()
}

fn with_mark(item: &NativeItem, text: &str) -> NativeItem {
    let mut metadata: Map = item.metadata().clone();
    metadata.insert(MARK.to_owned(), text.into());
    item.with_metadata(metadata)
}
