//! The runtime environment: what `${env:NAME}` and `${credential:NAME}` are replaced from, and what
//! child processes get.
//!
//! It is a mapping that is passed on. The environment of this process is never changed.

use super::locate::Locations;
use crate::credentials::Credentials;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Names and values of variables.
pub type Vars = BTreeMap<String, String>;

/// The process environment together with `CONFIG_DIR`, `WORKING_DIR` and `BUILTIN_PLUGINS`, and
/// where stored logins are, which child processes do not get.
/// Cloning copies it. Debugging shows the names only.
///
/// ```
/// use orlop_app::config::{RuntimeEnv, Vars};
/// let env = RuntimeEnv::from_vars(Vars::from([("CONFIG_DIR".into(), "/etc/orlop".into())]));
/// assert_eq!(env.get("CONFIG_DIR"), Some("/etc/orlop"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RuntimeEnv {
    vars: Vars,
    credentials: Option<Credentials>,
    data_dir: Option<PathBuf>,
    skill_folders: Vec<PathBuf>,
}

impl RuntimeEnv {
    /// `vars` with the three folders of this application, which win over variables of that name.
    pub fn new(mut vars: Vars, locations: &Locations, builtin_plugins: &Path) -> Self {
        put(&mut vars, "CONFIG_DIR", &locations.config_dir());
        put(&mut vars, "WORKING_DIR", locations.working_dir());
        put(&mut vars, "BUILTIN_PLUGINS", builtin_plugins);
        let home = locations.home();
        let credentials = Some(Credentials::in_folder(home));
        Self { vars, credentials, data_dir: Some(home.to_owned()), skill_folders: Vec::new() }
    }

    /// Exactly these variables, no stored logins and no data folder.
    pub fn from_vars(vars: Vars) -> Self {
        Self { vars, ..Self::default() }
    }

    /// With these stored logins, which `${credential:NAME}` is replaced from.
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// With this data folder.
    pub fn with_data_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(folder.into());
        self
    }

    /// The data folder, where plugins keep files of their own in a folder of their name.
    pub fn data_dir(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

    /// With these folders of skills that packages bring.
    pub fn with_skill_folders(mut self, folders: Vec<PathBuf>) -> Self {
        self.skill_folders = folders;
        self
    }

    /// Folders of skills that packages bring.
    pub fn skill_folders(&self) -> &[PathBuf] {
        &self.skill_folders
    }

    /// The stored logins.
    pub fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The environment of this process. Variables that are not Unicode are left out; child
    /// processes inherit them all the same.
    pub fn process_vars() -> Vars {
        let unicode = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(unicode).collect()
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// All variables, for the environment of a child process.
    pub fn vars(&self) -> &Vars {
        &self.vars
    }

    /// All variables with `PLUGIN_DIR`, the folder the plugin is in, and `PLUGIN_DATA`, the folder
    /// it may write to.
    pub fn vars_for_plugin(&self, dir: &Path, data: &Path) -> Vars {
        let mut vars = self.vars.clone();
        put(&mut vars, "PLUGIN_DIR", dir);
        put(&mut vars, "PLUGIN_DATA", data);
        vars
    }
}

fn put(vars: &mut Vars, name: &str, path: &Path) {
    vars.insert(name.to_owned(), path.display().to_string());
}

impl fmt::Debug for RuntimeEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Vars {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn sample() -> RuntimeEnv {
        let given = vars(&[("HOME", "/home/ana"), ("LANG", "C"), ("CONFIG_DIR", "/elsewhere")]);
        let file = Path::new("/srv/bot/orlop.toml");
        let locations = Locations::find(&given, Path::new("/srv/work"), Some(file)).unwrap();
        RuntimeEnv::new(given, &locations, Path::new("/usr/lib/orlop"))
    }

    #[test] // I-38
    fn it_holds_the_three_folders_and_the_process_environment() {
        let env = sample();
        assert_eq!(env.get("CONFIG_DIR"), Some("/srv/bot"));
        assert_eq!(env.get("WORKING_DIR"), Some("/srv/work"));
        assert_eq!(env.get("BUILTIN_PLUGINS"), Some("/usr/lib/orlop"));
        assert_eq!(env.get("LANG"), Some("C"));
        assert!(RuntimeEnv::process_vars().contains_key("PATH"));
        assert_eq!(
            format!("{env:?}"),
            r#"{"BUILTIN_PLUGINS", "CONFIG_DIR", "HOME", "LANG", "WORKING_DIR"}"#
        );
    }

    #[cfg(unix)]
    #[test] // I-39
    fn a_child_process_of_a_plugin_prints_config_dir() {
        let env = sample().vars_for_plugin(Path::new("/plugins/p"), Path::new("/data/p"));
        let child = std::process::Command::new("/bin/sh")
            .args(["-c", "echo $CONFIG_DIR $WORKING_DIR $PLUGIN_DIR $PLUGIN_DATA"])
            .envs(&env)
            .output()
            .unwrap();
        let printed = String::from_utf8(child.stdout).unwrap();
        assert_eq!(printed, "/srv/bot /srv/work /plugins/p /data/p\n");
        assert_eq!(sample().get("PLUGIN_DIR"), None);
    }
}
