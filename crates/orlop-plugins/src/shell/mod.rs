//! The tool plugin `shell`: runs commands in the working folder, in the sandbox, and keeps jobs
//! running in the background of a session.

mod by_hand;
mod command;
mod jobs;
mod output;
mod run;
mod settings;

pub use by_hand::ShellByHand;

use crate::changes::Watch;
use crate::sandbox::{self, Sandbox};
use command::Request;
use futures::stream::{self, BoxStream, StreamExt};
use jobs::Jobs;
use orlop_app::Application;
use orlop_app::ui::{plain_line, plain_text};
use orlop_core::hooks::{
    ApplicationActionInput, ApplicationActionsInput, DisplayInput, ToolInput, ToolSchemasInput,
};
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Manifest, Map, Plugin,
    Result, Tool, Value, lifecycle,
};
use run::Run;
use serde_json::json;
use settings::Settings;
use std::sync::Arc;

/// Runs commands with bash, or with sh where there is none. Clones share their background jobs.
#[derive(Clone, Default)]
pub struct Shell {
    jobs: Arc<Jobs>,
    watch: Watch,
}

/// The longest command that a preview shows.
const PREVIEW: usize = 600;

impl Shell {
    /// The application plugin that ends the jobs of a session which is deleted.
    pub fn cleanup(&self) -> ShellCleanup {
        ShellCleanup(self.clone())
    }

    fn schemas() -> Value {
        json!([
            {
                "name": "shell",
                "description": "Runs a command with bash in the working folder and gives what it prints, standard output and errors together, with its exit code. Every call is a new shell: `cd` and variables do not last, so use `cwd`. There is no terminal and no input. Temporary files go to $TMPDIR. Processes the command leaves running end with it; servers and whatever should go on are started with `background`. Of long output the beginning and the end are given, and a file with the rest.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "command": { "type": "string", "description": "The command line." },
                        "description": { "type": "string", "description": "What it is for, in a few words for the user." },
                        "cwd": { "type": "string", "description": "The folder to run it in, inside of the workspace. By default the working folder." },
                        "timeout_s": { "type": "number", "description": "Seconds after which it is ended. 120 where nothing else is set." },
                        "background": { "type": "boolean", "description": "Start it and go on. Gives the id of a job for shell_output and shell_stop." }
                    },
                    "required": ["command"],
                    "additionalProperties": false
                },
                "annotations": { "access": "run", "command": "command" }
            },
            {
                "name": "shell_output",
                "description": "Gives what a background job has printed since it was last asked, and whether it still runs. Without an id it lists the jobs of this session.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string", "description": "The job, such as job-1." },
                        "wait_s": { "type": "number", "description": "Wait so many seconds (at most 600) for the job to end, or to print `until`." },
                        "until": { "type": "string", "description": "Wait only until the job has printed this text." }
                    },
                    "additionalProperties": false
                },
                "annotations": { "access": "none", "concurrent": true }
            },
            {
                "name": "shell_stop",
                "description": "Ends a background job with everything it has started, and gives its last output.",
                "parameters": {
                    "type": "object",
                    "properties": { "id": { "type": "string", "description": "The job, such as job-1." } },
                    "required": ["id"],
                    "additionalProperties": false
                },
                "annotations": { "access": "none" }
            }
        ])
    }

    /// A call of `shell`, step by step.
    fn parts(&self, payload: Value, cx: Context) -> BoxStream<'static, Result<ToolPart>> {
        let shell = self.clone();
        let begun = async move {
            match shell.begin(&payload, cx).await {
                Ok(parts) => parts,
                Err(error) => only(ToolReport::failed(error.message())),
            }
        };
        stream::once(begun).flatten().boxed()
    }

    async fn begin(
        &self,
        payload: &Value,
        cx: Context,
    ) -> Result<BoxStream<'static, Result<ToolPart>>> {
        let settings = Settings::of(&cx);
        let request = Request::read(payload, &settings)?;
        if !request.background {
            let watched = self.watch.begin(&cx, "shell").await;
            let run = Run::start(request, settings, cx).await?;
            return Ok(watched.over(stream::unfold(Some(run), Run::step).boxed()));
        }
        let owner = sandbox::owner_of(&cx);
        self.jobs.check_room(&owner, settings.max_jobs)?;
        let started = command::start(&request, &settings, &cx).await?;
        Ok(only(self.jobs.adopt(&owner, &request, &settings, started).await))
    }
}

