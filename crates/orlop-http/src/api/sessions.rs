//! Stored sessions and their messages. What changes a session answers with its summary, which
//! costs the same however long it is.

use super::view::session::{
    AtMessage, Change, Fork, Found, Join, LifecycleResults, ListSessions, LoadSession,
    LoadedSession, MadeBranch, NewBranch, NewContent, NewMessage, NewSession, PutAway, Search,
    SessionPage, SessionPatch, SessionSummary, Slice, Switch, Told, Tries,
};
use super::view::{List, OfSession};
use crate::caller::{Caller, Chat, Read};
use crate::extract::{Created, Json, JsonText, Nothing, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::route::{Operation, Output};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use orlop_app::store::{Archived, ListQuery, SearchQuery};
use orlop_app::{Application, rfc3339};
use orlop_core::{Error, Map, Message, Session, Value};

/// What is known of a session now.
pub(super) async fn summary(app: &Application, id: &str) -> Result<SessionSummary, Problem> {
    orlop_app::check_id("session", id)?;
    let head = app.store().head(app.scope(), id).await?;
    Ok(head.ok_or_else(|| unknown(id))?.into())
}

fn unknown(id: &str) -> Error {
    Error::not_found(format!("there is no session \"{id}\"; GET /api/v1/sessions lists them"))
}

pub(super) async fn create(
    caller: Caller<Chat>,
    OptionalJson(new): OptionalJson<NewSession>,
) -> Result<Created<SessionSummary>, Problem> {
    caller.may_keep(&new.metadata)?;
    let app = caller.app();
    let new =
        orlop_app::NewSession { agent: new.agent_id, id: new.session_id, metadata: new.metadata };
    let made = app.create_session(new).await?;
    Ok(Created(summary(&app, made.session.id()).await?))
}

pub(super) async fn list(
    caller: Caller<Read>,
    Query(query): Query<ListSessions>,
) -> Result<Json<SessionPage>, Problem> {
    let query = ListQuery {
        agent: query.agent_id,
        title: query.query,
        sub_sessions: query.sub_sessions,
        limit: query.limit.unwrap_or_default(),
        cursor: query.cursor,
        archived: match query.archived {
            PutAway::Without => Archived::Without,
            PutAway::With => Archived::With,
            PutAway::Only => Archived::Only,
        },
        ..ListQuery::default()
    };
    let page = caller.app().list_sessions(&query).await?;
    let sessions = page.sessions.into_iter().map(SessionSummary::from).collect();
    Ok(Json(SessionPage { sessions, next: page.next }))
}

pub(super) async fn search(
    caller: Caller<Read>,
    Query(search): Query<Search>,
) -> Result<Json<List<Found>>, Problem> {
    let query = SearchQuery::new(search.query, search.limit.unwrap_or(20).clamp(1, 1_000));
    let hits = caller.app().search_sessions(&query).await?;
    Ok(Json(List { items: hits.into_iter().map(Found::from).collect() }))
}

pub(super) async fn load(
    caller: Caller<Read>,
    Path(id): Path<String>,
    Query(load): Query<LoadSession>,
) -> Result<Json<LoadedSession>, Problem> {
    let app = caller.app();
    orlop_app::check_id("session", &id)?;
    let outline = app.store().outline(app.scope(), &id).await?.ok_or_else(|| unknown(&id))?;
    let count = outline.head.message_count;
    let first_index = load.last.map_or(0, |last| count.saturating_sub(last));
    let messages = app.store().messages(app.scope(), &id, first_index..count).await?;
    let messages = messages.ok_or_else(|| unknown(&id))?;
    let (metadata, messages_revision) = (outline.metadata, outline.head.messages_revision);
    let summary = outline.head.into();
    Ok(Json(LoadedSession { summary, messages_revision, first_index, messages, metadata }))
}

pub(super) async fn patch(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    Json(patch): Json<SessionPatch>,
) -> Result<Json<SessionSummary>, Problem> {
    caller.may_keep(&patch.metadata)?;
    caller.may_override(patch.overrides.as_ref())?;
    let mut changes = patch.metadata;
    changes.extend(patch.title.map(|title| ("title".to_owned(), title.into())));
    changes.extend(patch.overrides.map(|it| ("overrides".to_owned(), it.into())));
    let app = caller.app();
    app.patch_session(&id, changes).await?;
    Ok(Json(summary(&app, &id).await?))
}

pub(super) async fn delete(
    caller: Caller<Chat>,
    Path(id): Path<String>,
) -> Result<Nothing, Problem> {
    caller.app().delete_session(&id, Some("user_request")).await?;
    Ok(Nothing)
}

pub(super) async fn export(
    caller: Caller<Read>,
    Path(id): Path<String>,
) -> Result<Exported, Problem> {
    Ok(Exported(caller.app().export_session(&id, "json").await?))
}

/// A session with everything in it.
pub(super) struct Exported(String);

impl IntoResponse for Exported {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

impl Output for Exported {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<orlop_types::SessionJson>();
        operation.answers("200", "application/json", schema);
    }
}

pub(super) async fn import(
    caller: Caller<Chat>,
    Query(of): Query<OfSession>,
    JsonText(text): JsonText,
) -> Result<Created<SessionSummary>, Problem> {
    let app = caller.app();
    caller.may_keep(Session::import(&text, "json")?.metadata())?;
    let session = app.import_session(&text, "json", of.session_id.as_deref()).await?;
    Ok(Created(summary(&app, session.id()).await?))
}

pub(super) async fn fork(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    OptionalJson(fork): OptionalJson<Fork>,
) -> Result<Created<SessionSummary>, Problem> {
    let app = caller.app();
    let made = app
        .as_seen(&id, fork.revision, async |app| {
            app.fork_stored(&id, fork.upto_index, fork.session_id.as_deref()).await
        })
        .await?;
    Ok(Created(summary(&app, &made).await?))
}

pub(super) async fn branch(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    Json(new): Json<NewBranch>,
) -> Result<Created<MadeBranch>, Problem> {
    let app = caller.app();
    let branch = app
        .as_seen(&id, new.revision, async |app| {
            app.branch_session(&id, new.index, new.session_id.as_deref()).await
        })
        .await?;
    let session = summary(&app, &branch.session_id).await?;
    Ok(Created(MadeBranch { session, message: branch.message }))
}

pub(super) async fn branches(
    caller: Caller<Read>,
    Path(id): Path<String>,
    Query(at): Query<AtMessage>,
) -> Result<Json<Tries>, Problem> {
    let tries = caller.app().branches(&id, at.index).await?;
    let sessions = tries.sessions.into_iter().map(SessionSummary::from).collect();
    Ok(Json(Tries { sessions, current: tries.current, message_index: tries.message_index }))
}

pub(super) async fn slice(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    Json(slice): Json<Slice>,
) -> Result<Json<SessionSummary>, Problem> {
    let app = caller.app();
    let Slice { start, end, remove_indices: remove, revision } = slice;
    let slice = orlop_core::Slice { start, end, remove };
    app.as_seen(&id, revision, async |app| app.slice_stored(&id, slice).await).await?;
    Ok(Json(summary(&app, &id).await?))
}

pub(super) async fn join(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    Json(join): Json<Join>,
) -> Result<Json<SessionSummary>, Problem> {
    let app = caller.app();
    app.join_session(&id, &join.session_id).await?;
    Ok(Json(summary(&app, &id).await?))
}

pub(super) async fn switch(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    Json(switch): Json<Switch>,
) -> Result<Json<SessionSummary>, Problem> {
    let app = caller.app();
    app.switch_agent(&id, &switch.agent_id).await?;
    Ok(Json(summary(&app, &id).await?))
}

pub(super) async fn lifecycle(
    caller: Caller<Chat>,
    Path((id, name)): Path<(String, String)>,
    OptionalJson(told): OptionalJson<Told>,
) -> Result<Json<LifecycleResults>, Problem> {
    if name.len() > orlop_app::MAX_ID {
        let most = orlop_app::MAX_ID;
        let why = format!("the name of a lifecycle has at most {most} letters; correct it");
        return Err(Error::bad_argument(why).into());
    }
    let app = caller.app();
    let run = app.run_stored_lifecycle(&name, &id, told.context).await?;
    Ok(Json(LifecycleResults { results: run.results, session: summary(&app, &id).await? }))
}

pub(super) async fn add_message(
    caller: Caller<Chat>,
    Path(id): Path<String>,
    Json(new): Json<NewMessage>,
) -> Result<Created<SessionSummary>, Problem> {
    let message = message_of(new.message)?;
    let app = caller.app();
    app.as_seen(&id, new.revision, async |app| match new.after_index {
        None => app.add_messages(&id, vec![message]).await,
        place => app.add_message(&id, message, place).await.map(drop),
    })
    .await?;
    Ok(Created(summary(&app, &id).await?))
}

fn message_of(fields: Map) -> Result<Message, Error> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| {
        Error::wrong_type(format!("this is no message: {error}; send `role` and `content`"))
    })
}

pub(super) async fn modify_message(
    caller: Caller<Chat>,
    Path((id, index)): Path<(String, i64)>,
    Json(new): Json<NewContent>,
) -> Result<Json<SessionSummary>, Problem> {
    let app = caller.app();
    let change = async |app: &Application| app.modify_message(&id, index, new.content).await;
    app.as_seen(&id, new.revision, change).await?;
    Ok(Json(summary(&app, &id).await?))
}

pub(super) async fn changes(
    caller: Caller<Read>,
    Path(id): Path<String>,
) -> Result<Json<List<Change>>, Problem> {
    let app = caller.app();
    summary(&app, &id).await?;
    let notes = app.store().changes(app.scope(), &id).await?.into_iter();
    let items = notes.map(|note| Change {
        id: note.id,
        plugin: note.plugin,
        action: note.action,
        at: rfc3339(note.at),
        undone: note.undone,
    });
    Ok(Json(List { items: items.collect() }))
}

pub(super) async fn undo(
    caller: Caller<Chat>,
    Path((id, change)): Path<(String, String)>,
) -> Result<Json<SessionSummary>, Problem> {
    let app = caller.app();
    app.undo(&id, &change).await?;
    Ok(Json(summary(&app, &id).await?))
}
