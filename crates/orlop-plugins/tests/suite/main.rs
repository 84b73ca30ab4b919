//! The plugins that ship, on a stage: an application with a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../stage/mod.rs"]
mod stage;

mod actions;
mod activity;
mod ask_user;
mod attachment_hints;
mod attachments;
mod compaction;
mod compaction_auto;
mod delegate;
mod device_login;
mod file_changes;
mod memory;
mod mentions;
mod permissions;
mod sandbox;
mod session_title;
mod shell;
mod shell_sandbox;
mod skills;
mod slash_commands;
mod system_message;
mod todo;
mod usage;
mod user_state;
mod web_fetch;
