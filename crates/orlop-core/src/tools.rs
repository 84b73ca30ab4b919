//! Tools: the catalogue, previews, and running the calls a model made.

use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{DisplayInput, FormatResultInput, Hook, Tool, ToolInput};
use crate::interop::{ResultTarget, results::CORE_TEXT, schemas::is_free_form};
use crate::plugin::Registered;
use crate::resolve::{Resolution, UnusedTool};
use futures::stream::{self, BoxStream, Stream, StreamExt};
use orlop_types::{
    Error, InspectedCall, Map, Message, PayloadKind, Result, ToolDescriptor, ToolPart, ToolReport,
    Value,
};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What running tool calls yields.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolEvent {
    /// Progress of the running call: a mapping with `part`.
    Part(Value),
    /// The result of a call; one for each, in order.
    Message(Message),
}

/// A short text that says what a call is about to do.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ToolPreview {
    /// The id of the call.
    pub id: Option<String>,
    /// The text; empty if nobody has one.
    pub preview: String,
}

/// A call and the tool that takes it.
struct Handled {
    call: InspectedCall,
    tool: Arc<Registered<dyn Tool>>,
    schema: Map,
    prepared: Arc<Value>,
}

impl Core {
    /// The full tool catalogue for `config`, before feature policy.
    pub async fn available_tools(&self, config: &Config) -> Result<Arc<Vec<ToolDescriptor>>> {
        Ok(self.resolve(config).await?.available.clone())
    }

    /// The tools that the model does not get because others have their names.
    pub async fn unused_tools(&self, config: &Config) -> Result<Vec<UnusedTool>> {
        Ok(self.resolve(config).await?.unused.clone())
    }

    /// The tool schemas the model gets to see, after feature policy.
    pub async fn tool_schemas(&self, config: &Config) -> Result<Vec<Map>> {
        let resolution = self.resolve(config).await?;
        Ok(resolution.effective.iter().map(|tool| tool.schema.clone()).collect())
    }

