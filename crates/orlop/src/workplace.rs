//! Where a command works: folders, configuration, and the application made of them.

use crate::exit::Failure;
use orlop_app::assets::{AssetFiles, AssetLimits};
use orlop_app::config::{AppConfig, Locations, RuntimeEnv};
use orlop_app::{Application, Host, Plugins};
use orlop_core::Error;
use orlop_runtime::{LeftOut, Runtime, Workbench};
use std::path::{Path, PathBuf};

/// Folders, configuration and plugins of a command.
pub(crate) struct Workplace {
    pub(crate) locations: Locations,
    pub(crate) config: AppConfig,
    pub(crate) plugins: Plugins,
    /// What to tell about a configuration that nobody wrote.
    pub(crate) notice: Option<String>,
    /// Packages that could not be used.
    pub(crate) left_out: Vec<LeftOut>,
    /// The processes of packages.
    pub(crate) runtime: Runtime,
}

impl Workplace {
    /// Reads the configuration. Problems in it are kept for `config check` unless `strict`.
    pub(crate) fn find(
        file: Option<&Path>,
        set: &[String],
        plugins: Plugins,
        strict: bool,
    ) -> Result<Self, Failure> {
        Self::find_on(file, set, plugins, strict, Workbench::default())
    }

    /// The same, with what the author of a plugin works on.
    pub(crate) fn find_on(
        file: Option<&Path>,
        set: &[String],
        plugins: Plugins,
        strict: bool,
        workbench: Workbench,
    ) -> Result<Self, Failure> {
        let vars = RuntimeEnv::process_vars();
        let working_dir = std::env::current_dir().map_err(|error| Failure {
            code: crate::exit::FAILED,
            message: format!("the working folder cannot be read: {error}; change to another one"),
        })?;
        let locations =
            Locations::find(&vars, &working_dir, file).map_err(|error| Failure::config(&error))?;
        let env = RuntimeEnv::new(vars, &locations, &locations.home().join("plugins"));
        let config = match strict {
            true => AppConfig::load(&locations, set, env)?,
            false => AppConfig::read(&locations, set, env),
        };
        let (runtime, left_out) = Runtime::load_on(&config, locations.home(), workbench);
        let plugins = runtime.plugins(plugins);
        let providers = plugins.provider_names();
        let providers: Vec<&str> = providers.iter().map(String::as_str).collect();
        let (config, notice) = config.or_default_agent(&providers);
        Ok(Self { locations, config, plugins, notice, left_out, runtime })
    }

    /// The file of the default store.
    pub(crate) fn database(&self) -> PathBuf {
        self.locations.home().join("orlop.db")
    }

    /// Starts the application.
    pub(crate) async fn application(&self) -> Result<Application, Failure> {
        self.config.verify(&self.plugins.schema())?;
        let url = self.config.store_url().map_err(|error| Failure::config(&error))?;
        let store = orlop_store::open(&url, &self.database()).map_err(|error| {
            // A broken URL is a matter of configuration; a broken database is not.
            match error.class() {
                orlop_core::ErrorClass::BadArgument => Failure::config(&error),
                _ => Failure::from(error),
            }
        })?;
        let app = Application::builder(self.config.clone(), store)
            .plugins(self.plugins.clone())
            .assets(self.assets()?)
            .start()
            .await;
        app.map_err(|error| match error.plugin_name() {
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
}
