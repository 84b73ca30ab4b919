//! Where data and configuration files are. Looks which files exist, reads none.

use super::env::Vars;
use orlop_core::{Error, Result};
use std::path::{Path, PathBuf};

/// The name of a project's configuration file.
pub const PROJECT_FILE: &str = "orlop.toml";
/// The file in which other agents name the MCP servers of a project.
pub(super) const SERVERS_FILE: &str = ".mcp.json";

/// The folder of the data and the configuration files in force.
///
/// ```
/// use orlop_app::config::{Locations, Vars};
/// use std::path::Path;
/// let vars = Vars::from([("HOME".into(), "/home/ana".into())]);
/// let found = Locations::find(&vars, Path::new("/nowhere"), None)?;
/// assert_eq!(found.home(), Path::new("/home/ana/.local/share/orlop"));
/// assert!(found.files().is_empty());
/// # Ok::<(), orlop_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locations {
    home: PathBuf,
    working_dir: PathBuf,
    user_file: PathBuf,
    files: Vec<PathBuf>,
    /// The last of the files, where it was found and not named, and nobody vouched for it.
    project_file: Option<PathBuf>,
    /// A file with servers beside the file of the project.
    servers_file: Option<PathBuf>,
}

impl Locations {
    /// Looks in the places that variables, the working folder and the flag `--config` name.
    pub fn find(vars: &Vars, working_dir: &Path, config_flag: Option<&Path>) -> Result<Self> {
        let places = Places { vars, working_dir };
        let home = places.home()?;
        let user_file = places.config_home(&home).join("config.toml");
        let (mut project_file, mut servers_file) = (None, None);
        let files = match config_flag {
            Some(file) => vec![working_dir.join(file)],
            None => {
                project_file = places.nearest(PROJECT_FILE);
                servers_file = match &project_file {
                    Some(file) => Some(file.with_file_name(SERVERS_FILE)).filter(|it| is_there(it)),
                    None => None,
                };
                // Alone it is all that the project says.
                project_file = project_file.or_else(|| places.nearest(SERVERS_FILE));
                let user = Some(user_file.clone()).filter(|file| is_there(file));
                user.into_iter().chain(project_file.clone()).collect()
            }
        };
        let working_dir = working_dir.to_owned();
        Ok(Self { home, working_dir, user_file, files, project_file, servers_file })
    }

    /// Takes the project's file for one that the user named: everything it says holds.
    pub fn trusting_project(mut self) -> Self {
        self.project_file = None;
        self
    }

    /// The project's file, unless everything it says holds because the user named it or vouched
    /// for it.
    pub fn project_file(&self) -> Option<&Path> {
        self.project_file.as_deref()
    }

    /// A `.mcp.json` beside the file of the project, which belongs to it.
    pub(super) fn servers_file(&self) -> Option<&Path> {
        self.servers_file.as_deref()
    }

    /// The folder of the data: `orlop.db`, `assets`, `models`, `plugins` and others.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The working folder.
    pub fn working_dir(&self) -> &Path {
        &self.working_dir
    }

    /// The configuration files, a later one laid over an earlier one; there may be none.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Where the user's own configuration file is, or would be.
    pub fn user_file(&self) -> &Path {
        &self.user_file
    }

    /// The folder of the last configuration file, or the one the user's would be in.
    pub fn config_dir(&self) -> PathBuf {
        let own = |file: &&PathBuf| !file.ends_with(SERVERS_FILE);
        let file = self.files.iter().rev().find(own).unwrap_or(&self.user_file);
        file.parent().unwrap_or(&self.working_dir).to_owned()
    }
}

struct Places<'a> {
    vars: &'a Vars,
    working_dir: &'a Path,
}

impl Places<'_> {
    fn home(&self) -> Result<PathBuf> {
        if let Some(home) = self.set("ORLOP_HOME") {
            return Ok(self.working_dir.join(home));
        }
        let data =
            self.absolute("XDG_DATA_HOME").or_else(|| Some(self.user()?.join(".local/share")));
        data.map(|data| data.join("orlop")).ok_or_else(|| {
            Error::bad_argument(
                "no place for data is known, because neither ORLOP_HOME nor HOME is set; set ORLOP_HOME to a folder",
            )
        })
    }

    fn config_home(&self, home: &Path) -> PathBuf {
        let config =
            self.absolute("XDG_CONFIG_HOME").or_else(|| Some(self.user()?.join(".config")));
        config.map_or_else(|| home.to_owned(), |config| config.join("orlop"))
    }

    fn nearest(&self, name: &str) -> Option<PathBuf> {
        let candidates = self.working_dir.ancestors().map(|folder| folder.join(name));
        candidates.into_iter().find(|file| is_there(file))
    }

    fn user(&self) -> Option<PathBuf> {
        self.absolute("HOME").or_else(|| self.absolute("USERPROFILE"))
    }

    fn set(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The XDG specification has relative paths ignored.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.set(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// Whatever has the name counts, also a folder or a broken link: reading it then says what is
/// wrong, instead of a configuration that is silently not used.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Folder;
    use super::*;

    fn find(pairs: &[(&str, &str)], flag: Option<&str>) -> Locations {
        let vars = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Locations::find(&vars.collect(), Path::new("/w"), flag.map(Path::new)).unwrap()
    }

    #[test]
    fn the_home_is_the_first_that_is_set() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("ORLOP_HOME", "/o"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")], "/o"),
            (&[("ORLOP_HOME", "here"), ("HOME", "/h")], "/w/here"),
            (&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")], "/x/orlop"),
            (
                &[("ORLOP_HOME", ""), ("XDG_DATA_HOME", "rel"), ("HOME", "/h")],
                "/h/.local/share/orlop",
            ),
        ];
        for (vars, home) in cases {
            assert_eq!(find(vars, None).home(), Path::new(home), "{vars:?}");
        }
        let lost = Locations::find(&Vars::new(), Path::new("/w"), None).unwrap_err();
        assert!(lost.message().ends_with("set ORLOP_HOME to a folder"), "{lost}");
    }

    #[test]
    fn a_given_file_stands_alone() {
        let found = find(&[("HOME", "/h")], Some("conf/bot.toml"));
        assert_eq!(found.files(), [Path::new("/w/conf/bot.toml")]);
        assert_eq!(found.config_dir(), Path::new("/w/conf"));
        assert_eq!(find(&[("HOME", "/h")], None).config_dir(), Path::new("/h/.config/orlop"));
    }

    #[test]
    fn the_project_file_is_found_upwards_and_laid_over_the_users() {
        let folder = Folder::new();
        let (config, deep) = (folder.path().join("config"), folder.path().join("project/a/b"));
        std::fs::create_dir_all(&deep).unwrap();
        let user = folder.file("config/orlop/config.toml", "");
        let project = folder.file("project/orlop.toml", "");
        let vars = [("HOME", "/h"), ("XDG_CONFIG_HOME", config.to_str().unwrap())];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = Locations::find(&Vars::from(vars), &deep, None).unwrap();
        assert_eq!(found.files(), [user.clone(), project.clone()]);
        assert_eq!(found.user_file(), user);
        assert_eq!(found.config_dir(), project.parent().unwrap());
    }
}
