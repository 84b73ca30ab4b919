//! A tool call as the policy sees it: what its schema says the tool does, and which of its arguments
//! say to what.

use super::rule::Access;
use orlop_core::types::ToolDescriptor;
use orlop_core::{Map, Value};

/// How many paths of one call are looked at.
const MAX_PATHS: usize = 1_000;

/// What a call is about.
#[derive(Debug, Default)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    /// What the tool does; none if it does not say.
    pub(crate) access: Option<Access>,
    /// The files it names. None if the tool names none in its calls.
    pub(crate) paths: Option<Vec<String>>,
    /// The command line it runs.
    pub(crate) command: Option<String>,
    /// The folder the command runs in.
    pub(crate) folder: Option<String>,
    /// The address it reaches.
    pub(crate) url: Option<String>,
    /// All texts of its input, for rules about tools that do not explain their arguments.
    pub(crate) texts: Vec<String>,
    /// Why it cannot be told what the call is about.
    pub(crate) unclear: Option<String>,
}

impl ToolCall {
    /// Reads a call of a tool with this schema; a tool that is not known says nothing.
    pub(crate) fn new(name: &str, tool: Option<&ToolDescriptor>, input: &Value) -> Self {
        let mut call = Self { name: name.to_owned(), ..Self::default() };
        collect_texts(input, &mut call.texts, 0);
        let Some(annotations) = tool.and_then(annotations) else { return call };
        let says = |key: &str| annotations.get(key).and_then(Value::as_str);
        call.access = says("access").and_then(Access::named);
        if call.access.is_none() && annotations.get("readOnlyHint") == Some(&Value::Bool(true)) {
            call.access = Some(Access::Read);
        }
        if let Some(argument) = says("command") {
            call.command = call.text(input, argument);
        }
        if let Some(argument) = says("url") {
            call.url = call.text(input, argument);
        }
        if call.command.is_some() {
            let folder =
                input.get(says("folder").unwrap_or("cwd")).filter(|folder| !folder.is_null());
            call.folder = folder.and_then(Value::as_str).map(str::to_owned);
            if folder.is_some_and(|folder| !folder.is_string()) {
                call.unclear = Some("the folder it runs in is no text".to_owned());
            }
        }
        match annotations.get("path") {
            Some(Value::String(argument)) => call.add_paths(input, argument),
            Some(Value::Array(arguments)) => {
                for argument in arguments.iter().filter_map(Value::as_str) {
                    call.add_paths(input, argument);
                }
            }
            _ => {}
        }
        if let Some(argument) = says("patch") {
            let patch = call.text(input, argument).unwrap_or_default();
            let paths = patched(&patch);
            if paths.is_empty() {
                call.unclear = Some("the patch names no files".to_owned());
            }
            call.paths.get_or_insert_default().extend(paths);
        }
        if call.paths.as_ref().is_some_and(|paths| paths.len() > MAX_PATHS) {
            call.unclear = Some("it names too many files at once".to_owned());
        }
        call
    }

    fn text(&mut self, input: &Value, argument: &str) -> Option<String> {
        // The text of a free-form call is its only argument.
        let value = if input.is_string() { Some(input) } else { input.get(argument) };
        let text = value.and_then(Value::as_str);
        if text.is_none() {
            self.unclear = Some(format!("its argument \"{argument}\" is missing or no text"));
        }
        Some(text.unwrap_or_default().to_owned())
    }

    fn add_paths(&mut self, input: &Value, argument: &str) {
        let paths = self.paths.get_or_insert_default();
        match input.get(argument) {
            None | Some(Value::Null) => {}
            Some(Value::String(path)) => paths.push(path.clone()),
            Some(Value::Array(many)) if many.iter().all(Value::is_string) => {
                paths.extend(many.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(_) => self.unclear = Some(format!("its argument \"{argument}\" is no path")),
        }
    }
}

fn annotations(tool: &ToolDescriptor) -> Option<&Map> {
    let schema = &tool.schema;
    let nested = || schema.get("function").and_then(|function| function.get("annotations"));
    schema.get("annotations").or_else(nested).and_then(Value::as_object)
}

fn collect_texts(value: &Value, texts: &mut Vec<String>, depth: usize) {
    if depth > 16 || texts.len() >= MAX_PATHS {
        return;
    }
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(many) => many.iter().for_each(|one| collect_texts(one, texts, depth + 1)),
        Value::Object(fields) => {
            fields.values().for_each(|one| collect_texts(one, texts, depth + 1))
        }
        _ => {}
    }
}

/// All files that a patch names, in the forms patches have. Rather one too many: lines of a changed
/// file that look like a head count, too.
fn patched(patch: &str) -> Vec<String> {
    let heads = [
        "*** Add File:",
        "*** Update File:",
        "*** Delete File:",
        "*** Move to:",
        "--- ",
        "+++ ",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
    ];
    let mut paths = Vec::new();
    for line in patch.lines() {
        let line = line.trim_start();
        let Some(rest) = heads.iter().find_map(|head| line.strip_prefix(head)) else { continue };
        let path = rest.split('\t').next().unwrap_or_default().trim().trim_matches('"');
        if path.is_empty() || path == "/dev/null" {
            continue;
        }
        paths.push(path.to_owned());
        let inner = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
        paths.extend(inner.map(str::to_owned));
    }
    // And exactly those that the tool would take it to name.
    paths.extend(crate::files::patch_paths(patch));
    paths
}
