//! Runs plugins that are programs of their own, in any language, against the same contract as those
//! written in Rust.
//!
//! [`Runtime`] takes packages in, each a folder or a file ([`Package`]), and hands their plugins to
//! the application. A package is one process, started when one of its hooks is first called; how it
//! is talked to is written in `docs/reference/plugin-protocol.md`.

mod backlog;
mod bundle;
mod call;
mod crossing;
mod description;
mod grants;
mod installed;
pub mod kit;
mod launch;
mod lines;
mod lists;
mod package;
mod peer;
mod plugin;
mod process;
mod reach;
mod reverse;
mod sdk;
mod secrets;
mod supply;
mod tap;

pub use bundle::{Bundle, CommandHook, HookEvent};
pub use description::{Description, PluginDescription, Wanted};
pub use grants::Grants;
pub use installed::{Entry, Installed};
pub use package::{Limits, MANIFEST, OnFailure, PROTOCOL, Package, Run};
pub use tap::{Crossed, Tap, Way};

use bundle::CommandHooks;
use description::Remembered;
use launch::Launch;
use orlop_app::Plugins;
use orlop_app::config::{AppConfig, McpServer, RuntimeEnv};
use orlop_core::hooks::Kind;
use orlop_core::{Error, Feature, Map, Result};
use plugin::ProcessPlugin;
use process::Process;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use supply::Packages;

/// The packages of an application, and their processes.
#[derive(Clone)]
pub struct Runtime {
    env: RuntimeEnv,
    home: PathBuf,
    packages: Vec<Arc<Loaded>>,
    left_out: Vec<LeftOut>,
    tap: Option<Tap>,
}

/// Where an author works on a package: it stands in for the one of the same name, and may have
/// what it asks for; an ear hears what crosses.
#[derive(Clone, Default)]
pub struct Workbench {
    /// The package that is worked on.
    pub package: Option<Package>,
    /// Hears the lines of all packages.
    pub tap: Option<Tap>,
}

/// A package that could not be used.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A package whose plugins are known.
struct Loaded {
    process: Arc<Process>,
    description: Description,
}

impl Runtime {
    /// A runtime without packages. What belongs to plugins is kept in `home`.
    pub fn new(env: RuntimeEnv, home: impl Into<PathBuf>) -> Self {
        Self { env, home: home.into(), packages: Vec::new(), left_out: Vec::new(), tap: None }
    }

    /// A runtime with the packages of a configuration and those the user added. A package that
    /// cannot be used is left out, and why is told; the others work without it.
    pub fn load(config: &AppConfig, home: &Path) -> (Self, Vec<LeftOut>) {
        Self::load_on(config, home, Workbench::default())
    }

    /// The same, with what an author works on.
    pub fn load_on(config: &AppConfig, home: &Path, workbench: Workbench) -> (Self, Vec<LeftOut>) {
        let Workbench { package, tap } = workbench;
        let mut runtime = Self { tap, ..Self::new(config.env().clone(), home) };
        let mut left_out = Vec::new();
        let installed = Installed::read(home).unwrap_or_else(|error| {
            left_out.push(LeftOut {
                name: "plugins.json".to_owned(),
                reason: error.message().to_owned(),
            });
            Installed::default()
        });
        let configured = config.plugin_names().into_iter().map(str::to_owned);
        let added = installed.packages().map(|(name, _)| name.to_owned());
        let added = added.filter(|name| !config.is_plugin_off(name));
        let given = package.as_ref().map(|package| package.name.clone());
        let mut names: Vec<String> = configured.chain(added).chain(given).collect();
        names.sort();
        names.dedup();
        for name in names {
            let given = package.clone().filter(|package| package.name == name);
            if let Err(error) = runtime.load_one(config, &installed, &name, given) {
                left_out.push(LeftOut { name, reason: error.message().to_owned() });
            }
        }
        runtime.left_out.clone_from(&left_out);
        (runtime, left_out)
    }

    fn load_one(
        &mut self,
        config: &AppConfig,
        installed: &Installed,
        name: &str,
        given: Option<Package>,
    ) -> Result<()> {
        let configured = match config.plugin_names().contains(&name) {
            true => Some(config.plugin(name)?),
            false => None,
        };
        let settings = configured.as_ref().map(|entry| entry.settings.clone()).unwrap_or_default();
        if let Some(package) = given {
            return self.add(package, settings).map(|_| ());
        }
        let path = configured.and_then(|entry| entry.path);
        let path = path.or_else(|| installed.get(name).map(|entry| entry.path.clone()));
        // A shipped one, which is there already.
        let Some(path) = path else { return Ok(()) };
        let mut package = Package::read(&path)?;
        package.name = name.to_owned();
        if !installed.accepts(&package) {
            return Err(Error::bad_state(format!(
                "it asks for more than it was granted ({}); look at it and run `orlop plugin accept {name}`",
                package.grants.in_words().join(", ")
            )));
        }
        self.add(package, settings).map(|_| ())
    }