    /// Runs calls one after another and yields their progress and, for each, one tool message.
    /// A call that fails gives a message that says so; it never ends the stream.
    pub fn iter_tool_messages(
        &self,
        calls: Vec<Map>,
        config: &Config,
        context: &CallContext,
    ) -> impl Stream<Item = Result<ToolEvent>> + Send + use<> {
        let (core, config, context) = (self.clone(), config.clone(), context.clone());
        stream::iter(calls)
            .then(move |call| {
                let (core, config, context) = (core.clone(), config.clone(), context.clone());
                async move { core.run_call(call, config, context).await }
            })
            .map(|started| match started {
                Ok(events) => events,
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .flatten()
    }

    /// Reads a call through the formats known for `config`.
    pub async fn inspect_tool_call(&self, call: &Map, config: &Config) -> Result<InspectedCall> {
        self.resolve(config).await?.interop.inspect_call(call)
    }

    /// The tool that takes a call, after feature policy.
    pub async fn tool_for(
        &self,
        call: &InspectedCall,
        config: &Config,
    ) -> Result<Option<ToolDescriptor>> {
        Ok(descriptor(&*self.resolve(config).await?, call).cloned())
    }

    /// Runs one call that was read before, possibly with another payload: its progress, then one
    /// tool message.
    pub fn run_tool_call(
        &self,
        call: InspectedCall,
        config: &Config,
        context: &CallContext,
    ) -> impl Stream<Item = Result<ToolEvent>> + Send + use<> {
        let (core, config, context) = (self.clone(), config.clone(), context.clone());
        stream::once(async move { core.run_inspected(call, config, context).await })
            .map(|started| match started {
                Ok(events) => events,
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .flatten()
    }

    /// Runs calls and gives exactly one tool message for each, in order.
    pub async fn execute_tool_calls(
        &self,
        calls: Vec<Map>,
        config: &Config,
        context: &CallContext,
    ) -> Result<Vec<Message>> {
        let mut messages = Vec::with_capacity(calls.len());
        for call in calls {
            let events = self.iter_tool_messages(vec![call.clone()], config, context);
            messages.push(self.answer_among(events, &call, config).await?);
        }
        Ok(messages)
    }

    /// The chunks of one call as the tool gives them, its report included. Nothing at all if no
    /// tool takes the call or it cannot start; a failure on the way is the caller's to see.
    pub async fn stream_tool_call(
        &self,
        call: &Map,
        config: &Config,
        context: &CallContext,
    ) -> Result<BoxStream<'static, Result<Value>>> {
        let nothing = || stream::empty().boxed();
        if self.plugins.tools.is_empty() {
            return Ok(nothing());
        }
        let resolution = self.resolve(config).await?;
        let Ok(inspected) = resolution.interop.inspect_call(call) else { return Ok(nothing()) };
        let Some(handled) = handler(&resolution, inspected) else { return Ok(nothing()) };
        let cx = self.context(&resolution, config, context);
        match self.open(&handled, &resolution, &cx) {
            Ok(parts) => Ok(parts.map(|part| part.map(|part| part.to_json())).boxed()),
            Err(error) => {
                tracing::debug!(target: "orlop::core", %error, "the tool could not start");
                Ok(nothing())
            }
        }
    }

    /// What a call is about to do, in a short text.
    pub async fn format_tool_call_preview(
        &self,
        call: &Map,
        config: &Config,
    ) -> Result<ToolPreview> {
        self.preview_tool_call(call, config, &CallContext::new("core")).await
    }

    /// The same, with what the layers above lend to the tool: one that looks at files can then say
    /// what would change in them.
    pub async fn preview_tool_call(
        &self,
        call: &Map,
        config: &Config,
        context: &CallContext,
    ) -> Result<ToolPreview> {
        let resolution = self.resolve(config).await?;
        let Ok(inspected) = resolution.interop.inspect_call(call) else {
            return Ok(ToolPreview { id: None, preview: String::new() });
        };
        let id = inspected.call_id.clone();
        let Some(handled) = handler(&resolution, inspected) else {
            return Ok(ToolPreview { id, preview: String::new() });
        };
        let cx = self.context(&resolution, config, context);
        let input = handled.input(&resolution);
        let preview = self
            .runner
            .call(&handled.tool, Hook::FormatToolCallPreview, |p| {
                p.format_tool_call_preview(&input, &cx)
            })
            .await?;
        Ok(ToolPreview { id, preview })
    }

    /// Previews of several calls, in order.
    pub async fn format_tool_call_previews(
        &self,
        calls: &[Map],
        config: &Config,
    ) -> Result<Vec<ToolPreview>> {
        let mut previews = Vec::with_capacity(calls.len());
        for call in calls {
            previews.push(self.format_tool_call_preview(call, config).await?);
        }
        Ok(previews)
    }

    /// The message among the events of `call`; where there is none, one that says so.
    async fn answer_among(
        &self,
        events: impl Stream<Item = Result<ToolEvent>>,
        call: &Map,
        config: &Config,
    ) -> Result<Message> {
        let mut events = std::pin::pin!(events);
        let mut last = None;
        while let Some(event) = events.next().await {
            if let ToolEvent::Message(message) = event? {
                last = Some(message);
            }
        }
        if let Some(message) = last {
            return Ok(message);
        }
        let resolution = self.resolve(config).await?;
        let call = resolution.interop.inspect_call(call).ok();
        Ok(nobody_handled(call.as_ref(), None))
    }

    async fn run_call(
        self,
        call: Map,
        config: Config,
        context: CallContext,
    ) -> Result<BoxStream<'static, Result<ToolEvent>>> {
        let resolution = self.resolve(&config).await?;
        match resolution.interop.inspect_call(&call) {
            Ok(inspected) => self.run_inspected(inspected, config, context).await,
            Err(_) => {
                let message = nobody_handled(None, None);
                Ok(stream::iter([Ok(ToolEvent::Message(message))]).boxed())
            }
        }
    }

    async fn run_inspected(
        self,
        inspected: InspectedCall,
        config: Config,
        context: CallContext,
    ) -> Result<BoxStream<'static, Result<ToolEvent>>> {
        let one = |message| stream::iter([Ok(ToolEvent::Message(message))]).boxed();
        let resolution = self.resolve(&config).await?;
        let Some(handled) = handler(&resolution, inspected.clone()) else {
            return Ok(one(nobody_handled(Some(&inspected), None)));
        };
        let cx = self.context(&resolution, &config, &context);
        let parts = match self.open(&handled, &resolution, &cx) {
            Ok(parts) => parts,
            Err(error) => return Ok(one(tool_failed(&handled, &error))),
        };
        let call = Call { core: self, resolution, cx, handled };
        let run = CallRun { call, parts, report: None, failure: None };
        Ok(stream::unfold(Some(run), CallRun::step).boxed())
    }

    /// The parts of a call: the tool's own stream, or its report as the only part.
    fn open(
        &self,
        handled: &Handled,
        resolution: &Resolution,
        cx: &Context,
    ) -> Result<BoxStream<'static, Result<ToolPart>>> {
        let input = handled.input(resolution);
        let tool = handled.tool.clone();
        let streamed = match tool.manifest.hooks.contains(Hook::StreamTool) {
            true => Some(Hook::StreamTool),
            false => tool.manifest.tells_progress.then_some(Hook::ExecuteTool),
        };
        if let Some(hook) = streamed {
            let opened = catch_unwind(AssertUnwindSafe(|| tool.plugin.stream_tool(&input, cx)))
                .map_err(|panic| {
                    crate::hooks::panicked(&*panic).in_hook(tool.name(), hook.name())
                })?;
            if let Some(parts) = opened {
                let guarded = AssertUnwindSafe(parts).catch_unwind();
                let parts = guarded
                    .map(|part| part.unwrap_or_else(|panic| Err(crate::hooks::panicked(&*panic))))
                    .boxed();
                return Ok(self.runner.watch(&tool, hook, parts));
            }
        }
        let (runner, cx) = (self.runner.clone(), cx.clone());
        let report = async move {
            let report =
                runner.call(&tool, Hook::ExecuteTool, |p| p.execute_tool(&input, &cx)).await?;
            Ok(ToolPart::Report(report))
        };
        Ok(stream::once(report).boxed())
    }
}

