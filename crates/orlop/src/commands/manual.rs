//! `orlop man`: the manual page, made of the command line itself.

use crate::cli::Cli;
use crate::exit::Failure;
use clap::CommandFactory;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(command: Option<&str>) -> Result<ExitCode, Failure> {
    let mut all = Cli::command();
    all.build();
    let page = match command {
        None => all,
        Some(name) => {
            let Some(found) = all.find_subcommand(name) else {
                let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Failure::usage(format!(
                    "there is no command \"{name}\"; known: {}",
                    names.join(", ")
                )));
            };
            found.clone()
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    std::io::stdout().lock().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
