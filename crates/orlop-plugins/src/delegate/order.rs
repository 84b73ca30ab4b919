//! What is to be done, by whom and on whose behalf: everything up to the request of the other agent.

use super::child::Child;
use super::settings::Settings;
use super::sub_sessions::{MAX_COST, MAX_TOKENS};
use crate::arguments::Arguments;
use orlop_app::{Application, NewSession, Request, Scope, Target, TurnInfo, Wait, check_id};
use orlop_core::hooks::ToolInput;
use orlop_core::{Context, Error, Map, Message, Result, Value};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What tools of a sub-session know of it, in the data of the caller.
const DEPTH: &str = "delegation_depth";

/// How many tasks run for each request.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<OfRequests>>);

type OfRequests = HashMap<(Scope, String), Weak<Semaphore>>;

impl Places {
    /// Waits for a place among the tasks of a request.
    async fn take(
        &self,
        scope: &Scope,
        request: &str,
        most: usize,
    ) -> Result<OwnedSemaphorePermit> {
        let places = {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.retain(|_, places| places.strong_count() > 0);
            let key = (scope.clone(), request.to_owned());
            let places = held.get(&key).and_then(Weak::upgrade);
            places.unwrap_or_else(|| {
                let places = Arc::new(Semaphore::new(most));
                held.insert(key, Arc::downgrade(&places));
                places
            })
        };
        let closed = |_| Error::internal("there is no place for another task");
        places.acquire_owned().await.map_err(closed)
    }
}

/// A task for another agent.
pub(super) struct Order {
    app: Application,
    turn: TurnInfo,
    places: Places,
    settings: Settings,
    agent: String,
    text: String,
    depth: u64,
}

impl Order {
    /// Reads a call; what cannot be done is an error for the model to read.
    pub(super) fn read(input: &ToolInput, cx: &Context, places: &Places) -> Result<Self> {
        let (app, turn) = (Application::of(cx)?, TurnInfo::of(cx)?);
        let settings = Settings::of(cx.config());
        let depth = cx.get(DEPTH).and_then(Value::as_u64).unwrap_or(0);
        if depth >= settings.depth {
            return Err(Error::bad_argument(
                "this work cannot be passed on any further; do it yourself",
            ));
        }
        let arguments = Arguments::of(input)?;
        let task = arguments.needed_text("task")?;
        let text = match arguments.text("context")? {
            Some(context) => format!("{task}\n\nWhat you should know:\n{context}"),
            None => task.to_owned(),
        };
        let agent = arguments.text("agent")?.unwrap_or(&turn.agent_id).to_owned();
        let known = match &settings.agents {
            Some(agents) => agents.clone(),
            None => app.config().agents().into_iter().map(str::to_owned).collect(),
        };
        if arguments.text("agent")?.is_some() && !known.contains(&agent) {
            return Err(Error::bad_argument(format!(
                "there is no agent \"{agent}\" to give work to; there are: {}",
                known.join(", ")
            )));
        }
        Ok(Self { app, turn, places: places.clone(), settings, agent, text, depth })
    }

    /// Waits for its turn and sends the request. After a crash the same call finds the request it
    /// made before, and goes on listening to it.
    pub(super) async fn begin(self) -> Result<Child> {
        let Self { app, turn, places, settings, agent, text, depth } = self;
        let place = places.take(app.scope(), &turn.request_id, settings.at_once).await?;
        let id = id_of(&turn);
        let mut parent = json!({
            "parent_session_id": turn.session_id, "parent_request_id": turn.request_id,
            "parent_call_id": turn.call_id,
        });
        if let Some(most) = settings.max_tokens {
            parent[MAX_TOKENS] = most.into();
        }
        if let Some(most) = settings.max_cost {
            parent[MAX_COST] = most.into();
        }
        let session = NewSession {
            agent: Some(agent.clone()),
            id: Some(id.clone()),
            metadata: parent.as_object().cloned().unwrap_or_default(),
        };
        let request = Request {
            session: Target::StoredOrNew(session),
            message: Some(Message::user(text)),
            overrides: Map::from_iter([("max_steps".to_owned(), settings.max_steps.into())]),
            request_id: Some(id.clone()),
            stream: turn.stream,
            persist: Some(turn.stored),
            wait: Wait::default(),
            approval: turn.approval,
            ..Request::default()
        };
        let told = Map::from_iter([(DEPTH.to_owned(), (depth + 1).into())]);
        // A flow of its own: what it locks and saves is not the business of the one that asks.
        let app = app.begin().telling(told);
        let handle = app.send_request(request).await?;
        Ok(Child::new(app, handle, agent, place))
    }
}

/// The id of the sub-session and its request: the same whenever the same call runs.
fn id_of(turn: &TurnInfo) -> String {
    let id = format!("{}.{}.{}", turn.request_id, turn.step, turn.call_id);
    match check_id("session", &id) {
        Ok(()) => id,
        Err(_) => {
            let digest = Sha256::digest(id.as_bytes());
            let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            format!("sub-{hex}")
        }
    }
}
