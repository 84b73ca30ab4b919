//! The `orlop` program with the plugins that ship with it.

use std::process::ExitCode;

fn main() -> ExitCode {
    orlop::run(std::env::args_os(), orlop::shipped_plugins())
}
