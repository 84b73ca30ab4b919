//! The application, from outside, with scripted plugins and real stores.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod approvals;
mod branches;
mod c_application_plugins;
mod caller_tools;
mod credentials;
mod durability;
mod fallback;
mod h_context;
mod h_lifecycles;
mod i_actions_events;
mod i_config;
mod i_login;
mod i_requests;
mod i_sessions;
mod l_attachments;
mod l_host_docs;
mod l_host_failures;
mod l_host_plugins;
mod l_host_tools;
mod l_interceptors;
mod processes;
mod structured_output;
mod tool_arguments;
mod turn_machine;
mod turns;
mod unread;
