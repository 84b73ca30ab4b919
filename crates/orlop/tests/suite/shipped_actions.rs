//! What shipped plugins say of their actions holds.

use crate::common::Folder;
use orlop_app::Application;
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_core::Manifest;
use orlop_store::SqliteStore;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// An action that waits for a lifecycle which its manifest does not name would never run.
#[tokio::test]
async fn actions_wait_for_lifecycles_that_their_manifests_name() {
    let folder = Folder::new("shipped-actions");
    let text = "[agents.default]\nprovider = \"openai_compatible\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"none\"\n";
    let env = RuntimeEnv::from_vars(Vars::new());
    let config = AppConfig::from_text(Path::new("orlop.toml"), text, env).unwrap();
    let store = Arc::new(SqliteStore::open(&folder.0.join("orlop.db")).unwrap());
    let plugins = orlop::shipped_plugins();
    let manifests: BTreeMap<(String, &str), Manifest> = plugins
        .manifests()
        .into_iter()
        .map(|(kind, manifest)| ((manifest.name.clone(), kind), manifest))
        .collect();
    let app = Application::builder(config, store).plugins(plugins).start().await.unwrap();
    let (core, config) = app.agent("default").unwrap();
    let mut actions = app.application_actions().await.unwrap();
    actions.extend(core.session_actions(&config).await.unwrap());
    let mut triggered = 0;
    for action in &actions {
        let kind = match serde_json::to_value(action.action_owner).unwrap().as_str() {
            Some("application") => "application",
            Some("feature") => "feature",
            _ => "extension",
        };
        let plugin = action.plugin.clone().unwrap();
        let manifest = &manifests[&(plugin.clone(), kind)];
        for lifecycle in action.lifecycles() {
            triggered += 1;
            assert!(manifest.may_act_at(lifecycle), "{plugin}: {} at {lifecycle}", action.id);
        }
    }
    assert!(triggered >= 8, "{triggered} triggers were found");
}
