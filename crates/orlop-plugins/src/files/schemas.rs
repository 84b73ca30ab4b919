//! What the model is told of the tools.

use orlop_core::{Map, Value};
use serde_json::json;

/// The tools of the plugin.
pub(super) fn schemas() -> Vec<Map> {
    let all = [
        read_file(),
        write_file(),
        edit_file(),
        apply_patch(),
        list_files(),
        find_files(),
        search_files(),
    ];
    all.into_iter().filter_map(|schema| schema.as_object().cloned()).collect()
}

fn tool(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    annotations: Value,
) -> Value {
    json!({
        "name": name,
        "description": description,
        "parameters": { "type": "object", "properties": properties, "required": required },
        "annotations": annotations,
    })
}

fn reading() -> Value {
    json!({ "access": "read", "path": "path", "idempotent": true, "concurrent": true })
}

fn editing() -> Value {
    json!({ "access": "edit", "path": "path" })
}

fn path(what: &str) -> Value {
    json!({ "type": "string", "description": format!("{what}, from the working folder or absolute.") })
}

fn number(what: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": what })
}

fn flag(what: &str) -> Value {
    json!({ "type": "boolean", "description": what })
}

fn read_file() -> Value {
    tool(
        "read_file",
        "Reads a text file and gives its lines with their numbers, or shows a picture (PNG, JPEG, GIF, WebP). Gives up to 2000 lines; the last line says how to go on. A line number and a tab stand before each line and are no part of the file.",
        json!({
            "path": path("The file"),
            "offset": number("The first line, from 1."),
            "limit": number("How many lines."),
            "byte_offset": number("For very large files: begin at this byte in place of a line; lines are then not numbered."),
        }),
        &["path"],
        reading(),
    )
}

fn write_file() -> Value {
    tool(
        "write_file",
        "Writes a whole file; folders that are missing are made. A file that exists must have been read first. To change parts of a file use edit_file.",
        json!({
            "path": path("The file"),
            "content": { "type": "string", "description": "All of its content." },
        }),
        &["path", "content"],
        editing(),
    )
}

fn edit_file() -> Value {
    tool(
        "edit_file",
        "Replaces text in a file. old_string must be exactly what is in the file, spaces included and without line numbers, and must occur once unless replace_all is set. For several changes to one file give edits: they are made one after another, all or none.",
        json!({
            "path": path("The file"),
            "old_string": { "type": "string", "description": "The text to replace." },
            "new_string": { "type": "string", "description": "What comes in its place." },
            "replace_all": flag("Replace every occurrence."),
            "edits": {
                "type": "array",
                "description": "Several edits, in place of old_string and new_string.",
                "items": {
                    "type": "object",
                    "properties": {
                        "old_string": { "type": "string" },
                        "new_string": { "type": "string" },
                        "replace_all": { "type": "boolean" },
                    },
                    "required": ["old_string", "new_string"],
                },
            },
        }),
        &["path"],
        editing(),
    )
}

fn apply_patch() -> Value {
    tool(
        "apply_patch",
        "Changes several files at once, all or none. The patch is a unified diff, or has this form:\n*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n     x = 1\n-    return x\n+    return x + 1\n*** Add File: new.txt\n+first line\n*** Delete File: old.txt\n*** End Patch\nLines begin with a space (kept), - (removed) or + (added); give three lines around each change. `*** Move to: path` after an Update line renames the file.",
        json!({ "patch": { "type": "string", "description": "The patch." } }),
        &["patch"],
        json!({ "access": "edit", "patch": "patch" }),
    )
}

fn list_files() -> Value {
    tool(
        "list_files",
        "Lists the files and folders in a folder, without those .gitignore names.",
        json!({
            "path": path("The folder; the working folder if absent"),
            "depth": number("How many levels of folders; 1 if absent."),
            "ignored": flag("Also what .gitignore names."),
            "limit": number("How many entries; 500 if absent."),
        }),
        &[],
        reading(),
    )
}

fn find_files() -> Value {
    tool(
        "find_files",
        "Finds files by a pattern such as *.rs (anywhere), src/**/*.ts or **/test_*.{py,pyi}; the newest first. Respects .gitignore.",
        json!({
            "pattern": { "type": "string", "description": "The pattern." },
            "path": path("The folder to look in; the working folder if absent"),
            "ignored": flag("Also files that .gitignore names."),
            "limit": number("How many files; 100 if absent."),
        }),
        &["pattern"],
        reading(),
    )
}

fn search_files() -> Value {
    tool(
        "search_files",
        "Searches the content of files for a regular expression (Rust syntax, as ripgrep). Gives the lines with numbers below the name of each file. Respects .gitignore and skips binary files.",
        json!({
            "pattern": { "type": "string", "description": "The regular expression." },
            "path": path("A folder or a file; the working folder if absent"),
            "glob": { "type": "string", "description": "Only files that match, such as *.rs." },
            "output": { "type": "string", "enum": ["content", "files", "count"], "description": "Lines (the default), names of files, or the number of matching lines in each." },
            "context": number("How many lines around each match."),
            "ignore_case": flag("Take capital and small letters for the same."),
            "literal": flag("Look for the pattern as a plain text."),
            "multiline": flag("Let the pattern match over line ends."),
            "ignored": flag("Also files that .gitignore names."),
            "limit": number("How many matching lines or files; 200 if absent."),
        }),
        &["pattern"],
        reading(),
    )
}
