//! What is shown of a model's reasoning, and reasoning that a server puts between tags into the
//! text. Native history stays as the server sent it.

mod progress;
mod settings;

use orlop_core::hooks::{Chunk, EnabledInput, FromNativeInput, Hook, HookSet};
use orlop_core::{
    Answer, Change, Context, Extension, Manifest, Map, Message, Partial, Plugin, Result, Role,
    State, StateChange, Value,
};
use progress::Progress;
use serde_json::json;
use settings::{Settings, Show};

/// The extension `reasoning`: `reasoning.show` says how much of it people see, `reasoning.tags`
/// between which tags a server puts it into its text. Without either it is off.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reasoning;

/// The metadata key of reasoning, and the state's key of what has been seen so far.
const REASONING: &str = "reasoning";

/// What in the section `reasoning` is for this extension, and not for a server that has an object
/// of that name.
pub(crate) const OWN_KEYS: [&str; 3] = ["show", "tags", "enabled"];

impl Plugin for Reasoning {
    fn manifest(&self) -> Manifest {
        let hooks = [Hook::IsEnabled, Hook::ProcessChunk, Hook::ExtensionFromNative];
        Manifest::new(REASONING, env!("CARGO_PKG_VERSION"))
            .without_models()
            .only(HookSet::of(&hooks))
            .config(
                "reasoning.show",
                json!({ "type": "string", "enum": ["full", "summary", "none"], "default": "full", "description": "How much of the model's reasoning is shown and kept with the message." }),
            )
            .config(
                "reasoning.tags",
                json!({ "type": "array", "description": "The tags between which the server puts reasoning into its text, such as [\"<think>\", \"</think>\"]." }),
            )
    }

    fn is_enabled<'a>(
        &'a self,
        input: &'a EnabledInput,
        _: &'a Context,
    ) -> Answer<'a, Option<bool>> {
        Settings::of(&input.config).map(|settings| Some(settings.do_something())).into()
    }
}

impl Extension for Reasoning {
    fn process_chunk(&self, state: &State, chunk: &mut Chunk) -> Result<()> {
        let settings = Settings::of(&state.config)?;
        let is_end = !chunk.final_messages.is_empty();
        let held = state.values.get(REASONING).filter(|held| !held.is_null());
        let nothing_to_do = match (&chunk.partial, held) {
            (Some(partial), None) => settings.leaves_alone(partial),
            (None, None) => true,
            (None, Some(_)) => !is_end,
            (Some(_), Some(_)) => false,
        };
        if nothing_to_do {
            return Ok(());
        }
        let before = Progress::read(held);
        let mut progress = before.clone();
        let mut partial = chunk.partial.take().unwrap_or_default();
        progress.pass(&settings, &mut partial, is_end);
        chunk.partial = Some(partial).filter(|partial| !partial.is_empty());
        if progress != before {
            set(&mut chunk.state, progress.write());
        }
        Ok(())
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Change<Message>> {
        let settings = match Settings::of(&input.state.config) {
            Ok(settings) => settings,
            Err(error) => return Err(error).into(),
        };
        let mut changed = false;
        let shaped = input.messages.iter().map(|message| match shaped(message, &settings) {
            Some(message) => {
                changed = true;
                message
            }
            None => message.clone(),
        });
        let shaped = shaped.collect();
        Answer::ok(if changed { Change::Replace(shaped) } else { Change::Keep })
    }
}

/// The message as it is shown; `None` if that is as it is.
fn shaped(message: &Message, settings: &Settings<'_>) -> Option<Message> {
    if message.role() != Role::Assistant {
        return None;
    }
    let held = message.metadata().get(REASONING).and_then(Value::as_str).unwrap_or_default();
    let mut whole = Partial {
        content: message.text().to_owned(),
        reasoning: held.to_owned(),
        ..Partial::default()
    };
    if settings.leaves_alone(&whole) {
        return None;
    }
    Progress::default().pass(settings, &mut whole, true);
    let mut metadata: Map = message.metadata().clone();
    match whole.reasoning.is_empty() {
        true => metadata.shift_remove(REASONING),
        false => metadata.insert(REASONING.to_owned(), whole.reasoning.into()),
    };
    let shaped = message.clone().with_metadata(metadata);
    Some(match message.content().is_string() {
        true => shaped.with_content(whole.content),
        false => shaped,
    })
}

/// Sets the entry in the state, beside what else the chunk changes there.
fn set(change: &mut StateChange, value: Value) {
    match change {
        StateChange::Keep => *change = StateChange::set(REASONING, value),
        StateChange::Patch(entries) | StateChange::Replace(entries) => {
            entries.insert(REASONING.to_owned(), value);
        }
    }
}

impl Settings<'_> {
    /// Whether a chunk at the beginning, or a whole message, passes as it is.
    fn leaves_alone(&self, partial: &Partial) -> bool {
        let shown = match self.show {
            Show::Full => true,
            Show::Summary | Show::None => partial.reasoning.is_empty(),
        };
        let first = self.tags.and_then(|(open, _)| open.as_bytes().first());
        shown
            && first.is_none_or(|byte| memchr::memchr(*byte, partial.content.as_bytes()).is_none())
    }
}

#[cfg(test)]
mod tests;
