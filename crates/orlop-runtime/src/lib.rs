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
mod memory;
mod names;
mod neighbours;
mod package;
mod peer;
mod plugin;
mod process;
mod rate;
mod reach;
mod remembered;
mod reverse;
mod sdk;
mod secrets;
mod supply;
mod tap;

pub use bundle::{Bundle, CommandHook, HookEvent};
pub use grants::Grants;
pub use installed::{Entry, Installed};
pub use memory::MemoryWatch;
pub use names::{Misnamed, Names};
pub use neighbours::{Neighbours, unknown_neighbours};
pub use orlop_core::types::protocol::{Description, PROTOCOL, PluginDescription, Wanted};
pub use package::{Limits, MANIFEST, OnFailure, Package, Run};
pub use tap::{Crossed, Tap, Way};

use bundle::CommandHooks;
use description::Described;
use launch::Launch;
use orlop_app::Plugins;
use orlop_app::config::{AppConfig, McpServer, RuntimeEnv};
use orlop_core::hooks::Kind;
use orlop_core::{Error, Feature, Map, Result, Value};
use plugin::ProcessPlugin;
use process::Process;
use remembered::{Known, Remembered};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use supply::Packages;

/// The packages of an application, and their processes.
#[derive(Clone)]
pub struct Runtime {
    env: RuntimeEnv,
    home: PathBuf,
    packages: Vec<Arc<Loaded>>,
    left_out: Vec<LeftOut>,
    tap: Option<Tap>,
    patience: Duration,
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
        let (packages, left_out, tap) = Default::default();
        Self { env, home: home.into(), packages, left_out, tap, patience: launch::PATIENCE }
    }

    /// With another time than ten seconds in which a package has to say what it holds.
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
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
        let mut wanted = Vec::new();
        for name in names {
            let given = package.clone().filter(|package| package.name == name);
            match wanted_as(config, &installed, &name, given) {
                Ok(found) => wanted.extend(found),
                Err(error) => left_out.push(LeftOut { name, reason: error.message().to_owned() }),
            }
        }
        for (name, failed) in runtime.add_all(wanted) {
            left_out.push(LeftOut { name, reason: failed.message().to_owned() });
        }
        runtime.left_out.clone_from(&left_out);
        (runtime, left_out)
    }

    /// Takes a package in, with its settings. Its process is started only if what it holds is not
    /// known from before. Must be called within a Tokio runtime.
    pub fn add(&mut self, package: Package, settings: Map) -> Result<&Description> {
        if let Some((_, error)) = self.add_all(vec![(package, settings)]).pop() {
            return Err(error);
        }
        let added = self.packages.last().map(|loaded| &loaded.description);
        added.ok_or_else(|| Error::internal("the package was lost"))
    }

    /// Takes packages in. Those that have to be asked what they hold are asked side by side, so that
    /// they take as long as the slowest of them. Gives those that could not be used, and why.
    fn add_all(&mut self, packages: Vec<(Package, Map)>) -> Vec<(String, Error)> {
        let processes: Vec<_> = packages
            .into_iter()
            .map(|(package, settings)| {
                let mut launch = Launch::new(package, &self.env, &self.home, settings);
                launch.patience = self.patience;
                Process::new(launch, self.tap.clone())
            })
            .collect();
        let (home, runtime) = (&self.home, tokio::runtime::Handle::current());
        let described: Vec<Result<Description>> = std::thread::scope(|scope| {
            let asked: Vec<_> = processes
                .iter()
                .map(|process| {
                    scope.spawn(|| {
                        let _runtime = runtime.enter();
                        describe(process, home)
                    })
                })
                .collect();
            let lost = || Err(Error::internal("a package was lost while it was asked"));
            asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| lost())).collect()
        });
        let mut failed = Vec::new();
        for (process, described) in processes.into_iter().zip(described) {
            match described {
                Ok(description) => self.packages.push(Arc::new(Loaded { process, description })),
                Err(error) => failed.push((process.package().name.clone(), error)),
            }
        }
        failed
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
        let names = Names::of(&plugins);
        let (mut taken, mut misnamed) = (HashMap::new(), Vec::new());
        let all: Vec<_> = self
            .held()
            .filter(|(loaded, held)| {
                let left_out = names.misnamed(&mut taken, loaded.process.package(), held);
                let is_used = left_out.is_none();
                misnamed.extend(left_out);
                is_used
            })
            .map(|(loaded, held)| {
                let own = names.own(loaded.process.package(), held);
                (held, Arc::new(ProcessPlugin::new(&loaded.process, held.clone(), own)))
            })
            .collect();
        for left_out in &misnamed {
            tracing::error!(target: "orlop::runtime", "{left_out}");
        }
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
        let plugins = plugins.supplied_by(Arc::new(Packages { runtime: self.clone(), misnamed }));
        extensions.fold(plugins, |plugins, (held, plugin)| {
            plugins.extension(held.provider.as_deref(), plugin)
        })
    }

    /// The plugins of packages that are left out beside others, because they cannot have their name.
    pub fn misnamed(&self, names: &Names) -> Vec<Misnamed> {
        let mut taken = HashMap::new();
        let all = self.held();
        all.filter_map(|(loaded, held)| names.misnamed(&mut taken, loaded.process.package(), held))
            .collect()
    }

    /// The plugins that processes hold.
    fn held(&self) -> impl Iterator<Item = (&Arc<Loaded>, &PluginDescription)> {
        self.packages
            .iter()
            .filter(|loaded| !matches!(loaded.process.package().run, Run::Bundle(_)))
            .flat_map(|loaded| loaded.description.plugins.iter().map(move |held| (loaded, held)))
    }

    /// The features of the packages, for a core that is used on its own.
    pub fn features(&self) -> Vec<Arc<dyn Feature>> {
        let all = self.packages.iter().flat_map(|loaded| {
            let features = loaded.description.plugins.iter();
            features.filter(|held| held.kind() == Some(Kind::Feature)).map(move |held| {
                let own = vec![held.name.clone()];
                Arc::new(ProcessPlugin::new(&loaded.process, held.clone(), own)) as Arc<dyn Feature>
            })
        });
        all.collect()
    }

    /// Ends all processes: each is asked to, and then made to.
    pub async fn stop(&self) {
        futures::future::join_all(self.packages.iter().map(|loaded| loaded.process.stop())).await;
    }
}

