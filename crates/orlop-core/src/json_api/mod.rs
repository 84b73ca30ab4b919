//! The core for callers that speak JSON: plugins in other processes, and hosts that pass requests
//! on. Here, and only here, values of the wrong type can arrive.

mod args;

use crate::actions::ActionCall;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::State;
use crate::request::RequestOptions;
use crate::session::{
    NewMessage, Place, Session, Slice, extract_tool_calls, patch_native_metadata,
};
use args::Args;
use orlop_types::{Error, Map, Message, NativeItem, Result, Seq, Value};
use serde::Serialize;
use serde_json::json;

/// How sessions cross to a caller that speaks JSON. Whole, unless the caller has a shorter way.
pub trait Sessions: Send + Sync {
    /// Reads a session that the caller sent.
    fn take(&self, value: Value) -> Result<Session> {
        Session::from_json(value)
    }

    /// What the caller gets of a session.
    fn give(&self, session: &Session) -> Value {
        session.to_json()
    }
}

/// Sessions cross whole, in their JSON form.
pub struct Whole;

impl Sessions for Whole {}

impl Core {
    /// Calls an operation of the core by its name with arguments as JSON, for instance
    /// `slice_session` with `{"session": ..., "config": ..., "start": 0, "end": 2}`.
    ///
    /// A value of the wrong type is refused as such; an operation that does not exist is not
    /// found.
    pub async fn invoke(&self, method: &str, args: Map, context: &CallContext) -> Result<Value> {
        self.invoke_with(method, args, context, &Whole).await
    }

    /// The same for a caller that has its own way to name sessions.
    pub async fn invoke_with(
        &self,
        method: &str,
        args: Map,
        context: &CallContext,
        sessions: &dyn Sessions,
    ) -> Result<Value> {
        let mut args = Args { values: args, sessions };
        match method {
            "create_session" => {
                Ok(sessions.give(&self.create_session(args.text("session_id")?.as_deref())))
            }
            "add_message" => Ok(sessions.give(&self.invoke_add(&mut args, context).await?)),
            "modify_message" => {
                let session = args.session("session")?;
                let index = args
                    .integer("index")?
                    .ok_or_else(|| Error::bad_argument("index must be given"))?;
                let content = args.take("content").unwrap_or_default();
                let config = args.optional_config()?.unwrap_or_default();
                let modified = self.modify_message(&session, index, content, &config, context);
                Ok(sessions.give(&modified.await?))
            }
            "slice_session" => self.invoke_slice(&mut args).await,
            "fork_session" => {
                let session = args.session("session")?;
                let upto = args.integer("upto_index")?;
                let upto = upto.ok_or_else(|| Error::bad_argument("upto_index must be given"))?;
                let id = args.text("new_session_id")?;
                let config = args.optional_config()?;
                let fork = self.fork_session(&session, upto, id.as_deref(), config.as_ref()).await;
                Ok(sessions.give(&fork))
            }
            "join_sessions" => {
                let (prefix, suffix) = (args.session("prefix")?, args.session("suffix")?);
                let config = args.optional_config()?;
                Ok(sessions.give(&self.join_sessions(&prefix, &suffix, config.as_ref()).await?))
            }
            "rebuild_native_history" => {
                let session = args.session("session")?;
                let config = args.optional_config()?;
                let (start, end) = (args.integer("start")?, args.integer("end")?);
                let config = config.as_ref();
                let rebuilt = self.rebuild_native_history(&session, config, start, end, context);
                Ok(sessions.give(&rebuilt.await?))
            }
            "export_session" => {
                let format = args.text("format")?;
                let session = args.session("session")?;
                Ok(session.export(format.as_deref().unwrap_or("json"))?.into())
            }
            "import_session" => {
                let format = args.text("format")?;
                let data = args.text("data")?.unwrap_or_default();
                let imported = Session::import(&data, format.as_deref().unwrap_or("json"))?;
                Ok(sessions.give(&imported))
            }
            "patch_native_internal_metadata" => self.invoke_patch(&mut args),
            "core_messages_to_native" => {
                let messages = args.messages("core_messages")?;
                let config = args.config()?;
                json_of(&self.core_messages_to_native(messages, &config, context).await?)
            }
            "get_plugins_for_config" => json_of(&self.plugins_for(&args.config()?).await?),
            "send_request" => {
                let session = args.session("session")?;
                let options = RequestOptions {
                    request_id: args.text("request_id")?,
                    cancellation: context.cancellation().cloned(),
                    context: context.clone(),
                    preface: Vec::new(),
                    without_tools: false,
                    caller_tools: Vec::new(),
                };
                let response = self.send_request(&session, &args.config()?, options).await?;
                let session = sessions.give(&response.session);
                Ok(json!({ "session": session, "messages": response.messages }))
            }
            "initialize_action_request" => self.invoke_initialise(&mut args, context).await,
            "get_available_tools" => json_of(&*self.available_tools(&args.config()?).await?),
            "get_tool_schemas" => json_of(&self.tool_schemas(&args.config()?).await?),
            "extract_tool_calls_from_messages" => {
                let messages =
                    args.list("messages")?.into_iter().filter_map(|m| Message::from_json(m).ok());
                json_of(&extract_tool_calls(&messages.collect::<Vec<_>>()))
            }
            "execute_tool_calls" => {
                let calls = args.mappings("tool_calls")?;
                json_of(&self.execute_tool_calls(calls, &args.config()?, context).await?)
            }
            "format_tool_call_previews" => {
                let calls = args.mappings("tool_calls")?;
                json_of(&self.format_tool_call_previews(&calls, &args.config()?).await?)
            }
            "get_session_actions" => json_of(&self.session_actions(&args.config()?).await?),
            "execute_session_action" => self.invoke_action(&mut args, context).await,
            "execute_lifecycle_actions" => {
                let session = args.session("session")?;
                let config = args.config()?;
                let trigger = args.name("trigger")?;
                let run =
                    self.execute_lifecycle_actions(&session, &config, &trigger, context).await?;
                Ok(json!({ "session": sessions.give(&run.session), "results": run.results }))
            }
            "get_config_schema" => json_of(&self.config_schema()),
            "get_ui_schema" => json_of(&self.ui_schema(&args.config()?).await?),
            "get_completions" => {
                let text = args.text("text")?.unwrap_or_default();
                json_of(&self.completions(&args.config()?, &text).await?)
            }
            "apply_feature_completion" => {
                let text = args.text("text")?.unwrap_or_default();
                let completion = args.mapping("completion")?;
                Ok(self.apply_completion(&args.config()?, &text, completion).await?.into())
            }
            other => Err(Error::not_found(format!("the core has no operation \"{other}\""))),
        }
    }

