//! One module a command; each is a thin translation to one or two calls of the application.

mod action;
mod agent;
mod chat;
mod config;
mod config_file;
mod doctor;
mod login;
mod manual;
mod mcp;
mod mcp_file;
mod model;
mod plugin;
mod question;
mod run;
mod serve;
mod session;
mod trace;
mod trust;

use crate::cli::{Chat, Cli, Command, Config, Mcp, Model, Plugin};
use crate::exit::Failure;
use crate::workplace::{Wanted, Workplace};
use clap::CommandFactory;
use orlop_app::Plugins;
use orlop_core::{Map, Value};
use std::io::Write;
use std::process::ExitCode;

pub(crate) use chat::log_of_chat;

pub(crate) async fn dispatch(cli: Cli, plugins: Plugins) -> Result<ExitCode, Failure> {
    let Cli { config: file, set, trust, command, chat, .. } = cli;
    let wanted = Wanted { file, set, trust, packages: true };
    let find = |strict: bool| Workplace::find(&wanted, plugins.clone(), strict);
    let ready = |strict: bool| Workplace::find_telling(&wanted, plugins.clone(), strict);
    let on = |workbench| Workplace::find_on(&wanted, plugins.clone(), true, workbench);
    let Some(command) = command else {
        chat::check(&chat)?;
        return chat::run(trust::settled(|| find(true)).await?, chat).await;
    };
    if chat != Chat::default() {
        return Err(Failure::usage("flags of the chat do not go with a command; leave them out"));
    }
    match command {
        Command::Man { command } => manual::run(&command),
        Command::Completions { shell } => {
            // Not to stdout itself: the generator panics if it cannot write.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "orlop", &mut script);
            std::io::stdout().lock().write_all(&script)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Config(command) => {
            // A file is checked as a whole, whether or not it is in force.
            // What nobody trusts is looked at and not run.
            let checks = matches!(command, Config::Check { .. });
            let is_trusted = || {
                let wanted = Wanted { packages: false, ..wanted.clone() };
                let found = Workplace::find(&wanted, plugins.clone(), false);
                found.is_ok_and(|found| found.config.untrusted().is_none())
            };
            let packages = !checks || wanted.trust || is_trusted();
            let wanted = Wanted { trust: checks || wanted.trust, packages, ..wanted.clone() };
            config::run(command, |strict| Workplace::find(&wanted, plugins.clone(), strict))
        }
        Command::Trust(command) => trust::run(&command),
        Command::Doctor { json } => doctor::run(find(false)?, json).await,
        Command::Run(run) => run::run(trust::settled(|| find(true)).await?, *run).await,
        Command::Serve(serve) => serve::run(trust::settled(|| find(true)).await?, serve).await,
        Command::Session(command) => session::run(ready(true)?, command).await,
        Command::Agent(command) => agent::agents(ready(true)?, command).await,
        Command::Tool(command) => agent::tools(ready(true)?, command).await,
        Command::Model(Model::List { agent, json }) => {
            agent::models(ready(true)?, agent, json).await
        }
        Command::Model(Model::Pull(pull)) => model::run(&ready(false)?, pull).await,
        Command::Plugin(Plugin::Dev(dev)) => plugin::dev(dev, on).await,
        Command::Plugin(Plugin::Record(record)) => plugin::record(record, on).await,
        Command::Plugin(command) => plugin::run(ready(false)?, command).await,
        Command::Login { name } => login::log_in(ready(true)?, name).await,
        Command::Logout { name } => login::log_out(ready(true)?, name).await,
        Command::Mcp(command) => {
            // Who repairs a file cannot wait for it to be right.
            let strict = !matches!(command, Mcp::Add(_) | Mcp::Remove { .. });
            mcp::run(&ready(strict)?, command).await
        }
        Command::Action(command) => action::run(ready(true)?, command).await,
        Command::Trace { request_id, json } => trace::run(ready(true)?, request_id, json).await,
    }
}

/// `key=value` pairs as a map; a value that is JSON is taken as that, anything else as text. Of keys
/// that are texts only JSON that is one is.
fn pairs(given: &[String], is_text: impl Fn(&str) -> bool) -> Result<Map, Failure> {
    let pair = |pair: &String| {
        let (key, value) =
            pair.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                Failure::usage(format!("\"{pair}\" is no key=value; write for instance limit=5"))
            })?;
        let read = serde_json::from_str(value).ok();
        let read = read.filter(|read: &Value| read.is_string() || !is_text(key));
        let value = read.unwrap_or_else(|| Value::from(value));
        Ok((key.to_owned(), value))
    };
    given.iter().map(pair).collect()
}
