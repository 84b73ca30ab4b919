//! Build and check tasks of the workspace: `cargo xtask --help` says them all.
//!
//! Each command is one module with a `run` function and one row in [`COMMANDS`]; the help text is
//! made from that table.

mod bench;
mod book;
mod clients;
mod coverage;
mod fresh_clone;
mod licences;
mod mcp;
mod model;
mod openapi;
mod packages;
mod portable;
mod process;
mod python;
mod schemas;
mod served;
mod test;
mod web;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

/// One thing `cargo xtask` can do.
struct Command {
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    run: fn(&Workspace, &[&str]) -> Result<ExitCode, String>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        arguments: "",
        summary: "run every check of the workspace, stopping at the first failure",
        run: test::run,
    },
    Command {
        name: "coverage",
        arguments: "[--verbose]",
        summary: "compare the requirement rows of docs/spec with the tests that carry their ids",
        run: coverage::run,
    },
    Command {
        name: "schemas",
        arguments: "[--check]",
        summary: "write the schemas and the reference page made from the hook table, or check them",
        run: schemas::run,
    },
    Command {
        name: "licences",
        arguments: "",
        summary: "check licence and origin of every dependency against deny.toml",
        run: licences::run,
    },
    Command {
        name: "first-run",
        arguments: "",
        summary: "clone what is committed, and run the README's command there with an empty home",
        run: fresh_clone::run,
    },
    Command {
        name: "clients",
        arguments: "",
        summary: "run clients of OpenAI's API, installed from npm and PyPI, against `orlop serve`",
        run: clients::run,
    },
    Command {
        name: "openapi",
        arguments: "[ARGUMENTS]",
        summary: "have Schemathesis, installed from PyPI, ask every route of `orlop serve`",
        run: openapi::run,
    },
    Command {
        name: "web",
        arguments: "[--test | --pictures]",
        summary: "build the web page, which the next build of the program takes in; test it in a browser; take the pictures of the documentation",
        run: web::run,
    },
    Command {
        name: "book",
        arguments: "",
        summary: "check that every page of docs/ is in the book, and that every link leads somewhere",
        run: book::run,
    },
    Command {
        name: "bench",
        arguments: "[FILTER]",
        summary: "run the benchmarks (`page`: those of the web page), keeping the output in target/bench/latest.txt",
        run: bench::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    dispatch(&arguments).unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::FAILURE
    })
}

fn dispatch(arguments: &[&str]) -> Result<ExitCode, String> {
    let Some((&name, rest)) = arguments.split_first() else {
        return Err(format!("no command given\n\n{}", help()));
    };
    if name == "help" || arguments.iter().any(|argument| matches!(*argument, "-h" | "--help")) {
        print!("{}", help());
        return Ok(ExitCode::SUCCESS);
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(format!("there is no command `{name}`\n\n{}", help()));
    };
    (command.run)(&Workspace::find()?, rest)
}

/// What a command answers when it does not understand its arguments.
fn unknown_arguments(command: &str, arguments: &[&str]) -> String {
    format!(
        "`{command}` does not take `{}`; `cargo xtask --help` says what it takes",
        arguments.join(" ")
    )
}

fn help() -> String {
    let mut text = String::from(
        "Build and check tasks of the Orlop workspace.\n\n\
         Usage: cargo xtask <COMMAND>\n\nCommands:\n",
    );
    for command in COMMANDS {
        let call = format!("{} {}", command.name, command.arguments);
        text.push_str(&format!("  {call:<22}{}\n", command.summary));
    }
    text.push_str(&format!("  {:<22}print this text\n", "help, -h, --help"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command() {
        let text = help();
        for command in COMMANDS {
            assert!(text.contains(&format!("\n  {} ", command.name)), "{text}");
        }
    }

    #[test]
    fn an_unknown_command_is_answered_with_the_help() {
        let message = dispatch(&["lunch"]).unwrap_err();
        assert!(message.starts_with("there is no command `lunch`"), "{message}");
        assert!(message.contains("coverage [--verbose]"), "{message}");
    }
}
