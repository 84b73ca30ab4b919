//! What a plugin may ask of the host while one of its hooks runs: operations of the core, and those
//! of the application that it was granted.

use crate::call::Lent;
use crate::secrets;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::StreamExt;
use orlop_app::assets::Upload;
use orlop_app::store::ListQuery;
use orlop_app::{Application, Loaded, NewSession, Request, Target};
use orlop_core::json_api::Sessions;
use orlop_core::types::protocol::app as protocol;
use orlop_core::{
    ActionCall, CallContext, Config, Core, CoreEvent, Error, ErrorClass, Map, Message,
    RequestOptions, Result, Session, Value,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The largest file that crosses; as text it fits in a line.
const MAX_ASSET: usize = 20 << 20;

/// How often a state is set again that another call was faster to set.
const STATE_TRIES: u32 = 100;

/// What a plugin asks for.
pub(crate) struct Asking<'a> {
    pub(crate) args: Map,
    /// The agent whose core is asked, if it is not that of the call.
    pub(crate) agent: Option<String>,
    /// Hears what comes on the way, if the plugin wants to.
    pub(crate) tell: Option<&'a (dyn Fn(Value) + Send + Sync)>,
}

/// Does what the plugin asks for.
pub(crate) async fn answer(lent: &Lent, method: &str, asking: Asking<'_>) -> Result<Value> {
    if let Err(error) = lent.rights.grants.check(method) {
        lent.refused(method, &error);
        note_action(lent, method, &asking.args);
        return Err(error);
    }
    match method.split_once('.') {
        Some(("core", operation)) => of_core(lent, operation, asking).await,
        Some((_, operation)) => of_app(lent, operation, asking.args, asking.tell).await,
        None => Err(Error::not_found(format!("the host has no method \"{method}\""))),
    }
}

/// Where an action of somebody was wanted, its plugin's user can find out why it did not run.
fn note_action(lent: &Lent, method: &str, args: &Map) {
    let plugin = match method {
        "app.execute_action" => "plugin",
        "core.execute_session_action" => "plugin_id",
        _ => return,
    };
    let text = |key| args.get(key).and_then(Value::as_str);
    if let (Some(plugin), Some(action), Ok(app)) = (text(plugin), text("action_id"), lent.app()) {
        let why = format!(
            "the plugin \"{}\" wanted to run it, and {method} is not granted to that",
            lent.plugin
        );
        app.note_refused_action(plugin, action, &why);
    }
}

async fn of_core(lent: &Lent, operation: &str, asking: Asking<'_>) -> Result<Value> {
    let Asking { mut args, agent, tell } = asking;
    let cx = lent.context()?;
    let (core, config) = match &agent {
        None => (cx.core().clone(), cx.config().clone()),
        Some(agent) => {
            lent.rights.grants.check_app("update_agent")?;
            lent.app()?.agent(agent)?
        }
    };
    let given = args.shift_remove("config");
    let config = match operation {
        // What others do is done with the settings of the agent, never with those of the plugin.
        "execute_tool_calls" | "execute_session_action" | "execute_lifecycle_actions" => {
            Value::Object(config.values().clone())
        }
        _ => {
            check_state(&args, &config, &lent.rights.own)?;
            secrets::restored(given, &config, &lent.rights.own)?
        }
    };
    if let ("execute_tool_calls", Ok(app)) = (operation, lent.app()) {
        let calls = Args(args).maps("tool_calls")?;
        let ran = app.run_tools_for_plugin(&lent.plugin, cx, agent.as_deref(), calls);
        return json_of(&ran.await?);
    }
    args.insert("config".to_owned(), config);
    let context = lent.side_request()?;
    match (operation, tell) {
        ("send_request", Some(tell)) => stream(lent, &core, Args(args), context, tell).await,
        _ => core.invoke_with(operation, args, &context, lent).await,
    }
}

/// Where an operation takes a state, its configuration is under the rule of all others. It goes back
/// to the plugin, so that masks stay in it.
fn check_state(args: &Map, config: &Config, own: &[String]) -> Result<()> {
    ["state", "request_context"].into_iter().try_for_each(|key| {
        let given = args.get(key).and_then(|state| state.get("config"));
        secrets::restored(given.cloned(), config, own).map(drop)
    })
}

/// Asks the model once, and tells the fragments of its answer as they come.
async fn stream(
    lent: &Lent,
    core: &Core,
    mut args: Args,
    context: CallContext,
    tell: &(dyn Fn(Value) + Send + Sync),
) -> Result<Value> {
    let session = args.session(lent)?;
    let options = RequestOptions {
        request_id: args.text("request_id")?,
        // It ends with the call, which drops it.
        cancellation: None,
        context,
        preface: Vec::new(),
        without_tools: false,
        caller_tools: Vec::new(),
    };
    let config = Config::new(args.map("config")?);
    let mut events = core.send_request_stream(&session, &config, options);
    while let Some(event) = events.next().await {
        match event? {
            CoreEvent::Final(response) => {
                let session = lent.give(&response.session);
                return Ok(json!({ "session": session, "messages": response.messages }));
            }
            partial => tell(json_of(&partial)?),
        }
    }
    Err(Error::internal("the request ended without an answer"))
}

