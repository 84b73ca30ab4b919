//! What pages know before they begin, and what they see of plugins.

use crate::common::*;
use crate::site::*;
use orlop_app::{PluginHealth, Supplied, Supplier};
use orlop_core::{Error, Manifest};
use orlop_http::{Right, Settings};
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn a_page_knows_limits_and_rights_before_it_begins() {
    let tokens = vec![token("a", "acme", "ana", Right::Read)];
    let settings = Settings {
        tokens,
        share_links: true,
        max_asset_bytes: 1_000,
        asset_types: Some(vec!["image/*".to_owned()]),
        ..Settings::default()
    };
    let mut site = Site::with(&Scene::default(), settings).await;
    assert_eq!(site.get("/info").await.0, 401);
    site.token("a");
    let (status, mut info) = site.get("/info").await;
    assert_eq!(status, 200);
    assert_eq!(info["version"].take(), env!("CARGO_PKG_VERSION"));
    let expected = json!({
        "version": null,
        "user": { "tenant": "acme", "user": "ana", "right": "read" },
        "share_links": true,
        "attachments": { "max_bytes": 1_000, "types": ["image/*"] },
        "max_body_bytes": 16 << 20,
    });
    assert_eq!(info, expected);
}

/// Brings one plugin that is there, and one that is not.
struct Packages;

impl Supplier for Packages {
    fn supplied(&self) -> Vec<Supplied> {
        let package = |name: &str, state, problem: Option<&str>| Supplied {
            name: name.to_owned(),
            source: "package",
            place: Some(format!("/plugins/{name}")),
            version: Some("2.0.0".to_owned()),
            state,
            problem: problem.map(str::to_owned),
            grants: vec!["read files in /x".to_owned()],
            plugins: vec!["read".to_owned()].into_iter().filter(|_| problem.is_none()).collect(),
            actions: Vec::new(),
        };
        vec![
            package("reader", PluginHealth::NotStarted, None),
            package("torn", PluginHealth::Failed, Some("its file is gone")),
        ]
    }
}

#[tokio::test]
async fn plugins_are_listed_with_state_errors_and_grants() {
    let broken =
        ScriptedHost::new("broken").on_request_start(|_, _| async { Err(Error::bad_state("oh")) });
    let unused = ScriptedHost::new("unused");
    let mut scene = Scene::says(&["ok"]).host(broken).host(unused).tool(echo("read"));
    scene.plugins = scene.plugins.supplied_by(Arc::new(Packages));
    scene.config = format!(
        "{CONFIG}\n[hosts]\nplugins = [\"broken\"]\n[plugins.off]\npath = \"x\"\nenabled = false\n"
    );
    let tokens = vec![token("a", "t", "u", Right::Admin), token("r", "t", "u", Right::Read)];
    let mut site = Site::with(&scene, Settings { tokens, ..Settings::default() }).await;
    site.token("a");
    site.session("s").await;
    assert_eq!(site.say("s", "hi").await.0, 200);
    let (status, listed) = site.get("/plugins").await;
    assert_eq!(status, 200, "{listed}");
    let named = |name: &str| {
        let items = listed["items"].as_array().unwrap();
        items.iter().find(|it| it["name"] == name).cloned().unwrap_or_default()
    };
    let short = |name: &str| {
        let it = named(name);
        json!([it["kinds"], it["source"], it["package"], it["state"], it["grants"]])
    };
    let grants = json!(["read files in /x"]);
    assert_eq!(short("read"), json!([["tool"], "package", "reader", "not_started", grants]));
    assert_eq!(short("torn"), json!([[], "package", "torn", "failed", grants]));
    assert_eq!(short("scripted"), json!([["provider"], "built_in", null, "running", []]));
    assert_eq!(short("unused"), json!([["host"], "built_in", null, "disabled", []]));
    assert_eq!(short("off"), json!([[], "package", null, "disabled", []]));
    assert_eq!(named("torn")["details"]["problem"], "its file is gone");
    assert_eq!(named("torn")["details"]["place"], "/plugins/torn");
    let failed = &named("broken")["details"]["errors"][0];
    assert_eq!((&failed["hook"], &failed["message"]), (&json!("on_request_start"), &json!("oh")));
    let hooks = &named("scripted")["details"]["hooks"];
    let streamed = |it: &&Value| it["calls"].as_u64().unwrap() > 0;
    assert!(hooks.as_array().unwrap().iter().any(|it| streamed(&it)), "{hooks}");
    // Others see what there is, and not where it is or what became of other people's requests.
    site.token("r");
    let (status, listed) = site.get("/plugins").await;
    assert_eq!(status, 200);
    assert!(!listed.to_string().contains("/plugins/") && !listed.to_string().contains("oh"));
    assert!(listed["items"].as_array().unwrap().iter().all(|it| it["details"].is_null()));
}