    async fn invoke_add(&self, args: &mut Args<'_>, context: &CallContext) -> Result<Session> {
        let session = args.session("session")?;
        let config = args.optional_config()?.unwrap_or_default();
        let place =
            Place::from_after_index(args.integer("after_index")?, session.messages().len())?;
        let fields =
            ["role", "content", "metadata", "multipartContent", "multipart_content", "tool_result"];
        let message: Map =
            fields.iter().filter_map(|key| Some(((*key).to_owned(), args.take(key)?))).collect();
        let message = Message::from_json(Value::Object(message))?;
        let new = NewMessage::from(message).at(place).with_context(context.clone());
        self.add_message(&session, new, &config).await
    }

    async fn invoke_slice(&self, args: &mut Args<'_>) -> Result<Value> {
        let session = args.session("session")?;
        let config = args.optional_config()?;
        let slice = Slice {
            start: args.integer("start")?,
            end: args.integer("end")?,
            remove: args.integers("remove_indices"),
        };
        if args.flag("return_removed") {
            let cut = self.split_session(&session, slice, config.as_ref()).await;
            let give = |session: &Session| args.sessions.give(session);
            return Ok(json!([give(&cut.kept), give(&cut.removed)]));
        }
        Ok(args.sessions.give(&self.slice_session(&session, slice, config.as_ref()).await))
    }

    fn invoke_patch(&self, args: &mut Args<'_>) -> Result<Value> {
        let native = args.list("native_messages")?;
        let patch = match args.take("patch") {
            Some(Value::Object(patch)) => patch,
            _ => return Ok(native.into()),
        };
        let items: Seq<NativeItem> = native.iter().cloned().map(NativeItem::from).collect();
        let patched = patch_native_metadata(&items, &args.integers("indices"), &patch);
        // What was not patched goes back exactly as it came.
        let changed = items.iter().zip(patched.iter());
        let changed = native.into_iter().zip(changed).map(|(value, (before, after))| {
            if after.ptr_eq(before) { value } else { after.to_json() }
        });
        Ok(changed.collect())
    }

    async fn invoke_initialise(&self, args: &mut Args<'_>, context: &CallContext) -> Result<Value> {
        let native = args.native("native_messages")?;
        let state = State::from_json(args.mapping("state")?);
        let runtime = args.mapping("request_runtime")?;
        let request_context = args.mapping("request_context")?;
        if runtime.get("provider").is_none_or(Value::is_null) {
            return Err(Error::bad_argument("request_runtime must include provider"));
        }
        let features = match runtime.get("features") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) => return Err(Error::wrong_type("request_runtime features must be a list")),
        };
        let config = match request_context.get("config") {
            Some(Value::Object(values)) => crate::Config::new(values.clone()),
            _ => state.config.clone(),
        };
        let cx = self.runtime_context(&config, &features, context).await?;
        let (native, state) = self.initialize_action_request(native, state, &cx).await?;
        Ok(json!([native, state]))
    }

    /// A context whose features are only those named.
    async fn runtime_context(
        &self,
        config: &crate::Config,
        features: &[&str],
        context: &CallContext,
    ) -> Result<Context> {
        let mut core = self.clone();
        let plugins = std::sync::Arc::make_mut(&mut core.plugins);
        plugins.features.retain(|feature| features.contains(&feature.name()));
        core.caches = Default::default();
        let resolution = core.resolve(config).await?;
        Ok(core.context(&resolution, config, context))
    }

    async fn invoke_action(&self, args: &mut Args<'_>, context: &CallContext) -> Result<Value> {
        let session = args.session("session")?;
        let config = args.config()?;
        let (plugin, action) = (args.name("plugin_id")?, args.name("action_id")?);
        let params = match args.take("params") {
            Some(Value::Object(params)) => params,
            _ => return Err(Error::bad_argument("params must be a mapping of action inputs")),
        };
        let call = ActionCall { plugin, action, params };
        let (session, result) =
            self.execute_session_action(&session, &config, call, context).await?;
        Ok(json!([args.sessions.give(&session), result]))
    }
}

fn json_of<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("the result does not serialise: {error}")))
}
