//! Which names plugins of packages may have. A name leads to the settings and to the state of a plugin,
//! so no package may have the one of somebody else.

use crate::package::Package;
use crate::process::Process;
use orlop_app::Plugins;
use orlop_app::config::is_key;
use orlop_core::types::protocol::PluginDescription;
use std::collections::{HashMap, HashSet};

/// The names that are there before packages come.
pub(crate) struct Names {
    /// Of plugins of all kinds.
    plugins: HashSet<String>,
    /// Of settings that stand in no section: `api_key`, `headers`.
    settings: HashSet<String>,
}

impl Names {
    pub(crate) fn of(plugins: &Plugins) -> Self {
        let all = plugins.manifests();
        let of_providers = all.iter().filter(|(kind, _)| *kind == "provider");
        let settings = of_providers.flat_map(|(_, it)| it.config_schema.keys().cloned()).collect();
        Self { plugins: all.into_iter().map(|(_, it)| it.name).collect(), settings }
    }

    /// Whether a plugin of a package can have its name; `taken` are the packages of those before. One
    /// that cannot is left out.
    pub(crate) fn is_free<'a>(
        &self,
        taken: &mut HashMap<&'a str, &'a str>,
        process: &'a Process,
        held: &'a PluginDescription,
    ) -> bool {
        let (package, kind, name) = (&process.package().name, &held.kind, &held.name);
        let why = match self.plugins.contains(name) {
            true => "there is one of that name already",
            false if self.is_setting(name) => "that is the name of a setting",
            false if *taken.entry(name).or_insert(package) != package => {
                "another package has one of that name"
            }
            false => return true,
        };
        tracing::error!(
            target: "orlop::runtime",
            "the {kind} \"{name}\" of the package \"{package}\" is left out, because {why}; give it another name"
        );
        false
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
