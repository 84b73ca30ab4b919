//! Which names plugins of packages may have. A name leads to the settings and to the state of a plugin,
//! so no package may have the one of somebody else.

use crate::package::Package;
use orlop_app::Plugins;
use orlop_app::config::is_key;
use orlop_core::types::protocol::PluginDescription;
use std::collections::{HashMap, HashSet};

/// The names that are there before packages come.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Of plugins of all kinds.
    plugins: HashSet<String>,
    /// Of settings that stand in no section: `api_key`, `headers`.
    settings: HashSet<String>,
}

/// A plugin of a package that is left out, because it cannot have its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Misnamed {
    /// Its package.
    pub package: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Why not.
    pub why: &'static str,
}

impl std::fmt::Display for Misnamed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { package, kind, name, why } = self;
        write!(
            out,
            "the {kind} \"{name}\" of the package \"{package}\" is left out, because {why}; give it another name"
        )
    }
}

impl Names {
    /// The names of plugins and of their settings.
    pub fn of(plugins: &Plugins) -> Self {
        let all = plugins.manifests();
        let of_providers = all.iter().filter(|(kind, _)| *kind == "provider");
        let settings = of_providers.flat_map(|(_, it)| it.config_schema.keys().cloned()).collect();
        Self { plugins: all.into_iter().map(|(_, it)| it.name).collect(), settings }
    }

    /// Why a plugin of a package cannot have a name.
    pub fn refuse(&self, name: &str) -> Option<&'static str> {
        match self.plugins.contains(name) {
            true => Some("there is one of that name already"),
            false if self.is_setting(name) => Some("that is the name of a setting"),
            false => None,
        }
    }

    /// What keeps a plugin of a package from its name; `taken` are the packages of those before.
    pub(crate) fn misnamed<'a>(
        &self,
        taken: &mut HashMap<&'a str, &'a str>,
        package: &'a Package,
        held: &'a PluginDescription,
    ) -> Option<Misnamed> {
        let why = self.refuse(&held.name).or_else(|| {
            let first = *taken.entry(&held.name).or_insert(&package.name);
            (first != package.name).then_some("another package has one of that name")
        })?;
        let (package, kind, name) = (package.name.clone(), held.kind.clone(), held.name.clone());
        Some(Misnamed { package, kind, name, why })
    }

    /// The sections of a configuration that belong to a plugin: the one of its name, and that of its
    /// package, unless it is somebody else's.
    pub(crate) fn own(&self, package: &Package, held: &PluginDescription) -> Vec<String> {
        let mut own = vec![held.name.clone()];
        let name = &package.name;
        if !own.contains(name) && !self.plugins.contains(name) && !self.is_setting(name) {
            own.push(name.clone());
        }
        own
    }

    fn is_setting(&self, name: &str) -> bool {
        self.settings.contains(name) || is_key(name)
    }
}