impl Handled {
    fn input(&self, resolution: &Resolution) -> ToolInput {
        ToolInput {
            tool_name: self.call.tool_name.clone().unwrap_or_default(),
            payload: self.call.payload.clone(),
            payload_kind: self.call.payload_kind,
            payload_format: self.call.payload_format.clone(),
            payload_metadata: self.call.payload_metadata.clone(),
            tool_call: self.call.raw.clone(),
            prepared: self.prepared.clone(),
            state: resolution.state.clone(),
        }
    }
}

/// The effective schema that has the name of the call. Where several have it, the one that fits
/// the form of the payload comes first.
fn descriptor<'a>(resolution: &'a Resolution, call: &InspectedCall) -> Option<&'a ToolDescriptor> {
    let name = call.tool_name.as_deref()?;
    let mut named = resolution.effective.iter().filter(|tool| tool.name() == Some(name));
    let is_text = call.payload_kind == PayloadKind::Text;
    let fitting = named.clone().find(|tool| is_free_form(&tool.schema) == is_text);
    fitting.or_else(|| named.next())
}

/// The enabled tool that takes the call.
fn handler(resolution: &Resolution, call: InspectedCall) -> Option<Handled> {
    let descriptor = descriptor(resolution, &call)?;
    let held = resolution.tools.iter().find(|held| held.tool.name() == descriptor.plugin)?;
    Some(Handled {
        schema: descriptor.schema.clone(),
        tool: held.tool.clone(),
        prepared: held.prepared.clone(),
        call,
    })
}

