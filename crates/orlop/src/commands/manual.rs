//! `orlop man`: the manual page, made of the command line itself.

use crate::cli::Cli;
use crate::exit::Failure;
use clap::CommandFactory;
use std::io::Write;
use std::process::ExitCode;

/// Prints the page of a command, which is named by its words; without any, that of the program.
pub(super) fn run(words: &[String]) -> Result<ExitCode, Failure> {
    let mut all = Cli::command();
    all.build();
    let mut page = &all;
    for word in words {
        let Some(found) = page.find_subcommand(word) else {
            let names: Vec<&str> = page.get_subcommands().map(clap::Command::get_name).collect();
            let inside = page.get_bin_name().unwrap_or_else(|| page.get_name());
            return Err(Failure::usage(match names.is_empty() {
                true => format!("`{inside}` has no commands of its own; leave \"{word}\" out"),
                false => {
                    format!("`{inside}` has no command \"{word}\"; known: {}", names.join(", "))
                }
            }));
        };
        page = found;
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).render(&mut text)?;
    std::io::stdout().lock().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
