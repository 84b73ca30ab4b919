//! `orlop session`: stored sessions.

use super::pairs;
use crate::cli::{Edit, ExportFormat, Session};
use crate::exit::{FAILED, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::store::{Archived, Head, ListQuery, SearchQuery};
use orlop_app::{Application, markdown, rfc3339};
use orlop_core::{Map, Slice, Value};
use serde_json::json;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

pub(super) async fn run(workplace: Workplace, command: Session) -> Result<ExitCode, Failure> {
    let app = workplace.application().await?;
    match command {
        Session::List {
            agent,
            query,
            sub_sessions,
            archived,
            all,
            pinned,
            limit,
            cursor,
            json,
        } => {
            let query = ListQuery {
                agent,
                title: query,
                sub_sessions,
                archived: match (archived, all) {
                    (true, _) => Archived::Only,
                    (false, true) => Archived::With,
                    (false, false) => Archived::Without,
                },
                pinned: pinned.then_some(true),
                limit: limit.get(),
                cursor,
                ..ListQuery::default()
            };
            list(&app, &query, json).await
        }
        Session::Show { id, last, json } => show(&app, &id, last, json).await,
        Session::Search { words, sub_sessions, limit, json } => {
            let query = SearchQuery { text: words.join(" "), sub_sessions, limit: limit.get() };
            search(&app, &query, json).await
        }
        Session::Export { id, output, format } => {
            export(&app, &id, output.as_deref(), format).await
        }
        Session::Import { file, id } => {
            let text = read(&file)?;
            orlop_core::Session::import(&text, "json").map_err(|error| {
                Failure::usage(format!(
                    "{} cannot be imported: {error}; name a file that `orlop session export` wrote",
                    file.display()
                ))
            })?;
            let session = app.import_session(&text, "json", id.as_deref()).await?;
            output::line(session.id())?;
            Ok(ExitCode::SUCCESS)
        }
        Session::Fork { id, at, id_of_fork } => {
            output::line(&app.fork_stored(&id, at, id_of_fork.as_deref()).await?)?;
            Ok(ExitCode::SUCCESS)
        }
        Session::Edit(edit) => change(&app, edit).await,
        Session::Undo { id, change, json } => undo(&app, &id, change.as_deref(), json).await,
        Session::Delete { ids, yes } => delete(&app, &ids, yes).await,
        Session::Archive { ids, undo } => {
            mark(&app, &ids, async |id| app.archive_session(id, !undo).await).await
        }
        Session::Pin { ids, undo } => {
            mark(&app, &ids, async |id| app.pin_session(id, !undo).await).await
        }
        Session::Branches { id, index, json } => branches(&app, &id, index, json).await,
        Session::Switch { id, agent } => {
            app.switch_agent(&id, &agent).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn list(app: &Application, query: &ListQuery, json: bool) -> Result<ExitCode, Failure> {
    let page = app.list_sessions(query).await?;
    if json {
        return Ok(output::json(&page)?);
    }
    let rows: Vec<Vec<String>> = page
        .sessions
        .iter()
        .map(|session| {
            vec![
                session.session_id.clone(),
                session.agent_id.clone().unwrap_or_default(),
                session.message_count.to_string(),
                short_time(&session.updated_at),
                session.title.clone().unwrap_or_default(),
            ]
        })
        .collect();
    output::table(&["ID", "AGENT", "MESSAGES", "CHANGED", "TITLE"], &rows)?;
    if let Some(next) = page.next {
        output::tell(&format!("more: orlop session list --cursor {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A moment without fractions of a second.
fn short_time(at: &str) -> String {
    at.get(..19).map(|at| at.replace('T', " ")).unwrap_or_else(|| at.to_owned())
}

async fn show(
    app: &Application,
    id: &str,
    last: Option<usize>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let head = head(app, id).await?;
    let start = last.map_or(0, |last| head.message_count.saturating_sub(last));
    let range = start..head.message_count;
    let messages = app.store().messages(app.scope(), id, range).await?.unwrap_or_default();
    if json {
        return Ok(output::json(&json!({
            "session_id": head.id, "agent_id": head.agent, "title": head.title,
            "created_at": rfc3339(head.created), "updated_at": rfc3339(head.updated),
            "revision": head.revision, "message_count": head.message_count,
            "first_index": start, "messages": messages,
        }))?);
    }
    for (index, message) in messages.iter().enumerate() {
        output::line(&format!("[{}] {}", start + index, message.role().as_str()))?;
        output::line(&markdown::of_message(message))?;
        output::line("")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn head(app: &Application, id: &str) -> Result<Head, Failure> {
    orlop_app::check_id("session", id)?;
    let head = app.store().head(app.scope(), id).await?;
    Ok(head.ok_or_else(|| {
        orlop_core::Error::not_found(format!(
            "there is no session \"{id}\"; `orlop session list` shows those there are"
        ))
    })?)
}

async fn search(app: &Application, query: &SearchQuery, json: bool) -> Result<ExitCode, Failure> {
    let hits = app.search_sessions(query).await?;
    if json {
        let hits: Vec<Value> = hits
            .iter()
            .map(|hit| {
                json!({
                    "session_id": hit.head.id, "title": hit.head.title,
                    "agent_id": hit.head.agent, "message_index": hit.message_index,
                    "snippet": hit.snippet,
                })
            })
            .collect();
        return Ok(output::json(&hits)?);
    }
    let rows: Vec<Vec<String>> = hits
        .iter()
        .map(|hit| vec![hit.head.id.clone(), hit.message_index.to_string(), hit.snippet.clone()])
        .collect();
    Ok(output::table(&["ID", "MESSAGE", "FOUND"], &rows)?)
}

async fn export(
    app: &Application,
    id: &str,
    file: Option<&Path>,
    format: ExportFormat,
) -> Result<ExitCode, Failure> {
    let format = match format {
        ExportFormat::Json => "json",
        ExportFormat::Markdown => "markdown",
    };
    let text = app.export_session(id, format).await?;
    match file {
        Some(file) => std::fs::write(file, text + "\n").map_err(|error| Failure {
            code: FAILED,
            message: format!("{} cannot be written: {error}; name another file", file.display()),
        })?,
        None => writeln!(std::io::stdout().lock(), "{text}")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(file).map(|read| text = read),
    };
    read.map_err(|error| {
        Failure::usage(format!(
            "{} cannot be read: {error}; name a file that `orlop session export` wrote",
            file.display()
        ))
    })?;
    Ok(text)
}

async fn change(app: &Application, edit: Edit) -> Result<ExitCode, Failure> {
    let Edit { id, title, overrides, message, content, remove, join } = edit;
    let app = app.begin();
    let mut patch = Map::new();
    if let Some(title) = title {
        patch.insert("title".to_owned(), title.into());
    }
    if !overrides.is_empty() {
        let empty = |(key, value): (String, Value)| match value.as_str() {
            Some("") => (key, Value::Null),
            _ => (key, value),
        };
        let overrides: Map = pairs(&overrides, |_| false)?.into_iter().map(empty).collect();
        patch.insert("overrides".to_owned(), overrides.into());
    }
    let nothing = patch.is_empty() && message.is_none() && remove.is_empty() && join.is_none();
    if nothing {
        return Err(Failure::usage(
            "nothing to change; use --title, --override, --message, --remove or --join",
        ));
    }
    let lock = app.acquire_session_lock(&id).await?;
    if !patch.is_empty() {
        app.patch_session(&id, patch).await?;
    }
    if let (Some(index), Some(content)) = (message, content) {
        app.modify_message(&id, index, content.into()).await?;
    }
    if !remove.is_empty() {
        app.slice_session(&id, Slice::without(remove)).await?;
    }
    if let Some(other) = join {
        app.join_session(&id, &other).await?;
    }
    lock.release().await;
    Ok(ExitCode::SUCCESS)
}

async fn undo(
    app: &Application,
    id: &str,
    change: Option<&str>,
    json: bool,
) -> Result<ExitCode, Failure> {
    if let Some(change) = change {
        app.undo(id, change).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let changes = app.changes(id).await?;
    if json {
        return Ok(output::json(&changes)?);
    }
    let rows: Vec<Vec<String>> = changes
        .iter()
        .map(|note| {
            let undone = if note.undone { "yes" } else { "" };
            vec![
                note.id.clone(),
                format!("{}.{}", note.plugin, note.action),
                short_time(&rfc3339(note.at)),
                undone.to_owned(),
            ]
        })
        .collect();
    Ok(output::table(&["CHANGE", "ACTION", "AT", "UNDONE"], &rows)?)
}

/// Changes sessions; all or none, as far as one can tell before.
async fn mark(
    app: &Application,
    ids: &[String],
    change: impl AsyncFn(&str) -> orlop_core::Result<()>,
) -> Result<ExitCode, Failure> {
    for id in ids {
        head(app, id).await?;
    }
    for id in ids {
        change(id).await?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn branches(
    app: &Application,
    id: &str,
    index: i64,
    json: bool,
) -> Result<ExitCode, Failure> {
    let found = app.branches(id, index).await?;
    if json {
        return Ok(output::json(&json!({
            "message_index": found.message_index, "current": found.current,
            "sessions": found.sessions,
        }))?);
    }
    let rows: Vec<Vec<String>> = found
        .sessions
        .iter()
        .enumerate()
        .map(|(place, session)| {
            let here = if Some(place) == found.current { "*" } else { "" };
            vec![
                format!("{}/{}{here}", place + 1, found.sessions.len()),
                session.session_id.clone(),
                short_time(&session.created_at),
                session.title.clone().unwrap_or_default(),
            ]
        })
        .collect();
    Ok(output::table(&["TRY", "ID", "MADE", "TITLE"], &rows)?)
}

async fn delete(app: &Application, ids: &[String], yes: bool) -> Result<ExitCode, Failure> {
    if !yes && std::io::stdin().is_terminal() {
        let mut screen = std::io::stderr().lock();
        write!(screen, "Delete {} session(s) for good? [y/N] ", ids.len())?;
        screen.flush()?;
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        if !matches!(line.trim().to_lowercase().as_str(), "y" | "yes") {
            return Err(Failure { code: FAILED, message: "nothing was deleted".to_owned() });
        }
    }
    // All or none, as far as one can tell before.
    for id in ids {
        head(app, id).await?;
    }
    for id in ids {
        app.delete_session(id, Some("user_request")).await?;
    }
    Ok(ExitCode::SUCCESS)
}
