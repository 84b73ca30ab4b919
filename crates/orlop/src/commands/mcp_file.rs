//! `orlop mcp add` and `orlop mcp remove`: a server in a configuration file. Everything else in the
//! file, comments included, stays as it is.

use crate::cli::McpAdd;
use crate::exit::{CONFIGURATION, FAILED, Failure, NOT_FOUND};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::config::AppConfig;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

const SECTION: &str = "mcp_servers";

pub(super) fn add(workplace: &Workplace, add: &McpAdd) -> Result<ExitCode, Failure> {
    // Its name becomes a part of commands and of the names of tools.
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if add.name.is_empty() || add.name.len() > 64 || !add.name.chars().all(fits) {
        let name = &add.name;
        return Err(Failure::usage(format!(
            "a server cannot be called {name:?}; use up to 64 letters, digits, _ and -"
        )));
    }
    let is_server = workplace.mcp.list().iter().any(|server| server.name == add.name);
    let plugins = workplace.plugins.manifests();
    let is_tool = plugins.iter().any(|(kind, it)| *kind == "tool" && it.name == add.name);
    if is_tool && !is_server {
        return Err(Failure::usage(format!(
            "there is a tool plugin \"{}\"; choose another name for the server",
            add.name
        )));
    }
    let file = File::open(workplace, add.project)?;
    let mut document = file.document.clone();
    let servers = document.entry(SECTION).or_insert_with(|| {
        let mut section = Table::new();
        section.set_implicit(true);
        Item::Table(section)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| file.odd())?;
    if servers.contains_key(&add.name) {
        let (name, path) = (&add.name, file.path.display());
        return Err(Failure::usage(format!(
            "there is an MCP server \"{name}\" in {path} already; remove it first, or choose another name"
        )));
    }
    servers.insert(&add.name, Item::Table(server(add)?));
    file.replace(workplace, &document)?;
    output::line(&format!("{} is added to {}", add.name, file.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn remove(
    workplace: &Workplace,
    name: &str,
    project: bool,
) -> Result<ExitCode, Failure> {
    let file = File::open(workplace, project)?;
    let mut document = file.document.clone();
    let servers = document.get_mut(SECTION).and_then(Item::as_table_like_mut);
    if servers.and_then(|servers| servers.remove(name)).is_none() {
        let path = file.path.display();
        let hint = match project {
            true => "without --project it is looked for in the user's file",
            false => "with --project it is looked for in the file of the project",
        };
        return Err(Failure {
            code: NOT_FOUND,
            message: format!("there is no MCP server \"{name}\" in {path}; {hint}"),
        });
    }
    file.replace(workplace, &document)?;
    output::line(&format!("{name} is removed from {}", file.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn server(add: &McpAdd) -> Result<Table, Failure> {
    let mut server = Table::new();
    let mut set = |key: &str, value: Value| server.insert(key, Item::Value(value));
    match &add.url {
        Some(url) => set("url", url.into()),
        None => set("command", Value::Array(Array::from_iter(add.command.iter()))),
    };
    for (key, given) in [("env", &add.env), ("headers", &add.header)] {
        if given.is_empty() {
            continue;
        }
        let mut table = toml_edit::InlineTable::new();
        for pair in given {
            let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(
                || Failure::usage("a variable or header is written NAME=VALUE; write for instance TOKEN='${env:TOKEN}'"),
            )?;
            table.insert(name, value.into());
        }
        set(key, Value::InlineTable(table));
    }
    Ok(server)
}

/// A configuration file that is about to change.
struct File {
    path: PathBuf,
    text: String,
    document: DocumentMut,
}

impl File {
    fn open(workplace: &Workplace, project: bool) -> Result<Self, Failure> {
        let locations = &workplace.locations;
        let path = match project {
            false => locations.user_file().to_owned(),
            true => {
                let last = locations.files().last().filter(|file| *file != locations.user_file());
                last.cloned().unwrap_or_else(|| locations.working_dir().join("orlop.toml"))
            }
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        let document = text.parse::<DocumentMut>().map_err(|error| Failure {
            code: CONFIGURATION,
            message: format!(
                "{} is no TOML: {}; correct it first",
                path.display(),
                error.message()
            ),
        })?;
        Ok(Self { path, text, document })
    }

    fn odd(&self) -> Failure {
        Failure {
            code: CONFIGURATION,
            message: format!("{}: {SECTION} is no table; correct it first", self.path.display()),
        }
    }

    /// Puts another text in place of the file's, all of it or nothing, unless the change would break
    /// a file that was right.
    fn replace(&self, workplace: &Workplace, document: &DocumentMut) -> Result<(), Failure> {
        let text = document.to_string();
        let checked = |text: &str| -> Result<(), orlop_app::config::ConfigError> {
            let env = workplace.config.env().clone();
            AppConfig::from_text(&self.path, text, env)?.verify(&workplace.plugins.schema())
        };
        if checked(&self.text).is_ok() {
            checked(&text)?;
        }
        let failed = |error: std::io::Error| cannot("write", &self.path, &error);
        // A file that is a link elsewhere stays one.
        let real = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let folder = real.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let new = real.with_extension(format!("new-{}", std::process::id()));
        std::fs::write(&new, text).map_err(failed)?;
        let placed = || {
            if let Ok(held) = std::fs::metadata(&real) {
                std::fs::set_permissions(&new, held.permissions())?;
            }
            std::fs::rename(&new, &real)
        };
        placed().map_err(|error| {
            let _ = std::fs::remove_file(&new);
            failed(error)
        })
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure {
        code: FAILED,
        message: format!("cannot {what} {}: {error}; check who may {what} it", path.display()),
    }
}
