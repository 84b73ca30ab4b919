//! How packages are doing, for people.

use crate::names::Misnamed;
use crate::remembered::Remembered;
use crate::{LeftOut, Run, Runtime};
use orlop_app::{PluginHealth, Supplied, Supplier};

/// The packages of a runtime, and those that could not be used.
pub(crate) struct Packages {
    pub(crate) runtime: Runtime,
    /// The plugins that were left out of them.
    pub(crate) misnamed: Vec<Misnamed>,
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
            let misnamed: Vec<&Misnamed> =
                self.misnamed.iter().filter(|it| it.package == package.name).collect();
            let names = loaded.description.plugins.iter().map(|held| held.name.clone());
            let plugins: Vec<String> =
                names.filter(|name| misnamed.iter().all(|it| it.name != *name)).collect();
            let (state, problem) = match misnamed.first() {
                Some(left_out) if plugins.is_empty() => {
                    (PluginHealth::Failed, Some(left_out.to_string()))
                }
                left_out => (state, problem.or_else(|| left_out.map(ToString::to_string))),
            };
            Supplied {
                name: package.name.clone(),
                source: SOURCE,
                place: Some(package.folder.display().to_string()),
                version: Some(package.version.clone()),
                state,
                problem,
                grants: package.grants.in_words(),
                plugins,
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
