//! A program with plugins, as its host sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_plugin::{Call, Error, Plugin, Value, by_handle, json, serve_on};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};

/// A host that writes lines, and reads them.
struct Host {
    to: PipeWriter,
    from: BufReader<PipeReader>,
}

impl Host {
    fn of(plugins: Vec<Plugin>) -> Self {
        let (input, to) = std::io::pipe().unwrap();
        let (from, output) = std::io::pipe().unwrap();
        std::thread::spawn(move || serve_on(plugins, BufReader::new(input), output));
        Self { to, from: BufReader::new(from) }
    }

    fn say(&mut self, line: Value) {
        writeln!(self.to, "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn hook(&mut self, id: u64, hook: &str, args: Value) {
        let params = json!({"plugin": "p", "kind": "application", "hook": hook, "call": id, "args": args, "context": {}});
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": "hook", "params": params}));
    }
}

fn plugin() -> Plugin {
    Plugin::application("p")
        .with("priority", json!(3))
        .on("count", |args, call| {
            Ok(json!([args["m"].as_array().map(Vec::len), call.skipped("m")]))
        })
        .on("ask", |args, call| call.ask("app.save_session", by_handle(&args["session"])))
        .on("stream", |_, call| {
            let mut heard = Vec::new();
            let last = call.ask_each("app.send_request", json!({}), |event| heard.push(event))?;
            Ok(json!([heard, last]))
        })
        .on("fail", |_, _| Err(Error::new("unavailable", "the cat is asleep")))
        .on("panic", |_, _| panic!("oh no"))
}

#[test]
fn it_says_what_it_holds_and_refuses_what_it_does_not_know() {
    let mut host = Host::of(vec![plugin()]);
    host.say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocol": 1}}));
    let described = host.hear();
    let described = &described["result"]["plugins"][0];
    assert_eq!((&described["kind"], &described["priority"]), (&json!("application"), &json!(3)));
    assert_eq!(described["hooks"], json!(["ask", "count", "fail", "panic", "stream"]));
    host.say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocol": 9}}));
    assert_eq!(host.hear()["error"]["data"]["class"], "bad_state");
    host.say(json!({"jsonrpc": "2.0", "id": 2, "method": "dance"}));
    assert_eq!(host.hear()["error"]["code"], -32601);
    host.hook(3, "nothing", json!({}));
    assert_eq!(host.hear()["error"]["code"], -32601);
}

#[test]
fn settings_that_nobody_set_have_their_defaults() {
    let schema = json!({
        "p.size": {"type": "integer", "default": 9},
        "colour": {"type": "string", "default": "red"},
        "deep.far": {"type": "integer", "default": 2},
        "deep.near": {"type": "integer", "default": 3},
        "flat.inside": {"type": "integer", "default": 4},
        "nothing": {"type": "string"},
    });
    let config = |_: Value, call: &Call| Ok(call.config().clone());
    let plugin =
        || Plugin::application("p").with("config_schema", schema.clone()).on("show", config);
    for (set, seen) in [
        (
            json!({"size": 5, "deep": {"near": 1}, "flat": "text"}),
            json!({"size": 5, "colour": "red", "deep": {"near": 1, "far": 2}, "flat": "text"}),
        ),
        (
            json!({}),
            json!({"size": 9, "colour": "red", "deep": {"near": 3, "far": 2}, "flat": {"inside": 4}}),
        ),
    ] {
        let mut host = Host::of(vec![plugin()]);
        host.say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocol": 1, "config": set}}));
        host.hear();
        host.hook(1, "show", json!({}));
        assert_eq!(host.hear()["result"], seen);
    }
}

#[test]
fn failures_and_panics_are_errors_of_their_call() {
    let mut host = Host::of(vec![plugin()]);
    host.hook(1, "fail", json!({}));
    let error = host.hear()["error"].clone();
    assert_eq!(
        (&error["message"], &error["data"]["class"]),
        (&json!("the cat is asleep"), &json!("unavailable"))
    );
    host.hook(2, "panic", json!({}));
    assert_eq!(host.hear()["error"]["message"], "it panicked: oh no");
    host.hook(3, "count", json!({"m": {"$list": {"skip": 7, "items": [1, 2]}}}));
    assert_eq!(host.hear()["result"], json!([2, 7]));
}

#[test]
fn it_asks_the_host_and_hears_what_comes_on_the_way() {
    let mut host = Host::of(vec![plugin()]);
    host.hook(1, "ask", json!({"session": {"$session": {"handle": "h1", "metadata": {"a": 1}, "messages": {"$list": {"skip": 0, "items": []}}}}}));
    let asked = host.hear();
    assert_eq!(
        asked["params"]["args"],
        json!({"$session": {"handle": "h1", "metadata": {"a": 1}}})
    );
    host.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": "saved"}));
    assert_eq!(host.hear()["result"], "saved");

    host.hook(2, "stream", json!({}));
    let asked = host.hear();
    assert_eq!(asked["params"]["stream"], true);
    for part in ["a", "b"] {
        host.say(json!({"jsonrpc": "2.0", "method": "part", "params": {"request": asked["id"], "value": part}}));
    }
    host.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": null}));
    assert_eq!(host.hear()["result"], json!([["a", "b"], null]));
}

#[test]
fn a_call_that_is_cancelled_is_answered_at_once() {
    let mut host = Host::of(vec![plugin()]);
    host.hook(1, "ask", json!({"session": {}}));
    assert_eq!(host.hear()["method"], "app.save_session");
    host.say(json!({"jsonrpc": "2.0", "method": "cancel", "params": {"call": 1}}));
    assert_eq!(host.hear()["error"]["data"]["class"], "cancelled");
    // Nothing else comes of it.
    host.say(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(host.hear(), json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}
