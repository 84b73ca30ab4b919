//! Configuration: where it is, what it says, what is wrong with it, and what one agent gets of it.
//!
//! [`Locations`] finds the files, [`AppConfig`] reads them and remembers where each value came
//! from, [`Schema`] knows every key, and [`resolve_request_config`] makes the configuration of one
//! request. Nothing here reads or changes the environment of the process on its own.

mod agents;
mod app_config;
mod check;
mod default_agent;
mod env;
mod fallback;
mod flags;
mod known;
mod locate;
mod origin;
mod placeholder;
mod problem;
mod read;
mod request;
mod resolve;
mod schema;
mod secrets;
mod sections;
mod server;
mod servers_file;
mod show;
mod starter;
mod telemetry;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod trust;
mod validate;

pub use app_config::AppConfig;
pub use env::{RuntimeEnv, Vars};
pub(crate) use fallback::fallbacks;
pub use known::is_key;
pub use locate::{Locations, PROJECT_FILE};
pub use origin::{Origin, Position, SourceFile};
pub use problem::{ConfigError, Problem, ProblemKind};
pub use request::resolve_request_config;
pub use schema::Schema;
pub use secrets::{MASK, without_secrets};
pub use sections::{Assets, McpServer, McpTransport, PluginEntry, Terminal};
pub use server::{Server, ServerJwt, ServerLimits, ServerToken};
pub use show::{Shown, ShownValue};
pub use starter::starter;
pub use telemetry::TelemetrySection;
pub use trust::{
    Answer, ProjectTrust, TrustState, TrustedFolders, TrustedSetting, first_powerful,
    first_powerful_change,
};
