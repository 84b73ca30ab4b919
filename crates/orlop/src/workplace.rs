//! Where a command works: folders, configuration, and the application made of them.

use crate::exit::Failure;
use orlop_app::assets::{AssetFiles, AssetLimits};
use orlop_app::config::{AppConfig, Locations, RuntimeEnv};
use orlop_app::{Application, Host, Plugins, Watcher};
use orlop_core::Error;
use orlop_mcp::McpServers;
use orlop_runtime::{LeftOut, Names, Runtime, Workbench};
use std::path::PathBuf;
use std::sync::Arc;

/// What the flags of a command say about the configuration.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// The only file to read.
    pub(crate) file: Option<PathBuf>,
    /// Settings over those of the files.
    pub(crate) set: Vec<String>,
    /// Whether everything a project's file says is used.
    pub(crate) trust: bool,
    /// Whether packages of plugins are looked at, which may run them.
    pub(crate) packages: bool,
}

/// Folders, configuration and plugins of a command.
pub(crate) struct Workplace {
    pub(crate) locations: Locations,
    pub(crate) config: AppConfig,
    pub(crate) plugins: Plugins,
    /// The names that plugins of packages cannot have.
    pub(crate) names: Names,
    /// The MCP servers, which are among the plugins.
    pub(crate) mcp: McpServers,
    /// What to tell about a configuration that nobody wrote.
    pub(crate) notice: Option<String>,
    /// Packages that could not be used.
    pub(crate) left_out: Vec<LeftOut>,
    /// The processes of packages.
    pub(crate) runtime: Runtime,
}

impl Workplace {
    /// Reads the configuration. Problems in it are kept for `config check` unless `strict`.
    pub(crate) fn find(wanted: &Wanted, plugins: Plugins, strict: bool) -> Result<Self, Failure> {
        Self::find_on(wanted, plugins, strict, Workbench::default())
    }

    /// The same, with what the author of a plugin works on.
    pub(crate) fn find_on(
        wanted: &Wanted,
        plugins: Plugins,
        strict: bool,
        workbench: Workbench,
    ) -> Result<Self, Failure> {
        let Wanted { file, set, trust, packages } = wanted;
        let vars = RuntimeEnv::process_vars();
        let mut locations = Locations::find(&vars, &working_dir()?, file.as_deref())
            .map_err(|error| Failure::config(&error))?;
        if *trust || vars.get("ORLOP_TRUST").is_some_and(|value| value == "1") {
            locations = locations.trusting_project();
        }
        let env = RuntimeEnv::new(vars, &locations, &locations.home().join("plugins"));
        let config = match strict {
            true => AppConfig::load(&locations, set, env)?,
            false => AppConfig::read(&locations, set, env),
        };
        let (runtime, left_out) = match packages {
            true => Runtime::load_on(&config, locations.home(), workbench),
            false => (Runtime::new(config.env().clone(), locations.home()), Vec::new()),
        };
        let names = Names::of(&plugins);
        let plugins = runtime.plugins(plugins);
        let providers = plugins.provider_names();
        let providers: Vec<&str> = providers.iter().map(String::as_str).collect();
        let (config, notice) = config.or_default_agent(&providers);
        let config = config.with_skill_folders(runtime.skill_folders());
        let mcp = McpServers::with_packages(&config, runtime.mcp_servers());
        let plugins = mcp.register(plugins);
        Ok(Self { locations, config, plugins, names, mcp, notice, left_out, runtime })
    }

    /// Reads the configuration as [`find`](Self::find) does, and tells if a part of it is not used.
    pub(crate) fn find_telling(
        wanted: &Wanted,
        plugins: Plugins,
        strict: bool,
    ) -> Result<Self, Failure> {
        let found = Self::find(wanted, plugins, strict)?;
        found.tell_untrusted();
        Ok(found)
    }

    /// Tells in one line what of the project's file is not used, if anything.
    pub(crate) fn tell_untrusted(&self) {
        if let Some(untrusted) = self.config.untrusted() {
            let told = format!(
                "orlop: {} is not trusted, so that it does not set {}; `orlop trust` trusts it, --trust does so once",
                untrusted.file,
                untrusted.summary()
            );
            crate::output::tell(&orlop_app::ui::plain_line(&told));
        }
    }

    /// The file of the default store.
    pub(crate) fn database(&self) -> PathBuf {
        self.locations.home().join("orlop.db")
    }

    /// Starts the application.
    pub(crate) async fn application(&self) -> Result<Application, Failure> {
        self.started(None).await
    }

    async fn started(&self, watcher: Option<Arc<dyn Watcher>>) -> Result<Application, Failure> {
        self.config.verify(&self.plugins.schema())?;
        let url = self.config.store_url().map_err(|error| Failure::config(&error))?;
        let store = orlop_store::open(&url, &self.database()).map_err(|error| {
            // A broken URL is a matter of configuration; a broken database is not.
            match error.class() {
                orlop_core::ErrorClass::BadArgument => Failure::config(&error),
                _ => Failure::from(error),
            }
        })?;
        let mut app = Application::builder(self.config.clone(), store)
            .plugins(self.plugins.clone())
            .verified()
            .assets(self.assets()?);
        if let Some(watcher) = watcher {
            app = app.watcher(watcher);
        }
        app.start().await.map_err(|error| match error.plugin_name() {
            Some(_) => Failure::from(error),
            None => Failure::config(&error),
        })
    }

    fn assets(&self) -> Result<AssetFiles, Failure> {
        let settings = self.config.assets().map_err(|error| Failure::config(&error))?;
        let folder = match settings.url.strip_prefix("file:") {
            Some("") => self.locations.home().join("assets"),
            Some(path) => PathBuf::from(path),
            None => {
                let error = Error::bad_argument(format!(
                    "assets.url: \"{}\" is not supported; use \"file:\" or \"file:/folder\"",
                    settings.url
                ));
                return Err(Failure::config(&error));
            }
        };
        let limits = AssetLimits { max_bytes: settings.max_bytes, types: settings.types };
        Ok(AssetFiles::new(folder, limits))
    }

    /// Ends what runs beside the command.
    pub(crate) async fn close(&self) {
        self.runtime.stop().await;
    }

    /// Starts the application and opens its front door.
    pub(crate) async fn host(&self) -> Result<Host, Failure> {
        Ok(Host::start(self.application().await?, None).await?)
    }

    /// The same, with somebody who hears of everything that happens.
    pub(crate) async fn watched_host(&self, watcher: Arc<dyn Watcher>) -> Result<Host, Failure> {
        Ok(Host::start(self.started(Some(watcher)).await?, None).await?)
    }
}

/// The folder the command was started in.
pub(crate) fn working_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure {
        code: crate::exit::FAILED,
        message: format!("the working folder cannot be read: {error}; change to another one"),
    })
}
