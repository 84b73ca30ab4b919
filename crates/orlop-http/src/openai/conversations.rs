//! Conversations: sessions, under the names that this API has for them.
//!
//! The id of a conversation is `conv_` and that of its session; the id of an item tells the place of
//! its message.

use super::error::{Answer, Failure};
use super::responses::{input, kept};
use super::shape::{Conversation, Deleted, Item, ItemList, Shown};
use super::turns::{Caller, Json, Reader};
use crate::extract::{Path, Query};
use crate::route::Routes;
use orlop_app::store::Head;
use orlop_app::{Application, NewSession};
use orlop_core::{Map, Message, Slice, Value};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::ops::Range;

const PREFIX: &str = "conv_";

/// The most items of one page, and of one request.
const MOST: usize = 100;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .post("/conversations", "Begins a conversation, which is a session.", create)
        .get("/conversations/{id}", "A conversation without its items.", retrieve)
        .post("/conversations/{id}", "Changes what the client keeps with it.", update)
        .delete("/conversations/{id}", "Deletes a conversation.", remove)
        .get("/conversations/{id}/items", "Messages of a conversation.", list)
        .post("/conversations/{id}/items", "Adds messages to a conversation.", add)
        .get("/conversations/{id}/items/{item}", "One of its messages.", item)
        .delete("/conversations/{id}/items/{item}", "Removes a message.", remove_item)
}

/// The session that the id of a conversation names.
pub(super) async fn session_of(app: &Application, id: &str) -> Answer<Head> {
    let missing = || {
        let message = format!("there is no conversation {id:?}");
        Failure::missing(Some("conversation"), "not_found", message)
    };
    let session = id.strip_prefix(PREFIX).ok_or_else(missing)?;
    orlop_app::check_id("session", session).map_err(|_| missing())?;
    app.store().head(app.scope(), session).await?.ok_or_else(missing)
}

async fn shown(app: &Application, head: &Head) -> Answer<Shown<Conversation>> {
    let (_, kept) = kept::of(app, &head.id).await?;
    Ok(Shown::json(json!({
        "id": format!("{PREFIX}{}", head.id), "object": "conversation",
        "created_at": head.created / 1000, "metadata": kept.metadata,
    })))
}

/// What to begin a conversation with, or to keep with it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct NewConversation {
    #[serde(default)]
    items: Option<Vec<Map>>,
    #[serde(default)]
    metadata: Option<Map>,
}

async fn create(caller: Caller, Json(body): Json<NewConversation>) -> Answer<Shown<Conversation>> {
    let app = caller.app();
    let messages = read(body.items.unwrap_or_default())?;
    let metadata = body.metadata.unwrap_or_default();
    let made = app.create_session_with(NewSession::default(), messages).await?;
    let id = made.session.id();
    if !metadata.is_empty() {
        let kept = kept::change(&app, id, |kept| kept.metadata = metadata.clone()).await;
        if kept.is_err() {
            // A client that is told of a failure does not know its id.
            app.delete_session(id, Some("it could not be made as it was wanted")).await?;
        }
        kept?;
    }
    shown(&app, &session_of(&app, &format!("{PREFIX}{id}")).await?).await
}

fn read(items: Vec<Map>) -> Answer<Vec<Message>> {
    if items.len() > MOST {
        return Err(Failure::bad("items", format!("at most {MOST} items can be sent at once")));
    }
    input::messages(items)
}

async fn retrieve(Reader(caller): Reader, Path(id): Path<String>) -> Answer<Shown<Conversation>> {
    let app = caller.app();
    shown(&app, &session_of(&app, &id).await?).await
}

async fn update(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<NewConversation>,
) -> Answer<Shown<Conversation>> {
    let app = caller.app();
    let head = session_of(&app, &id).await?;
    kept::change(&app, &head.id, |kept| kept.metadata = body.metadata.clone().unwrap_or_default())
        .await?;
    shown(&app, &head).await
}

async fn remove(caller: Caller, Path(id): Path<String>) -> Answer<Shown<Deleted>> {
    let app = caller.app();
    let head = session_of(&app, &id).await?;
    app.delete_session(&head.id, Some("its conversation was deleted")).await?;
    Ok(Shown::json(json!({ "id": id, "object": "conversation.deleted", "deleted": true })))
}

