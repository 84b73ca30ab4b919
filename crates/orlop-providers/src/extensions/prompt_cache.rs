//! Gives each session a key under which the model server keeps what it has read of it.

use orlop_core::hooks::{ActionInput, ActionsInput, Hook, HookSet, RequestChange, RequestInput};
use orlop_core::types::ActionDefinition;
use orlop_core::{
    ActionResult, Answer, Context, Error, Extension, Manifest, Map, Plugin, Result, State,
    StateChange, Value, hooks::Chunk, lifecycle,
};
use serde_json::json;
use uuid::Uuid;

/// The extension `prompt_cache`, for wires whose requests have a `prompt_cache_key`: openai chat
/// and responses.
///
/// A session gets a random key when it is created, or with its first request, and keeps it. A key
/// that the configuration has goes before that of the session.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptCache;

const KEY: &str = "prompt_cache_key";
const ENSURE: &str = "ensure_prompt_cache_key";

impl Plugin for PromptCache {
    fn manifest(&self) -> Manifest {
        let hooks = [
            Hook::ExtensionInitializeRequest,
            Hook::ExtensionGetActions,
            Hook::ExtensionExecuteAction,
        ];
        Manifest::new("prompt_cache", env!("CARGO_PKG_VERSION"))
            .acting_at(&[lifecycle::SESSION_CREATE, lifecycle::REQUEST_PREPARE])
            .without_models()
            .only_for_requests(&[KEY])
            .only(HookSet::of(&hooks))
            .config(
                KEY,
                json!({ "type": "string", "description": "Under which key the server caches what it read; each session has one of its own by default." }),
            )
    }
}

impl Extension for PromptCache {
    fn process_chunk(&self, _: &State, _: &mut Chunk) -> Result<()> {
        Ok(())
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        // Made with this very request, the key is in the session and not yet in the configuration.
        let configured = input.state.config.text(KEY);
        let key = configured.or_else(|| held(cx.session()?.overrides()?.get(KEY)));
        let change = key
            .filter(|_| !input.state.request.contains_key(KEY))
            .map(|key| RequestChange::state(StateChange::request(KEY, key)));
        Answer::ok(change.unwrap_or_default())
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let ensure = ActionDefinition::new(ENSURE, "Ensure a prompt cache key")
            .on(&[lifecycle::SESSION_CREATE, lifecycle::REQUEST_PREPARE]);
        Answer::ok(vec![ensure])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        if input.action_id != ENSURE {
            return Err(Error::not_found(format!(
                "there is no action \"{}\"; the one there is is \"{ENSURE}\"",
                input.action_id
            )))
            .into();
        }
        let of_session = input.session.overrides().and_then(|overrides| overrides.get(KEY));
        if of_session.is_some_and(|key| !key.is_null()) || cx.config().text(KEY).is_some() {
            let public = Map::from_iter([("status".to_owned(), "noop".into())]);
            return Answer::ok(ActionResult { public, ..ActionResult::default() });
        }
        // Random, so that it says nothing of the session to those who see the request.
        let key = format!("orlop-{}", Uuid::new_v4().simple());
        Answer::ok(ActionResult {
            session_metadata: Some(json!({ "overrides": { KEY: key } })),
            ..ActionResult::default()
        })
    }
}

fn held(key: Option<&Value>) -> Option<&str> {
    key.and_then(Value::as_str).filter(|key| !key.is_empty())
}
