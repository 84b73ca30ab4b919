//! Commands about stored sessions: going on with one, putting it away, taking its words along.

use super::own::stored_id;
use super::reply::Reply;
use crate::place::Place;
use orlop_app::assets::Upload;
use orlop_app::markdown;
use orlop_app::store::ListQuery;
use orlop_app::ui::plain_line;
use orlop_app::{Summary, check_id};
use orlop_core::{Error, Message, Result, Role, Session, Value};
use serde_json::json;

/// How many sessions are shown.
const SHOWN: usize = 20;

pub(super) async fn archive(place: &Place) -> Result<Reply> {
    let id = stored_id(place)?;
    let archived = !is_marked(place, "archived");
    place.app.archive_session(id, archived).await?;
    let text = match archived {
        true => "The session is put away; /archive gets it back",
        false => "The session is in the list again",
    };
    Ok(Reply::text(text).with("archived", archived.into()).updated(id))
}

pub(super) async fn pin(place: &Place) -> Result<Reply> {
    let id = stored_id(place)?;
    let pinned = !is_marked(place, "pinned");
    place.app.pin_session(id, pinned).await?;
    let text = match pinned {
        true => "Lists of sessions begin with this one; /pin again undoes it",
        false => "Lists of sessions no longer begin with this one",
    };
    Ok(Reply::text(text).with("pinned", pinned.into()).updated(id))
}

fn is_marked(place: &Place, mark: &str) -> bool {
    let session = place.session.as_ref();
    session.is_some_and(|session| session.metadata().get(mark) == Some(&Value::Bool(true)))
}

/// The last sessions, or the one that was meant.
pub(super) async fn resume(place: &Place, rest: &str) -> Result<Reply> {
    let is_id = check_id("session", rest).is_ok();
    if is_id && let Some(head) = place.app.store().head(place.app.scope(), rest).await? {
        return Ok(going_to(&Summary::from(head)));
    }
    let title = (!rest.is_empty()).then(|| rest.to_owned());
    let query = ListQuery { title, limit: SHOWN, ..ListQuery::default() };
    let mut sessions = place.app.list_sessions(&query).await?.sessions;
    sessions.retain(|session| session.session_id != place.session_id);
    match (sessions.as_slice(), rest) {
        ([], "") => Ok(Reply::text("There is no other session")),
        ([], title) => Err(Error::not_found(format!(
            "no session has the id or the title \"{}\"; /resume shows the last ones",
            plain_line(title)
        ))),
        ([only], title) if !title.is_empty() => Ok(going_to(only)),
        _ => {
            let line = |session: &Summary| {
                let title = plain_line(session.title.as_deref().unwrap_or("without a title"));
                let changed = session.updated_at.get(..16).unwrap_or_default().replace('T', " ");
                format!(
                    "- `{}`: {title} ({} messages, {changed})",
                    session.session_id, session.message_count
                )
            };
            let text = sessions.iter().map(line).collect::<Vec<_>>().join("\n");
            let reply = Reply::text(text).with("sessions", json!(sessions));
            Ok(reply.with("ui_effects", json!({ "navigate": { "screen": "sessions" } })))
        }
    }
}

fn going_to(session: &Summary) -> Reply {
    let title = plain_line(session.title.as_deref().unwrap_or_default());
    let text = format!("The conversation goes on in {} {title}", session.session_id);
    let place = json!({ "screen": "session", "session_id": session.session_id });
    Reply::text(text.trim_end()).with("ui_effects", json!({ "navigate": place }))
}

/// The conversation as an asset of the session, which surfaces offer for download.
pub(super) async fn export(place: &Place, rest: &str) -> Result<Reply> {
    let id = stored_id(place)?;
    let (format, end, media_type) = match rest {
        "" | "markdown" | "md" => ("markdown", "md", "text/markdown"),
        "json" => ("json", "json", "application/json"),
        other => {
            return Err(Error::bad_argument(format!(
                "\"{}\" is no format; write /export markdown or /export json",
                plain_line(other)
            )));
        }
    };
    let text = place.app.export_session(id, format).await?;
    let name = format!("{id}.{end}");
    let upload = Upload::new(name.clone(), Some(media_type));
    let asset = place.app.put_asset(Some(id), upload, text.into_bytes()).await?;
    let told = json!({ "asset_id": asset.id, "name": name, "media_type": media_type });
    let text = format!("The conversation is the attachment {name} ({} bytes)", asset.size);
    Ok(Reply::text(text)
        .with("export", told.clone())
        .with("ui_effects", json!({ "download": told })))
}

/// Text for the clipboard: surfaces that have one put it there, others show it.
pub(super) fn copy(place: &Place, rest: &str) -> Result<Reply> {
    stored_id(place)?;
    let session = place.session_or_new();
    let text = match rest {
        "all" => markdown::of_session(&session),
        "code" => answers(&session).find_map(last_code).ok_or_else(|| {
            Error::not_found("no answer has a block of code; /copy takes the last answer")
        })?,
        _ => {
            let back = if rest.is_empty() { Some(1) } else { rest.parse::<usize>().ok() };
            let back = back.filter(|back| *back > 0).ok_or_else(|| {
                Error::bad_argument(format!(
                    "\"{}\" is no number; write /copy, /copy 2 for the answer before the last, /copy code or /copy all",
                    plain_line(rest)
                ))
            })?;
            let answer = answers(&session).nth(back - 1);
            answer.map(|answer| answer.text().to_owned()).ok_or_else(|| {
                Error::not_found("there is no such answer yet; write a message first")
            })?
        }
    };
    let button = json!([{ "kind": "copy_text", "id": "copy", "label": "Copy", "text": text }]);
    Ok(Reply::text(text.clone())
        .with("display", json!({ "body": text, "format": "markdown", "actions": button }))
        .with("ui_effects", json!({ "copy_text": text })))
}

/// What the model said, the last first.
fn answers(session: &Session) -> impl Iterator<Item = &Message> {
    let said = session.messages().iter().rev();
    said.filter(|message| message.role() == Role::Assistant && !message.text().trim().is_empty())
}

/// The last block of code of an answer.
fn last_code(answer: &Message) -> Option<String> {
    let (mut last, mut open): (Option<String>, Option<(String, String)>) = (None, None);
    for line in answer.text().lines() {
        let mark = line.trim_start();
        let fence: String = mark.chars().take_while(|c| *c == '`').collect();
        match &mut open {
            Some((opened, code)) if fence.len() >= opened.len() && mark.trim_end() == fence => {
                last = Some(std::mem::take(code));
                open = None;
            }
            Some((_, code)) => {
                code.push_str(line);
                code.push('\n');
            }
            None if fence.len() >= 3 => open = Some((fence, String::new())),
            None => {}
        }
    }
    last
}
