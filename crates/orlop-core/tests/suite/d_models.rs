//! Model lists: asked for once per provider and endpoint, shared where the caller wants it, and
//! never in the way of a request.

use orlop_core::hooks::{Hook, HookSet};
use orlop_core::*;
use orlop_testkit::logged;
use orlop_testkit::scripted::{
    Log, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config, core_with,
    plain_session,
};
use serde_json::json;
use std::sync::Arc;

fn offering(models: &[&str]) -> ScriptedProvider {
    let manifest = Manifest::new("scripted", "1.0.0").discovery(&["base_url", "auth.key"]);
    ScriptedProvider::default().manifest(manifest).models(models)
}

fn core_sharing(cache: &ModelCache, provider: &ScriptedProvider) -> Core {
    let mut core = Core::with_model_cache(cache.clone());
    core.register_provider(Arc::new(provider.clone()), vec![]).unwrap();
    core
}

async fn send(core: &Core, config: &Config) -> Result<Response> {
    let session = plain_session(&[Message::user("hi")]).await?;
    core.send_request(&session, config, RequestOptions::default()).await
}

async fn models(core: &Core, settings: Value) -> Vec<String> {
    let models = core.models_for(&config(settings)).await.unwrap();
    models.iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test] // D-14
async fn models_are_asked_for_once() {
    let provider = offering(&["m"]);
    provider.reply(ScriptedReply::text(&["yes"]));
    let core = core_with(&provider).unwrap();
    for _ in 0..2 {
        assert_eq!(models(&core, json!({})).await, ["m"]);
        core.ui_schema(&Config::empty()).await.unwrap();
        core.tags_for(&config(json!({"temperature": 1}))).await.unwrap();
    }
    send(&core, &Config::empty()).await.unwrap();
    assert_eq!(provider.models_asked(), 1);
}

#[tokio::test] // D-14
async fn a_provider_that_declares_no_model_list_is_not_asked() {
    let manifest = Manifest::new("scripted", "1.0.0").only(HookSet::of(&[Hook::CallApi]));
    let provider = offering(&["m"]).manifest(manifest);
    let core = core_with(&provider).unwrap();
    assert_eq!(models(&core, json!({})).await, [""; 0]);
    core.tags_for(&Config::empty()).await.unwrap();
    assert_eq!(provider.models_asked(), 0);
}

#[tokio::test] // D-15
async fn cores_share_model_lists_where_they_are_given_one_cache() {
    let (provider, cache) = (offering(&["m"]), ModelCache::new());
    for core in [core_sharing(&cache, &provider), core_sharing(&cache, &provider)] {
        assert_eq!(models(&core, json!({})).await, ["m"]);
    }
    assert_eq!(provider.models_asked(), 1, "one discovery in total");
    for core in [core_with(&provider).unwrap(), core_with(&provider).unwrap()] {
        assert_eq!(models(&core, json!({})).await, ["m"]);
    }
    assert_eq!(provider.models_asked(), 3, "each its own");
}

#[tokio::test] // D-16
async fn endpoint_and_credential_make_another_list_and_nothing_else_does() {
    let provider = offering(&["m"]);
    let cache = ModelCache::new();
    let core = core_sharing(&cache, &provider);
    let cases = [
        (json!({"base_url": "http://a", "auth": {"key": "secret-1"}}), 1),
        (json!({"base_url": "http://b", "auth": {"key": "secret-1"}}), 2),
        (json!({"base_url": "http://b", "auth": {"key": "secret-2"}}), 3),
        (json!({"base_url": "http://b", "auth": {"key": "secret-2"}, "model": "x"}), 3),
        (json!({"base_url": "http://a", "auth": {"key": "secret-1", "x": 1}}), 3),
    ];
    for (settings, asked) in cases {
        models(&core, settings.clone()).await;
        assert_eq!(provider.models_asked(), asked, "{settings}");
    }
    let other = offering(&["n"]).manifest(Manifest::new("other", "1.0.0"));
    let second = core_sharing(&cache, &other);
    let settings = json!({"base_url": "http://a", "auth": {"key": "secret-1"}});
    assert_eq!(models(&second, settings).await, ["n"], "another provider, another list");
}

#[tokio::test] // D-16
async fn a_provider_that_names_no_keys_is_asked_anew_for_every_config() {
    let provider = ScriptedProvider::default().models(&["m"]);
    let core = core_with(&provider).unwrap();
    for (settings, asked) in [(json!({"base_url": "a"}), 1), (json!({"base_url": "b"}), 2)] {
        models(&core, settings).await;
        assert_eq!(provider.models_asked(), asked);
    }
}

