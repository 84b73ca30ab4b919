//! The application plugin: compacts stored sessions, with buttons for it.

use super::feature::COMPACT_RANGE;
use super::{NAME, Settings, context, described};
use orlop_app::Application;
use orlop_core::hooks::{
    ApplicationActionInput, ApplicationActionsInput, ApplicationUiInput, Hook, HookSet,
};
use orlop_core::types::ActionStatus;
use orlop_core::{
    ActionCall, ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Manifest, Map,
    Result, Value,
};
use serde_json::json;

const SHOW_CONTEXT: &str = "show_context";

/// Offers compaction on stored sessions, and shows how full their context windows are.
pub struct CompactionActions;

impl ApplicationPlugin for CompactionActions {
    fn manifest(&self) -> Manifest {
        described(Manifest::new(NAME, "1.0.0")).acting_at(&[]).only(HookSet::of(&[
            Hook::ApplicationGetUiElements,
            Hook::ApplicationGetActions,
            Hook::ApplicationExecuteAction,
        ]))
    }

    fn get_ui_elements<'a>(
        &'a self,
        input: &'a ApplicationUiInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Value>> {
        let section = input.config.as_ref().and_then(|config| config.get(NAME));
        if !Settings::read(section).enabled {
            return Answer::ok(Vec::new());
        }
        Answer::ok(vec![
            json!({
                "ui_type": "session_action",
                "id": COMPACT_RANGE,
                "label": "Compact range",
                "icon": "archive",
                "order": 45,
                "action_id": COMPACT_RANGE,
                "fixed_params": {},
                "param_map": {
                    "session_id": "$session.session_id",
                    "start": "$dialog.start",
                    "end": "$dialog.end",
                    "instructions": "$dialog.instructions",
                },
                "dialog": {
                    "kind": "form",
                    "title": "Compact range",
                    "inputs": [
                        { "name": "start", "type": "integer", "label": "From message", "required": false },
                        { "name": "end", "type": "integer", "label": "Up to message (not included)", "required": false },
                        { "name": "instructions", "type": "string", "label": "What to keep in particular", "required": false },
                    ],
                },
            }),
            json!({
                "ui_type": "message_action",
                "id": "compact_up_to_here",
                "label": "Compact up to here",
                "icon": "archive",
                "order": 25,
                "action_id": COMPACT_RANGE,
                "fixed_params": { "start": 0, "end_inclusive": true },
                "param_map": { "session_id": "$session.session_id", "end": "$message.index" },
            }),
        ])
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let compact = ActionDefinition::new(COMPACT_RANGE, "Compact range")
            .describing("Replaces messages by a snapshot of their state.")
            .input("session_id", "string", true)
            .input("start", "integer", false)
            .input("end", "integer", false)
            .input("end_inclusive", "boolean", false)
            .input("instructions", "string", false);
        let show = ActionDefinition::new(SHOW_CONTEXT, "Show context")
            .describing("How full the context window is, and of what.")
            .input("session_id", "string", true);
        Answer::ok(vec![compact, show])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let mut params = input.params.clone();
            let session = params.shift_remove("session_id");
            let session = session.as_ref().and_then(Value::as_str).unwrap_or_default();
            match input.action_id.as_str() {
                SHOW_CONTEXT => context::show(&app, session).await,
                _ => compact(&app, session, params).await,
            }
        })
    }
}

async fn compact(app: &Application, session: &str, params: Map) -> Result<ActionResult> {
    let lock = app.acquire_session_lock(session).await?;
    let loaded = app.session(session).await?;
    if !Settings::read(loaded.config.get(NAME)).enabled {
        return result(json!({
            "status": "error", "error_type": "disabled",
            "message": "compaction is switched off for this agent; set compaction.enabled",
        }));
    }
    let call = ActionCall { params, ..ActionCall::new(NAME, COMPACT_RANGE) };
    let acted = app.execute_session_action(session, call).await?;
    lock.release().await;
    let inner = ActionResult { public: acted.result, ..ActionResult::default() };
    let told = |key: &str| inner.public.get(key).cloned().unwrap_or_default();
    match inner.status() {
        ActionStatus::Error => {
            let error = told("error");
            result(json!({
                "status": "error", "error_type": error["type"], "message": error["message"],
            }))
        }
        ActionStatus::Noop => result(json!({ "status": "noop", "message": told("message") })),
        ActionStatus::Ok => {
            let event = json!({
                "type": "session_compacted", "session_id": session,
                "change_id": acted.change_id, "compaction": told("compaction"),
            });
            app.publish_event(NAME, event.as_object().cloned().unwrap_or_default()).await?;
            result(json!({
                "status": "ok",
                "message": told("message"),
                "mutations": { "updated_session_ids": [session] },
                "ui_effects": { "reload_session_ids": [session] },
                "compaction": told("compaction"),
                "change_id": acted.change_id,
            }))
        }
    }
}

fn result(value: Value) -> Result<ActionResult> {
    ActionResult::from_json(value)
}
