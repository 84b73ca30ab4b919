//! The application plugin `file_changes`: what turns did to files, and taking it back.
//!
//! Tools write to the [`Journal`] before they change a file; `watch.rs` finds out what a command
//! changed. The journal of a session goes with it. A fork begins with an empty one.

mod journal;
mod undo;
mod watch;

pub(crate) use journal::Journal;
pub use watch::{Watch, Watched};

use orlop_app::Application;
use orlop_app::config::RuntimeEnv;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, Hook, HookSet};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Result,
    Session, Value, lifecycle,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use undo::{TurnChanges, chosen, turns};

/// Lists and undoes what turns did to files.
pub struct FileChanges;

impl ApplicationPlugin for FileChanges {
    fn manifest(&self) -> Manifest {
        let commands = json!({
            "type": "boolean", "default": true,
            "description": "Whether what commands do to files can be taken back, too.",
        });
        Manifest::new("file_changes", "1.0.0")
            .acting_at(&[lifecycle::SESSION_DELETE_PREPARE])
            .config("file_changes.commands", commands)
            .only(HookSet::of(&[Hook::ApplicationGetActions, Hook::ApplicationExecuteAction]))
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let undo = ActionDefinition::new("undo_files", "Undo file changes")
            .describing("Puts files back as they were before the last turn that changed some, or before a certain one. What was changed since is left alone.")
            .input("session_id", "string", true)
            .input("request_id", "string", false);
        let list = ActionDefinition::new("list_file_changes", "List file changes")
            .describing("Tells which turns changed which files.")
            .input("session_id", "string", true);
        let forget = ActionDefinition::new("forget_file_changes", "Forget file changes")
            .input("session_id", "string", true)
            .on(&[lifecycle::SESSION_DELETE_PREPARE]);
        Answer::ok(vec![undo, list, forget])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let said = |key: &str| input.params.get(key).and_then(Value::as_str);
            let session = said("session_id").unwrap_or_default();
            let journal = Journal::of_session(cx, &app, session)?;
            match input.action_id.as_str() {
                "undo_files" => {
                    let folder = working_dir(cx, &app.session(session).await?.session);
                    let request = said("request_id").map(str::to_owned);
                    // Not while a turn is changing files.
                    let app = app.begin();
                    let lock = app.acquire_session_lock(session).await?;
                    let done =
                        apart(move || undo_files(&journal, request.as_deref(), &folder)).await;
                    lock.release().await;
                    done
                }
                "list_file_changes" => {
                    app.session(session).await?;
                    apart(move || list_file_changes(&journal)).await
                }
                "forget_file_changes" => {
                    apart(move || journal.forget()).await?;
                    Ok(ActionResult::unchanged())
                }
                other => Err(Error::not_found(format!("there is no action \"{other}\""))),
            }
        })
    }
}

async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::internal("undoing file changes ended with a panic"))?
}

/// The folder that a session works in; paths below it are told from there.
fn working_dir(cx: &Context, session: &Session) -> PathBuf {
    let of_session = session.metadata().get("working_dir").and_then(Value::as_str);
    let env = cx.handle::<RuntimeEnv>("env");
    let of_process = || env.as_ref().and_then(|env| env.get("WORKING_DIR"));
    of_session.or_else(of_process).map(PathBuf::from).unwrap_or_default()
}

fn undo_files(journal: &Journal, request: Option<&str>, folder: &Path) -> Result<ActionResult> {
    let turns = turns(journal.entries()?);
    let Some(turn) = chosen(&turns, request)? else {
        return ActionResult::from_json(json!({
            "status": "noop",
            "message": "no turn of this session has changed files that could be put back",
        }));
    };
    let mut files = Vec::new();
    let mut words = Vec::new();
    let near = |path: &Path| {
        let short = path.strip_prefix(folder).ok().filter(|short| !short.as_os_str().is_empty());
        crate::files::place::shown(short.unwrap_or(path))
    };
    for file in &turn.files {
        let undone = file.undo(journal);
        words.push(undone.in_words(&near(&file.path)));
        files.push(undone.to_json(&file.path));
    }
    for folder in turn.remove_folders() {
        words.push(format!("removed the folder {}, which the turn had made", near(&folder)));
    }
    journal.undone(&turn.request)?;
    ActionResult::from_json(json!({
        "request_id": turn.request,
        "files": files,
        "message": words.join("\n"),
    }))
}

fn list_file_changes(journal: &Journal) -> Result<ActionResult> {
    let shown = |turn: &TurnChanges| {
        let files: Vec<Value> = turn
            .files
            .iter()
            .map(|file| {
                let path = crate::files::place::shown(&file.path);
                json!({ "path": path, "change": file.change(), "by": file.tools() })
            })
            .collect();
        json!({ "request_id": turn.request, "undone": turn.undone, "files": files })
    };
    let turns: Vec<Value> = turns(journal.entries()?).iter().map(shown).collect();
    let message = match turns.len() {
        0 => "no turn of this session has changed files".to_owned(),
        1 => "one turn has changed files".to_owned(),
        count => format!("{count} turns have changed files"),
    };
    ActionResult::from_json(json!({ "turns": turns, "message": message }))
}
