//! What a process says it holds, and where that is remembered, so that a plugin nobody needs yet is
//! not started to be asked.

use crate::package::{PROTOCOL, Package};
use orlop_core::hooks::{HOOKS, Hook, HookSet, Kind};
use orlop_core::{Config, Error, Manifest, Map, Result, Value};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The version of the protocol.
    pub protocol: u64,
    /// The SDK, for people.
    #[serde(default)]
    pub sdk: Option<String>,
    /// The plugins in the package.
    pub plugins: Vec<PluginDescription>,
}

/// One plugin of a package.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginDescription {
    /// Its name.
    pub name: String,
    /// Its version; that of the package if it does not say.
    pub version: Option<String>,
    /// `provider`, `extension`, `feature`, `tool`, `application` or `host`.
    pub kind: String,
    /// Where it stands among others of its kind.
    pub priority: Option<i64>,
    /// For a host plugin: a failing interceptor stops the request.
    pub critical: bool,
    /// Configuration key to descriptor.
    pub config_schema: Map,
    /// Tags that must all be there.
    pub required_tags: Vec<String>,
    /// Tags none of which may be there.
    pub forbidden_tags: Vec<String>,
    /// Whether it looks at model descriptors.
    pub uses_models: bool,
    /// For a provider: the configuration keys its model list depends on.
    pub discovery_keys: Vec<String>,
    /// The hooks it implements.
    pub hooks: Vec<String>,
    /// How much history a hook wants.
    pub history: std::collections::BTreeMap<String, Wanted>,
    /// For an extension: the provider it stands beside.
    pub provider: Option<String>,
    /// For a provider: the form of its native history.
    pub native_format: Option<String>,
    /// For a provider: the format of tool schemas.
    pub schema_format: Option<String>,
    /// For a provider: the format of tool calls.
    pub call_format: Option<String>,
    /// Plugins of the same kind that it runs before.
    pub before: Vec<String>,
    /// Plugins of the same kind that it runs after.
    pub after: Vec<String>,
}

/// How much of a list a hook wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Nothing of it.
    None,
    /// The last so many.
    Tail(usize),
    /// All of it; what it has already is not sent again.
    Full,
}

impl PluginDescription {
    /// The kind.
    pub fn kind(&self) -> Option<Kind> {
        let kinds = [
            Kind::Provider,
            Kind::Extension,
            Kind::Feature,
            Kind::Tool,
            Kind::Application,
            Kind::Host,
        ];
        kinds.into_iter().find(|kind| kind.as_str() == self.kind)
    }

    /// Whether it is the provider of a configuration, whose keys are meant for it.
    pub(crate) fn provides(&self, config: &Config) -> bool {
        self.kind() == Some(Kind::Provider) && config.text("provider") == Some(&self.name)
    }

    /// The hook of this plugin that has a name.
    pub fn hook(&self, name: &str) -> Option<Hook> {
        let kind = self.kind()?;
        // Application and host plugins have their own `init` and UI elements.
        let any = !matches!(kind, Kind::Application | Kind::Host);
        let fits = |held: Kind| held == kind || (any && held == Kind::Any);
        HOOKS.iter().find(|row| row.name == name && fits(row.kind)).map(|row| row.hook)
    }

    /// How much of a list `hook` wants, where the plugin says so.
    pub(crate) fn wanted(&self, hook: Hook) -> Option<Wanted> {
        self.history.get(hook.name()).copied()
    }

    /// What it says of itself, as the core has it.
    pub(crate) fn manifest(&self, package: &Package) -> Manifest {
        let version = self.version.clone().unwrap_or_else(|| package.version.clone());
        let mut manifest = match self.kind() {
            Some(Kind::Host) => Manifest::host(&self.name, version),
            _ => Manifest::new(&self.name, version),
        };
        if let Some(priority) = self.priority {
            manifest.priority = priority;
        }
        manifest.critical = self.critical;
        manifest.config_schema = self.config_schema.clone();
        manifest.required_tags = self.required_tags.clone();
        manifest.forbidden_tags = self.forbidden_tags.clone();
        manifest.uses_models = self.uses_models;
        manifest.discovery_keys = self.discovery_keys.clone();
        manifest.before = self.before.clone();
        manifest.after = self.after.clone();
        let mut hooks: Vec<Hook> = self.hooks.iter().filter_map(|name| self.hook(name)).collect();
        // Progress of a tool that only reports at the end is shown as parts, too.
        if hooks.contains(&Hook::ExecuteTool) {
            hooks.push(Hook::StreamTool);
        }
        manifest.hooks = HookSet::of(&hooks);
        manifest
    }
}

