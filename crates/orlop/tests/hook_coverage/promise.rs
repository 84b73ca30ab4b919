//! Which hook and which lifecycle is promised on which path. A path is one way through the program;
//! the tests take each of them with plugins of each language.

use orlop_core::hooks::{HOOKS, Hook, When};
use orlop_core::lifecycle;

/// One way through the program, and what is meant by it.
pub const PATHS: &[(&str, &str)] = &[
    ("run", "`orlop run`, with a file"),
    ("chat", "the chat at a terminal"),
    ("http", "a request over HTTP that is answered in one piece, with a file"),
    ("stream", "a request over HTTP that is answered with events"),
    ("openai", "`/v1/chat/completions`, in one piece"),
    ("openai stream", "`/v1/chat/completions`, as a stream"),
    ("responses", "`/v1/responses`, in one piece and not stored"),
    ("delegated", "what happens inside of a task that was delegated"),
    ("cancelled", "cancelled while the model answers"),
    ("recovered", "killed while the model answers; what the next process calls"),
    ("sessions", "a session is forked, given another agent, listed and deleted"),
    ("trouble", "a tool fails, a person is asked, the conversation is too long"),
    ("failed", "the model fails"),
    ("crashed", "a plugin ends in the middle of a call, and the request after that"),
    ("login", "a request with a stored login that ends soon"),
];

/// The languages, and how plugins of them run.
pub const LANGUAGES: &[&str] = &["Rust", "Rust process", "Python", "JavaScript", "TypeScript"];

/// Paths that are turns.
const TURNS: &[&str] = &[
    "run",
    "chat",
    "http",
    "stream",
    "openai",
    "openai stream",
    "responses",
    "delegated",
    "cancelled",
    "recovered",
    "failed",
    "crashed",
    "login",
];

/// The paths on which a hook is called at such a moment.
fn paths_of(when: When) -> Vec<&'static str> {
    let all_but = |others: &[&str]| -> Vec<&'static str> {
        TURNS.iter().copied().filter(|path| !others.contains(path)).collect()
    };
    match when {
        // What is delegated and what is recovered came to the front door before.
        When::Host => [&all_but(&["delegated"])[..], &["sessions", "trouble"]].concat(),
        When::Request => all_but(&["delegated", "recovered"]),
        When::Configuration | When::Turn => all_but(&[]),
        // Who talks to the API of another vendor keeps the conversation himself.
        When::Stored => all_but(&["openai", "openai stream", "responses"]),
        When::Answer | When::ToolCall => all_but(&["cancelled", "failed"]),
        When::Whole => vec!["http", "openai", "responses"],
        // A model that fails has said nothing.
        When::Stream => all_but(&["http", "openai", "responses", "failed"]),
        When::Cancel => vec!["cancelled"],
        When::Files => vec!["run", "http"],
        When::FrontEnd => vec!["chat", "http"],
    }
}

/// Lifecycles with the moment of hooks that they share, or with paths of their own.
fn paths_of_lifecycle(name: &str) -> Vec<&'static str> {
    match name {
        lifecycle::MODEL_REQUEST => paths_of(When::Turn),
        // A turn that is recovered was prepared before.
        lifecycle::REQUEST_PREPARE => {
            let mut paths = paths_of(When::Turn);
            paths.retain(|path| *path != "recovered");
            paths
        }
        lifecycle::SESSION_SAVE_PREPARE => paths_of(When::Stored),
        lifecycle::REQUEST_COMPLETE
        | lifecycle::RESPONSE_FINALIZE
        | lifecycle::MODEL_RESPONSE
        | lifecycle::TOOL_BEFORE
        | lifecycle::TOOL_AFTER
        | lifecycle::PERMISSION => paths_of(When::Answer),
        lifecycle::SESSION_CREATE => {
            let mut paths = paths_of(When::Stored);
            paths.retain(|path| *path != "recovered");
            [&paths[..], &["sessions", "trouble"]].concat()
        }
        lifecycle::REQUEST_ERROR => vec!["cancelled", "failed"],
        lifecycle::SESSION_FORK
        | lifecycle::AGENT_SWITCH_PREPARE
        | lifecycle::AGENT_SWITCH_COMPLETE
        | lifecycle::SESSION_LIST
        | lifecycle::SESSION_DELETE_PREPARE => vec!["sessions"],
        lifecycle::TOOL_ERROR
        | lifecycle::PERMISSION_DECIDED
        | lifecycle::CONTEXT_OVERFLOW
        | lifecycle::COMPACTION_PREPARE
        | lifecycle::COMPACTION_COMPLETE => vec!["trouble"],
        lifecycle::CREDENTIAL_EXPIRED => vec!["login"],
        other => panic!("{other} is a lifecycle without a path; say where it runs"),
    }
}

/// One row: a hook or a lifecycle, and its paths.
pub struct Promise {
    pub name: String,
    pub paths: Vec<&'static str>,
}

pub fn hooks() -> Vec<Promise> {
    let row = |row: &orlop_core::hooks::HookSpec| {
        let name = format!("{}.{}", row.kind.as_str(), row.name);
        let mut paths = paths_of(row.when);
        // It is not told for which request it is asked, so that nobody sees whose it is.
        if row.hook == Hook::ApplicationGetActions {
            paths.retain(|path| *path != "delegated");
        }
        Promise { name, paths }
    };
    HOOKS.iter().map(row).collect()
}

pub fn lifecycles() -> Vec<Promise> {
    let names = lifecycle::STANDARD.iter().map(|(name, _)| *name);
    names.map(|name| Promise { name: name.to_owned(), paths: paths_of_lifecycle(name) }).collect()
}

/// The page of the documentation.
pub fn page() -> String {
    let mut text = String::from(
        "# Which hook runs where\n\nWritten by a test; do not edit. The test takes each path below with plugins that have every hook, in each language, and fails\n\
         where one that is promised here is not called. An empty field promises nothing.\n\n| path | is |\n|---|---|\n",
    );
    for (name, meaning) in PATHS {
        text.push_str(&format!("| {name} | {meaning} |\n"));
    }
    let mut table = |what: &str, rows: Vec<Promise>| {
        let names: Vec<&str> = PATHS.iter().map(|(name, _)| *name).collect();
        let columns = [&names[..], LANGUAGES].concat();
        let line = "---|".repeat(columns.len());
        text.push_str(&format!("\n| {what} | {} |\n|---|{line}\n", columns.join(" | ")));
        for row in rows {
            let mut marks: Vec<&str> = names
                .iter()
                .map(|path| if row.paths.contains(path) { "yes" } else { "" })
                .collect();
            let languages = if row.paths.is_empty() { "" } else { "yes" };
            marks.extend(LANGUAGES.iter().map(|_| languages));
            text.push_str(&format!("| `{}` | {} |\n", row.name, marks.join(" | ")));
        }
    };
    table("hook", hooks());
    table("lifecycle", lifecycles());
    text
}
