//! How the process of a package is started: its command, its environment, its folders.

use crate::package::{Package, Run};
use crate::sdk;
use orlop_app::ProcessGroup;
use orlop_app::config::{RuntimeEnv, Vars};
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;
use std::io::{PipeReader, PipeWriter};
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Variables that every process needs to run at all.
const USUAL: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SHELL",
    "CONFIG_DIR",
    "WORKING_DIR",
    "BUILTIN_PLUGINS",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Everything that is needed to start a package, any number of times.
pub(crate) struct Launch {
    pub(crate) package: Package,
    home: PathBuf,
    vars: Vars,
    config: Map,
    work: PathBuf,
    data: PathBuf,
}

impl Launch {
    pub(crate) fn new(package: Package, env: &RuntimeEnv, home: &Path, config: Map) -> Self {
        let data = data_folder(home, &package.name);
        Self::with_data(package, env, home, config, data)
    }

    /// The same, with what it keeps between runs in another folder.
    pub(crate) fn with_data(
        package: Package,
        env: &RuntimeEnv,
        home: &Path,
        config: Map,
        data: PathBuf,
    ) -> Self {
        let granted = |name: &str| {
            USUAL.contains(&name) || package.grants.env.iter().any(|granted| granted == name)
        };
        let vars = env.vars_for_plugin(&package.folder, &data);
        let own = |name: &str| matches!(name, "PLUGIN_DIR" | "PLUGIN_DATA");
        let vars = vars.into_iter().filter(|(name, _)| granted(name) || own(name)).collect();
        let work = env.get("WORKING_DIR").map_or_else(|| package.folder.clone(), PathBuf::from);
        Self { package, home: home.to_owned(), vars, config, work, data }
    }

    /// The section of the package in the configuration.
    pub(crate) fn settings(&self) -> &Map {
        &self.config
    }

    /// Starts the process.
    pub(crate) fn start(&self) -> Result<(ProcessGroup, PipeWriter, PipeReader, PipeReader)> {
        std::fs::create_dir_all(&self.data).map_err(|error| {
            let data = self.data.display();
            Error::unavailable(format!("the folder {data} cannot be made: {error}"))
        })?;
        let mut vars = self.vars.clone();
        let mut command = match &self.package.run {
            Run::Python(file) => {
                let sdk = sdk::python(&self.home)?;
                vars.insert("PYTHONPATH".to_owned(), sdk.display().to_string());
                vars.insert("PYTHONUNBUFFERED".to_owned(), "1".to_owned());
                vars.insert("PYTHONSAFEPATH".to_owned(), "1".to_owned());
                // Compiled once, and not beside the author's files.
                let compiled = self.home.join("cache").join("python");
                vars.insert("PYTHONPYCACHEPREFIX".to_owned(), compiled.display().to_string());
                vars.insert("PYTHONIOENCODING".to_owned(), "utf-8".to_owned());
                let mut command = Command::new(self.python());
                command.arg("-m").arg("orlop").arg(file);
                command
            }
            Run::Node(file) => {
                let sdk = sdk::node(&self.home)?;
                let mut command = Command::new("node");
                if let Some(limit) = self.package.limits.memory_mb {
                    command.arg(format!("--max-old-space-size={limit}"));
                }
                command.arg(sdk.join("run.mjs")).arg(file);
                command
            }
            Run::Command(words) => {
                let (program, arguments) = words
                    .split_first()
                    .ok_or_else(|| Error::bad_argument("[run] command is empty; name a program"))?;
                // A path is meant from the folder of the package.
                let program = match program.contains('/') {
                    true => self.package.folder.join(program).into_os_string(),
                    false => program.into(),
                };
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        };
        command.current_dir(&self.package.folder);
        ProcessGroup::spawn_with_pipes(command, &vars)
    }

    /// A virtual environment in the package, else the Python of the machine.
    fn python(&self) -> PathBuf {
        let own = self.package.folder.join(".venv/bin/python");
        if own.is_file() { own } else { PathBuf::from("python3") }
    }

    /// The params of `initialize`.
    pub(crate) fn introduction(&self) -> Value {
        json!({
            "protocol": crate::package::PROTOCOL,
            "orlop": env!("CARGO_PKG_VERSION"),
            "package": self.package.name,
            "config": self.config,
            "folders": {
                "package": self.package.folder,
                "data": self.data,
                "work": self.work,
            },
        })
    }
}

fn data_folder(home: &Path, package: &str) -> PathBuf {
    home.join("plugin-data").join(package)
}
