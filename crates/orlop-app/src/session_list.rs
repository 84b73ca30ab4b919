//! Lists of sessions, with what plugins add to them, and search.

use crate::application::Application;
use crate::store::{Head, Hit, ListQuery, SearchQuery};
use crate::time::rfc3339;
use orlop_core::hooks::Hook;
use orlop_core::{Map, Result, TriggerSource, Value, lifecycle};
use serde::Serialize;

/// The most sessions that lists begin with.
const MAX_PINNED: usize = 100;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The session.
    pub session_id: String,
    /// Its agent.
    pub agent_id: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it was first stored, RFC 3339.
    pub created_at: String,
    /// When it last changed, RFC 3339.
    pub updated_at: String,
    /// Grows with every change.
    pub revision: u64,
    /// How many messages it has.
    pub message_count: usize,
    /// Whether its user wants it at the top.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Whether its user put it away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Of a branch, the session that all its branches come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_of: Option<String>,
    /// What plugins add, each under its name.
    #[serde(flatten)]
    pub plugins: Map,
}

impl From<Head> for Summary {
    fn from(head: Head) -> Self {
        Self {
            session_id: head.id,
            agent_id: head.agent,
            title: head.title,
            created_at: rfc3339(head.created),
            updated_at: rfc3339(head.updated),
            revision: head.revision,
            message_count: head.message_count,
            pinned: head.pinned,
            archived: head.archived,
            branch_of: head.branch_of,
            plugins: Map::new(),
        }
    }
}

/// A page of a list of sessions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summaries {
    /// The sessions, most recently changed first; on the first page behind those that are pinned.
    pub sessions: Vec<Summary>,
    /// Where the next page begins.
    pub next: Option<String>,
}

impl Application {
    /// Sessions with summaries. Those that are pinned come first, on the first page and beside its
    /// limit. Actions of application plugins at `session_list` may add to the summaries.
    pub async fn list_sessions(&self, query: &ListQuery) -> Result<Summaries> {
        let store = &self.shared.store;
        let mut heads = Vec::new();
        if query.pinned.is_none() && query.cursor.is_none() {
            let pinned = ListQuery { pinned: Some(true), limit: MAX_PINNED, ..query.clone() };
            heads = store.list(&self.scope, &pinned).await?.heads;
        }
        let rest = ListQuery { pinned: query.pinned.or(Some(false)), ..query.clone() };
        let page = store.list(&self.scope, &rest).await?;
        heads.extend(page.heads);
        let mut sessions: Vec<Summary> = heads.into_iter().map(Summary::from).collect();
        self.add_plugin_summaries(&mut sessions).await?;
        Ok(Summaries { sessions, next: page.next })
    }

    async fn add_plugin_summaries(&self, sessions: &mut [Summary]) -> Result<()> {
        if self.shared.applications.is_empty() {
            return Ok(());
        }
        let app = Self { read_only: true, ..self.begin() };
        let ids: Vec<&str> = sessions.iter().map(|summary| summary.session_id.as_str()).collect();
        let params = Map::from_iter([("session_ids".to_owned(), ids.into())]);
        let summaries = serde_json::to_value(&*sessions).unwrap_or_default();
        let told = app.telling(Map::from_iter([("summaries".to_owned(), summaries)]));
        let asking = app.host_context();
        for entry in &app.shared.applications {
            for action in app.hooked().actions_of(entry, &asking).await? {
                if !action.runs_at(lifecycle::SESSION_LIST) {
                    continue;
                }
                let cx = told.hooked().context(
                    None,
                    &orlop_core::Config::empty(),
                    None,
                    Some(lifecycle::SESSION_LIST),
                    TriggerSource::Server,
                    &[],
                );
                let plugin = entry.plugin.name();
                let ran = async {
                    let params = action.validate(&params)?;
                    app.hooked().execute(entry, &action.id, params, &cx).await
                };
                match ran.await {
                    Ok(result) => {
                        for key in ["mutations", "session_metadata"] {
                            if result.public.contains_key(key)
                                || (key == "session_metadata" && result.session_metadata.is_some())
                            {
                                tracing::warn!(target: "orlop::app", plugin, key, "changes of sessions are ignored when sessions are listed");
                            }
                        }
                        add_summaries(sessions, plugin, &result.public);
                    }
                    // A list without a plugin's column is better than no list.
                    Err(error) => {
                        tracing::warn!(target: "orlop::app", plugin, hook = Hook::ApplicationExecuteAction.name(), %error, "a plugin could not add to the list of sessions");
                    }
                }
            }
        }
        Ok(())
    }

    /// Sessions in whose messages all words of a query occur, best first.
    pub async fn search_sessions(&self, query: &SearchQuery) -> Result<Vec<Hit>> {
        self.shared.store.search(&self.scope, query).await
    }
}

/// Puts what a plugin said of sessions under its name.
fn add_summaries(sessions: &mut [Summary], plugin: &str, result: &Map) {
    let Some(Value::Object(said)) = result.get("session_summaries") else { return };
    for summary in sessions {
        if let Some(Value::Object(fields)) = said.get(&summary.session_id) {
            let held = summary.plugins.entry(plugin).or_insert_with(|| Map::new().into());
            if let Value::Object(held) = held {
                held.extend(fields.clone());
            }
        }
    }
}
