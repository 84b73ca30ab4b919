//! The paths through the program, taken one after another with the real program.

use crate::common::pty::open_command;
use crate::common::served::{SERVE, Served};
use crate::common::{Place, finish};
use crate::scene;
use portable_pty::CommandBuilder;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::process::Command;

/// Carries the arguments of the program, one a line.
pub const ARGUMENTS: &str = "ORLOP_TEST_ARGUMENTS";

/// Where plugins inside of the program note what they are asked.
pub const NOTES: &str = "ORLOP_TEST_NOTES";

const CONFIG: &str = r#"
[agents.default]
provider = "notes"
model = "outer"
[agents.default.permissions]
allow = ["note", "flow", "delegate"]
[agents.default.session_title]
enabled = false
[agents.inner]
extends = "default"
model = "inner"
[agents.guest]
extends = "default"
api_key = "${credential:harbour}"
"#;

/// A place with the plugins of one language.
pub struct Stage {
    place: Place,
    is_inside: bool,
}

impl Stage {
    pub async fn new(language: &str) -> Self {
        let place = Place::new("hooks").await;
        place.write("orlop.toml", CONFIG);
        place.write("berths.txt", "2, 5\n");
        let stage = Self { place, is_inside: language == "Rust" };
        std::fs::create_dir_all(stage.data()).unwrap();
        let run = match language {
            "Python" => {
                stage.place.write("notes/notes.py", include_str!("notes.py"));
                "python = \"notes.py\"".to_owned()
            }
            "JavaScript" => {
                stage.place.write("notes/notes.mjs", include_str!("notes.mjs"));
                "node = \"notes.mjs\"".to_owned()
            }
            "TypeScript" => {
                let code = include_str!("notes.mjs");
                let typed = code.replace(
                    "function note(kind, hook, input, { context })",
                    "function note(kind: string, hook: string, input: any, { context }: any): void",
                );
                assert_ne!(code, typed, "it has types");
                stage.place.write("notes/notes.ts", typed);
                let modules =
                    concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/typescript/node_modules");
                let link = stage.place.path().join("notes/node_modules");
                std::os::unix::fs::symlink(modules, link).unwrap();
                "node = \"notes.ts\"".to_owned()
            }
            // The test program prints words of its own first, and the protocol knows none.
            "Rust process" => {
                let program = std::env::current_exe().unwrap();
                let line = format!(
                    "{} --exact rust_plugin --nocapture --quiet | grep --line-buffered '^{{'",
                    program.display()
                );
                let folder = program.parent().unwrap();
                format!(
                    "command = [\"sh\", \"-c\", {line:?}]\n[grants]\nfiles = [\"read:{}\"]",
                    folder.display()
                )
            }
            _ => return stage,
        };
        let manifest = format!("[plugin]\nname = \"notes\"\n[run]\n{run}\n");
        stage.place.write("notes/plugin.toml", manifest);
        stage.place.write("notes/scene.json", scene::written().to_string());
        let added = stage.own(&["plugin", "add", "notes", "--yes"]).await;
        assert!(added.contains("added notes: "), "{added}");
        stage
    }

    fn data(&self) -> PathBuf {
        self.place.home().join("plugin-data/notes")
    }

    /// Takes a path and gives what was called on it: hooks as `kind.hook`, and lifecycles.
    pub async fn take(&self, path: &str) -> BTreeSet<String> {
        for name in ["notes", "release", "overflow"] {
            let _ = std::fs::remove_file(self.data().join(name));
        }
        match path {
            "run" => {
                let out = self.own(&["run", "--attach", "berths.txt", "$go"]).await;
                assert_eq!(out, "done\n");
            }
            "delegated" => assert_eq!(self.own(&["run", "$delegate"]).await, "done\n"),
            "chat" => self.chat(),
            "http" => self.http().await,
            "stream" => self.stream().await,
            "openai" => self.openai().await,
            "openai stream" => self.openai_stream().await,
            "responses" => self.responses().await,
            "failed" => self.failed().await,
            "crashed" => self.crashed().await,
            "login" => self.login().await,
            "cancelled" => self.cancelled().await,
            "recovered" => self.recovered().await,
            "sessions" => self.sessions().await,
            "trouble" => self.trouble().await,
            other => panic!("nobody knows the way {other}"),
        }
        self.called(path == "delegated")
    }

