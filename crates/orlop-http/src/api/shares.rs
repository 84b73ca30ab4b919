//! Links by which others read a session. Who follows one needs no token, and sees its messages and
//! nothing else of its user.

use super::sessions::summary;
use super::view::List;
use crate::caller::{Caller, Chat};
use crate::extract::{Created, Json, Nothing, Path, Query};
use crate::identity::Identity;
use crate::problem::Problem;
use crate::server::Server;
use crate::sse::{EventStream, Source};
use axum::extract::State;
use orlop_app::{Share, Shared};
use orlop_core::{Error, ErrorClass, Map, Message, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link to a session, without what makes it work.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShareView {
    /// What it is called when it is taken back.
    id: String,
    /// When it was made, RFC 3339.
    created_at: String,
}

impl From<Share> for ShareView {
    fn from(share: Share) -> Self {
        Self { id: share.id, created_at: share.created_at }
    }
}

/// A link that was just made. It is told once.
#[derive(Serialize, JsonSchema)]
pub(super) struct MadeShare {
    #[serde(flatten)]
    share: ShareView,
    /// What whoever has it may read the session by: a secret.
    link: String,
    /// Where to read it.
    url: String,
}

/// Which messages to read.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadShared {
    /// At most so many messages; 100 if it is not said, and 500 at most.
    last: Option<usize>,
    /// Only those before this position.
    before: Option<usize>,
}

/// What a link shows of a session.
#[derive(Serialize, JsonSchema)]
pub(super) struct SharedView {
    /// The title of the session.
    title: Option<String>,
    /// When it last changed, RFC 3339.
    updated_at: String,
    /// Grows with every change.
    revision: u64,
    /// How many messages it has, with those that are not shown.
    message_count: usize,
    /// The position of the first message of this page; with `before` set to it comes the page
    /// before. 0: there is none.
    first_index: usize,
    /// The messages of people, models and tools.
    messages: Vec<SharedMessage>,
}

/// A message as others see it.
#[derive(Serialize, JsonSchema)]
pub(super) struct SharedMessage {
    /// Its position in the session.
    index: usize,
    /// `user`, `assistant` or `tool`.
    role: &'static str,
    /// The content, usually a text.
    content: Value,
    /// Of the metadata: `tool_calls`, `tool_call_id`, `tool_name`, `tool_error`, `tool_denied`, `duration_ms`,
    /// `interrupted`, and the names of `attachments`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map,
    /// Pictures and texts that came with it.
    #[serde(rename = "multipartContent", skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Map>,
}

impl SharedMessage {
    fn new((index, message): (usize, Message)) -> Self {
        Self {
            index,
            role: message.role().as_str(),
            content: message.content().clone(),
            metadata: message.metadata().clone(),
            parts: message.multipart_content().to_vec(),
        }
    }
}

pub(super) async fn create(
    caller: Caller<Chat>,
    Path(id): Path<String>,
) -> Result<Created<MadeShare>, Problem> {
    if !caller.server.shares() {
        return Err(Problem::forbidden(
            "this server makes no links to read sessions by; set server.share_links in its configuration",
        ));
    }
    let app = caller.app();
    summary(&app, &id).await?;
    let made = app.share_session(&id).await?;
    let url = format!("/api/v1/shared/{}", made.link);
    Ok(Created(MadeShare { share: made.share.into(), link: made.link, url }))
}

pub(super) async fn list(
    caller: Caller<Chat>,
    Path(id): Path<String>,
) -> Result<Json<List<ShareView>>, Problem> {
    let app = caller.app();
    summary(&app, &id).await?;
    let items = app.shares(&id).await?.into_iter().map(ShareView::from).collect();
    Ok(Json(List { items }))
}

pub(super) async fn revoke(
    caller: Caller<Chat>,
    Path((id, share)): Path<(String, String)>,
) -> Result<Nothing, Problem> {
    let app = caller.app();
    summary(&app, &id).await?;
    app.revoke_share(&id, &share).await?;
    Ok(Nothing)
}

pub(super) async fn read(
    State(server): State<Server>,
    Path(link): Path<String>,
    Query(query): Query<ReadShared>,
) -> Result<Json<SharedView>, Problem> {
    let page = opened(&server, &link).await?.page(query.last, query.before).await?;
    Ok(Json(SharedView {
        title: page.title,
        updated_at: page.updated_at,
        revision: page.revision,
        message_count: page.message_count,
        first_index: page.first_index,
        messages: page.messages.into_iter().map(SharedMessage::new).collect(),
    }))
}

pub(super) async fn follow(
    State(server): State<Server>,
    Path(link): Path<String>,
) -> Result<EventStream, Problem> {
    let shared = opened(&server, &link).await?;
    let slot = server.take_stream(&Identity::new(shared.scope().clone(), &[]))?;
    let events = shared.follow().await?;
    Ok(EventStream::new(events, Source::Everything, 0, server.closing(), slot))
}

/// The session of a link. One that is wrong, one that was taken back and one that never was are
/// the same, and so are all where links are not allowed.
async fn opened(server: &Server, link: &str) -> Result<Shared, Problem> {
    let nowhere =
        || Error::not_found("this link leads nowhere; ask who gave it to you for another one");
    let found = match server.shares() {
        true => server.app().shared(link).await,
        false => Err(nowhere()),
    };
    match found {
        Ok(shared) => {
            server.count(&format!("share {}", shared.share_id()).into())?;
            Ok(shared)
        }
        Err(error) if error.class() == ErrorClass::NotFound => {
            server.count(&"no share".into())?;
            Err(nowhere().into())
        }
        Err(error) => Err(error.into()),
    }
}