/// The package of a name with its settings, if it is not one that is there already.
fn wanted_as(
    config: &AppConfig,
    installed: &Installed,
    name: &str,
    given: Option<Package>,
) -> Result<Option<(Package, Map)>> {
    let configured = match config.plugin_names().contains(&name) {
        true => Some(config.plugin(name)?),
        false => None,
    };
    let settings = configured.as_ref().map(|entry| entry.settings.clone()).unwrap_or_default();
    let limits = configured.as_ref().map(|entry| entry.limits.clone()).unwrap_or_default();
    if let Some(package) = given {
        return Ok(Some((tightened(package, limits)?, settings)));
    }
    let path = configured.and_then(|entry| entry.path);
    let path = path.or_else(|| installed.get(name).map(|entry| entry.path.clone()));
    // A shipped one, which is there already.
    let Some(path) = path else { return Ok(None) };
    let mut package = Package::read(&path)?;
    package.name = name.to_owned();
    if !installed.accepts(&package) {
        return Err(Error::bad_state(format!(
            "it asks for more than it was granted ({}); look at it and run `orlop plugin accept {name}`",
            package.grants.in_words().join(", ")
        )));
    }
    Ok(Some((tightened(package, limits)?, settings)))
}

/// A package with the limits that a configuration has for it, as far as they are tighter.
fn tightened(mut package: Package, limits: Map) -> Result<Package> {
    let name = &package.name;
    let asked: Limits = serde_json::from_value(Value::Object(limits))
        .map_err(|error| Error::bad_argument(format!("[plugins.{name}.limits]: {error}")))?;
    let (limits, ignored) = package.limits.tightened(&asked);
    for limit in ignored {
        tracing::warn!(target: "orlop::plugin", "plugins.{name}.limits.{limit} allows more than the package does, and does not count");
    }
    package.limits = limits;
    Ok(package)
}

/// What a package holds: as it is remembered, or as it says. One that took too long to say so is not
/// waited for again at once.
fn describe(process: &Arc<Process>, home: &Path) -> Result<Description> {
    let (package, settings) = (process.package(), process.settings());
    if let Run::Bundle(bundle) = &package.run {
        process.launch().make_data_folder()?;
        return Ok(bundle.description(package));
    }
    let remembered = Remembered::of(home, package, settings);
    let description = match remembered.get() {
        Some(Known::Description(description)) => description,
        Some(Known::Failed(why)) => {
            return Err(Error::plugin(format!(
                "{why}; it is asked again in some minutes, or when its files or settings change"
            )));
        }
        None => ask(process, &remembered)?,
    };
    process.remember(remembered, description.clone());
    Ok(description)
}

/// Starts a package to ask what it holds.
fn ask(process: &Arc<Process>, remembered: &Remembered) -> Result<Description> {
    let began = Instant::now();
    match process.start() {
        Ok((_, description)) => {
            remembered.put(&description);
            Ok(description)
        }
        Err(error) => {
            if began.elapsed() >= process.launch().patience {
                remembered.put_failed(error.message());
            }
            Err(error)
        }
    }
}