    /// What was noted. Inside of a delegated task only what belongs to its agent or its request counts.
    fn called(&self, only_inner: bool) -> BTreeSet<String> {
        let text = std::fs::read_to_string(self.data().join("notes")).unwrap_or_default();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        let is_inner = |line: &&Vec<&str>| line[3] == "inner";
        let inner: BTreeSet<&str> =
            lines.iter().filter(is_inner).map(|line| line[4]).filter(|id| *id != "-").collect();
        let mut called = BTreeSet::new();
        for line in &lines {
            let [kind, hook, lifecycle, agent, request] = line[..] else { panic!("{line:?}") };
            if only_inner && agent != "inner" && !(agent == "-" && inner.contains(request)) {
                continue;
            }
            let is_of_all = matches!(kind, "provider" | "extension" | "feature" | "tool")
                && matches!(hook, "init" | "get_tags" | "is_enabled" | "get_ui_elements");
            let kind = if is_of_all { "any" } else { kind };
            called.insert(format!("{kind}.{hook}"));
            if hook == "execute_action" {
                called.insert(format!("lifecycle {lifecycle}"));
            }
        }
        called
    }

    /// The variables of the program beside the usual ones.
    fn variables(&self, arguments: &[&str]) -> Vec<(&'static str, String)> {
        let notes = self.is_inside.then(|| (NOTES, self.data().display().to_string()));
        [(ARGUMENTS, arguments.join("\n"))].into_iter().chain(notes).collect()
    }

    /// This test as the program.
    fn command(&self, arguments: &[&str]) -> Command {
        let test = std::env::current_exe().unwrap();
        let mut command = self.place.program(&test.display().to_string());
        command.args(["--exact", "own_program", "--nocapture", "--quiet"]);
        command.envs(self.variables(arguments));
        command
    }

    /// Runs the program to its good end and gives what it printed.
    async fn own(&self, arguments: &[&str]) -> String {
        let done = finish(self.command(arguments).spawn().unwrap()).await;
        assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
        // Before that the test program says that it runs a test.
        let out = done.out.trim_start_matches('\n');
        out.strip_prefix("running 1 test\n").unwrap_or(out).to_owned()
    }

    fn chat(&self) {
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", "own_program", "--nocapture", "--quiet"]);
        let variables = self.variables(&[]);
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut terminal = open_command(&self.place, command, &variables, (80, 24));
        terminal.shows("^K commands");
        terminal.press("a :b");
        terminal.shows("a boat");
        terminal.press("\t");
        terminal.shows("› a boat");
        terminal.press("\x15/templates\r");
        terminal.shows(scene::TEMPLATE);
        terminal.press("\x1b");
        terminal.hides(scene::TEMPLATE);
        terminal.press("\x0b");
        terminal.press("note th");
        terminal.shows(scene::BUTTON);
        terminal.press("\x1b");
        terminal.hides(scene::BUTTON);
        terminal.press("\x15$go\r");
        terminal.shows("done");
        terminal.hides("Esc stops");
        terminal.press("\x04");
        assert_eq!(terminal.ends(), 0);
    }

    async fn http(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        served.post("/sessions", json!({ "session_id": "whole" })).await;
        for path in ["ui-schema", "templates"] {
            served.ask("GET", &format!("/agents/default/{path}"), "").await;
        }
        let typed = json!({ "agent_id": "default", "text": "a :b" });
        let offered = served.post("/completions", typed).await;
        let accepted =
            json!({ "agent_id": "default", "text": "a :b", "completion": offered["items"][0] });
        served.post("/completions/apply", accepted).await;
        let file = served.upload().await;
        let body = json!({ "content": "$go", "stream": false, "attachments": [file] });
        let answer = served.post("/sessions/whole/requests", body).await;
        assert_eq!(answer["messages"].as_array().unwrap().last().unwrap()["content"], "done");
        served.ends().await;
    }

    async fn stream(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        served.post("/sessions", json!({ "session_id": "stream" })).await;
        let body = json!({ "content": "$go" }).to_string();
        let events = served.ask("POST", "/sessions/stream/requests", &body).await;
        assert!(events.contains("event: final"), "{events}");
        served.ends().await;
    }

    async fn openai(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        let message = json!({ "role": "user", "content": "$go" });
        let body = json!({ "model": "default", "messages": [message] }).to_string();
        let answer = served.ask("POST", "/v1/chat/completions", &body).await;
        assert!(answer.contains("\"content\":\"done\""), "{answer}");
        served.ends().await;
    }

    async fn openai_stream(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        let message = json!({ "role": "user", "content": "$go" });
        let body = json!({ "model": "default", "messages": [message], "stream": true }).to_string();
        let answer = served.ask("POST", "/v1/chat/completions", &body).await;
        assert!(answer.contains("done") && answer.contains("[DONE]"), "{answer}");
        served.ends().await;
    }

    async fn responses(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        let body = json!({ "model": "default", "input": "$go", "store": false }).to_string();
        let answer = served.ask("POST", "/v1/responses", &body).await;
        assert!(answer.contains("\"text\":\"done\""), "{answer}");
        served.ends().await;
    }

