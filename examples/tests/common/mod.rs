//! A place where real processes of the command line run against a mock model.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_testkit::mock_model::{Content, MockModel, RecordedRequest, Reply};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

/// How many notes the model takes in a turn.
pub const NOTES: usize = 3;

/// A temporary folder, gone when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!(
            "orlop-{name}-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder with a configuration, its own home, and a model that takes notes.
pub struct Place {
    pub folder: Folder,
    pub model: MockModel,
}

impl Place {
    pub async fn new(name: &str, store: Option<&str>) -> Self {
        let folder = Folder::new(name);
        let model = MockModel::start().await.unwrap();
        let notes = folder.0.join("notes.txt");
        model.otherwise(move |request| take_notes(request, &notes));
        let store = store.map(|url| format!("[store]\nurl = \"{url}\"\n")).unwrap_or_default();
        let config = format!(
            "[agents.default]\nprovider = \"openai_compatible\"\nmodel = \"m\"\nbase_url = \"{}\"\npermissions.mode = \"accept_edits\"\n{store}",
            model.base_url()
        );
        std::fs::write(folder.0.join("orlop.toml"), config).unwrap();
        Self { folder, model }
    }

    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    pub fn database(&self) -> PathBuf {
        self.folder.0.join("home/orlop.db")
    }

    pub fn notes(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.0.join("notes.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// `own_orlop` with these arguments, nothing on its input.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_own_orlop"));
        command
            .args(arguments)
            .current_dir(&self.folder.0)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder.0)
            .env("ORLOP_HOME", self.folder.0.join("home"))
            .env("ORLOP_TRUST", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs to the end; gives the exit code, the output and the errors.
    pub async fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.command(arguments).output().await.unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// The messages of a session.
    pub async fn messages(&self, session: &str) -> Vec<Value> {
        let (code, text, errors) = self.run(&["session", "show", session, "--json"]).await;
        assert_eq!(code, Some(0), "{errors}");
        let shown: Value = serde_json::from_str(&text).unwrap();
        shown["messages"].as_array().unwrap().clone()
    }
}

/// Told `go X`, the model takes the notes `X.0`, `X.1`, ... one after another and then says
/// `done X`. To anything else it answers with the same text.
fn take_notes(request: &RecordedRequest, notes: &Path) -> Reply<Content> {
    let body = request.json();
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let text = messages.get(asked).map(|message| message["content"].as_str().unwrap_or_default());
    let text = text.unwrap_or_default();
    let done = messages[asked..].iter().filter(|message| message["role"] == "tool").count();
    match text.strip_prefix("go ") {
        Some(name) if done < NOTES => {
            let line = format!("{name}.{done}");
            let arguments = json!({ "file": notes, "line": line });
            Reply::tool_call(format!("call_{line}"), "note_add", arguments.to_string()).any()
        }
        Some(name) => Reply::text([format!("done {name}")]).any(),
        None => Reply::text([text.to_owned()]).any(),
    }
}
