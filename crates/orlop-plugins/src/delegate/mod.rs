//! The tool `delegate`: another agent does a part of the work in a session of its own. It goes
//! through a request like any other, so hooks and policy hold inside, and its events are shown
//! inside the call.

mod child;
mod order;
mod settings;
mod sub_sessions;

pub use sub_sessions::SubSessions;

use crate::arguments::{schema, shortened};
use child::{Child, Next};
use futures::stream::{self, BoxStream, StreamExt};
use order::{Order, Places};
use orlop_core::hooks::{DisplayInput, Hook, HookSet, ToolInput, ToolSchemasInput};
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{Answer, Context, Error, Manifest, Map, Plugin, Result, Tool, Value};
use serde_json::json;
use settings::Settings;

/// The tool `delegate`.
#[derive(Default)]
pub struct Delegate {
    places: Places,
}

impl Plugin for Delegate {
    fn manifest(&self) -> Manifest {
        let manifest = Manifest::new("delegate", "1.0.0").without_models().only(HookSet::of(&[
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::StreamTool,
            Hook::ToDisplayFormat,
            Hook::FormatToolCallPreview,
        ]));
        settings::described(manifest)
    }
}

impl Tool for Delegate {
    fn get_tool_schemas<'a>(
        &'a self,
        input: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let agents = Settings::of(&input.config).agents;
        let mut agent = json!({
            "type": "string",
            "description": "The agent that does it; without it, one like you with an empty history.",
        });
        if let Some(agents) = agents {
            agent["enum"] = agents.into();
        }
        Answer::ok(vec![schema(json!({
            "name": "delegate",
            "description": "Gives a part of the work to another agent, which works in a session of its own and reports back. Use it for work that needs much reading but a short answer, or for parts that do not depend on each other: several calls in one answer run side by side. The other agent sees nothing of this conversation, so say everything it needs to know.",
            "parameters": {
                "type": "object",
                "properties": {
                    "task": { "type": "string", "description": "What to do, and what to report." },
                    "context": { "type": "string", "description": "What the agent needs to know: files, findings, decisions." },
                    "agent": agent,
                },
                "required": ["task"],
            },
            "annotations": { "access": "none", "idempotent": true, "concurrent": true },
        }))])
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        let mut parts = self.run(input, cx);
        Answer::later(async move {
            while let Some(part) = parts.next().await {
                if let ToolPart::Report(report) = part? {
                    return Ok(report);
                }
            }
            Err(Error::internal("the other agent ended without a report"))
        })
    }

    fn stream_tool(
        &self,
        input: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        Some(self.run(input, cx))
    }

    fn to_display_format<'a>(
        &'a self,
        input: &'a DisplayInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Value>> {
        let data = &input.result.data;
        let display = data.get("session_id").map(|session| {
            json!({
                "type": "delegate", "agent": data.get("agent"), "session_id": session,
                "usage": data.get("usage"), "content": input.text,
            })
        });
        Answer::ok(display)
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let text = |key: &str| input.payload.get(key).and_then(Value::as_str).unwrap_or_default();
        let to = match text("agent") {
            "" => String::new(),
            agent => format!(" to {}", shortened(agent, 40)),
        };
        Answer::ok(format!("delegates{to}: {}", shortened(text("task"), 100)))
    }
}

/// How far a delegation is.
enum Step {
    Ordered(Box<Order>),
    Running(Box<Child>),
    Over,
}

impl Delegate {
    /// The events of the other agent as parts, then the report.
    fn run(&self, input: &ToolInput, cx: &Context) -> BoxStream<'static, Result<ToolPart>> {
        let refused = |error: Error| ToolPart::Report(ToolReport::failed(error.message()));
        let order = match Order::read(input, cx, &self.places) {
            Ok(order) => order,
            Err(error) => return stream::iter([Ok(refused(error))]).boxed(),
        };
        stream::unfold(Step::Ordered(Box::new(order)), move |step| async move {
            match step {
                Step::Ordered(order) => match order.begin().await {
                    Ok(child) => {
                        let part = ToolPart::Part(child.introduced());
                        Some((Ok(part), Step::Running(Box::new(child))))
                    }
                    Err(error) => Some((Ok(refused(error)), Step::Over)),
                },
                Step::Running(mut child) => match child.next().await {
                    Next::Part(part) => Some((Ok(ToolPart::Part(part)), Step::Running(child))),
                    Next::Report(report) => Some((Ok(ToolPart::Report(report)), Step::Over)),
                },
                Step::Over => None,
            }
        })
        .boxed()
    }
}
