//! How packages are doing, for people.

use crate::remembered::Remembered;
use crate::{LeftOut, Run, Runtime};
use orlop_app::{PluginHealth, Supplied, Supplier};

/// The packages of a runtime, and those that could not be used.
pub(crate) struct Packages {
    pub(crate) runtime: Runtime,
}

impl Supplier for Packages {
    fn supplied(&self) -> Vec<Supplied> {
        let held = self.runtime.packages.iter().map(|loaded| {
            let package = loaded.process.package();
            let (state, problem) = match &package.run {
                // Nothing of it runs by itself.
                Run::Bundle(_) => (PluginHealth::Running, None),
                _ => loaded.process.health(),
            };
            Supplied {
                name: package.name.clone(),
                source: SOURCE,
                place: Some(package.folder.display().to_string()),
                version: Some(package.version.clone()),
                state,
                problem,
                grants: package.grants.in_words(),
                plugins: loaded.description.plugins.iter().map(|held| held.name.clone()).collect(),
                actions: loaded
                    .process
                    .remembered()
                    .map(Remembered::of_sessions)
                    .unwrap_or_default(),
            }
        });
        let left_out = self.runtime.left_out.iter().map(|LeftOut { name, reason }| Supplied {
            name: name.clone(),
            source: SOURCE,
            state: PluginHealth::Failed,
            problem: Some(reason.clone()),
            ..Supplied::default()
        });
        held.chain(left_out).collect()
    }
}

const SOURCE: &str = "package";
