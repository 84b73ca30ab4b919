//! The core, from outside, in one program: each one more would be compiled and linked with all of it again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod a_data_model;
mod a_native_history;
mod b_add_modify;
mod b_join_rebuild;
mod b_sessions;
mod b_slicing;
mod c_extensions;
mod c_features;
mod c_plugins;
mod c_provider_host;
mod c_providers;
mod c_tools;
mod d_discovery;
mod d_models;
mod d_resolution;
mod e_cancellation;
mod e_finalise;
mod e_logging;
mod e_new_session;
mod e_requests;
mod f_catalogue;
mod f_tool_calls;
mod g_actions;
mod g_edit_conflicts;
mod g_response_actions;
mod h_context;
mod h_lifecycles;
mod interop;
mod interop_schemas;
mod j_ui;
mod plugin_faults;
mod plugin_observer;
mod session_properties;