    /// Takes a package in, with its settings. Its process is started only if what it holds is not
    /// known from before. Must be called within a Tokio runtime.
    pub fn add(&mut self, package: Package, settings: Map) -> Result<&Description> {
        let remembered = Remembered::new(&self.home);
        let known = remembered.get(&package);
        let process =
            Process::new(Launch::new(package, &self.env, &self.home, settings), self.tap.clone());
        let description = match (known, &process.package().run) {
            (_, Run::Bundle(bundle)) => {
                process.launch().make_data_folder()?;
                bundle.description(process.package())
            }
            (Some(description), _) => description,
            (None, _) => {
                let (_, description) = process.start()?;
                remembered.put(process.package(), &description);
                description
            }
        };
        self.packages.push(Arc::new(Loaded { process, description }));
        let added = self.packages.last().map(|loaded| &loaded.description);
        added.ok_or_else(|| Error::internal("the package was lost"))
    }

    /// The packages and what they hold.
    pub fn packages(&self) -> impl Iterator<Item = (&Package, &Description)> {
        self.packages.iter().map(|loaded| (loaded.process.package(), &loaded.description))
    }

    /// The folders with skills that packages bring.
    pub fn skill_folders(&self) -> Vec<PathBuf> {
        self.bundles().filter_map(|(_, bundle)| bundle.skills.clone()).collect()
    }

    /// The MCP servers that packages bring.
    pub fn mcp_servers(&self) -> Vec<McpServer> {
        let servers = self.bundles().flat_map(|(process, bundle)| {
            let (_, _, data) = process.launch().surroundings();
            bundle.servers.iter().map(|server| bundle::with_data(server.clone(), data))
        });
        servers.collect()
    }

    fn bundles(&self) -> impl Iterator<Item = (&Process, &Bundle)> {
        self.packages.iter().filter_map(|loaded| match &loaded.process.package().run {
            Run::Bundle(bundle) => Some((&*loaded.process, &**bundle)),
            _ => None,
        })
    }

    /// The plugins of an application with those of the packages.
    pub fn plugins(&self, mut plugins: Plugins) -> Plugins {
        for (process, bundle) in self.bundles().filter(|(_, bundle)| !bundle.hooks.is_empty()) {
            plugins = plugins.host(Arc::new(CommandHooks::new(process.launch(), bundle)));
        }
        let there = plugins.manifests().into_iter();
        let mut names: HashSet<_> = there.map(|(kind, it)| (kind.to_owned(), it.name)).collect();
        let all: Vec<_> = self
            .packages
            .iter()
            .filter(|loaded| !matches!(loaded.process.package().run, Run::Bundle(_)))
            .flat_map(|loaded| loaded.description.plugins.iter().map(move |held| (loaded, held)))
            .filter(|(loaded, held)| is_new(&mut names, &loaded.process, held))
            .map(|(loaded, held)| {
                (held, Arc::new(ProcessPlugin::new(&loaded.process, held.clone())))
            })
            .collect();
        for (held, plugin) in &all {
            let plugin = plugin.clone();
            plugins = match held.kind() {
                Some(Kind::Provider) => plugins.provider(plugin, Vec::new()),
                Some(Kind::Feature) => plugins.feature(plugin),
                Some(Kind::Tool) => plugins.tool(plugin),
                Some(Kind::Application) => plugins.application(plugin),
                Some(Kind::Host) => plugins.host(plugin),
                Some(Kind::Extension | Kind::Any) | None => plugins,
            };
        }
        // Extensions stand beside providers, which are all known now.
        let extensions = all.into_iter().filter(|(held, _)| held.kind() == Some(Kind::Extension));
        let plugins = plugins.supplied_by(Arc::new(Packages { runtime: self.clone() }));
        extensions.fold(plugins, |plugins, (held, plugin)| {
            plugins.extension(held.provider.as_deref(), plugin)
        })
    }

    /// The features of the packages, for a core that is used on its own.
    pub fn features(&self) -> Vec<Arc<dyn Feature>> {
        let all = self.packages.iter().flat_map(|loaded| {
            let features = loaded.description.plugins.iter();
            features.filter(|held| held.kind() == Some(Kind::Feature)).map(move |held| {
                Arc::new(ProcessPlugin::new(&loaded.process, held.clone())) as Arc<dyn Feature>
            })
        });
        all.collect()
    }

    /// Ends all processes: each is asked to, and then made to.
    pub async fn stop(&self) {
        futures::future::join_all(self.packages.iter().map(|loaded| loaded.process.stop())).await;
    }
}

/// Whether there is no plugin of this kind and name yet. One that there is keeps its name, and the
/// package's is left out.
fn is_new(
    names: &mut HashSet<(String, String)>,
    process: &Process,
    held: &PluginDescription,
) -> bool {
    let is_new = names.insert((held.kind.clone(), held.name.clone()));
    if !is_new {
        let (package, kind, name) = (&process.package().name, &held.kind, &held.name);
        tracing::error!(
            target: "orlop::runtime",
            "the {kind} \"{name}\" of the package \"{package}\" is left out, because there is one of that name already; give it another name"
        );
    }
    is_new
}
