//! `orlop` without a command: the chat, on a terminal; one turn, as `orlop run` does, in a pipe.

use super::run::{self, last_session};
use crate::cli::{Chat, Cli, EditorKeys, Run};
use crate::exit::{FAILED, Failure};
use crate::output;
use crate::workplace::{Workplace, working_dir};
use clap::CommandFactory;
use orlop_app::config::{Locations, RuntimeEnv};
use orlop_app::ui::plain_line;
use orlop_app::{Host, Recovery};
use orlop_core::Map;
use orlop_core::types::nearest::nearest;
use orlop_terminal::Options;
use orlop_terminal::editor::Keys;
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long what is still under way may hold up leaving: together with the last drawing, less than
/// anybody notices.
const GRACE: Duration = Duration::from_millis(60);

/// Whether somebody can chat.
fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Whether this is one turn, with its answer printed: in a pipe, or because it is asked for.
fn is_once(chat: &Chat) -> bool {
    chat.output.is_some() || (!is_attended() && !chat.plain)
}

/// Whether the terminal says that it can only write line by line.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Where the log goes while a chat has the screen; `None` for stderr, as ever.
pub(crate) fn log_of_chat(cli: &Cli) -> Option<Option<File>> {
    if cli.command.is_some()
        || cli.chat.plain
        || is_once(&cli.chat)
        || is_dumb()
        || !std::io::stderr().is_terminal()
    {
        return None;
    }
    let vars = RuntimeEnv::process_vars();
    let opened = working_dir().ok().and_then(|folder| {
        let logs = Locations::find(&vars, &folder, None).ok()?.home().join("logs");
        std::fs::create_dir_all(&logs).ok()?;
        File::options().create(true).append(true).open(logs.join("chat.log")).ok()
    });
    Some(opened)
}

/// A command that was mistyped must not become a question.
pub(super) fn check(chat: &Chat) -> Result<(), Failure> {
    let Some(word) = chat.prompt.as_deref() else { return Ok(()) };
    let is_word = word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let commands = Cli::command();
    let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
    match nearest(word, names.iter().copied()).filter(|_| is_word) {
        Some(meant) => Err(Failure::usage(format!(
            "there is no command \"{word}\"; did you mean \"{meant}\"? `orlop run {word}` asks it"
        ))),
        None => Ok(()),
    }
}

pub(super) async fn run(workplace: Workplace, mut chat: Chat) -> Result<ExitCode, Failure> {
    chat.plain |= is_attended() && is_dumb();
    if is_once(&chat) {
        if chat.yes {
            let (agent, model) = (chat.agent.as_deref(), chat.model.as_deref());
            super::model::offer(&workplace, agent, model, true).await?;
        }
        return run::run(workplace, once(chat)?).await;
    }
    let mut notices: Vec<String> = Vec::new();
    for left in &workplace.left_out {
        let (name, reason) = (plain_line(&left.name), plain_line(&left.reason));
        notices.push(format!("plugin \"{name}\" is left out: {reason}"));
    }
    let host = workplace.host().await?;
    let (agent, model) = (chat.agent.as_deref(), chat.model.as_deref());
    match &workplace.notice {
        // Why a model is offered is told before it is.
        Some(notice) if chat.plain || super::model::is_offered(&workplace, agent, model) => {
            output::tell(&plain_line(notice));
        }
        Some(notice) => notices.push(plain_line(notice)),
        None => {}
    }
    if let Err(failure) = super::model::offer(&workplace, agent, model, chat.yes).await {
        // Another model may be chosen in the chat, or this one be brought later.
        notices.push(format!("The model could not be brought: {}", plain_line(&failure.message)));
    }
    host.app().recover_own(Recovery::Settle).await?;
    let options = options(&host, &chat, workplace.locations.home(), notices).await?;
    let left = match chat.plain {
        true => orlop_terminal::plain(&host, options).await,
        false => orlop_terminal::chat(&host, options).await.map(|()| true),
    };
    briefly(async {
        host.stop().await;
        workplace.close().await;
    })
    .await;
    // Whoever chats has read what failed; a script knows nothing but this.
    match left? || std::io::stdin().is_terminal() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::silent(FAILED)),
    }
}

/// Gives what wants to end in order a moment for it, and no more: what was stored stays, the next
/// start settles what was not, and processes that still run are ended as they are dropped.
async fn briefly(ending: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(GRACE, ending).await;
}

async fn options(
    host: &Host,
    chat: &Chat,
    home: &Path,
    notices: Vec<String>,
) -> Result<Options, Failure> {
    let folder = working_dir()?.display().to_string();
    let session = match (&chat.resume, chat.continue_last) {
        (Some(Some(id)), _) => Some(id.clone()),
        (None, true) => Some(last_session(host.app(), &folder).await?),
        _ => None,
    };
    let overrides = chat.model.iter().map(|model| ("model".to_owned(), model.clone().into()));
    if let Some(agent) = &chat.agent {
        super::agent::usable(host.app(), agent)?;
    }
    let terminal = host.app().config().terminal().map_err(|error| Failure::config(&error))?;
    let keys = match chat.keys {
        Some(keys) => keys,
        None if terminal.vi_keys => EditorKeys::Vi,
        None => EditorKeys::Emacs,
    };
    Ok(Options {
        keys: match keys {
            EditorKeys::Vi => Keys::Vi,
            EditorKeys::Emacs => Keys::Emacs,
        },
        history: terminal.history.then(|| home.join("history.jsonl")),
        colours: std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()),
        session,
        choose_session: chat.resume == Some(None),
        agent: chat.agent.clone(),
        overrides: overrides.collect::<Map>(),
        prompt: chat.prompt.clone(),
        files: files(&chat.attach)?,
        notices,
        folder,
        home: std::env::home_dir().map(|home| home.display().to_string()),
    })
}

/// The paths of files that can be read.
fn files(paths: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let readable = |path: &PathBuf| {
        let file = File::open(path).and_then(|file| file.metadata());
        match file {
            Ok(file) if file.is_file() => Ok(path.display().to_string()),
            Ok(_) => Err(run::not_attached(path, "it is no file")),
            Err(error) => Err(run::not_attached(path, error)),
        }
    };
    paths.iter().map(readable).collect()
}

/// The same as one turn.
fn once(chat: Chat) -> Result<Run, Failure> {
    let session = match chat.resume {
        Some(None) => {
            return Err(Failure::usage(
                "--resume needs the id of a session where nobody can choose",
            ));
        }
        Some(id) => id,
        None => None,
    };
    Ok(Run {
        prompt: chat.prompt,
        agent: chat.agent,
        model: chat.model,
        session,
        continue_last: chat.continue_last,
        attach: chat.attach,
        output: chat.output.unwrap_or_default(),
        ..Run::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn leaving_waits_for_nobody_longer_than_a_moment() {
        let before = Instant::now();
        briefly(std::future::pending()).await;
        assert_eq!(before.elapsed(), GRACE);
        assert!(GRACE < Duration::from_millis(100));
        // And not at all for who is ready.
        let before = Instant::now();
        briefly(async {}).await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