    /// Sends a request and gives its events.
    async fn events(&self, served: &Served, session: &str, content: &str) -> String {
        let body = json!({ "content": content }).to_string();
        served.ask("POST", &format!("/sessions/{session}/requests"), &body).await
    }

    async fn failed(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        served.post("/sessions", json!({ "session_id": "failed" })).await;
        let events = self.events(&served, "failed", "$broken").await;
        assert!(events.contains("event: request_failed"), "{events}");
        assert!(events.contains("the model is at sea"), "{events}");
        served.ends().await;
    }

    async fn crashed(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        served.post("/sessions", json!({ "session_id": "crashed" })).await;
        let events = self.events(&served, "crashed", "$crash").await;
        assert!(events.contains("event: request_failed"), "{events}");
        served.post("/sessions", json!({ "session_id": "after" })).await;
        let events = self.events(&served, "after", "$go").await;
        assert!(events.contains("event: final"), "{events}");
        served.ends().await;
    }

    async fn login(&self) {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        let soon = orlop_app::rfc3339(i64::try_from(now).unwrap() + 60_000);
        let login = orlop_app::Credential {
            expires_at: Some(soon),
            renewed_by: Some("notes".to_owned()),
            refresh_token: Some("r".to_owned()),
            ..orlop_app::Credential::new("token-of-the-harbour")
        };
        let logins = orlop_app::Credentials::in_folder(&self.place.home());
        logins.store("harbour", login).unwrap();
        let out = self.own(&["run", "--agent", "guest", "$go"]).await;
        assert_eq!(out, "done\n");
        logins.remove("harbour").unwrap();
    }

    /// Begins a turn that waits, and gives what came so far.
    async fn waiting(&self, served: &Served, session: &str) -> (TcpStream, String) {
        served.post("/sessions", json!({ "session_id": session })).await;
        let body = json!({ "content": "$wait", "request_id": session }).to_string();
        let mut client = served.open("POST", &format!("/sessions/{session}/requests"), &body).await;
        let (mut seen, mut buffer) = (String::new(), [0; 4096]);
        while !seen.contains("event: partial") {
            let count = client.read(&mut buffer).await.unwrap();
            assert!(count > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        (client, seen)
    }

    async fn cancelled(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        let (mut client, mut seen) = self.waiting(&served, "left").await;
        served.post("/requests/left/cancel", json!({})).await;
        client.read_to_string(&mut seen).await.unwrap();
        assert!(seen.contains("event: request_cancelled"), "{seen}");
        served.ends().await;
    }

    async fn recovered(&self) {
        let mut served = Served::start(self.command(&SERVE)).await;
        let (client, _) = self.waiting(&served, "killed").await;
        served.child.kill().await.unwrap();
        drop(client);
        std::fs::remove_file(self.data().join("notes")).unwrap();
        std::fs::write(self.data().join("release"), "").unwrap();
        let served = Served::start(self.command(&SERVE)).await;
        let events = served.ask("GET", "/requests/killed/events", "").await;
        assert!(events.contains("event: final"), "{events}");
        served.ends().await;
    }

    async fn sessions(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        served.post("/sessions", json!({ "session_id": "one" })).await;
        served.post("/sessions/one/fork", json!({ "session_id": "two" })).await;
        served.post("/sessions/two/agent", json!({ "agent_id": "inner" })).await;
        served.ask("GET", "/sessions", "").await;
        served.ask("DELETE", "/sessions/two", "").await;
        served.ends().await;
    }

    async fn trouble(&self) {
        let served = Served::start(self.command(&SERVE)).await;
        served.post("/sessions", json!({ "session_id": "hard" })).await;
        // Short conversations are not made shorter.
        let much = "so much to tell ".repeat(300);
        served.post("/sessions", json!({ "session_id": "long" })).await;
        for (session, content) in
            [("long", &*much), ("long", &much), ("long", "$overflow"), ("hard", "$fail")]
        {
            let body = json!({ "content": content, "stream": false });
            let answer = served.post(&format!("/sessions/{session}/requests"), body).await;
            assert!(answer["messages"].is_array(), "{session}: {answer}");
        }
        let body = json!({ "content": "$ask", "request_id": "asked" }).to_string();
        let mut client = served.open("POST", "/sessions/hard/requests", &body).await;
        let (mut seen, mut buffer) = (String::new(), [0; 4096]);
        while !seen.contains("event: approval_requested") {
            let count = client.read(&mut buffer).await.unwrap();
            assert!(count > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        let decision = json!({ "decision": "allow", "remember": "session" });
        served.post("/requests/asked/approvals/c1", decision).await;
        client.read_to_string(&mut seen).await.unwrap();
        assert!(seen.contains("event: final"), "{seen}");
        served.ends().await;
    }
}