impl Description {
    /// Reads and checks the answer to `initialize`.
    pub fn read(answer: &str, package: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::plugin(format!("plugin \"{package}\" describes itself wrongly: {what}"))
        };
        let value: Value =
            serde_json::from_str(answer).map_err(|error| wrong(error.to_string()))?;
        match value.get("protocol").and_then(Value::as_u64) {
            Some(PROTOCOL) => {}
            Some(other) => {
                return Err(wrong(format!(
                    "it speaks version {other} of the protocol, this Orlop version {PROTOCOL}"
                )));
            }
            None => return Err(wrong("its answer to initialize has no protocol".to_owned())),
        }
        let description: Self =
            serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        if description.plugins.is_empty() {
            return Err(wrong(
                "it holds no plugin; define a class with the methods of one".to_owned(),
            ));
        }
        for (index, plugin) in description.plugins.iter().enumerate() {
            let same = |other: &PluginDescription| {
                (&other.name, &other.kind) == (&plugin.name, &plugin.kind)
            };
            if plugin.name.trim().is_empty() {
                return Err(wrong("a plugin in it has no name".to_owned()));
            }
            if plugin.kind().is_none() {
                return Err(wrong(format!(
                    "plugin \"{}\" is of kind \"{}\"; known: provider, extension, feature, tool, application, host",
                    plugin.name, plugin.kind
                )));
            }
            if description.plugins[..index].iter().any(same) {
                let (kind, name) = (&plugin.kind, &plugin.name);
                return Err(wrong(format!("it holds two {kind} plugins named \"{name}\"")));
            }
        }
        Ok(description)
    }
}

/// Descriptions of packages, by what the packages are made of and the settings they are introduced
/// with.
pub(crate) struct Remembered {
    folder: PathBuf,
}

/// How long it is remembered that a package did not describe itself.
const FAILED_FOR: Duration = Duration::from_secs(600);

/// What is remembered of a package.
pub(crate) enum Known {
    /// What it holds.
    Description(Description),
    /// It took longer than it may, and this is what was said of it.
    Failed(String),
}

impl Remembered {
    pub(crate) fn new(home: &Path) -> Self {
        Self { folder: home.join("cache").join("plugins") }
    }

    fn file(&self, package: &Package, settings: &Map) -> PathBuf {
        // Settings have secrets in them.
        let settings = Sha256::digest(Value::Object(settings.clone()).to_string());
        let settings: String = settings.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let (made_of, sdk) = (package.fingerprint(), crate::sdk::fingerprint());
        self.folder.join(format!("{}-{made_of}-{sdk}-{settings}.json", package.name))
    }

    pub(crate) fn get(&self, package: &Package, settings: &Map) -> Option<Known> {
        let file = self.file(package, settings);
        if let Ok(text) = std::fs::read_to_string(&file) {
            let description = Description::read(&text, &package.name).ok()?;
            return Some(Known::Description(description));
        }
        let failed = file.with_extension("failed");
        let at = failed.metadata().and_then(|found| found.modified()).ok()?;
        let is_new = at.elapsed().is_ok_and(|age| age < FAILED_FOR);
        let text = std::fs::read_to_string(&failed).ok().filter(|_| is_new)?;
        Some(Known::Failed(text))
    }

    /// A cache: where it cannot be written, the package is asked again next time.
    pub(crate) fn put(&self, package: &Package, settings: &Map, description: &Description) {
        let Ok(text) = serde_json::to_string(description) else { return };
        self.write(package, &self.file(package, settings), &text);
    }

    /// Remembers that a package took longer than it may.
    pub(crate) fn put_failed(&self, package: &Package, settings: &Map, why: &str) {
        self.write(package, &self.file(package, settings).with_extension("failed"), why);
    }

    /// Writes a file in the place of all others of the package.
    fn write(&self, package: &Package, file: &Path, text: &str) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            if is_of(&entry.file_name().to_string_lossy(), &package.name) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let beside = file.with_extension(format!("{}.tmp", std::process::id()));
        let _ = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&beside, text))
            .and_then(|()| std::fs::rename(&beside, file));
    }
}

/// Whether a file is about the package of a name, and not about one whose name begins with it.
fn is_of(file: &str, package: &str) -> bool {
    let rest = file.strip_prefix(package).and_then(|rest| rest.strip_prefix('-'));
    let made_of = rest.and_then(|rest| rest.split('-').next()).unwrap_or_default();
    made_of.len() == 32 && made_of.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_begins_another_leaves_its_files_alone() {
        let made_of = "0123456789abcdef".repeat(2);
        assert!(is_of(&format!("sun-{made_of}-1-2.json"), "sun"));
        assert!(is_of(&format!("sun-{made_of}-1-2.failed"), "sun"));
        assert!(!is_of(&format!("sun-dial-{made_of}-1-2.json"), "sun"));
        assert!(is_of(&format!("sun-dial-{made_of}-1-2.json"), "sun-dial"));
    }
}
