//! Orlop with a tool of one's own: the same command line, one plugin more.
//!
//! `own_orlop run "..."` is `orlop run "..."` for agents that can take notes in a file.

use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::{Answer, Context, Error, Manifest, Map, Plugin, Result, Tool, Value};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Two tools: `note_add` appends a line to a file, `note_read` gives the lines.
struct Notes;

impl Plugin for Notes {
    fn manifest(&self) -> Manifest {
        Manifest::new("notes", "1.0.0").without_models()
    }
}

impl Tool for Notes {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let file = json!({ "type": "string", "description": "the file the notes are in" });
        let schemas = [
            json!({
                "name": "note_add",
                "description": "Appends a line to the notes.",
                "parameters": {
                    "type": "object",
                    "properties": { "file": file, "line": { "type": "string" } },
                    "required": ["file", "line"],
                },
                // It changes the file that this argument names; policies go by that.
                "annotations": { "access": "edit", "path": "file" },
            }),
            json!({
                "name": "note_read",
                "description": "Gives all notes.",
                "parameters": { "type": "object", "properties": { "file": file }, "required": ["file"] },
                // Reading twice does no harm, and may go on beside other calls.
                "annotations": {
                    "access": "read", "path": "file", "idempotent": true, "concurrent": true,
                },
            }),
        ];
        Answer::ok(schemas.iter().filter_map(|schema| schema.as_object().cloned()).collect())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        run(input).into()
    }
}

fn run(input: &ToolInput) -> Result<ToolReport> {
    let text = |name: &str| {
        let missing = || Error::bad_argument(format!("{} needs {name}", input.tool_name));
        input.payload.get(name).and_then(Value::as_str).ok_or_else(missing)
    };
    let file = text("file")?;
    let failed = |error: std::io::Error| Error::unavailable(format!("{file}: {error}"));
    if input.tool_name == "note_read" {
        return std::fs::read_to_string(file).map(ToolReport::ok).map_err(failed);
    }
    let mut notes =
        std::fs::OpenOptions::new().create(true).append(true).open(file).map_err(failed)?;
    notes.write_all(format!("{}\n", text("line")?).as_bytes()).map_err(failed)?;
    notes.sync_all().map_err(failed)?;
    Ok(ToolReport::ok(format!("noted {}", text("line")?)))
}

fn main() -> ExitCode {
    orlop::run(std::env::args_os(), orlop::shipped_plugins().tool(Arc::new(Notes)))
}
