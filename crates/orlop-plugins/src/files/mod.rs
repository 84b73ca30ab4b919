//! The tool plugin `files`: reading, writing, changing, listing, finding and searching files.
//!
//! A call is read (`call.rs`), its work is done in the sandbox, and a change of files is a plan
//! (`plan.rs`) that is shown before, kept for undo, and then carried out as a whole. `place.rs` is
//! the only way to the content of files.

mod call;
mod difference;
mod edit;
mod find;
mod patch;
pub(crate) mod place;
pub(crate) mod plan;
mod read;
mod schemas;
mod search;
mod seen;
mod text;
mod walk;

pub use patch::patch_paths;

use crate::changes::Journal;
use crate::sandbox::Sandbox;
use call::{Call, arguments};
use futures::StreamExt;
use futures::channel::mpsc;
use futures::stream::BoxStream;
use orlop_core::hooks::{DisplayInput, Hook, HookSet, ToolInput, ToolSchemasInput};
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{Answer, Context, Error, Manifest, Map, Plugin, Result, Tool, Value};
use plan::Plan;
use seen::Seen;
use serde_json::json;
use std::sync::Arc;

/// The tools `read_file`, `write_file`, `edit_file`, `apply_patch`, `list_files`, `find_files` and
/// `search_files`.
#[derive(Default)]
pub struct Files {
    seen: Arc<Seen>,
}

impl Plugin for Files {
    fn manifest(&self) -> Manifest {
        Sandbox::settings(Manifest::new("files", "1.0.0")).without_models().only(HookSet::of(&[
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::StreamTool,
            Hook::ToDisplayFormat,
            Hook::FormatToolCallPreview,
        ]))
    }
}

impl Tool for Files {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::ok(schemas::schemas())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move {
            Ok(reported(run(self.seen.clone(), input.clone(), cx.clone(), Progress::none()).await))
        })
    }

    fn stream_tool(
        &self,
        input: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        if !["list_files", "find_files", "search_files"].contains(&input.tool_name.as_str()) {
            return None;
        }
        let (progress, parts) = Progress::channel();
        let work = run(self.seen.clone(), input.clone(), cx.clone(), progress);
        let report = futures::stream::once(async move { ToolPart::Report(reported(work.await)) });
        Some(futures::stream::select(parts, report).map(Ok).boxed())
    }

    fn to_display_format<'a>(
        &'a self,
        input: &'a DisplayInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Value>> {
        Answer::ok(input.result.data.get("display").cloned())
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        cx: &'a Context,
    ) -> Answer<'a, String> {
        let (seen, input, cx) = (self.seen.clone(), input.clone(), cx.clone());
        Answer::later(async move { Ok(preview(seen, input, cx).await) })
    }
}

/// A failure is a result, too: the model reads it and can do better.
fn reported(done: Result<ToolReport>) -> ToolReport {
    done.unwrap_or_else(|error| ToolReport::failed(error.message()))
}

async fn run(
    seen: Arc<Seen>,
    input: ToolInput,
    cx: Context,
    progress: Progress,
) -> Result<ToolReport> {
    let call = Call::new(&cx, &seen)?;
    if !is_edit(&input.tool_name) {
        return call.apart(move |call| look(call, &input, &progress)).await;
    }
    let tool = input.tool_name.clone();
    let plan = call.apart(move |call| planned(call, &input)).await?;
    let kept = match Journal::of(&cx) {
        Ok(journal) => journal.record(&plan.files, &tool).await,
        Err(error) => Err(error),
    };
    let mut report = call.apart(move |call| plan.carry_out(call)).await?;
    if let (Err(error), Some(Value::String(output))) = (kept, report.data.get_mut("output")) {
        output.push_str(&format!("\n(this change cannot be undone: {})", error.message()));
    }
    Ok(report)
}

fn is_edit(tool: &str) -> bool {
    ["write_file", "edit_file", "apply_patch"].contains(&tool)
}

/// The tools that change nothing.
fn look(call: &Call, input: &ToolInput, progress: &Progress) -> Result<ToolReport> {
    let entries = |count| progress.tell(format!("{count} files and folders looked at"));
    let matches = |count, matches| {
        progress.tell(format!("{count} files and folders looked at, {matches} matching lines"));
    };
    match input.tool_name.as_str() {
        "read_file" => read::read_file(call, &arguments(input)?),
        "list_files" => find::list_files(call, &arguments(input)?, &entries),
        "find_files" => find::find_files(call, &arguments(input)?, &entries),
        "search_files" => search::search_files(call, &arguments(input)?, &matches),
        other => Err(Error::not_found(format!("there is no tool \"{other}\""))),
    }
}

/// What a call would change.
fn planned(call: &Call, input: &ToolInput) -> Result<Plan> {
    match input.tool_name.as_str() {
        "write_file" => edit::write_file(call, arguments(input)?),
        "edit_file" => edit::edit_file(call, arguments(input)?),
        _ => patch::apply_patch(call, &arguments(input)?),
    }
}

/// What a call is about to do: a line, and for a change the diff.
async fn preview(seen: Arc<Seen>, input: ToolInput, cx: Context) -> String {
    let line = in_words(&input);
    if !is_edit(&input.tool_name) {
        return line;
    }
    let Ok(call) = Call::new(&cx, &seen) else { return line };
    let described = call.apart(move |call| {
        let (summary, diff, _) = planned(call, &input)?.described(call);
        Ok(format!("{summary}\n{diff}"))
    });
    match described.await {
        Ok(text) => text,
        // It will fail for this reason, if nothing changes until then.
        Err(error) => format!("{line}\n({})", error.message()),
    }
}

/// A call in one line.
fn in_words(input: &ToolInput) -> String {
    let said = |key: &str| input.payload.get(key).and_then(Value::as_str);
    let path = said("path").map(|path| place::shown(std::path::Path::new(path)));
    let path = path.unwrap_or_else(|| ".".to_owned());
    let number = |key: &str| input.payload.get(key).and_then(Value::as_u64);
    match input.tool_name.as_str() {
        "read_file" => match (number("offset"), number("limit")) {
            (None, None) => format!("Read {path}"),
            (first, count) => {
                let first = first.unwrap_or(1);
                let last = count.map(|count| (first + count).saturating_sub(1).to_string());
                format!(
                    "Read {path}, lines {first} to {}",
                    last.unwrap_or_else(|| "end".to_owned())
                )
            }
        },
        "list_files" => format!("List {path}"),
        "find_files" => format!("Find {:?} in {path}", said("pattern").unwrap_or_default()),
        "search_files" => format!("Search {path} for {:?}", said("pattern").unwrap_or_default()),
        "write_file" => format!("Write {path}"),
        "edit_file" => format!("Edit {path}"),
        _ => {
            let patch = said("patch").or(input.payload.as_str()).unwrap_or_default();
            format!("Patch {}", patch_paths(patch).join(", "))
        }
    }
}

/// Where a long walk tells how far it is.
struct Progress(Option<mpsc::UnboundedSender<ToolPart>>);

impl Progress {
    fn none() -> Self {
        Self(None)
    }

    fn channel() -> (Self, mpsc::UnboundedReceiver<ToolPart>) {
        let (sender, parts) = mpsc::unbounded();
        (Self(Some(sender)), parts)
    }

    fn tell(&self, text: String) {
        if let Some(sender) = &self.0 {
            // Nobody may be listening any more.
            let _ = sender.unbounded_send(ToolPart::Part(json!({ "text": text })));
        }
    }
}
