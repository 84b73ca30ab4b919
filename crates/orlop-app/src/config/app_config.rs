//! The configuration of the application: files, flags and environment brought together.

use super::env::RuntimeEnv;
use super::flags;
use super::locate::Locations;
use super::origin::{Origin, SourceFile};
use super::problem::{ConfigError, Problem};
use super::read;
use super::resolve::Resolver;
use super::tree::{Node, Table, lay_over};
use super::trust::{self, Divided, ProjectTrust};
use orlop_core::{Result, Value};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The configuration: several agents, settings they share, and sections of the application.
/// Nothing is resolved before it is used, so a variable that is missing for one agent does not
/// stop another.
///
/// ```
/// use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
/// use std::path::Path;
///
/// let text = r#"
///     temperature = 0.2
///     [agents.default]
///     provider = "openai_compatible"
///     api_key = "${env:KEY}"
///     [agents.research]
///     extends = "default"
///     model = "o-large"
/// "#;
/// let env = RuntimeEnv::from_vars(Vars::from([("KEY".into(), "sk-1".into())]));
/// let config = AppConfig::from_text(Path::new("orlop.toml"), text, env)?;
/// let research = config.build_agent_config("research")?;
/// assert_eq!(research.text("model"), Some("o-large"));
/// assert_eq!(research.text("api_key"), Some("sk-1"));
/// # Ok::<(), orlop_core::Error>(())
/// ```
#[derive(Clone)]
pub struct AppConfig {
    pub(super) tree: Table,
    pub(super) env: RuntimeEnv,
    pub(super) files: Vec<Arc<SourceFile>>,
    /// What was wrong with reading it; where there is something, `tree` is not complete.
    pub(super) read_problems: Vec<Problem>,
    /// What the project's file says that needs trust, in force or not.
    pub(super) trust: Option<ProjectTrust>,
    /// Why the agents cannot be used although they are there.
    pub(super) unusable: Option<String>,
}

impl AppConfig {
    /// Reads the files and lays the flags `--set key=value` over them. Fails with every problem of
    /// reading at once. What a project's file says that needs trust is left out where the user has
    /// not trusted it; [`project_trust`](Self::project_trust) tells of it.
    pub fn load(
        locations: &Locations,
        flags: &[String],
        env: RuntimeEnv,
    ) -> Result<Self, ConfigError> {
        let config = Self::read(locations, flags, env);
        ConfigError::unless_empty(config.read_problems.clone())?;
        Ok(config)
    }

    /// Reads as [`load`](Self::load) does, but keeps the problems for [`check`](Self::check).
    pub fn read(locations: &Locations, flags: &[String], env: RuntimeEnv) -> Self {
        let named = |path| SourceFile::new(path, locations.working_dir());
        let files: Vec<Arc<SourceFile>> =
            locations.files().iter().map(|path| named(path)).collect();
        let mut config = Self::of_layers(Vec::new(), files.clone(), env);
        for file in &files {
            let mut layer = read::read_file(file);
            if let Some(servers) = locations.servers_file().filter(|_| Some(file) == files.last()) {
                layer = layer.and_then(|layer| {
                    let mut under = read::read_file(&named(servers))?;
                    lay_over(&mut under, layer);
                    Ok(under)
                });
            }
            match layer {
                Ok(layer) if locations.project_file() == Some(file.path()) => {
                    config.lay_project(file, layer, locations.home());
                }
                layer => config.lay(layer),
            }
        }
        let (layer, problems) = flags::layer(flags);
        lay_over(&mut config.tree, layer);
        config.read_problems.extend(problems);
        config
    }

    /// Reads a text as if it stood in the file `path`.
    pub fn from_text(path: &Path, text: &str, env: RuntimeEnv) -> Result<Self, ConfigError> {
        let file = SourceFile::new(path, Path::new(""));
        let layer = read::read_text(&file, text);
        let config = Self::of_layers(vec![layer], vec![file], env);
        ConfigError::unless_empty(config.read_problems.clone())?;
        Ok(config)
    }

    pub(super) fn of_layers(
        layers: Vec<Result<Table, Vec<Problem>>>,
        files: Vec<Arc<SourceFile>>,
        env: RuntimeEnv,
    ) -> Self {
        let (tree, read_problems) = (Table::new(), Vec::new());
        let mut config = Self { tree, env, files, read_problems, trust: None, unusable: None };
        layers.into_iter().for_each(|layer| config.lay(layer));
        config
    }

    fn lay(&mut self, layer: Result<Table, Vec<Problem>>) {
        match layer {
            Ok(layer) => lay_over(&mut self.tree, layer),
            Err(problems) => self.read_problems.extend(problems),
        }
    }

    /// Lays the file of a project over the rest: all of it where it is trusted.
    fn lay_project(&mut self, file: &Arc<SourceFile>, layer: Table, home: &Path) {
        let Divided { harmless, trust } = match trust::divide(file, &layer, &self.tree, home) {
            Ok(divided) => divided,
            Err(problem) => return self.read_problems.push(problem),
        };
        let is_trusted = trust.as_ref().is_none_or(ProjectTrust::is_trusted);
        lay_over(&mut self.tree, if is_trusted { layer } else { harmless });
        self.trust = trust;
    }

    /// What the project's file says that needs trust, and whether it is in force. None where it
    /// says nothing of the kind, or was named by the user.
    pub fn project_trust(&self) -> Option<&ProjectTrust> {
        self.trust.as_ref()
    }

    /// What the project's file says that is not in force, because it is not trusted.
    pub fn untrusted(&self) -> Option<&ProjectTrust> {
        self.trust.as_ref().filter(|trust| !trust.is_trusted())
    }

    /// With the folders of skills that packages bring.
    pub fn with_skill_folders(mut self, folders: Vec<PathBuf>) -> Self {
        self.env = self.env.with_skill_folders(folders);
        self
    }

    /// The runtime environment, for plugins and child processes.
    pub fn env(&self) -> &RuntimeEnv {
        &self.env
    }

    /// The files that were read, a later one laid over an earlier one.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path())
    }

    /// The configuration as a whole, as the place of a problem.
    pub(super) fn whole(&self) -> Origin {
        self.files.last().map_or(Origin::Default, |file| Origin::File(file.clone(), None))
    }

    /// The value of a node, with its placeholders replaced.
    pub(super) fn resolved(&self, node: &Node, path: &str) -> Result<Value, ConfigError> {
        let mut resolver = Resolver::new(&self.env);
        let value = resolver.value(node, path);
        ConfigError::unless_empty(resolver.problems)?;
        Ok(value)
    }
}

/// Shows the files and the names of the agents: values may be secrets.
impl fmt::Debug for AppConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<&Path> = self.files().collect();
        f.debug_struct("AppConfig").field("files", &files).field("agents", &self.agents()).finish()
    }
}