/// One call and everything that turning its report into a message needs.
struct Call {
    core: Core,
    resolution: Arc<Resolution>,
    cx: Context,
    handled: Handled,
}

/// One call while its tool runs.
struct CallRun {
    call: Call,
    parts: BoxStream<'static, Result<ToolPart>>,
    report: Option<ToolReport>,
    failure: Option<Error>,
}

impl CallRun {
    /// The next event; after the tool message there is none.
    async fn step(run: Option<Self>) -> Option<(Result<ToolEvent>, Option<Self>)> {
        let mut run = run?;
        loop {
            match run.parts.next().await {
                Some(Ok(ToolPart::Part(part))) => {
                    let part = match part {
                        Value::Object(fields) if fields.contains_key("part") => {
                            Value::Object(fields)
                        }
                        other => json!({ "part": other }),
                    };
                    return Some((Ok(ToolEvent::Part(part)), Some(run)));
                }
                Some(Ok(ToolPart::Report(report))) => run.report = Some(report),
                Some(Err(error)) => {
                    tracing::error!(target: "orlop::core", tool = run.call.handled.tool.name(), %error, "a tool failed");
                    run.failure = Some(error);
                    break;
                }
                None => break,
            }
        }
        let message = match (run.report.take(), &run.failure) {
            (Some(report), _) => run.call.answered(report).await,
            (None, Some(error)) => tool_failed(&run.call.handled, error),
            (None, None) => {
                let handled = &run.call.handled;
                nobody_handled(Some(&handled.call), Some(handled.tool.name()))
            }
        };
        Some((Ok(ToolEvent::Message(message)), None))
    }
}

impl Call {
    /// The tool message for a report.
    async fn answered(&self, report: ToolReport) -> Message {
        let interop = &self.resolution.interop;
        let failed = !report.success;
        let parts = attached(&report);
        let formatted = self.formatted(&report).await;
        let inspected = interop.inspect_result(&formatted);
        let mut display = self.display(&inspected.text, report).await;
        if is_echo(display.as_ref(), &inspected.text) && inspected.display.is_some() {
            display = inspected.display.clone();
        }
        let target = ResultTarget::named("core.tool_result");
        let structured = match formatted {
            Value::Object(fields) if inspected.format_id != CORE_TEXT => fields,
            other => match interop.convert_result(&other, &target, &[CORE_TEXT]) {
                Some(Value::Object(fields)) => fields,
                _ => Map::from_iter([
                    ("type".to_owned(), "tool_result".into()),
                    ("text".to_owned(), inspected.text.into()),
                ]),
            },
        };
        let canonical = interop.inspect_result(&Value::Object(structured.clone()));
        let mut metadata = call_metadata(Some(&self.handled.call));
        metadata.insert("tool_schema".into(), Value::Object(self.handled.schema.clone()));
        metadata.insert("tool_plugin".into(), self.handled.tool.name().into());
        if failed {
            metadata.insert("tool_error".into(), true.into());
        }
        if let Some(display) = display.or(canonical.display) {
            metadata.insert("display".into(), Value::Object(display));
        }
        Message::tool(canonical.text)
            .with_metadata(metadata)
            .with_tool_result(structured)
            .with_multipart_content(parts)
    }

    /// What the model reads: the tool's own form, else the report's output or error.
    async fn formatted(&self, report: &ToolReport) -> Value {
        let input =
            FormatResultInput { result: report.clone(), state: self.resolution.state.clone() };
        let tool = &self.handled.tool;
        let own = self
            .core
            .runner
            .call(tool, Hook::FormatToolResult, |p| p.format_tool_result(&input, &self.cx))
            .await;
        match own {
            Ok(Some(value)) => value,
            Err(error) => format!("Tool formatting error: {}", error.message()).into(),
            Ok(None) => {
                let key = if report.success { "output" } else { "error" };
                match report.data.get(key) {
                    Some(Value::String(text)) => text.as_str().into(),
                    Some(value) => value.to_string().into(),
                    None => Value::Object(report.data.clone()).to_string().into(),
                }
            }
        }
    }