#[tokio::test]
async fn a_reload_shows_what_turns_and_tools_took() {
    let scene = Scene::default().tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({}))]));
    let usage = json!({ "input_tokens": 7, "output_tokens": 3 });
    let said = json!({ "who": "assistant", "say": "ok", "_metadata": { "usage": usage } });
    scene.provider.reply(ScriptedReply::items(vec![said]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let note = json!({ "role": "user", "content": "a note" });
    assert_eq!(site.post("/sessions/s/messages", note).await.0, 201);
    let turn = json!({ "content": "hi", "stream": false, "request_id": "r" });
    assert_eq!(site.post("/sessions/s/requests", turn).await.0, 200);
    let (_, session) = site.get("/sessions/s").await;
    let result = &session["messages"][3];
    assert_eq!(result["role"], "tool");
    assert!(result["metadata"]["duration_ms"].is_u64(), "{result}");
    let (_, requests) = site.get("/sessions/s/requests").await;
    let request = &requests["items"][0];
    assert_eq!(
        (&request["message_index"], &request["usage"]["input_tokens"]),
        (&json!(1), &json!(7))
    );
    assert!(request["duration_ms"].is_u64());
    let (_, trace) = site.get("/requests/r/trace").await;
    let of_kind = |kind: &str| {
        let items = trace["items"].as_array().unwrap().iter();
        items.filter(|it| it["kind"] == kind).map(|it| it["detail"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of_kind("tool_call"), [json!({ "step": 1, "call_id": "c1", "tool": "read" })]);
    let calls = of_kind("model_call");
    assert_eq!((calls.len(), &calls[1]["usage"]["output_tokens"]), (2, &json!(3)));
}

#[tokio::test]
async fn a_server_without_a_plugin_that_is_needed_is_not_ready() {
    struct Failing(Vec<&'static str>);
    impl Supplier for Failing {
        fn supplied(&self) -> Vec<Supplied> {
            let package = |name: &&str| Supplied {
                name: format!("package of {name}"),
                source: "package",
                state: PluginHealth::Failed,
                plugins: vec![(*name).to_owned()],
                ..Supplied::default()
            };
            self.0.iter().map(package).collect()
        }
    }
    let guard = || ScriptedHost::with_manifest(Manifest::host("guard", "1.0.0").critical());
    for (failing, missing) in [
        (vec!["guard", "read"], Some("guard")),
        (vec!["scripted"], Some("scripted")),
        // What is useful is not needed.
        (vec!["read"], None),
        (vec![], None),
    ] {
        let mut scene = Scene::default().host(guard()).tool(echo("read"));
        scene.plugins = scene.plugins.supplied_by(Arc::new(Failing(failing)));
        let site = Site::open(&scene).await;
        let ready = site.request(Method::GET, "//readyz").send().await.unwrap();
        let waits = ready.headers().contains_key("retry-after");
        let (status, body) = answer(ready).await;
        match missing {
            None => assert_eq!((status, waits), (200, false), "{body}"),
            Some(name) => {
                assert_eq!((status, waits), (503, true), "{body}");
                let message = body["message"].as_str().unwrap();
                assert!(message.contains(&format!("failed: {name};")), "{message}");
            }
        }
        assert_eq!(site.get("//healthz").await.0, 200);
    }
}
