//! How the process of a package is started: its command, its environment, its folders.

use crate::package::{Package, Run};
use crate::reach::{self, Surroundings};
use crate::sdk;
use orlop_app::ProcessGroup;
use orlop_app::config::{RuntimeEnv, Vars};
use orlop_app::confine::Reach;
use orlop_core::types::protocol::{Folders, Initialize, PROTOCOL};
use orlop_core::{Error, Map, Result};
use std::io::{PipeReader, PipeWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Command;

/// How long a process may take to say what it holds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

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
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) package: Package,
    /// How long it may take to say what it holds.
    pub(crate) patience: Duration,
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
        let home = home.to_owned();
        Self { package, patience: PATIENCE, home, vars, config, work, data }
    }

    /// Makes the folder that the package keeps its data in.
    pub(crate) fn make_data_folder(&self) -> Result<()> {
        make(&self.data)
    }

    /// What commands beside the process get: its variables and its folders.
    pub(crate) fn surroundings(&self) -> (&Vars, &Path, &Path) {
        (&self.vars, &self.work, &self.data)
    }

    /// The section of the package in the configuration.
    pub(crate) fn settings(&self) -> &Map {
        &self.config
    }

    /// Starts the process, within what the package may reach. Must be called within a Tokio runtime.
    pub(crate) fn start(&self) -> Result<(ProcessGroup, PipeWriter, PipeReader, PipeReader)> {
        let temp = self.data.join("tmp");
        // Compiled once, and not beside the author's files. What one package compiles is read by
        // no other.
        let compiled = self.home.join("cache").join("python").join(&self.package.name);
        for folder in [&temp, &compiled] {
            make(folder)?;
        }
        let mut vars = self.vars.clone();
        vars.insert("TMPDIR".to_owned(), temp.display().to_string());
        // Folders beside its own that it reads.
        let mut sdk = Vec::new();
        let mut command = match &self.package.run {
            Run::Python(file) => {
                sdk.push(sdk::python(&self.home)?);
                sdk.extend(self.modules_beside());
                let path = std::env::join_paths(&sdk).unwrap_or_default();
                vars.insert("PYTHONPATH".to_owned(), path.to_string_lossy().into_owned());
                vars.insert("PYTHONUNBUFFERED".to_owned(), "1".to_owned());
                vars.insert("PYTHONSAFEPATH".to_owned(), "1".to_owned());
                vars.insert("PYTHONPYCACHEPREFIX".to_owned(), compiled.display().to_string());
                vars.insert("PYTHONIOENCODING".to_owned(), "utf-8".to_owned());
                let mut command = Command::new(self.python());
                command.arg("-m").arg("orlop").arg(file);
                command
            }
            Run::Node(file) => {
                sdk.push(sdk::node(&self.home)?);
                let mut command = Command::new("node");
                let limit = self.package.limits.memory_mb();
                command.arg(format!("--max-old-space-size={limit}"));
                command.arg(sdk[0].join("run.mjs")).arg(file);
                command
            }
            Run::Command(words) => self.own_program(words)?,
            Run::Bundle(_) => {
                return Err(Error::bad_state(format!(
                    "\"{}\" has no program of its own",
                    self.package.name
                )));
            }
        };
        command.current_dir(&self.package.folder);
        let around = Surroundings {
            home: &self.home,
            read: &sdk,
            write: &[self.data.clone(), compiled],
            vars: &vars,
        };
        let reach = reach::of(&self.package, command.as_std().get_program(), &around)?;
        start_within(&reach, command, &vars)
    }

    /// The folder around a package that pip installed, which has what it needs.
    fn modules_beside(&self) -> Option<PathBuf> {
        let around = self.package.folder.parent()?;
        let mut beside = std::fs::read_dir(around).ok()?.flatten();
        let is_pips = beside.any(|entry| entry.path().extension() == Some("dist-info".as_ref()));
        is_pips.then(|| around.to_owned())
    }

    fn own_program(&self, words: &[String]) -> Result<Command> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| Error::bad_argument("[run] command is empty; name a program"))?;
        // A path is meant from the folder of the package.
        let program = match program.contains('/') {
            true => self.package.folder.join(program),
            false => program.into(),
        };
        if program.is_absolute() && !program.exists() {
            let crate_here = self.package.folder.join("Cargo.toml").is_file();
            let advice =
                if crate_here { "build it first: `cargo build`" } else { "build it first" };
            let text = format!("{} is not there; {advice}", program.display());
            return Err(Error::not_found(text));
        }
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }

    /// A virtual environment in the package, else the Python of the machine.
    fn python(&self) -> PathBuf {
        let own = self.package.folder.join(".venv/bin/python");
        if own.is_file() { own } else { PathBuf::from("python3") }
    }

    /// The params of `initialize`.
    pub(crate) fn introduction(&self) -> Initialize {
        Initialize {
            protocol: PROTOCOL,
            orlop: env!("CARGO_PKG_VERSION").to_owned(),
            package: self.package.name.clone(),
            config: self.config.clone(),
            folders: Folders {
                package: self.package.folder.clone(),
                data: self.data.clone(),
                work: self.work.clone(),
            },
        }
    }
}

/// Starts a process from a thread that the kernel restricts before; the process inherits that.
fn start_within(
    reach: &Reach,
    command: Command,
    vars: &Vars,
) -> Result<(ProcessGroup, PipeWriter, PipeReader, PipeReader)> {
    let runtime = tokio::runtime::Handle::current();
    let restricted = || {
        reach.enforce_here()?;
        let _runtime = runtime.enter();
        ProcessGroup::spawn_with_pipes(command, vars)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("orlop-sandbox".to_owned());
        let thread = thread.spawn_scoped(scope, restricted).map_err(|error| {
            Error::unavailable(format!("no thread can be started: {error}; try again"))
        })?;
        let lost = || Error::internal("the start of a plugin ended with a panic");
        thread.join().unwrap_or_else(|_| Err(lost()))
    })
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        Error::unavailable(format!("the folder {folder} cannot be made: {error}"))
    })
}

fn data_folder(home: &Path, package: &str) -> PathBuf {
    home.join("plugin-data").join(package)
}
