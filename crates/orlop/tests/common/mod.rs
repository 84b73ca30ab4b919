//! A place where the real program runs against a mock model, with an environment of its own.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod capture;
pub mod npm;
#[cfg(unix)]
pub mod pty;
pub mod served;
pub mod wheels;

use orlop_testkit::mock_model::MockModel;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// A key that must never be printed.
pub const SECRET: &str = "sk-test-0123456789abcdefghij";

/// No process of a test runs longer.
pub const BOUND: Duration = Duration::from_secs(60);

/// A temporary folder, gone when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("orlop-cli-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        // What `current_dir` says in the program: no links on the way.
        Self(path.canonicalize().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a process said.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn of(output: std::process::Output) -> Self {
        let done = Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        done.is_decent();
        done
    }

    /// Nothing a user should not see, whatever happened.
    fn is_decent(&self) {
        for text in [&self.out, &self.err] {
            for bad in ["panicked", "RUST_BACKTRACE", "stack backtrace", SECRET] {
                assert!(!text.contains(bad), "{bad}: {self:?}");
            }
        }
        assert!(!self.err.contains('\x1b'), "{self:?}");
    }

    /// It went well, and stderr has nothing.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// The JSON it printed.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The command line was not understood, and these words say why.
    #[track_caller]
    pub fn fails_to_parse(&self, words: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.out.is_empty(), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word}: {self:?}");
        }
    }

    /// It failed with this code and one message that has these words.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.err.starts_with("orlop: ") && self.err.ends_with('\n'), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word}: {self:?}");
        }
    }
}

/// A folder with a configuration, its own home, and a model that says `You said: ...`.
pub struct Place {
    pub folder: Folder,
    pub model: MockModel,
}

impl Place {
    pub async fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let model = MockModel::echo().await.unwrap();
        let place = Self { folder, model };
        place.write("orlop.toml", place.config());
        place
    }

    /// The usual configuration.
    pub fn config(&self) -> String {
        format!(
            "[agents.default]\nprovider = \"openai_compatible\"\nmodel = \"m\"\nbase_url = \"{}\"\napi_key = \"{SECRET}\"\n\
             [agents.other]\nextends = \"default\"\nmodel = \"o\"\n",
            self.model.base_url()
        )
    }

    pub fn path(&self) -> &Path {
        &self.folder.0
    }

    pub fn home(&self) -> PathBuf {
        self.folder.0.join("home")
    }

    pub fn database(&self) -> PathBuf {
        self.home().join("orlop.db")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Any program with the environment of the place, nothing on its input.
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder.0)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder.0)
            .env("ORLOP_HOME", self.home())
            // The file of the place stands for one that its user wrote.
            .env("ORLOP_TRUST", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_orlop"));
        command.args(arguments);
        command
    }

    /// Runs to the end.
    pub async fn run(&self, arguments: &[&str]) -> Done {
        finish(self.command(arguments).spawn().unwrap()).await
    }

    /// Runs to the end in a folder below.
    pub async fn run_in(&self, folder: &str, arguments: &[&str]) -> Done {
        let folder = self.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        finish(self.command(arguments).current_dir(folder).spawn().unwrap()).await
    }

    /// Runs to the end with this on its input.
    pub async fn run_with(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Done {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        // A program that does not read it all closes the pipe.
        let writing = tokio::spawn(async move {
            let _ = stdin.write_all(&input).await;
        });
        let done = finish(child).await;
        writing.await.unwrap();
        done
    }

    /// The messages of a session, as `role: text`.
    pub async fn messages(&self, session: &str) -> Vec<String> {
        let shown = self.run(&["session", "show", session, "--json"]).await.json();
        let messages = shown["messages"].as_array().unwrap().iter();
        let line = |message: &Value| {
            let content = message["content"].as_str().unwrap_or_default();
            format!("{}: {content}", message["role"].as_str().unwrap())
        };
        messages.map(line).collect()
    }

    /// What the model was last asked.
    pub fn asked(&self) -> Value {
        let requests = self.model.requests();
        let chats = requests.iter().filter(|request| request.method == "POST");
        chats.last().unwrap().json()
    }

    /// How often the model was asked.
    pub fn times_asked(&self) -> usize {
        self.model.requests().iter().filter(|request| request.method == "POST").count()
    }
}

/// Waits for the end.
pub async fn finish(child: Child) -> Done {
    let output = tokio::time::timeout(BOUND, child.wait_with_output()).await;
    Done::of(output.expect("the program did not end").unwrap())
}

/// Sends a signal to a process, as `kill` does.
pub fn signal(child: &Child, name: &str) {
    let id = child.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill").args(["-s", name, &id]).status().unwrap();
    assert!(sent.success());
}

/// Waits until a process has a handler for SIGINT.
pub async fn listens_for_interrupts(child: &Child) {
    const SIGINT: u64 = 1 << 1;
    let path = format!("/proc/{}/status", child.id().expect("it runs"));
    let waiting = async {
        loop {
            let status = std::fs::read_to_string(&path).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            if caught.unwrap_or(0) & SIGINT != 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(BOUND, waiting).await.expect("it never listened");
}

/// The names of the fields of an object, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
