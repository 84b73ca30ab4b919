//! What is remembered of a package between runs: what it holds, and the actions and tools that its plugins offer.
//! A plugin nobody needs yet is not started to be asked.

use crate::crossing::Crosses;
use crate::description;
use crate::package::Package;
use orlop_core::hooks::{ActionsInput, ApplicationActionsInput, ToolSchemasInput};
use orlop_core::types::protocol::{Description, PluginDescription};
use orlop_core::{ActionDefinition, Config, Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long it is remembered that a package did not describe itself.
const FAILED_FOR: Duration = Duration::from_secs(600);

/// How many answers of a package are kept, of each kind.
const MAX_OFFERED: usize = 64;

/// The files about a package as it is now. They are found by what the package is made of and the
/// settings it is introduced with, so that one that changed is not known any more.
pub(crate) struct Remembered {
    folder: PathBuf,
    package: String,
    /// The name of its files, without their ends.
    stem: String,
    actions: OnceLock<Mutex<Offered<ActionDefinition>>>,
    tools: OnceLock<Mutex<Offered<Map>>>,
}

/// What was asked, as a digest, to what was offered.
type Offered<T> = BTreeMap<String, Vec<T>>;

/// What is remembered of a package.
pub(crate) enum Known {
    /// What it holds.
    Description(Description),
    /// It took longer than it may, and this is what was said of it.
    Failed(String),
}

impl Remembered {
    pub(crate) fn of(home: &Path, package: &Package, settings: &Map) -> Self {
        // Settings have secrets in them.
        let settings = digest(&Value::Object(settings.clone()).to_string());
        let (made_of, sdk) = (package.fingerprint(), crate::sdk::fingerprint());
        Self {
            folder: home.join("cache").join("plugins"),
            package: package.name.clone(),
            stem: format!("{}-{made_of}-{sdk}-{}", package.name, &settings[..16]),
            actions: OnceLock::new(),
            tools: OnceLock::new(),
        }
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", self.stem))
    }

    pub(crate) fn get(&self) -> Option<Known> {
        if let Ok(text) = std::fs::read_to_string(self.file("json")) {
            return description::read(&text, &self.package).ok().map(Known::Description);
        }
        let failed = self.file("failed");
        let at = failed.metadata().and_then(|found| found.modified()).ok()?;
        let is_new = at.elapsed().is_ok_and(|age| age < FAILED_FOR);
        let text = std::fs::read_to_string(&failed).ok().filter(|_| is_new)?;
        Some(Known::Failed(text))
    }

    /// A cache: where it cannot be written, the package is asked again next time.
    pub(crate) fn put(&self, description: &Description) {
        let Ok(text) = serde_json::to_string(description) else { return };
        self.forget();
        self.write("json", &text);
    }

    /// Remembers that a package took longer than it may.
    pub(crate) fn put_failed(&self, why: &str) {
        self.forget();
        self.write("failed", why);
    }

    /// The actions that a plugin offered when it was asked the same.
    pub(crate) fn actions(&self, asked: &str) -> Option<Vec<ActionDefinition>> {
        self.offered_actions().get(asked).cloned()
    }

    /// The actions on sessions that features and extensions offered, whatever they were asked.
    pub(crate) fn of_sessions(&self) -> Vec<ActionDefinition> {
        let offered = self.offered_actions();
        let mut actions: Vec<ActionDefinition> = Vec::new();
        for (asked, definitions) in &*offered {
            let mut words = asked.split(' ');
            let (kind, plugin) = (words.next(), words.next());
            if !matches!(kind, Some("feature" | "extension")) {
                continue;
            }
            for definition in definitions {
                let plugin = plugin.map(str::to_owned);
                let named = ActionDefinition { plugin, ..definition.clone() };
                if !actions.contains(&named) {
                    actions.push(named);
                }
            }
        }
        actions
    }

    /// Remembers the actions that a plugin offers; whether it never offered them before.
    pub(crate) fn put_actions(
        &self,
        plugin: &PluginDescription,
        asked: String,
        actions: &[ActionDefinition],
    ) -> bool {
        let mut offered = self.offered_actions();
        if offered.get(&asked).is_some_and(|held| held == actions) {
            return false;
        }
        let own = asked_of(plugin);
        let mut before = offered.iter().filter(|(asked, _)| asked.starts_with(&own));
        let is_new = before.all(|(_, held)| held != actions);
        self.put_offered("actions", &mut offered, asked, actions);
        is_new
    }

    /// The schemas that a tool plugin gave when it was asked the same.
    pub(crate) fn schemas(&self, asked: &str) -> Option<Vec<Map>> {
        self.offered_tools().get(asked).filter(|schemas| !schemas.is_empty()).cloned()
    }

    /// Remembers the schemas that a tool plugin gives. One without tools is asked every time: nothing
    /// else would ever start it.
    pub(crate) fn put_schemas(&self, asked: String, schemas: &[Map]) {
        let mut offered = self.offered_tools();
        if offered.get(&asked).map_or(&[][..], Vec::as_slice) != schemas {
            self.put_offered("tools", &mut offered, asked, schemas);
        }
    }

    fn offered_actions(&self) -> MutexGuard<'_, Offered<ActionDefinition>> {
        self.offered("actions", &self.actions)
    }

    fn offered_tools(&self) -> MutexGuard<'_, Offered<Map>> {
        self.offered("tools", &self.tools)
    }

    fn offered<'a, T: DeserializeOwned>(
        &self,
        end: &str,
        held: &'a OnceLock<Mutex<Offered<T>>>,
    ) -> MutexGuard<'a, Offered<T>> {
        let held = held.get_or_init(|| {
            let text = std::fs::read_to_string(self.file(end)).unwrap_or_default();
            Mutex::new(serde_json::from_str(&text).unwrap_or_default())
        });
        held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_offered<T: Serialize + Clone>(
        &self,
        end: &str,
        offered: &mut Offered<T>,
        asked: String,
        now: &[T],
    ) {
        if offered.len() >= MAX_OFFERED {
            offered.clear();
        }
        offered.insert(asked, now.to_vec());
        if let Ok(text) = serde_json::to_string(offered) {
            self.write(end, &text);
        }
    }

    /// Forgets everything about the package, also as it was before.
    pub(crate) fn forget(&self) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            if is_of(&entry.file_name().to_string_lossy(), &self.package) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn write(&self, end: &str, text: &str) {
        let beside = self.file(&format!("{end}.{}.tmp", std::process::id()));
        let _ = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&beside, text))
            .and_then(|()| std::fs::rename(&beside, self.file(end)));
    }
}

