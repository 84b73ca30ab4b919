//! A server as a tool plugin of its name.

use crate::call::Call;
use crate::report;
use crate::server::Server;
use crate::words;
use futures::stream::{self, BoxStream, StreamExt};
use orlop_core::hooks::{
    EnabledInput, FormatResultInput, Hook, HookSet, InitInput, StateChange, ToolInput,
    ToolSchemasInput,
};
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{Answer, Context, Error, Manifest, Map, Plugin, Result, Tool, Value};
use std::sync::Arc;

/// The tools of a server.
pub(crate) struct ServerTools(pub(crate) Arc<Server>);

impl Plugin for ServerTools {
    fn manifest(&self) -> Manifest {
        let manifest = Manifest::new(self.0.name(), env!("CARGO_PKG_VERSION")).yielding();
        manifest.without_models().only(HookSet::of(&[
            Hook::Init,
            Hook::IsEnabled,
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::StreamTool,
            Hook::FormatToolResult,
            Hook::FormatToolCallPreview,
        ]))
    }

    /// All servers are looked after before the first is waited for.
    fn init<'a>(&'a self, _: &'a InitInput, _: &'a Context) -> Answer<'a, StateChange> {
        self.0.look_after();
        Answer::default()
    }

    /// A session or a request may do without a server that its agent has.
    fn is_enabled<'a>(
        &'a self,
        input: &'a EnabledInput,
        _: &'a Context,
    ) -> Answer<'a, Option<bool>> {
        let section = input.config.get(self.0.name());
        let enabled = section.and_then(|section| section.get("enabled")).and_then(Value::as_bool);
        Answer::ok(enabled.filter(|enabled| !enabled))
    }
}

impl Tool for ServerTools {
    fn tools_version(&self) -> u64 {
        self.0.version()
    }

    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        if let Some(known) = self.0.known() {
            return Answer::ok(known.schemas());
        }
        Answer::later(async {
            let known = self.0.catalogue().await;
            Ok(known.map(|known| known.schemas()).unwrap_or_default())
        })
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move {
            let mut last = ToolReport::failed("the call was lost");
            let Some(mut parts) = self.stream_tool(input, cx) else { return Ok(last) };
            while let Some(part) = parts.next().await {
                if let ToolPart::Report(report) = part? {
                    last = report;
                }
            }
            Ok(last)
        })
    }

    fn stream_tool(
        &self,
        input: &ToolInput,
        _: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        let (server, name) = (self.0.clone(), input.tool_name.clone());
        let payload = input.payload.clone();
        let begun = async move {
            match begin(server, &name, payload).await {
                Ok(call) => stream::unfold(Some(call), |call| async move {
                    let (part, rest) = call?.next().await;
                    Some((Ok(part), rest))
                })
                .boxed(),
                Err(error) => {
                    let report = ToolPart::Report(ToolReport::failed(error.message()));
                    stream::iter([Ok(report)]).boxed()
                }
            }
        };
        Some(stream::once(begun).flatten().boxed())
    }

    fn format_tool_result<'a>(
        &'a self,
        input: &'a FormatResultInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Value>> {
        Answer::ok(report::formatted(&input.result))
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let known = self.0.known();
        let tool = known.as_ref().and_then(|known| known.tool(&input.tool_name));
        let tool = tool.map_or(input.tool_name.as_str(), |tool| &tool.original);
        let arguments = match &input.payload {
            Value::Object(arguments) if arguments.is_empty() => String::new(),
            payload => format!(" {payload}"),
        };
        Answer::ok(words::line(&format!("{}: {tool}{arguments}", self.0.name()), 600))
    }
}

async fn begin(server: Arc<Server>, name: &str, payload: Value) -> Result<Call> {
    let known = server.known();
    let tool = known.as_ref().and_then(|known| known.tool(name));
    let tool = tool.ok_or_else(|| server.failure(&format!("has no tool \"{name}\" any more")))?;
    let arguments = match payload {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        _ => return Err(Error::bad_argument("the arguments are no JSON object; send one")),
    };
    let original = tool.original.clone();
    Call::begin(server, &original, arguments).await
}
