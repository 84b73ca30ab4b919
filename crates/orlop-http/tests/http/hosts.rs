//! Host plugins around requests over HTTP: the same table as for the front door itself, by every
//! route that begins a request.

use crate::common::recorders::*;
use crate::common::*;
use crate::site::*;
use expect_test::expect;
use orlop_core::Error;
use orlop_testkit::scripted::*;
use reqwest::{Method, Response};
use serde_json::json;

/// A route that begins a request; whether it stores it, and how an answer tells its end.
struct Entry {
    path: &'static str,
    is_stored: bool,
    end: fn(&str) -> &'static str,
}

const ENTRIES: [Entry; 3] = [
    Entry {
        path: "/sessions/s/requests",
        is_stored: true,
        end: |told| match told {
            _ if told.contains("\"error_type\":\"bad_argument\"") => "bad_argument",
            _ if told.contains("\"error_type\":\"provider\"") => "request_failed",
            _ if told.contains("event: request_failed") => "request_failed",
            _ if told.contains("event: final") || told.contains("\"usage\"") => "final",
            _ => "nothing",
        },
    },
    Entry { path: "//v1/chat/completions", is_stored: false, end: openai_end },
    Entry { path: "//v1/responses", is_stored: true, end: openai_end },
];

fn openai_end(told: &str) -> &'static str {
    match told {
        _ if told.contains("\"type\":\"invalid_request_error\"") => "bad_argument",
        _ if told.contains("\"type\":\"server_error\"") => "request_failed",
        _ if told.contains("response.failed") => "request_failed",
        _ if told.contains("response.completed") || told.contains("[DONE]") => "final",
        _ if told.contains("\"usage\"") => "final",
        _ => "nothing",
    }
}

/// A body that each of the routes takes.
async fn send(site: &Site, path: &str, says: &str, stream: bool) -> Response {
    let body = match path.starts_with("//v1") {
        false => json!({ "content": says, "stream": stream }),
        true => json!({
            "model": "default", "stream": stream, "input": says,
            "messages": [{ "role": "user", "content": says }],
        }),
    };
    site.send(Method::POST, path, body).await
}

#[tokio::test] // L-01, L-04, L-07, L-08, L-09, L-10, L-11, L-16, L-17, L-18, L-23
async fn each_request_has_its_hooks_by_every_route() {
    for row in table() {
        for (entry, stream) in ENTRIES.iter().flat_map(|it| [(it, false), (it, true)]) {
            let log = Log::new();
            let mut site = Site::open(&row.scene(&log)).await;
            site.session("s").await;
            log.take();
            let response = send(&site, entry.path, row.says, stream).await;
            let told = response.text().await.unwrap();
            if row.says == "/a" {
                assert!(told.contains("handled"), "{} {told}", entry.path);
            }
            // Ending waits for what belongs to the request.
            site.close().await;
            row.check(entry.path, &log, (entry.end)(&told), entry.is_stored);
        }
    }
}

#[tokio::test] // L-10, L-19, L-20
async fn hooks_are_told_who_asks_and_how() {
    let log = Log::new();
    let heard = log.clone();
    let plugin = ScriptedHost::new("ear")
        .on_request_start(move |info, _| {
            heard.add(serde_json::to_string(&info).unwrap());
            async { Ok(()) }
        })
        .intercept_chat_request(|input, _| async move {
            assert_eq!(input.headers.get("authorization"), None);
            let words = input.headers["x-colour"].as_str().unwrap().to_owned();
            Ok(Some(orlop_core::hooks::Handled::text(words).into()))
        });
    let settings = orlop_http::Settings {
        tokens: vec![token("t", "acme", "ana", orlop_http::Right::Chat)],
        ..Default::default()
    };
    let mut site = Site::with(&Scene::default().host(plugin), settings).await;
    site.token("t");
    site.session("s").await;
    for stream in [false, true] {
        let request = site.request(Method::POST, "/sessions/s/requests");
        let request = request.header("content-type", "application/json").header("x-colour", "red");
        let body = json!({ "content": "hi", "stream": stream, "request_id": format!("r{stream}") });
        let response = request.body(body.to_string()).send().await.unwrap();
        let text = response.text().await.unwrap();
        assert!(text.contains("red"), "{text}");
    }
    expect![[r#"
        {"kind":"chat","tenant_id":"acme","user_id":"ana","session_id":"s","agent_id":"default","request_id":"rfalse"}
        {"kind":"stream","tenant_id":"acme","user_id":"ana","session_id":"s","agent_id":"default","request_id":"rtrue"}"#]]
    .assert_eq(&log.lines().join("\n"));
}

/// A plugin whose hook of this name fails.
fn broken(plugin: ScriptedHost, hook: &str) -> ScriptedHost {
    async fn fail<T>() -> orlop_core::Result<T> {
        Err(Error::bad_state("out of order"))
    }
    match hook {
        "on_request_start" => plugin.on_request_start(|_, _| fail()),
        "intercept_chat_request" => plugin.intercept_chat_request(|_, _| fail()),
        "context_providers" => plugin.context_providers(|_, _| fail()),
        "before_tool_call" => plugin.before_tool_call(|_, _| fail()),
        "after_tool_call" => plugin.after_tool_call(|_, _| fail()),
        "on_turn_persisted" => plugin.on_turn_persisted(|_, _| fail()),
        "on_request_end" => plugin.on_request_end(|_, _| fail()),
        other => panic!("{other}"),
    }
}

#[tokio::test] // L-24, L-25
async fn a_hook_that_fails_ends_no_request_by_any_route() {
    for hook in [
        "on_request_start",
        "intercept_chat_request",
        "context_providers",
        "before_tool_call",
        "after_tool_call",
        "on_turn_persisted",
        "on_request_end",
    ] {
        for (entry, stream) in ENTRIES.iter().flat_map(|it| [(it, false), (it, true)]) {
            if hook == "on_turn_persisted" && !entry.is_stored {
                continue;
            }
            let case = format!("{hook} by {} {stream}", entry.path);
            let log = Log::new();
            // It comes before the others.
            let first = ScriptedHost::with_manifest(manifest("broken", 100));
            let scene = three(&log).host(broken(first, hook));
            scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({ "n": 1 }))]));
            scene.provider.reply(ScriptedReply::text(&["done"]));
            let mut site = Site::open(&scene).await;
            site.session("s").await;
            log.take();
            let told = send(&site, entry.path, "hi", stream).await.text().await.unwrap();
            assert_eq!((entry.end)(&told), "final", "{case} {told}");
            assert!(told.contains("done"), "{case} {told}");
            site.close().await;
            // The plugins after it had their turn, one after another.
            let told = crate::common::recorders::told(&log);
            assert!(told.contains("on_request_start c a b\nintercept c a b"), "{case} {told}");
            assert!(told.contains("before_tool c a b\nafter_tool c a b"), "{case} {told}");
            assert!(told.contains("on_request_end c a b"), "{case} {told}");
            let (failed, wanted) = (site.failures.lines(), format!("broken.{hook}"));
            assert!(
                failed.iter().all(|it| *it == wanted) && !failed.is_empty(),
                "{case} {failed:?}"
            );
        }
    }
}

