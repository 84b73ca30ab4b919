//! Orlop with one plugin more: the same command line.

mod plugin;

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let plugin = Arc::new(plugin::MyPlugin);
    orlop::run(std::env::args_os(), orlop::shipped_plugins().with_plugin)
}