async fn of_app(
    lent: &Lent,
    operation: &str,
    args: Map,
    tell: Option<&(dyn Fn(Value) + Send + Sync)>,
) -> Result<Value> {
    let app = lent.app()?;
    match operation {
        "load_session" => {
            let asked: protocol::LoadSession = read(operation, args)?;
            let loaded = app.load_session(&asked.session_id.0).await?;
            Ok(loaded.map_or(Value::Null, |loaded| given(lent, &loaded)))
        }
        "save_session" => {
            let asked: protocol::SaveSession = read(operation, args)?;
            let session = lent.take(asked.session.0)?;
            lent.check_agent(session.agent_id(), "app.save_session")?;
            Ok(lent.give(&app.save_session(&session).await?))
        }
        "create_session" => {
            let asked: protocol::CreateSession = read(operation, args)?;
            let new = NewSession {
                agent: asked.agent_id,
                id: asked.session_id,
                metadata: asked.metadata.unwrap_or_default(),
            };
            secrets::check_metadata(&new.metadata, None, true, &lent.rights.own)?;
            let named = new.metadata.get("agent_id").and_then(Value::as_str);
            for agent in [new.agent.as_deref(), named] {
                lent.check_agent(agent, "app.create_session")?;
            }
            Ok(given(lent, &app.create_session(new).await?))
        }
        "fork_session" => {
            let asked: protocol::ForkSession = read(operation, args)?;
            let (id, new) = (asked.session_id.0, asked.new_session_id);
            Ok(given(lent, &app.fork_session(&id, asked.upto_index, new.as_deref()).await?))
        }
        "delete_session" => {
            let asked: protocol::DeleteSession = read(operation, args)?;
            app.delete_session(&asked.session_id.0, asked.reason.as_deref()).await?;
            Ok(Value::Null)
        }
        "list_sessions" => {
            let asked: protocol::ListSessions = read(operation, args)?;
            let query = ListQuery {
                limit: asked.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0),
                cursor: asked.cursor,
                title: asked.search,
                ..ListQuery::default()
            };
            let page = app.list_sessions(&query).await?;
            Ok(json!({ "sessions": page.sessions, "cursor": page.next }))
        }
        "update_agent" => {
            let asked: protocol::UpdateAgent = read(operation, args)?;
            let session = lent.take(asked.session.0)?;
            Ok(given(lent, &app.update_agent(&asked.agent_id.0, &session, false).await?))
        }
        "send_request" => send(lent, app, read(operation, args)?, tell).await,
        "publish_event" => {
            let asked: protocol::PublishEvent = read(operation, args)?;
            json_of(&*app.publish_event(&lent.plugin, asked.event.unwrap_or_default()).await?)
        }
        "acquire_session_lock" => {
            let asked: protocol::AcquireSessionLock = read(operation, args)?;
            let lock = app.acquire_session_lock(&asked.session_id.0).await?;
            json_of(&protocol::HeldLock { lock: lent.hold_lock(lock) })
        }
        "release_session_lock" => {
            let asked: protocol::ReleaseSessionLock = read(operation, args)?;
            if let Some(lock) = lent.take_lock(&asked.lock.0) {
                lock.release().await;
            }
            Ok(Value::Null)
        }
        "list_actions" => {
            let asked: protocol::ListActions = read(operation, args)?;
            json_of(&app.list_actions(asked.session_id.as_deref()).await?)
        }
        "execute_action" => {
            let asked: protocol::ExecuteAction = read(operation, args)?;
            let call = ActionCall {
                plugin: asked.plugin.0,
                action: asked.action_id.0,
                params: asked.params.unwrap_or_default(),
            };
            app.execute_action(call, asked.session_id.as_deref()).await.map(Value::Object)
        }
        "list_assets" => {
            let asked: protocol::ListAssets = read(operation, args)?;
            json_of(&app.list_assets(&asked.session_id.0).await?)
        }
        "read_asset" => {
            let asked: protocol::ReadAsset = read(operation, args)?;
            read_asset(app, &asked.asset_id.0).await
        }
        "put_asset" => {
            let asked: protocol::PutAsset = read(operation, args)?;
            let data = asked.data.unwrap_or_default();
            let bytes = BASE64.decode(data.as_bytes()).map_err(|error| {
                Error::bad_argument(format!(
                    "data must be the bytes of the file as base64: {error}"
                ))
            })?;
            let upload = Upload::new(asked.name.0, asked.media_type.as_deref());
            json_of(&app.put_asset(asked.session_id.as_deref(), upload, bytes).await?)
        }
        "get_state" => {
            let asked: protocol::GetState = read(operation, args)?;
            let held = match asked.session_id {
                Some(session) => app.plugin_state(&session, &lent.plugin).await?,
                None => app.user_state(&lent.plugin).await?,
            };
            Ok(held.map(|held| held.value).unwrap_or_default())
        }
        "set_state" => set_state(lent, app, read(operation, args)?).await,
        other => Err(Error::not_found(format!("the application has no operation \"{other}\""))),
    }
}