/// The items of the messages in a range, in their order.
async fn items(app: &Application, head: &Head, range: Range<usize>) -> Answer<Vec<Value>> {
    let start = range.start;
    let messages = app.store().messages(app.scope(), &head.id, range).await?;
    Ok(input::listed(&head.id, start, &messages.unwrap_or_default()))
}

/// The place of the message that an item belongs to.
fn place_of(head: &Head, item: &str) -> Answer<usize> {
    let rest = item.strip_prefix("item_").and_then(|rest| rest.strip_prefix(&*head.id));
    let place = rest.and_then(|rest| rest.strip_prefix('_')?.split('_').next()?.parse().ok());
    place.filter(|place| *place < head.message_count).ok_or_else(|| no_item(item))
}

fn no_item(item: &str) -> Failure {
    Failure::missing(None, "not_found", format!("there is no item {item:?} in this conversation"))
}

/// Which part of a list is wanted; the newest items come first unless the order is `asc`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Page {
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    order: Option<String>,
    #[serde(default)]
    after: Option<String>,
}

impl Page {
    fn is_ascending(&self) -> bool {
        self.order.as_deref() == Some("asc")
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(20).clamp(1, MOST)
    }

    /// The page of these items, which are in their order; there may be more than these.
    pub(super) fn of(&self, mut items: Vec<Value>, more: bool) -> Answer<Value> {
        if !self.is_ascending() {
            items.reverse();
        }
        if let Some(after) = &self.after {
            let place = items.iter().position(|item| item["id"] == after.as_str());
            items.drain(..=place.ok_or_else(|| no_item(after))?);
        }
        let has_more = more || items.len() > self.limit();
        items.truncate(self.limit());
        let edge = |item: Option<&Value>| item.map(|item| item["id"].clone());
        Ok(json!({
            "object": "list", "first_id": edge(items.first()), "last_id": edge(items.last()),
            "has_more": has_more, "data": items,
        }))
    }
}

async fn list(
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Answer<Shown<ItemList>> {
    let app = caller.app();
    let head = session_of(&app, &id).await?;
    let (count, limit) = (head.message_count, page.limit());
    let after = page.after.as_deref().map(|item| place_of(&head, item)).transpose()?;
    // A message is at least one item, but for empty ones, so a page is not longer than this.
    let range = match page.is_ascending() {
        true => {
            let start = after.unwrap_or(0);
            start..count.min(start + limit + 1)
        }
        false => {
            let end = after.map_or(count, |place| place + 1);
            end.saturating_sub(limit + 1)..end
        }
    };
    let more = if page.is_ascending() { range.end < count } else { range.start > 0 };
    let items = items(&app, &head, range).await?;
    Ok(Shown::json(page.of(items, more)?))
}

/// Items to add.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewItems {
    items: Vec<Map>,
}

async fn add(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<NewItems>,
) -> Answer<Shown<ItemList>> {
    let app = caller.app();
    let head = session_of(&app, &id).await?;
    let messages = read(body.items)?;
    let range = head.message_count..head.message_count + messages.len();
    app.add_messages(&head.id, messages).await?;
    let page = Page { order: Some("asc".to_owned()), limit: Some(MOST), ..Page::default() };
    Ok(Shown::json(page.of(items(&app, &head, range).await?, false)?))
}

async fn item(
    Reader(caller): Reader,
    Path((id, item)): Path<(String, String)>,
) -> Answer<Shown<Item>> {
    let app = caller.app();
    let head = session_of(&app, &id).await?;
    let place = place_of(&head, &item)?;
    let found = items(&app, &head, place..place + 1).await?;
    let found = found.into_iter().find(|found| found["id"] == item.as_str());
    found.map(Shown::json).ok_or_else(|| no_item(&item))
}

async fn remove_item(
    caller: Caller,
    Path((id, item)): Path<(String, String)>,
) -> Answer<Shown<Conversation>> {
    let app = caller.app();
    let head = session_of(&app, &id).await?;
    let place = place_of(&head, &item)?;
    let index = i64::try_from(place).unwrap_or(i64::MAX);
    app.slice_stored(&head.id, Slice::without([index])).await?;
    kept::change(&app, &head.id, |kept| kept.removed.push(place)).await?;
    shown(&app, &head).await
}