    /// What a person sees: the tool's own display, an echo of the text if it has none to give, or
    /// nothing if it failed to.
    async fn display(&self, text: &str, report: ToolReport) -> Option<Map> {
        let echo = || json!({ "type": "text", "content": text }).as_object().cloned();
        let tool = &self.handled.tool;
        if !tool.manifest.hooks.contains(Hook::ToDisplayFormat) {
            return echo();
        }
        let input = DisplayInput {
            text: text.to_owned(),
            result: report,
            state: self.resolution.state.clone(),
        };
        let own = self
            .core
            .runner
            .try_call(tool, Hook::ToDisplayFormat, |p| p.to_display_format(&input, &self.cx))
            .await;
        match own {
            Ok(None) => echo(),
            Ok(Some(Value::Object(display))) => Some(display),
            Ok(Some(_)) => None,
            Err(error) => {
                tracing::debug!(target: "orlop::core", %error, "no display");
                None
            }
        }
    }
}

/// What a tool adds to its text: pictures and other parts, under `multipart_content`.
fn attached(report: &ToolReport) -> Vec<Map> {
    let parts = report.data.get("multipart_content").and_then(Value::as_array);
    parts.into_iter().flatten().filter_map(Value::as_object).cloned().collect()
}

/// Whether a display says no more than the text.
fn is_echo(display: Option<&Map>, text: &str) -> bool {
    display.is_some_and(|display| {
        display.get("type").and_then(Value::as_str) == Some("text")
            && display.get("content").and_then(Value::as_str) == Some(text)
            && !display.contains_key("single_line")
    })
}

fn call_metadata(call: Option<&InspectedCall>) -> Map {
    Map::from_iter([
        ("tool_call_id".to_owned(), call.and_then(|call| call.call_id.clone()).into()),
        ("tool_name".to_owned(), call.and_then(|call| call.tool_name.clone()).into()),
    ])
}

/// The tool message of a call that was not run, or whose outcome is not known.
pub fn closed_tool_message(call: &InspectedCall, text: impl Into<String>) -> Message {
    let mut metadata = call_metadata(Some(call));
    metadata.insert("tool_error".into(), true.into());
    Message::tool(text.into()).with_metadata(metadata)
}

fn nobody_handled(call: Option<&InspectedCall>, plugin: Option<&str>) -> Message {
    let name = call.and_then(|call| call.tool_name.as_deref()).unwrap_or("unknown");
    let mut metadata = call_metadata(call);
    if let Some(plugin) = plugin {
        metadata.insert("tool_plugin".into(), plugin.into());
    }
    Message::tool(format!("Error: no tool handled '{name}'")).with_metadata(metadata)
}

fn tool_failed(handled: &Handled, error: &Error) -> Message {
    let mut metadata = call_metadata(Some(&handled.call));
    metadata.insert("tool_plugin".into(), handled.tool.name().into());
    Message::tool(format!("Tool error: {}", error.message())).with_metadata(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;

    #[test] // F-32
    fn a_call_without_any_message_gets_one_that_says_so() {
        for (call, text, id) in [
            (json!({"id": "c1", "name": "read"}), "Error: no tool handled 'read'", json!("c1")),
            (json!({"garbage": 1}), "Error: no tool handled 'unknown'", Value::Null),
        ] {
            let call = call.as_object().cloned().unwrap_or_default();
            let (core, config) = (Core::new(), Config::empty());
            let answer = core.answer_among(stream::empty(), &call, &config);
            let message = block_on(answer).unwrap();
            let name = call.get("name").cloned().unwrap_or_default();
            let metadata = json!({ "tool_call_id": id, "tool_name": name });
            assert_eq!(message.text(), text);
            assert_eq!(message.metadata(), metadata.as_object().unwrap());
        }
    }
}
