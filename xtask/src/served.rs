//! A server of the program that cargo built, for as long as it is needed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{fs, thread};

use crate::workspace::Workspace;

/// A server that ends with this value.
pub(crate) struct Served {
    child: Child,
    /// Where its OpenAI-compatible API is.
    pub(crate) base_url: String,
}

impl Served {
    /// Builds the program and starts it with this configuration, its data and its log in `folder`.
    pub(crate) fn start(
        workspace: &Workspace,
        config: &Path,
        folder: &Path,
    ) -> Result<Self, String> {
        let program = workspace.built_program()?;
        let (data, log) = (folder.join("data"), folder.join("server.log"));
        if data.exists() {
            fs::remove_dir_all(&data).map_err(|error| error.to_string())?;
        }
        let mut command = Command::new(program);
        command.arg("--config").arg(config);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("ORLOP_HOME", &data);
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("orlop serve does not start: {error}"))?;
        let stderr = child.stderr.take();
        let mut served = Self { child, base_url: String::new() };
        let mut lines = BufReader::new(stderr.ok_or("the server has no output")?).lines();
        let said = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("listening on ")?;
            Some(rest.split(';').next().unwrap_or(rest).trim().to_owned())
        });
        served.base_url = format!("{}/v1", said.ok_or("orlop serve ended before it listened")?);
        // What it says later must be read, or it would wait for that.
        thread::spawn(move || {
            let text: Vec<String> = lines.map_while(Result::ok).collect();
            fs::write(log, text.join("\n"))
        });
        Ok(served)
    }

    /// The command with what it needs to find the server.
    pub(crate) fn told<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("ORLOP_BASE_URL", &self.base_url).env("NO_PROXY", "127.0.0.1")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
