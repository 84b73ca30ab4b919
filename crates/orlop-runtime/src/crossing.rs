//! How the input of a hook is written: lists as far as they are wanted, sessions with a handle,
//! configurations without secrets.

use crate::call::Lent;
use crate::description::Described;
use crate::lists::{List, Part, Slots};
use crate::secrets;
use orlop_core::hooks::*;
use orlop_core::types::Seq;
use orlop_core::types::protocol::{PluginDescription, Wanted};
use orlop_core::{Config, Context, Error, Map, NativeItem, Result, Session, Value};
use serde::Serialize;
use serde_json::json;

/// Writes one call.
pub(crate) struct Writer<'a> {
    pub(crate) text: Vec<u8>,
    pub(crate) slots: &'a mut Slots,
    pub(crate) lent: &'a Lent,
    pub(crate) plugin: &'a PluginDescription,
    pub(crate) hook: Hook,
    /// Whose lists these are.
    pub(crate) owner: &'a str,
}

impl Writer<'_> {
    /// The whole line of a hook call.
    pub(crate) fn hook(
        mut self,
        id: u64,
        input: &dyn Crosses,
        cx: Option<&Context>,
    ) -> Result<Vec<u8>> {
        let open = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"hook\",\"params\":{{\"call\":{id}"
        );
        self.text.extend_from_slice(open.as_bytes());
        self.value("plugin", &self.plugin.name)?;
        self.value("kind", &self.plugin.kind)?;
        self.value("hook", self.hook.name())?;
        self.mapping("args", |writer| input.cross(writer))?;
        self.mapping("context", |writer| writer.context(cx))?;
        self.text.extend_from_slice(b"}}");
        Ok(self.text)
    }

    fn key(&mut self, key: &str) {
        if self.text.last() != Some(&b'{') {
            self.text.push(b',');
        }
        self.text.push(b'"');
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn mapping(&mut self, key: &str, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.key(key);
        self.text.push(b'{');
        write(self)?;
        self.text.push(b'}');
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        self.key(key);
        serde_json::to_writer(&mut self.text, value)
            .map_err(|error| Error::internal(format!("{key} cannot be written: {error}")))
    }

    fn masked(&self, config: &Config) -> Value {
        match self.plugin.provides(config) {
            true => Value::Object(config.values().clone()),
            false => secrets::masked(config, &self.lent.rights.own),
        }
    }

    fn config(&mut self, key: &str, config: &Config) -> Result<()> {
        let config = self.masked(config);
        self.value(key, &config)
    }

    fn optional_config(&mut self, key: &str, config: &Option<Config>) -> Result<()> {
        let config = config.as_ref().map(|config| self.masked(config));
        self.value(key, &config)
    }

    fn state(&mut self, key: &str, state: &State) -> Result<()> {
        self.mapping(key, |writer| {
            writer.config("config", &state.config)?;
            writer.value("request", &state.request)?;
            if let Some(patch) = &state.session_metadata_patch {
                writer.value("session_metadata_patch", patch)?;
            }
            state.values.iter().try_for_each(|(key, value)| {
                writer.key_of(key)?;
                writer.raw(value)
            })
        })
    }

    /// A key that a plugin chose, with whatever is in it.
    fn key_of(&mut self, key: &str) -> Result<()> {
        if self.text.last() != Some(&b'{') {
            self.text.push(b',');
        }
        self.raw(key)?;
        self.text.push(b':');
        Ok(())
    }

    fn raw<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        serde_json::to_writer(&mut self.text, value)
            .map_err(|error| Error::internal(format!("a value cannot be written: {error}")))
    }

    /// A list as far as the plugin wants it; `usual` if it does not say.
    fn list(&mut self, key: &'static str, list: impl Into<List>, usual: Wanted) -> Result<()> {
        let wanted = self.plugin.wanted(self.hook).unwrap_or(usual);
        let part = self.slots.part(self.owner, key, list.into(), wanted);
        self.value(key, &part)
    }

    fn native(&mut self, key: &'static str, list: &Seq<NativeItem>) -> Result<()> {
        self.list(key, list, Wanted::Full)
    }

    /// A list that is about this call only.
    fn whole(&mut self, key: &'static str, list: &Seq<NativeItem>) -> Result<()> {
        self.value(key, &Part::from(list.into(), 0))
    }

    fn session(&mut self, key: &str, session: &Session) -> Result<()> {
        let handle = self.lent.hold(session);
        self.mapping(key, |writer| {
            writer.mapping("$session", |writer| {
                writer.value("handle", &handle)?;
                writer.value("session_id", session.id())?;
                writer.value("metadata", session.metadata())?;
                writer.list("messages", session.messages(), Wanted::Full)?;
                match session.native() {
                    Some(native) => {
                        writer.value("native_format", &native.format())?;
                        writer.list("native_messages", native.items(), Wanted::Full)
                    }
                    None => writer.value("native_messages", &Value::Null),
                }
            })
        })
    }

    fn context(&mut self, cx: Option<&Context>) -> Result<()> {
        let Some(cx) = cx else { return Ok(()) };
        self.value("trigger_source", &cx.trigger_source())?;
        self.value("handles", &cx.handles())?;
        for (key, value) in [("lifecycle", cx.lifecycle()), ("request_id", cx.request_id())] {
            if let Some(value) = value {
                self.value(key, value)?;
            }
        }
        if let Some(session) = cx.session() {
            self.value("session_id", session.id())?;
        }
        self.value("stream", &cx.stream())?;
        let base = cx.base_config();
        for (key, value) in cx.told() {
            if !matches!(&*key, "base_config" | "request_id" | "config" | "session") {
                self.key_of(&key)?;
                self.raw(&value)?;
            }
        }
        let whole = matches!(
            self.hook,
            Hook::IsEnabled
                | Hook::ExtensionExecuteAction
                | Hook::FeatureExecuteAction
                | Hook::ApplicationExecuteAction
        );
        if !whole {
            return Ok(());
        }
        self.config("config", cx.config())?;
        self.config("base_config", &base)?;
        self.value("request_context", &cx.request_context())?;
        self.value("request_runtime", &cx.request_runtime())?;
        // Actions of the core's plugins have the session among their arguments.
        if let (Hook::ApplicationExecuteAction, Some(session)) = (self.hook, cx.session()) {
            self.session("session", session)?;
        }
        if let Some(response) = cx.response() {
            self.value("final_messages", &response.final_messages)?;
            self.whole("native_final_messages", &response.native_final_messages)?;
            self.native("native_messages", &response.native_messages)?;
            self.value("turn_native_start_index", &response.turn_native_start_index)?;
        }
        Ok(())
    }
}

