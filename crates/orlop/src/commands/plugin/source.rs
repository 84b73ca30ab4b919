//! Where packages come from: folders and files stay where they are; what a git server, npm or pip has
//! is copied into the data folder. Nothing of a package runs before its user agreed to its grants.

use crate::exit::Failure;
use crate::output;
use orlop_app::ui::plain_line;
use orlop_core::{Error, Value};
use orlop_runtime::{Installed, MANIFEST};
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// A package that is there now.
pub(super) struct Brought {
    /// Its folder or file.
    pub(super) folder: PathBuf,
    /// Whether it is Orlop's own copy, which goes with it.
    pub(super) is_copy: bool,
}

/// How a source is fetched.
enum Fetch<'a> {
    Npm(&'a str),
    Pip(&'a str),
    Git(&'a str),
}

/// Brings a source.
pub(super) async fn bring(
    source: &str,
    home: &Path,
    installed: &Installed,
) -> Result<Brought, Failure> {
    if Path::new(source).exists() {
        let folder = Path::new(source)
            .canonicalize()
            .map_err(|error| Error::not_found(format!("{source} cannot be read: {error}")))?;
        return Ok(Brought { folder, is_copy: false });
    }
    let is_git = source.contains("://") || source.starts_with("git@") || source.ends_with(".git");
    let fetch = match (source.strip_prefix("npm:"), source.strip_prefix("pip:")) {
        (Some(package), _) => Fetch::Npm(package),
        (_, Some(package)) => Fetch::Pip(package),
        _ if is_git => Fetch::Git(source),
        _ => {
            return Err(Error::not_found(format!(
                "{source} is no folder and no file; a git URL, npm:NAME or pip:NAME will do, too"
            ))
            .into());
        }
    };
    let copy = home.join("plugins").join(folder_name(source));
    make_room(&copy, installed)?;
    let fetched = fetch_into(&copy, fetch).await;
    match fetched {
        Ok(folder) => Ok(Brought { folder, is_copy: true }),
        Err(failure) => {
            let _ = std::fs::remove_dir_all(&copy);
            Err(failure)
        }
    }
}

/// The folder of a copy must not be somebody else's. One that nobody has was left by a fetch that
/// did not end.
fn make_room(copy: &Path, installed: &Installed) -> Result<(), Failure> {
    let holder = installed.packages().find(|(_, entry)| entry.path.starts_with(copy));
    if let Some((name, _)) = holder {
        return Err(Error::conflict(format!(
            "{} is there already; `orlop plugin remove {name}` first",
            copy.display()
        ))
        .into());
    }
    if copy.exists() {
        std::fs::remove_dir_all(copy)?;
    }
    if let Some(parent) = copy.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(())
}

/// What a copy is called: the last word of its source, without version and ending.
fn folder_name(source: &str) -> String {
    let name = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(source);
    let name = name.split(['@', '=', '<', '>', '~', '[']).find(|part| !part.is_empty());
    let name = name.unwrap_or("plugin").trim_end_matches(".git");
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Fetches a package into a folder of its own, and says where in there it is.
async fn fetch_into(copy: &Path, fetch: Fetch<'_>) -> Result<PathBuf, Failure> {
    match fetch {
        Fetch::Npm(package) => {
            let mut command = Command::new("npm");
            command
                .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
                .arg(copy)
                .arg(local(package));
            run(command).await?;
            of_npm(copy)
        }
        Fetch::Pip(package) => {
            let mut command = Command::new("python3");
            // Whatever is no wheel would run code of its own to become one.
            command
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(["--only-binary", ":all:", "--target"])
                .arg(copy)
                .arg(local(package));
            run(command).await?;
            of_pip(copy)
        }
        Fetch::Git(url) => {
            let mut command = Command::new("git");
            command.args(["clone", "--depth", "1", "--quiet", "--", url]).arg(copy);
            command.env("GIT_TERMINAL_PROMPT", "0");
            run(command).await?;
            Ok(copy.to_owned())
        }
    }
}

/// A file by its whole path, because programs that fetch may work in another folder; else as it is.
fn local(package: &str) -> PathBuf {
    let path = Path::new(package);
    match path.is_file() {
        true => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        false => path.to_owned(),
    }
}

/// npm writes down what it was asked for.
fn of_npm(copy: &Path) -> Result<PathBuf, Failure> {
    let text = std::fs::read_to_string(copy.join("package.json"))?;
    let written: Value = serde_json::from_str(&text).unwrap_or_default();
    let name = written["dependencies"].as_object().and_then(|names| names.keys().next());
    let name = name.ok_or_else(|| Error::unavailable("npm does not say what it installed"))?;
    Ok(copy.join("node_modules").join(name))
}

/// A package of Python that is a plugin has a manifest in its module, and no other there has one.
fn of_pip(copy: &Path) -> Result<PathBuf, Failure> {
    let modules = std::fs::read_dir(copy)?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = modules.filter(|path| path.join(MANIFEST).is_file()).collect();
    found.sort();
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => Err(Error::bad_argument(format!(
            "what pip installed is no plugin: none of its modules has a {MANIFEST}"
        ))
        .into()),
        several => {
            let names = several.iter().filter_map(|path| path.file_name());
            let names: Vec<String> = names.map(|name| name.to_string_lossy().into()).collect();
            Err(Error::bad_argument(format!(
                "pip installed several plugins at once ({}); install it yourself and add the folder of one",
                names.join(", ")
            ))
            .into())
        }
    }
}

async fn run(mut command: Command) -> Result<(), Failure> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    output::tell(&format!("fetching with {program} ..."));
    let done = command.stdin(std::process::Stdio::null()).output().await.map_err(|error| {
        Error::unavailable(format!("{program} cannot be started: {error}; install it first"))
    })?;
    if done.status.success() {
        return Ok(());
    }
    let reason = reason(&String::from_utf8_lossy(&done.stderr));
    Err(Error::unavailable(format!("{program} failed: {}", plain_line(&reason))).into())
}

/// Why a program failed. npm says so in the first lines of its errors; git and pip mark the line, and git
/// goes on with advice; others say it in the last line.
fn reason(said: &str) -> String {
    let of_npm = |line: &'_ str| {
        let rest = line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! "))?;
        Some(rest.trim().to_owned())
    };
    let npm: Vec<String> = said.lines().filter_map(of_npm).take(2).collect();
    if !npm.is_empty() {
        return npm.join(": ");
    }
    let marked = said.lines().find(|line| line.starts_with("fatal:") || line.starts_with("ERROR"));
    let last = || said.lines().rfind(|line| !line.trim().is_empty());
    marked.or_else(last).unwrap_or("no reason given").to_owned()
}