#[tokio::test] // L-17, L-25
async fn an_interceptor_that_fails_and_is_critical_ends_the_request_by_every_route() {
    for (entry, stream) in ENTRIES.iter().flat_map(|it| [(it, false), (it, true)]) {
        let guard = ScriptedHost::with_manifest(manifest("guard", 0).critical());
        let scene = Scene::says(&["no"]).host(broken(guard, "intercept_chat_request"));
        let site = Site::open(&scene).await;
        site.session("s").await;
        let response = send(&site, entry.path, "hi", stream).await;
        assert_eq!(response.status(), 409, "{} {stream}", entry.path);
        let told = response.text().await.unwrap();
        assert!(told.contains("guard"), "{told}");
        assert!(scene.provider.requests().is_empty());
    }
}

#[tokio::test] // L-12, L-13, L-14, L-15
async fn context_and_files_reach_the_model_in_order_and_are_not_kept() {
    let says = |name: &'static str, priority| {
        ScriptedHost::with_manifest(manifest(name, priority))
            .attachment_handler(move |input, _| async move {
                let names: Vec<_> = input.files.iter().map(|file| file.name.clone()).collect();
                Ok(format!("{name} saw {}", names.join(" ")))
            })
            .context_providers(move |_, _| async move {
                Ok(vec![format!("{name} knows"), String::new()])
            })
    };
    for stream in [false, true] {
        let scene = Scene::says(&["ok", "ok", "ok", "ok"]).host(says("b", 0)).host(says("a", 10));
        let site = Site::open(&scene).await;
        site.session("s").await;
        let form = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nmilk\r\n--X--\r\n";
        let put = site.request(Method::POST, "/assets");
        let put = put.header("content-type", "multipart/form-data; boundary=X").body(form);
        let (_, file) = answer(put.send().await.unwrap()).await;
        let body = json!({ "content": "look", "attachments": [file["id"]], "stream": stream });
        let path = "/sessions/s/requests";
        site.send(Method::POST, path, body).await.text().await.unwrap();
        let sent = scene.provider.last_request();
        assert!(sent.contains("a saw n.txt\n\nb saw n.txt\n\na knows\n\nb knows"), "{sent}");
        // Without files nobody looks at files, and what was said of the last ones is gone.
        send(&site, path, "again", stream).await.text().await.unwrap();
        let sent = scene.provider.last_request();
        assert!(sent.contains("a knows\n\nb knows") && !sent.contains(" saw "), "{sent}");
        assert_eq!(said(site.host.app(), "s").await, "look|ok|again|ok");
        for entry in &ENTRIES[1..] {
            send(&site, entry.path, "hi", stream).await.text().await.unwrap();
            let sent = scene.provider.last_request();
            assert!(sent.contains("a knows\n\nb knows"), "{} {sent}", entry.path);
        }
    }
}

#[tokio::test] // L-20
async fn what_a_plugin_answers_is_numbered_like_everything_that_happens() {
    let plugin = ScriptedHost::new("mouth").intercept_chat_request(|input, _| async move {
        let handled = || orlop_core::hooks::Handled::text("handled").into();
        Ok(input.text.starts_with('/').then(handled))
    });
    let site = Site::open(&Scene::says(&["ok", "ok"]).host(plugin)).await;
    site.session("s").await;
    let mut numbers = Vec::new();
    for says in ["hi", "/a", "again", "/b"] {
        let body = json!({ "content": says, "stream": true });
        let response = site.send(Method::POST, "/sessions/s/requests", body).await;
        let told = response.text().await.unwrap();
        let ids = told.lines().filter_map(|line| line.strip_prefix("id: "));
        numbers.push(ids.map(|id| id.parse::<u64>().unwrap()).next_back().unwrap());
    }
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers[0] > 0, "{numbers:?}");
}
