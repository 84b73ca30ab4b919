//! The templates of plugins in Rust: they compile, can be handed in, and their own tests pass.

#![allow(dead_code, missing_docs, unreachable_pub)]

use orlop_app::Plugins;
use std::sync::Arc;

#[path = "../../orlop-runtime/templates/rust/application.rs"]
mod application;
#[path = "../../orlop-runtime/templates/rust/extension.rs"]
mod extension;
#[path = "../../orlop-runtime/templates/rust/feature.rs"]
mod feature;
#[path = "../../orlop-runtime/templates/rust/host.rs"]
mod host;
#[path = "../../orlop-runtime/templates/rust/provider.rs"]
mod provider;
#[path = "../../orlop-runtime/templates/rust/tool.rs"]
mod tool;

/// As `main.rs` of each template does it.
fn all() -> Plugins {
    orlop::shipped_plugins()
        .provider(Arc::new(provider::MyPlugin), Vec::new())
        .extension(None, Arc::new(extension::MyPlugin))
        .feature(Arc::new(feature::MyPlugin))
        .tool(Arc::new(tool::MyPlugin))
        .application(Arc::new(application::MyPlugin))
        .host(Arc::new(host::MyPlugin))
}

#[test]
fn every_template_is_a_plugin() {
    assert!(all().provider_names().contains(&"my_plugin".to_owned()));
}
