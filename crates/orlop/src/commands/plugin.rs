//! `orlop plugin`: packages of plugins, added, looked at, worked on and removed.

mod begin;
mod develop;
mod explain;
mod replay;
mod test;

pub(super) use develop::dev;
pub(super) use replay::record;

use crate::cli::{Plugin, PluginAdd};
use crate::exit::Failure;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::ui::plain_line;
use orlop_core::{Error, Map};
use orlop_runtime::{Description, Entry, Installed, Package, Runtime};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::process::Command;

pub(super) async fn run(workplace: Workplace, command: Plugin) -> Result<ExitCode, Failure> {
    match command {
        Plugin::New(new) => begin::run(new),
        Plugin::Test(options) => test::run(&workplace, options).await,
        Plugin::Add(add) => self::add(&workplace, add).await,
        Plugin::Accept { name, yes } => accept(&workplace, &name, yes).await,
        Plugin::Remove { name } => remove(&workplace, &name),
        Plugin::List { order: true, json } => list_in_order(&workplace, json),
        Plugin::List { order: false, json } => list(&workplace, json),
        Plugin::Replay(replay) => replay::replay(&workplace, replay).await,
        Plugin::Explain(explain) => explain::run(&workplace, explain).await,
        // They begin before there is a workplace.
        Plugin::Dev(_) | Plugin::Record(_) => {
            Err(Error::internal("this command was begun too late").into())
        }
    }
}