/// Removes a copy with all that came along; what belongs to the user stays.
pub(super) fn discard(folder: &Path, is_copy: bool, home: &Path) {
    let Ok(inside) = folder.strip_prefix(home.join("plugins")) else { return };
    if let (true, Some(name)) = (is_copy, inside.components().next()) {
        let _ = std::fs::remove_dir_all(home.join("plugins").join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_npm_is_at_the_start_and_that_of_others_marked_or_at_the_end() {
        let npm = "npm error code E404\nnpm error 404 Not Found - GET http://x/nope - not found\nnpm error 404\nnpm error A complete log of this run can be found in: /tmp/log\n";
        assert_eq!(reason(npm), "code E404: 404 Not Found - GET http://x/nope - not found");
        assert_eq!(
            reason("Cloning ...\nfatal: no such repository\n\n"),
            "fatal: no such repository"
        );
        let git = "ERROR: Repository not found.\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n";
        assert_eq!(reason(git), "ERROR: Repository not found.");
        let gone = "fatal: unable to access 'http://x/': Connection refused\nhint: try again\n";
        assert_eq!(reason(gone), "fatal: unable to access 'http://x/': Connection refused");
        assert_eq!(reason("first\nlast\n"), "last");
        assert_eq!(reason(""), "no reason given");
    }

    #[test]
    fn copies_have_plain_names() {
        for (source, name) in [
            ("https://example.com/ana/weather.git", "weather"),
            ("git@example.com:ana/weather.git", "weather"),
            ("npm:weather", "weather"),
            ("npm:@ana/weather@1.2.0", "weather"),
            ("pip:weather[all]>=1.2", "weather"),
            ("pip:./dist/weather-1.0-py3-none-any.whl", "weather-1_0-py3-none-any_whl"),
        ] {
            assert_eq!(folder_name(source), name, "{source}");
        }
    }
}