fn only(report: ToolReport) -> BoxStream<'static, Result<ToolPart>> {
    stream::iter([Ok(ToolPart::Report(report))]).boxed()
}

impl Plugin for Shell {
    fn manifest(&self) -> Manifest {
        Settings::declared(Manifest::new("shell", "1.0.0").without_models())
    }
}

impl Tool for Shell {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let Value::Array(schemas) = Self::schemas() else { return Answer::default() };
        let maps = schemas.into_iter().filter_map(|schema| match schema {
            Value::Object(map) => Some(map),
            _ => None,
        });
        Answer::ok(maps.collect())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move {
            let owner = sandbox::owner_of(cx);
            let report = match input.tool_name.as_str() {
                "shell_output" => self.jobs.output(&owner, &input.payload).await,
                "shell_stop" => self.jobs.stop(&owner, &input.payload).await,
                _ => {
                    let mut parts = self.parts(input.payload.clone(), cx.clone());
                    let mut last = ToolReport::failed("the command was lost");
                    while let Some(part) = parts.next().await {
                        if let ToolPart::Report(report) = part? {
                            last = report;
                        }
                    }
                    Ok(last)
                }
            };
            Ok(report.unwrap_or_else(|error| ToolReport::failed(error.message())))
        })
    }

    fn stream_tool(
        &self,
        input: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        let streams = input.tool_name == "shell";
        streams.then(|| self.parts(input.payload.clone(), cx.clone()))
    }

    fn to_display_format<'a>(
        &'a self,
        input: &'a DisplayInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Value>> {
        let data = &input.result.data;
        let Some(command) = data.get("command") else { return Answer::default() };
        let mut shown = json!({ "type": "terminal", "command": command, "output": input.text });
        for key in ["exit_code", "signal", "timed_out", "duration_ms", "asset_id", "job", "running"]
        {
            if let Some(value) = data.get(key).filter(|value| !value.is_null()) {
                shown[key] = value.clone();
            }
        }
        Answer::ok(Some(shown))
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let text = |key: &str| input.payload.get(key).and_then(Value::as_str).unwrap_or_default();
        let preview = match input.tool_name.as_str() {
            "shell" => {
                let mut command = plain_text(text("command"));
                if command.len() > PREVIEW {
                    command.truncate(command.floor_char_boundary(PREVIEW));
                    command.push_str(" ...");
                }
                let folder = match text("cwd") {
                    "" => String::new(),
                    cwd => format!("{} ", plain_text(cwd)),
                };
                let behind = input.payload.get("background") == Some(&Value::Bool(true));
                let what_for = match text("description") {
                    "" => String::new(),
                    what_for => format!("\n# {}", plain_line(what_for)),
                };
                format!("{folder}$ {command}{}{what_for}", if behind { " &" } else { "" })
            }
            "shell_output" if text("id").is_empty() => "list jobs".to_owned(),
            "shell_output" => format!("output of {}", plain_text(text("id"))),
            _ => format!("stop {}", plain_text(text("id"))),
        };
        Answer::ok(preview)
    }
}

/// Ends what a session has running before it is deleted, and removes its temporary files.
pub struct ShellCleanup(Shell);

impl ApplicationPlugin for ShellCleanup {
    fn manifest(&self) -> Manifest {
        Manifest::new("shell_cleanup", "1.0.0").acting_at(&[lifecycle::SESSION_DELETE_PREPARE])
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let end = ActionDefinition::new("end_jobs", "End background jobs")
            .on(&[lifecycle::SESSION_DELETE_PREPARE]);
        Answer::ok(vec![end.input("session_id", "string", true)])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let session = input.params.get("session_id").and_then(Value::as_str);
            let owner = sandbox::owner(app.scope(), session.unwrap_or_default());
            self.0.jobs.forget(&owner);
            Sandbox::forget(app.config().env(), &owner);
            Ok(ActionResult::unchanged())
        })
    }
}
