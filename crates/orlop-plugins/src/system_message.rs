//! The feature behind the setting `system_message`: what an agent is told before everything else.

use orlop_core::hooks::{Hook, HookSet, RequestChange, RequestInput};
use orlop_core::types::Edit;
use orlop_core::{
    Answer, CallContext, Change, Context, Feature, Manifest, Map, Message, NativeItem, Plugin, Seq,
    Value,
};
use serde_json::json;

/// What marks a native item as the system message, with the text it was made of.
const MARK: &str = "system_message";

/// Puts the configured system message in front of the history, once. Another text in the
/// configuration takes the place of the old one with the next request.
pub struct SystemMessage;

impl Plugin for SystemMessage {
    fn manifest(&self) -> Manifest {
        Manifest::new("system_message", "1.0.0")
            .priority(10)
            .without_models()
            .only(HookSet::of(&[Hook::FeatureInitializeRequest]))
            .config(
                "system_message",
                json!({ "type": "string", "description": "What the agent is told before everything else." }),
            )
    }
}

impl Feature for SystemMessage {
    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        let wanted = cx.config().text("system_message").filter(|text| !text.trim().is_empty());
        let native = &input.native_messages;
        // Where it is kept it stands first, so the common case looks at one item.
        let first = native.get(0).and_then(marked_text);
        if first.is_some() && first == wanted {
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
                let messages = vec![Message::system(text)];
                let context = CallContext::new("system_message");
                let items =
                    cx.core().core_messages_to_native(messages, cx.config(), &context).await?;
                let items = items.iter().map(|item| with_mark(item, text)).collect();
                edits.push(Edit::Replace { start: 0, end: 0, items });
            }
            Ok(RequestChange::native(Change::Edit(edits)))
        })
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
