//! An application plugin that adds a column to lists of sessions.

use orlop_app::Application;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Manifest, Map, Value,
    lifecycle,
};
use serde_json::json;

/// How long the column is, in characters.
const WIDTH: usize = 60;

/// Tells for each session in a list what was said last, and by whom.
pub struct LastWords;

impl ApplicationPlugin for LastWords {
    fn manifest(&self) -> Manifest {
        Manifest::new("last_words", "1.0.0")
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let tell = ActionDefinition::new("tell_last_words", "Tell the last words")
            .on(&[lifecycle::SESSION_LIST])
            .input("session_ids", "array", true);
        Answer::ok(vec![tell])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let mut told = Map::new();
            let ids = input.params["session_ids"].as_array().into_iter().flatten();
            for id in ids.filter_map(Value::as_str) {
                let Some(loaded) = app.load_session(id).await? else { continue };
                if let Some(last) = loaded.session.messages().last() {
                    let words: String = last.text().chars().take(WIDTH).collect();
                    let said = json!({ "role": last.role().as_str(), "words": words });
                    told.insert(id.to_owned(), said);
                }
            }
            ActionResult::from_json(json!({ "session_summaries": told }))
        })
    }
}