async fn add(workplace: &Workplace, add: PluginAdd) -> Result<ExitCode, Failure> {
    let home = workplace.locations.home();
    let installed = Installed::read(home)?;
    let (folder, is_copy) = bring(&add.source, home).await?;
    let package = match Package::read(&folder) {
        Ok(package) => package,
        Err(error) => {
            discard(&folder, is_copy);
            return Err(error.into());
        }
    };
    let name = add.name.unwrap_or_else(|| package.name.clone());
    let elsewhere = installed.get(&name).filter(|held| held.path != folder && !is_copy);
    if let Some(held) = elsewhere {
        let text = format!(
            "a plugin \"{name}\" is there already, from {}; remove it first, or give this one another name with --name",
            held.source
        );
        return Err(Error::conflict(text).into());
    }
    if !agreed(&name, &package, &installed, add.yes).await? {
        discard(&folder, is_copy);
        return Err(Failure::usage(format!("\"{name}\" was not added")));
    }
    let description = match held_by(workplace, &package) {
        Ok(description) => description,
        Err(error) => {
            discard(&folder, is_copy);
            return Err(error.into());
        }
    };
    Installed::change(home, |installed| {
        installed.accept(&package);
        installed.add(&name, Entry { path: folder, source: add.source, is_copy });
        Ok(())
    })?;
    output::line(&format!("added {name}: {}", in_words(&description)))?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a package once to hear what it holds.
fn held_by(workplace: &Workplace, package: &Package) -> Result<Description, Error> {
    let mut runtime = Runtime::new(workplace.config.env().clone(), workplace.locations.home());
    runtime.add(package.clone(), Map::new()).cloned()
}

/// Asks whether a package may have what it asks for.
async fn agreed(
    name: &str,
    package: &Package,
    installed: &Installed,
    yes: bool,
) -> Result<bool, Failure> {
    if yes || installed.accepts(package) {
        return Ok(true);
    }
    output::tell(&format!("\"{}\" wants to:", plain_line(name)));
    for words in package.grants.in_words() {
        output::tell(&format!("  - {}", plain_line(&words)));
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Failure::usage("nobody can be asked here; say --yes if it may".to_owned()));
    }
    let answer = output::ask("Allow this? [y/N] ".to_owned()).await;
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

async fn accept(workplace: &Workplace, name: &str, yes: bool) -> Result<ExitCode, Failure> {
    let home = workplace.locations.home();
    let installed = Installed::read(home)?;
    let configured = workplace.config.plugin(name).ok().and_then(|entry| entry.path);
    let path = configured.or_else(|| installed.get(name).map(|entry| entry.path.clone()));
    let path = path.ok_or_else(|| unknown(name, &installed))?;
    let package = Package::read(&path)?;
    if installed.accepts(&package) {
        output::line(&format!("{name} has all it asks for"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !agreed(name, &package, &installed, yes).await? {
        return Err(Failure::usage(format!("\"{name}\" stays without")));
    }
    Installed::change(home, |installed| {
        installed.accept(&package);
        Ok(())
    })?;
    output::line(&format!("{name} may now do what it asks for"))?;
    Ok(ExitCode::SUCCESS)
}

fn remove(workplace: &Workplace, name: &str) -> Result<ExitCode, Failure> {
    let entry = Installed::change(workplace.locations.home(), |installed| {
        installed.remove(name).ok_or_else(|| unknown(name, installed))
    })?;
    discard(&entry.path, entry.is_copy);
    output::line(&format!("removed {name}"))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str, installed: &Installed) -> Error {
    let known: Vec<&str> = installed.packages().map(|(name, _)| name).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Error::not_found(format!("no plugin \"{name}\" was added; there are: {known}"))
}

fn list(workplace: &Workplace, as_json: bool) -> Result<ExitCode, Failure> {
    let packages: Vec<_> = workplace.runtime.packages().collect();
    if as_json {
        let all: Vec<_> = packages
            .iter()
            .map(|(package, description)| {
                json!({
                    "name": package.name, "version": package.version, "folder": package.folder,
                    "grants": package.grants, "plugins": description.plugins,
                })
            })
            .collect();
        let left_out: Vec<_> = workplace
            .left_out
            .iter()
            .map(|left| json!({ "name": left.name, "reason": left.reason }))
            .collect();
        return Ok(output::json(&json!({ "packages": all, "left_out": left_out }))?);
    }
    let mut rows: Vec<Vec<String>> = packages
        .iter()
        .map(|(package, description)| {
            let folder = package.folder.display().to_string();
            vec![package.name.clone(), package.version.clone(), in_words(description), folder]
        })
        .collect();
    for left in &workplace.left_out {
        rows.push(vec![
            left.name.clone(),
            "-".to_owned(),
            format!("left out: {}", left.reason),
            String::new(),
        ]);
    }
    if rows.is_empty() {
        output::tell("no plugins beside those that ship; `orlop plugin add PATH` adds one");
    }
    Ok(output::table(&["NAME", "VERSION", "HOLDS", "FOLDER"], &rows)?)
}

fn list_in_order(workplace: &Workplace, as_json: bool) -> Result<ExitCode, Failure> {
    let order = workplace.plugins.order();
    if as_json {
        let kinds: Vec<_> = order
            .iter()
            .map(|(kind, manifests, circles)| {
                let plugins: Vec<_> = manifests
                    .iter()
                    .map(|held| json!({ "name": held.name, "priority": held.priority, "before": held.before, "after": held.after }))
                    .collect();
                let circles: Vec<String> = circles.iter().map(ToString::to_string).collect();
                json!({ "kind": kind, "plugins": plugins, "circles": circles })
            })
            .collect();
        return Ok(output::json(&kinds)?);
    }
    let mut rows = Vec::new();
    for (kind, manifests, circles) in &order {
        for held in manifests {
            let wishes = |word: &str, names: &[String]| match names.is_empty() {
                true => String::new(),
                false => format!("{word} {} ", names.join(", ")),
            };
            let wishes = wishes("before", &held.before) + &wishes("after", &held.after);
            let priority = held.priority.to_string();
            rows.push(vec![
                (*kind).to_owned(),
                held.name.clone(),
                priority,
                wishes.trim_end().to_owned(),
            ]);
        }
        for circle in circles {
            output::tell(&format!(
                "orlop: {kind} plugins want to run before each other: {}",
                plain_line(&circle.to_string())
            ));
        }
    }
    Ok(output::table(&["KIND", "NAME", "PRIORITY", "WISHES"], &rows)?)
}

fn in_words(description: &Description) -> String {
    let each = description.plugins.iter().map(|plugin| format!("{} {}", plugin.kind, plugin.name));
    each.collect::<Vec<_>>().join(", ")
}

/// The folder of a source: a local one as it is, anything else as a copy of Orlop's own.
async fn bring(source: &str, home: &Path) -> Result<(PathBuf, bool), Failure> {
    let local = Path::new(source);
    if local.exists() {
        let path = local
            .canonicalize()
            .map_err(|error| Error::not_found(format!("{source} cannot be read: {error}")))?;
        return Ok((path, false));
    }
    let name = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(source);
    let name: String = name
        .trim_end_matches(".git")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    let folder = home.join("plugins").join(&name);
    if folder.exists() {
        return Err(Error::conflict(format!(
            "{} is there already; `orlop plugin remove {name}` first",
            folder.display()
        ))
        .into());
    }
    let parent = home.join("plugins");
    std::fs::create_dir_all(&parent)?;
    if let Some(package) = source.strip_prefix("npm:") {
        let inside = folder.join("node_modules").join(
            package
                .rsplit_once('@')
                .filter(|(name, _)| !name.is_empty())
                .map_or(package, |(name, _)| name),
        );
        let mut command = Command::new("npm");
        command
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .arg(package);
        fetched(command, &folder).await?;
        return Ok((inside, true));
    }
    if let Some(package) = source.strip_prefix("pip:") {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(package);
        fetched(command, &folder).await?;
        return Ok((folder, true));
    }
    let is_git = source.contains("://") || source.starts_with("git@") || source.ends_with(".git");
    if !is_git {
        return Err(Error::not_found(format!(
            "{source} is no folder and no file; a git URL, npm:NAME or pip:NAME will do, too"
        ))
        .into());
    }
    let mut command = Command::new("git");
    command.args(["clone", "--depth", "1", "--quiet", "--", source]).arg(&folder);
    command.env("GIT_TERMINAL_PROMPT", "0");
    fetched(command, &folder).await?;
    Ok((folder, true))
}

async fn fetched(mut command: Command, folder: &Path) -> Result<(), Failure> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    output::tell(&format!("fetching with {program} ..."));
    let done = command.stdin(std::process::Stdio::null()).output().await.map_err(|error| {
        Error::unavailable(format!("{program} cannot be started: {error}; install it first"))
    })?;
    if done.status.success() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(folder);
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(Error::unavailable(format!("{program} failed: {}", plain_line(said))).into())
}

/// Removes a copy; what belongs to the user stays.
fn discard(folder: &Path, is_copy: bool) {
    if is_copy {
        let _ = std::fs::remove_dir_all(folder);
    }
}