/// What actions and tools depend on that a plugin is asked for.
pub(crate) trait Asking: Crosses + Sync {
    /// All of the input that is not about one request, with configurations as they are shown to the
    /// plugin.
    fn depends_on(&self, shown: impl Fn(&Config) -> Value) -> impl Serialize;
}

impl Asking for ActionsInput {
    fn depends_on(&self, shown: impl Fn(&Config) -> Value) -> impl Serialize {
        (shown(&self.state.config), &self.state.values)
    }
}

impl Asking for ApplicationActionsInput {
    fn depends_on(&self, _: impl Fn(&Config) -> Value) -> impl Serialize {
        &self.state
    }
}

impl Asking for ToolSchemasInput {
    fn depends_on(&self, shown: impl Fn(&Config) -> Value) -> impl Serialize {
        (shown(&self.config), shown(&self.state.config), &self.state.values)
    }
}

/// What a plugin is asked, in short.
pub(crate) fn asked(
    plugin: &PluginDescription,
    input: &impl Asking,
    shown: impl Fn(&Config) -> Value,
) -> Option<String> {
    let input = serde_json::to_string(&input.depends_on(shown)).ok()?;
    Some(format!("{}{}", asked_of(plugin), &digest(&input)[..32]))
}

/// How everything begins that a plugin is asked.
fn asked_of(plugin: &PluginDescription) -> String {
    format!("{} {} ", plugin.kind, plugin.name.replace(' ', "_"))
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
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
        assert!(is_of(&format!("sun-{made_of}-1-2.actions"), "sun"));
        assert!(!is_of(&format!("sun-dial-{made_of}-1-2.json"), "sun"));
        assert!(is_of(&format!("sun-dial-{made_of}-1-2.json"), "sun-dial"));
    }
}