/// The arguments of an operation of the application.
fn read<T: DeserializeOwned>(operation: &str, args: Map) -> Result<T> {
    serde_json::from_value(Value::Object(args))
        .map_err(|error| Error::bad_argument(format!("app.{operation}: {error}")))
}

/// What is known of an asset, and its bytes.
async fn read_asset(app: &Application, id: &str) -> Result<Value> {
    let (record, bytes) = app.read_asset(id).await?;
    if bytes.len() > MAX_ASSET {
        return Err(Error::bad_argument(format!(
            "the file \"{}\" has {} bytes, and a plugin reads up to {MAX_ASSET}",
            record.name,
            bytes.len()
        )));
    }
    Ok(json!({ "asset": record, "data": BASE64.encode(bytes) }))
}

async fn set_state(lent: &Lent, app: &Application, asked: protocol::SetState) -> Result<Value> {
    let value = asked.value.unwrap_or_default();
    let Some(session) = asked.session_id else {
        app.change_user_state(&lent.plugin, |held| {
            held.clone_from(&value);
            Ok(())
        })
        .await?;
        return Ok(Value::Null);
    };
    let value = Some(value).filter(|value| !value.is_null());
    // Calls of one plugin may set it side by side: the last one stays.
    for tries_left in (0..STATE_TRIES).rev() {
        let held = app.plugin_state(&session, &lent.plugin).await?;
        let version = held.map_or(0, |held| held.version);
        if version == 0 && value.is_none() {
            break;
        }
        match app.set_plugin_state(&session, &lent.plugin, version, value.clone()).await {
            Err(error) if error.class() == ErrorClass::Conflict && tries_left > 0 => {}
            done => {
                done?;
                break;
            }
        }
    }
    Ok(Value::Null)
}

/// Sends a request with the whole loop of tools, and gives its events: as they come where somebody
/// hears them, else all at the end.
async fn send(
    lent: &Lent,
    app: &Application,
    asked: protocol::SendRequest,
    tell: Option<&(dyn Fn(Value) + Send + Sync)>,
) -> Result<Value> {
    let protocol::SendRequest { session, agent_id, message, overrides, persist } = asked;
    let session = lent.take(session.0)?;
    let agent = agent_id.as_deref().or(session.agent_id());
    lent.check_agent(agent, "app.send_request")?;
    let session = match agent_id {
        Some(agent) => app.update_agent(&agent, &session, false).await?.session,
        None => session,
    };
    let overrides = overrides.unwrap_or_default();
    secrets::check_overrides(&overrides, None, &lent.rights.own)?;
    let message = match message {
        None => None,
        Some(Value::String(text)) => {
            Some(Message::from_json(json!({"role": "user", "content": text}))?)
        }
        Some(message) => Some(Message::from_json(message)?),
    };
    let request = Request {
        session: match persist {
            Some(true) => Target::Stored(session.id().to_owned()),
            _ => Target::Value(Box::new(session)),
        },
        message,
        overrides,
        persist,
        stream: tell.is_some(),
        ..Request::default()
    };
    let mut handle = app.send_request(request).await?;
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        let event = json_of(&*event)?;
        match tell {
            Some(tell) => tell(event),
            None => events.push(event),
        }
    }
    Ok(if tell.is_some() { Value::Null } else { Value::Array(events) })
}

/// A session with its agent and that agent's settings, as plugins get it.
fn given(lent: &Lent, loaded: &Loaded) -> Value {
    lent.trust_agent_of(&loaded.session);
    json!({
        "agent_id": loaded.session.agent_id(),
        "config": secrets::masked(&loaded.config, &lent.rights.own),
        "session": lent.give(&loaded.session),
    })
}

fn json_of<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("the result does not serialise: {error}")))
}

/// Arguments by name. Absent and `null` are the same.
struct Args(Map);

impl Args {
    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::wrong_type(format!("{key} must be a string"))),
        }
    }

    fn map(&mut self, key: &str) -> Result<Map> {
        match self.take(key) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(_) => Err(Error::wrong_type(format!("{key} must be a mapping"))),
        }
    }

    fn maps(&mut self, key: &str) -> Result<Vec<Map>> {
        let wrong = || Error::wrong_type(format!("{key} must be a list of mappings"));
        let Some(Value::Array(items)) = self.take(key) else { return Err(wrong()) };
        let maps = items.into_iter().map(|item| match item {
            Value::Object(map) => Ok(map),
            _ => Err(wrong()),
        });
        maps.collect()
    }

    fn session(&mut self, lent: &Lent) -> Result<Session> {
        match self.take("session") {
            Some(value @ Value::Object(_)) => lent.take(value),
            _ => Err(Error::wrong_type("session must be a session")),
        }
    }
}
