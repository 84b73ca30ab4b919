//! What is known of models reaches plugins as tags, and people as descriptors.

use orlop_core::*;
use orlop_providers::{OpenAiCompatible, openai};
use orlop_testkit::mock_model::MockModel;
use orlop_testkit::scripted::{ScriptedFeature, config};
use serde_json::json;
use std::sync::Arc;

fn core() -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::default()), Vec::new()).unwrap();
    let looks = Manifest::new("looks", "1.0.0").without_models().requires(&["vision"]);
    core.register_feature(Arc::new(ScriptedFeature::with_manifest(looks))).unwrap();
    core
}

fn with_model(model: &str) -> Config {
    config(json!({ "provider": openai::NAME, "model": model, "base_url": "http://127.0.0.1:9" }))
}

#[tokio::test] // C-06, C-07, D-06
async fn a_feature_that_needs_eyes_is_on_for_models_that_have_them() {
    let core = core();
    for (model, tags, on) in [
        ("gpt-4o-2024-08-06", "chat streaming images vision tools json_schema", true),
        ("openai/o3-mini", "chat streaming tools reasoning json_schema", false),
        ("deepseek-r1:70b", "chat streaming reasoning", false),
        // Of an unknown model only what the API has is known.
        ("somebody's", "chat streaming tools images", false),
    ] {
        let config = with_model(model);
        assert_eq!(core.tags_for(&config).await.unwrap().join(" "), tags, "{model}");
        let features = core.plugins_for(&config).await.unwrap().features;
        assert_eq!(features, if on { vec!["looks"] } else { vec![] }, "{model}");
    }
}

#[tokio::test] // C-13, M-02
async fn the_list_of_a_server_gets_what_is_known_and_keeps_what_it_says() {
    let server = MockModel::start().await.unwrap();
    server.models(["gpt-4o-mini", "my-own"]);
    let config = config(json!({
        "provider": openai::NAME, "model": "my-own", "base_url": server.base_url(),
    }));
    let models = core().fetch_models(&config).await.unwrap();
    let known = &models[0];
    assert_eq!(known["context_window"], 128_000);
    assert_eq!(known["max_output_tokens"], 16_384);
    assert_eq!(known["price"], json!({ "input": 0.15, "output": 0.6, "cache_read": 0.075 }));
    assert_eq!(known["tags"], json!(["vision", "tools", "json_schema"]));
    assert!(!models[1].contains_key("price") && !models[1].contains_key("tags"));
}