#[test] // D-16
fn what_identifies_a_config_shows_no_secret() {
    let secret = config(json!({"api_key": "sk-very-secret"}));
    let other = config(json!({"api_key": "sk-other"}));
    assert_ne!(secret.fingerprint(), other.fingerprint());
    for shown in [format!("{:?}", secret.fingerprint()), format!("{secret:?}")] {
        assert!(!shown.contains("secret"), "{shown}");
        assert!(!shown.contains(&format!("{:?}", "sk-very-secret".as_bytes())), "{shown}");
    }
}

#[tokio::test] // D-17
async fn a_failing_discovery_does_not_fail_the_request() {
    logged();
    let provider = ScriptedProvider::new("down");
    provider.fail_models(true);
    provider.reply(ScriptedReply::text(&["yes"]));
    let core = core_with(&provider).unwrap();
    let explicit = config(json!({"model": "m"}));
    let sent = send(&core, &explicit).await.unwrap();
    assert_eq!(sent.messages[0].text(), "yes");
    assert_eq!(provider.requests()[0].1.request["model"], "m");
    assert!(core.models_for(&explicit).await.unwrap().is_empty());
    let log = logged();
    let line = log.lines().find(|line| line.contains("\"down\"")).expect("a line in the log");
    assert!(line.contains("WARN") && line.contains("model list"), "{line}");
}

#[tokio::test] // D-17
async fn a_failure_is_not_remembered_for_good() {
    let provider = ScriptedProvider::default().models(&["m"]);
    let seen = Log::new();
    let log = seen.clone();
    let feature = ScriptedFeature::new("f")
        .get_tags(|input, _| Ok(input.models.iter().map(|_| "has-models".to_owned()).collect()))
        .initialize_request(move |_, cx| {
            log.add(cx.models().len().to_string());
            Ok(Default::default())
        });
    let tool = Log::new();
    let prepared = tool.clone();
    let tool_plugin = ScriptedTool::new("t").offering(&["dig"]).prepare_tools(move |_, _| {
        prepared.add("prepared");
        Ok(Value::Null)
    });
    let mut core = core_with(&provider).unwrap();
    core.register_feature(Arc::new(feature)).unwrap();
    core.register_tool(Arc::new(tool_plugin)).unwrap();
    let config = Config::empty();
    provider.fail_models(true);
    for _ in 0..3 {
        provider.reply(ScriptedReply::text(&["yes"]));
        send(&core, &config).await.unwrap();
    }
    assert_eq!(seen.take(), ["0", "0", "0"]);
    assert_eq!(provider.models_asked(), 1, "a dead endpoint is not asked for every request");
    assert_eq!(tool.count("prepared"), 1, "and nothing else is done again because of it");

    provider.fail_models(false);
    // It is asked again after some requests, not at once.
    for _ in 0..20 {
        provider.reply(ScriptedReply::text(&["yes"]));
        send(&core, &config).await.unwrap();
    }
    assert_eq!(seen.lines().last().unwrap(), "1", "requests see the models again");
    assert_eq!(core.tags_for(&config).await.unwrap(), ["has-models"]);
    assert_eq!((provider.models_asked(), tool.count("prepared")), (2, 2));
}

#[tokio::test] // D-18
async fn only_model_lists_are_ever_shared_between_cores() {
    let (provider, cache, log) = (offering(&["m"]), ModelCache::new(), Log::new());
    let (a, b, c) = (log.clone(), log.clone(), log.clone());
    let tool = ScriptedTool::new("t")
        .offering(&["dig"])
        .prepare_tools(move |_, _| {
            a.add("prepared");
            Ok(Value::Null)
        })
        .get_tags(move |_, _| {
            b.add("tags");
            Ok(vec![])
        })
        .is_enabled(move |_, _| {
            c.add("enabled");
            Ok(None)
        });
    let mut once = Vec::new();
    for _ in 0..2 {
        let mut core = core_sharing(&cache, &provider);
        core.register_tool(Arc::new(tool.clone())).unwrap();
        for _ in 0..2 {
            core.available_tools(&Config::empty()).await.unwrap();
        }
        once.push(log.take());
    }
    assert!(["prepared", "tags", "enabled"].iter().all(|line| once[0].contains(&(*line).into())));
    assert_eq!(once[0], once[1], "the second core did all of it for itself");
    assert_eq!(provider.models_asked(), 1);
}

#[tokio::test] // D-18, D-19
async fn a_clone_that_registers_more_goes_its_own_way() {
    let core = core_with(&offering(&["m"])).unwrap();
    core.plugins_for(&Config::empty()).await.unwrap();
    let mut clone = core.clone();
    clone.register_feature(Arc::new(ScriptedFeature::new("f"))).unwrap();
    assert_eq!(clone.plugins_for(&Config::empty()).await.unwrap().features, ["f"]);
    assert_eq!(core.plugins_for(&Config::empty()).await.unwrap().features, [""; 0]);
}
