//! The command line of Orlop, as a library: a program with plugins of its own calls [`run`] with
//! them and is `orlop` with these plugins.

mod cli;
mod commands;
mod exit;
mod interrupt;
mod output;
mod run_flags;
mod server_log;
mod workplace;

use clap::Parser;
use orlop_app::Plugins;
use orlop_plugins::{
    ActionTools, Activity, AskUser, AttachmentHints, Attachments, Compaction, CompactionActions,
    Delegate, DeviceLogin, FileChanges, Files, Memory, MemoryActions, Mentions, PermissionActions,
    Permissions, SessionTitle, Shell, ShellByHand, Skills, SlashCommands, SubSessions,
    SystemMessage, Todo, TodoReminder, Usage, UsageReport, UserMemory, WebFetch,
};
use orlop_providers::anthropic::Anthropic;
use orlop_providers::extensions::{PromptCache, Reasoning};
use orlop_providers::gemini::Gemini;
use orlop_providers::ollama::Ollama;
use orlop_providers::openai::OpenAiCompatible;
use orlop_providers::responses::Responses;
use orlop_providers::scripted::Scripted;
use orlop_providers::{HttpClient, HttpSettings};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

/// The plugins that ship with Orlop. The providers share one HTTP client, and with it connections.
pub fn shipped_plugins() -> Plugins {
    let http = HttpClient::new(HttpSettings::default());
    let actions = Arc::new(ActionTools::default());
    let activity = Arc::new(Activity::default());
    let mentions = Arc::new(Mentions::default());
    let skills = Arc::new(Skills::default());
    let shell = Shell::default();
    let plugins = Plugins::new()
        .provider(
            Arc::new(OpenAiCompatible::new(http.clone())),
            vec![Arc::new(PromptCache), Arc::new(Reasoning)],
        )
        .provider(
            Arc::new(Responses::new(http.clone())),
            vec![Arc::new(PromptCache), Arc::new(Reasoning)],
        )
        .provider(Arc::new(Anthropic::new(http.clone())), vec![Arc::new(Reasoning)])
        .provider(Arc::new(Gemini::new(http.clone())), vec![Arc::new(Reasoning)])
        .provider(Arc::new(Ollama::new(http)), vec![Arc::new(Reasoning)])
        .provider(Arc::new(Scripted::default()), vec![Arc::new(Reasoning)])
        .feature(Arc::new(Attachments))
        .feature(Arc::new(Compaction))
        .feature(mentions.clone())
        .feature(Arc::new(Permissions))
        .feature(skills.clone())
        .feature(Arc::new(SystemMessage::default()))
        .feature(Arc::new(Usage::default()))
        .tool(actions.clone())
        .tool(Arc::new(AskUser))
        .tool(Arc::new(Delegate::default()))
        .tool(Arc::new(Files::default()))
        .tool(Arc::new(Memory))
        .tool(Arc::new(shell.clone()))
        .tool(skills)
        .tool(Arc::new(Todo))
        .tool(Arc::new(WebFetch))
        .application(activity.clone())
        .application(Arc::new(CompactionActions))
        .application(Arc::new(DeviceLogin::default()))
        .application(Arc::new(FileChanges))
        .application(Arc::new(MemoryActions))
        .application(Arc::new(PermissionActions))
        .application(Arc::new(shell.cleanup()))
        .application(Arc::new(SlashCommands))
        .application(Arc::new(SubSessions))
        .application(Arc::new(UsageReport))
        .host(actions)
        .host(activity)
        .host(Arc::new(AttachmentHints))
        .host(mentions)
        .host(Arc::new(SessionTitle::default()))
        .host(Arc::new(ShellByHand))
        .host(Arc::new(SlashCommands))
        .host(Arc::new(TodoReminder))
        .host(Arc::new(UserMemory::default()));
    #[cfg(feature = "local")]
    let plugins = plugins.provider(Arc::new(embedded_model()), vec![Arc::new(Reasoning)]);
    plugins
}

/// The embedded model, with its files in the data folder.
#[cfg(feature = "local")]
fn embedded_model() -> orlop_providers::local::LocalModel {
    use orlop_app::config::{Locations, RuntimeEnv};
    let vars = RuntimeEnv::process_vars();
    let working_dir = std::env::current_dir().unwrap_or_default();
    // Where no data folder is known no command starts, and says so.
    let home = Locations::find(&vars, &working_dir, None).map(|it| it.home().join("models"));
    orlop_providers::local::LocalModel::new(home.unwrap_or_default())
}

/// Runs the command that `arguments` name (the first is the program) with `plugins`.
pub fn run(arguments: impl IntoIterator<Item = OsString>, plugins: Plugins) -> ExitCode {
    let cli = match cli::Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    if let Some(folder) = &cli.folder
        && let Err(error) = std::env::set_current_dir(folder)
    {
        let folder = folder.display();
        let message =
            format!("--cd: {folder} cannot be used: {error}; name a folder that is there");
        return exit::failed(&exit::Failure::usage(message));
    }
    let (mut runtime, _log) = match &cli.command {
        Some(cli::Command::Serve(serve)) => {
            let log = output::start_server_log(cli.verbose, serve.log_format);
            (tokio::runtime::Builder::new_multi_thread(), Some(log))
        }
        _ => {
            output::start_logging(cli.verbose, commands::log_of_chat(&cli));
            (tokio::runtime::Builder::new_current_thread(), None)
        }
    };
    let runtime = runtime.enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = orlop_core::Error::internal(format!("cannot start: {error}"));
            return exit::failed(&error.into());
        }
    };
    let done = runtime.block_on(commands::dispatch(cli, plugins));
    // Work that nobody waits for any more must not keep the program from ending.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(failure) => exit::failed(&failure),
    }
}
