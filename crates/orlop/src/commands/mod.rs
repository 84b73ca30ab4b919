//! One module a command; each is a thin translation to one or two calls of the application.

mod action;
mod agent;
mod config;
mod doctor;
mod login;
mod model;
mod plugin;
mod question;
mod run;
mod session;
mod trace;

use crate::cli::{Cli, Command, Model, Plugin};
use crate::exit::Failure;
use crate::workplace::Workplace;
use clap::CommandFactory;
use orlop_app::Plugins;
use orlop_core::{Map, Value};
use std::io::Write;
use std::process::ExitCode;

pub(crate) async fn dispatch(cli: Cli, plugins: Plugins) -> Result<ExitCode, Failure> {
    let Cli { config, set, command, .. } = cli;
    let find = |strict: bool| Workplace::find(config.as_deref(), &set, plugins.clone(), strict);
    match command {
        Command::Completions { shell } => {
            // Not to stdout itself: the generator panics if it cannot write.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "orlop", &mut script);
            std::io::stdout().lock().write_all(&script)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Config(command) => config::run(command, find),
        Command::Doctor { json } => doctor::run(find(false)?, json).await,
        Command::Run(run) => run::run(find(true)?, run).await,
        Command::Session(command) => session::run(find(true)?, command).await,
        Command::Agent(command) => agent::agents(find(true)?, command).await,
        Command::Tool(command) => agent::tools(find(true)?, command).await,
        Command::Model(Model::List { agent, json }) => {
            agent::models(find(true)?, agent, json).await
        }
        Command::Model(Model::Pull(pull)) => model::run(&find(false)?, pull).await,
        Command::Plugin(Plugin::Dev(dev)) => {
            let find =
                |bench| Workplace::find_on(config.as_deref(), &set, plugins.clone(), true, bench);
            plugin::dev(dev, find).await
        }
        Command::Plugin(Plugin::Record(record)) => {
            let find =
                |bench| Workplace::find_on(config.as_deref(), &set, plugins.clone(), true, bench);
            plugin::record(record, find).await
        }
        Command::Plugin(command) => plugin::run(find(false)?, command).await,
        Command::Login { name } => login::log_in(find(true)?, name).await,
        Command::Logout { name } => login::log_out(find(true)?, name).await,
        Command::Action(command) => action::run(find(true)?, command).await,
        Command::Trace { request_id, json } => trace::run(find(true)?, request_id, json).await,
    }
}

/// `key=value` pairs as a map; a value that is JSON is taken as that, anything else as text.
fn pairs(given: &[String]) -> Result<Map, Failure> {
    let pair = |pair: &String| {
        let (key, value) =
            pair.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                Failure::usage(format!("\"{pair}\" is no key=value; write for instance limit=5"))
            })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok((key.to_owned(), value))
    };
    given.iter().map(pair).collect()
}
