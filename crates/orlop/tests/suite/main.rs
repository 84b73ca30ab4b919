//! The program, as people run it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod approvals;
mod bad_input;
mod chat;
mod chat_plugins;
mod cli_flags;
mod cli_login;
mod cli_model;
mod cli_output;
mod cli_pipes;
mod cli_plugins;
mod cli_run;
mod cli_serve;
mod cli_sessions;
mod cli_trust;
mod example_plugins;
mod expectations;
mod one_action;
mod plugin_author;
mod plugin_kit;
mod prompt_cache;
mod scripted;
mod shipped_actions;
mod workday;
