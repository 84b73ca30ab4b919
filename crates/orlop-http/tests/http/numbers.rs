//! The numbers for Prometheus: each that operators are promised, while things happen and after.

use crate::common::*;
use crate::site::*;
use orlop_core::Error;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;

/// The value of a series, with its labels if it has some.
fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

async fn numbers(site: &Site) -> String {
    site.get("//metrics").await.1.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_under_way_is_counted_while_it_is() {
    let gate = Gate::new();
    let scene = Scene::default();
    scene.provider.reply(ScriptedReply::text(&["one"]).waiting_for(&gate));
    scene.provider.reply(ScriptedReply::text(&["two"]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    let first = site.stream("s", json!({ "content": "hi" })).await;
    gate.reached().await;
    let queued = async {
        let body = json!({ "content": "next", "stream": false, "queue": true });
        site.post("/sessions/s/requests", body).await
    };
    let watching = async {
        // Requests come in their own time; the gauge says when this one waits.
        while value(&numbers(&site).await, "orlop_queue_length") != Some(1.0) {
            tokio::task::yield_now().await;
        }
        let text = numbers(&site).await;
        for (series, now) in [
            ("orlop_turns_running", 1.0),
            ("orlop_leases_held", 1.0),
            ("orlop_queue_length", 1.0),
            ("orlop_streams_open", 1.0),
        ] {
            assert_eq!(value(&text, series), Some(now), "{series}\n{text}");
        }
        assert!(value(&text, "orlop_connections_open").unwrap() >= 2.0);
        gate.open();
    };
    let ((status, _), ()) = tokio::join!(queued, watching);
    assert_eq!(status, 200);
    first.rest().await;
    let text = numbers(&site).await;
    assert_eq!(value(&text, "orlop_queue_length"), Some(0.0));
    assert_eq!(value(&text, "orlop_turns_running"), Some(0.0));
}

#[tokio::test]
async fn every_number_that_is_promised_is_there() {
    let broken =
        ScriptedHost::new("broken").before_tool_call(|_, _| async { Err(Error::bad_state("oh")) });
    let scene = Scene::default().host(broken).tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({}))]));
    let usage = json!({ "input_tokens": 7, "output_tokens": 3, "cost": 0.25 });
    let said = json!({ "who": "assistant", "say": "ok", "_metadata": { "usage": usage } });
    scene.provider.reply(ScriptedReply::items(vec![said]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    assert_eq!(site.say("s", "hi").await.0, 200);
    let text = numbers(&site).await;
    let of_model = "agent=\"default\",model=\"scripted/m\"";
    for (series, count) in [
        (
            "orlop_http_requests_total{method=\"POST\",route=\"/api/v1/sessions\",status=\"201\"}",
            1.0,
        ),
        ("orlop_http_request_seconds_count", 2.0),
        ("orlop_turns_total{agent=\"default\",outcome=\"completed\"}", 1.0),
        ("orlop_turn_seconds_count", 1.0),
        (&format!("orlop_tokens_total{{{of_model},kind=\"input_tokens\"}}"), 7.0),
        (&format!("orlop_tokens_total{{{of_model},kind=\"output_tokens\"}}"), 3.0),
        (&format!("orlop_cost_dollars_total{{{of_model}}}"), 0.25),
        ("orlop_tool_calls_total{tool=\"read\"}", 1.0),
        ("orlop_model_fallbacks_total", 0.0),
        ("orlop_model_call_seconds_count", 2.0),
        ("orlop_tool_seconds_count", 1.0),
        ("orlop_plugin_errors_total{plugin=\"broken\",hook=\"before_tool_call\"}", 1.0),
        ("orlop_hook_calls_total{plugin=\"broken\",hook=\"before_tool_call\"}", 1.0),
        ("orlop_hook_calls_total{plugin=\"read\",hook=\"execute_tool\"}", 1.0),
    ] {
        assert_eq!(value(&text, series), Some(count), "{series}\n{text}");
    }
    let took = value(&text, "orlop_hook_seconds_total{plugin=\"read\",hook=\"execute_tool\"}");
    assert!(took.is_some_and(|seconds| seconds >= 0.0), "{text}");
    // Every series says what it is, once.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let base = base.filter(|base| base.ends_with("_seconds")).unwrap_or(name);
        let heads = text.matches(&format!("# TYPE {base} ")).count();
        assert_eq!(heads, 1, "{name}");
    }
}

#[tokio::test]
async fn what_anybody_can_invent_is_counted_as_one() {
    let scene = Scene::default().tool(echo("read"));
    for name in ["made_up_1", "made_up_2", "read"] {
        scene.provider.reply(ScriptedReply::calls(&[("c1", name, json!({}))]));
    }
    scene.provider.reply(ScriptedReply::text(&["ok"]));
    let site = Site::open(&scene).await;
    site.session("s").await;
    assert_eq!(site.say("s", "hi").await.0, 200);
    for method in ["MADEUP1", "MADEUP2", "get"] {
        let request = site.request(method.parse().unwrap(), "//healthz");
        assert_eq!(request.send().await.unwrap().status(), 405);
    }
    let text = numbers(&site).await;
    let others = "orlop_http_requests_total{method=\"OTHER\",route=\"/healthz\",status=\"405\"}";
    assert_eq!(value(&text, others), Some(3.0), "{text}");
    assert_eq!(value(&text, "orlop_tool_calls_total{tool=\"unknown\"}"), Some(2.0), "{text}");
    assert_eq!(value(&text, "orlop_tool_calls_total{tool=\"read\"}"), Some(1.0));
    let invented = text.to_ascii_lowercase();
    assert!(!invented.contains("madeup") && !invented.contains("made_up"), "{text}");
}