/// What can be the input of a hook in another process.
pub(crate) trait Crosses: Send + Sync {
    /// Writes the fields.
    fn cross(&self, writer: &mut Writer<'_>) -> Result<()>;
}

/// An input that is written already.
impl Crosses for Map {
    fn cross(&self, writer: &mut Writer<'_>) -> Result<()> {
        self.iter().try_for_each(|(key, value)| {
            writer.key_of(key)?;
            writer.raw(value)
        })
    }
}

macro_rules! crosses {
    ($($input:ty { $($field:ident: $how:ident),* })*) => {$(
        impl Crosses for $input {
            fn cross(&self, writer: &mut Writer<'_>) -> Result<()> {
                $( writer.$how(stringify!($field), &self.$field)?; )*
                let _ = writer;
                Ok(())
            }
        }
    )*};
}

crosses! {
    InitInput { config: config, state: state }
    TagsInput { config: config, models: value }
    EnabledInput { config: config, tags: value, models: value }
    UiInput { config: config, tags: value, models: value, available_tools: value, tools: value }
    ConfigInput { config: config }
    RequestInput { native_messages: native, state: state }
    ModelRequest { native_messages: native, state: state, request_id: value, stream: value }
    ApplicationInitInput { config: config }
    ApplicationUiInput { state: value, config: optional_config, tags: value, models: value }
    ApplicationActionsInput { state: value }
    ApplicationActionInput { action_id: value, params: value, state: value }
    HostInput { config: config }
    InterceptInput { request: value, text: value, files: value, headers: value }
    AttachmentInput { request: value, files: value }
    ContextInput { request: value, text: value, step: value }
    ToolCallInfo { request: value, call_id: value, tool_name: value, input: value }
    ToolResultInfo { request: value, call_id: value, tool_name: value, input: value, result: value, failed: value }
    RequestInfo { kind: value, tenant_id: value, user_id: value, session_id: value, agent_id: value, request_id: value }
    CancelInput { request_id: value }
    ActionsInput { state: state }
    ActionInput { action_id: value, session: session, native_messages: native, params: value, state: state, revision: value }
    AttachmentPartsInput { config: config, file: value }
    CompletionsInput { config: config, text: value }
    ApplyCompletionInput { config: config, text: value, completion: value }
    ToolPolicyInput { config: config, tools: value }
    ToolSchemasInput { config: config, state: state }
    PrepareInput { config: config, state: state, schemas: value }
    ToolInput {
        tool_name: value, payload: value, payload_kind: value, payload_format: value,
        payload_metadata: value, tool_call: value, prepared: value, state: state
    }
    FormatResultInput { result: value, state: state }
    DisplayInput { text: value, result: value, state: state }
}

impl Crosses for ToNativeInput {
    fn cross(&self, writer: &mut Writer<'_>) -> Result<()> {
        writer.value("messages", &json!({"$list": {"skip": 0, "items": self.messages}}))?;
        writer.native("native_messages", &self.native_messages)?;
        writer.state("state", &self.state)
    }
}

impl Crosses for FromNativeInput {
    fn cross(&self, writer: &mut Writer<'_>) -> Result<()> {
        writer.native("native_messages", &self.native_messages)?;
        writer.list("messages", &self.messages, Wanted::Full)?;
        writer.state("state", &self.state)
    }
}

impl Crosses for FinalizeInput {
    fn cross(&self, writer: &mut Writer<'_>) -> Result<()> {
        writer.whole("final_messages", &self.final_messages)?;
        // What this turn added is the usual want.
        let added = Wanted::Tail(self.final_messages.len());
        writer.list("native_messages", &self.native_messages, added)?;
        writer.state("state", &self.state)
    }
}

/// One chunk with the state it belongs to; no state if it is the one of before.
pub(crate) struct ChunkInput<'a> {
    pub(crate) state: Option<&'a State>,
    pub(crate) chunk: &'a Chunk,
}

impl Crosses for ChunkInput<'_> {
    fn cross(&self, writer: &mut Writer<'_>) -> Result<()> {
        match self.state {
            Some(state) => writer.state("input", state)?,
            None => writer.value("input", &Value::Null)?,
        }
        writer.value("chunk", self.chunk)
    }
}
