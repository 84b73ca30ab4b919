//! What the process of a package may reach, from its grants: its own folders, what its program needs
//! to run at all, and what the user granted. The kernel keeps it there ([`orlop_app::confine`]).

use crate::package::{MANIFEST, Package, Run};
use orlop_app::config::Vars;
use orlop_app::confine::{Network, Reach, places};
use orlop_core::{Error, Result};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where a package runs.
pub(crate) struct Surroundings<'a> {
    /// Orlop's data folder, which is hidden.
    pub(crate) home: &'a Path,
    /// Folders of the host that the package reads: the SDK.
    pub(crate) read: &'a [PathBuf],
    /// Folders that are the package's own.
    pub(crate) write: &'a [PathBuf],
    /// The environment of the process.
    pub(crate) vars: &'a Vars,
}

/// What a package may reach while it is run by `program`.
pub(crate) fn of(package: &Package, program: &OsStr, around: &Surroundings<'_>) -> Result<Reach> {
    let var = |name: &str| around.vars.get(name).map(String::as_str);
    let person = var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let person = person.and_then(|home| home.canonicalize().ok());
    let path = var("PATH").unwrap_or_default();

    let mut read = places::system();
    read.extend(places::programs(path, person.as_deref()));
    read.extend(libraries(program, package, path, person.as_deref()));
    read.extend(var("VIRTUAL_ENV").map(PathBuf::from));
    if let (Run::Python(_), Some(person)) = (&package.run, &person) {
        read.push(person.join(".local/lib"));
    }
    read.extend(own_files(package, person.as_deref()));
    read.extend(around.read.iter().cloned());
    let mut write = around.write.to_vec();
    for granted in &package.grants.files {
        let (access, place) = place(granted, around.vars)?;
        match access {
            Access::Read => read.push(place),
            Access::Write => write.push(place),
        }
    }

    let mut hidden = places::secrets(person.as_deref());
    hidden.push(around.home.to_owned());
    let network = if package.grants.network.is_empty() { Network::Closed } else { Network::Open };
    Ok(Reach { read: real(read), write: real(write), hidden: real(hidden), network })
}

/// What may be done with granted files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Reads a grant such as `read:${WORKING_DIR}/notes`.
pub(crate) fn place(granted: &str, vars: &Vars) -> Result<(Access, PathBuf)> {
    let wrong = |why: &str| {
        Error::bad_argument(format!(
            "the grant of files \"{granted}\" {why}; write read: or write: and a path that begins with /, ~ or a variable, as in \"read:${{WORKING_DIR}}/notes\""
        ))
    };
    let (access, path) = match granted.split_once(':') {
        Some(("read", path)) => (Access::Read, path),
        Some(("write", path)) => (Access::Write, path),
        _ => return Err(wrong("does not say what for")),
    };
    let path = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("${{HOME}}{rest}"),
        _ => path.to_owned(),
    };
    let path = match path.strip_prefix("${").and_then(|rest| rest.split_once('}')) {
        None => path,
        Some((name, rest)) => {
            let value = vars.get(name).filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| wrong(&format!("needs {name}, which is not set")))?;
            format!("{value}{rest}")
        }
    };
    match Path::new(&path).is_absolute() {
        true => Ok((access, PathBuf::from(path))),
        false => Err(wrong("has no whole path")),
    }
}

/// The folder of a package. A file without a manifest that lies among everything a person has is
/// the file alone; a package of npm has those it needs beside it.
fn own_files(package: &Package, person: Option<&Path>) -> Vec<PathBuf> {
    let is_alone = !package.folder.join(MANIFEST).is_file()
        && person.is_some_and(|person| person.starts_with(&package.folder));
    if let (true, Run::Python(file) | Run::Node(file)) = (is_alone, &package.run) {
        return vec![file.clone()];
    }
    let beside = package.folder.ancestors().filter(|folder| folder.ends_with("node_modules"));
    let beside = beside.last().map(Path::to_owned);
    // What its author linked in from elsewhere is meant to be used.
    let linked = ["node_modules", ".venv"].map(|name| package.folder.join(name));
    std::iter::once(package.folder.clone()).chain(beside).chain(linked).collect()
}

/// Where a program, and the one that its first line names, has its libraries: the folder around the
/// one it lies in. Interpreters that a person installed have all they need in there.
fn libraries(
    program: &OsStr,
    package: &Package,
    path: &str,
    person: Option<&Path>,
) -> Vec<PathBuf> {
    let found = find(program, package, path);
    let named = found.as_deref().and_then(interpreter);
    let named = named.and_then(|named| find(OsStr::new(&named), package, path));
    let folders = found.into_iter().chain(named).filter_map(|program| {
        let real = program.canonicalize().ok()?;
        Some(real.parent()?.parent()?.to_owned())
    });
    let is_around = |folder: &PathBuf| person.is_some_and(|person| person.starts_with(folder));
    folders.filter(|folder| folder.parent().is_some() && !is_around(folder)).collect()
}

/// A program by its path, or by its name and `PATH`.
fn find(program: &OsStr, package: &Package, path: &str) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(package.folder.join(program));
    }
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The program that runs a script: `#!/usr/bin/env python3` is run by `python3`.
fn interpreter(script: &Path) -> Option<String> {
    let mut start = Vec::new();
    std::fs::File::open(script).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let first = words.next()?;
    match first.ends_with("/env") {
        true => words.find(|word| !word.starts_with('-')).map(str::to_owned),
        false => Some(first.to_owned()),
    }
}

/// Those that there are, by their real paths.
fn real(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(granted: &str, expected: Expect) {
        let vars = [("HOME", "/home/ana"), ("WORKING_DIR", "/work here"), ("EMPTY", "")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        expected.assert_eq(&match place(granted, &vars) {
            Ok((access, path)) => format!("{access:?} {}", path.display()),
            Err(error) => error.message().split(';').next().unwrap_or_default().to_owned(),
        });
    }

    #[test]
    fn grants_of_files_are_places() {
        check("read:/srv/data", expect!["Read /srv/data"]);
        check("write:~", expect!["Write /home/ana"]);
        check("write:~/notes", expect!["Write /home/ana/notes"]);
        check("read:${WORKING_DIR}/a", expect!["Read /work here/a"]);
        check(
            "read:${EMPTY}/a",
            expect![[r#"the grant of files "read:${EMPTY}/a" needs EMPTY, which is not set"#]],
        );
        check("read:notes", expect![[r#"the grant of files "read:notes" has no whole path"#]]);
        check("read:~bob", expect![[r#"the grant of files "read:~bob" has no whole path"#]]);
        check("/srv/data", expect![[r#"the grant of files "/srv/data" does not say what for"#]]);
    }
}
