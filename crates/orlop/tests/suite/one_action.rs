//! One declaration of an action, in a plugin of its own process: people and models reach it on every
//! surface, and a name that two plugins have is told and keeps nobody from anything.

#![cfg(unix)]
use crate::common::served::{SERVE, Served};
use crate::common::{Place, pty};
use orlop_testkit::mock_model::Reply;
use serde_json::json;

/// All that its author wrote.
const HARBOUR: &str = r#"
class Harbour:
    name = "NAME"

    def get_actions(self, state):
        number = {"type": "integer", "required": True, "description": "which one"}
        return [{"id": "book", "label": "Book a berth", "description": "Books a berth.",
                 "inputs": {"number": number}, "expose_to_model": True},
                {"id": "name", "label": "Name a berth", "inputs": {"name": {"type": "string"}}}]

    def execute_action(self, app, action_id, params, context, state):
        if action_id == "name":
            return {"message": repr(params["name"])}
        return {"message": f"NAME: berth {params['number']} is yours"}
"#;

async fn place(names: &[&str]) -> Place {
    let place = Place::new("one-action").await;
    place.model.otherwise(|request| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        let has = |name: &str| body["tools"].to_string().contains(&format!("\"name\":\"{name}\""));
        let tool = if has("book") { "book" } else { "harbour_book" };
        match last["role"].as_str() {
            Some("tool") => Reply::text(["I hear: ", last["content"].as_str().unwrap()]).any(),
            _ => Reply::tool_call("c1", tool, "{\"number\":4}").any(),
        }
    });
    for name in names {
        place.write(&format!("{name}.py"), HARBOUR.replace("NAME", name));
        place.run(&["plugin", "add", &format!("{name}.py"), "--yes"]).await.ok();
    }
    place
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_a_command_a_button_with_a_form_an_endpoint_and_a_tool() {
    let place = place(&["harbour"]).await;
    // A command of the command line, and one of the conversation.
    let by_hand = place.run(&["action", "run", "harbour", "book", "number=1"]).await.ok();
    assert_eq!(by_hand, "harbour: berth 1 is yours\n");
    // A text that looks like a number is one all the same.
    for (given, read) in [("name=3", "'3'"), ("name=[a]", "'[a]'"), ("name=\"3\"", "'3'")] {
        let named = place.run(&["action", "run", "harbour", "name", given]).await.ok();
        assert_eq!(named.trim_end(), read, "{given}");
    }
    let missing = place.run(&["action", "run", "harbour", "book"]).await;
    missing.fails(2, &["needs the input \"number\""]);
    let slash = place.run(&["run", "/book 2"]).await.ok();
    assert_eq!(slash, "harbour: berth 2 is yours\n");
    assert_eq!(place.times_asked(), 0);
    // An endpoint.
    let served = Served::start(place.command(&SERVE)).await;
    let body = json!({ "params": { "number": 3 } });
    let done = served.post("/actions/harbour/book", body).await;
    assert_eq!(done["result"]["message"], "harbour: berth 3 is yours");
    served.ends().await;
    // A tool of the model.
    let told = place.run(&["run", "--yes", "book one for me"]).await.ok();
    assert_eq!(told, "I hear: harbour: berth 4 is yours\n");
    let why = place.run(&["plugin", "explain", "harbour", "book"]).await.ok();
    assert!(why.lines().any(|line| line.starts_with("  called by the model, ")), "{why}");
    // A button, and a form of what it needs to know.
    let mut terminal = pty::open(&place, &[], &[]);
    terminal.shows("^K commands");
    terminal.press("\x0b");
    terminal.press("book a");
    terminal.shows("Book a berth");
    terminal.press("\r");
    terminal.shows("which one");
    terminal.press("five\r");
    terminal.shows("must be a whole number");
    terminal.press("\x155\r");
    terminal.shows("harbour: berth 5 is yours");
    terminal.press("\x04");
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test]
async fn names_that_two_plugins_have_are_told_and_both_work() {
    let place = place(&["harbour", "marina"]).await;
    let told = place.run(&["run", "--yes", "book one for me"]).await;
    assert_eq!(
        (told.code, &*told.out),
        (Some(0), "I hear: harbour: berth 4 is yours\n"),
        "{told:?}"
    );
    assert_eq!(
        told.err,
        "orlop: the plugins harbour, marina all have an action \"book\" for models; its tools are called PLUGIN_book\n"
    );
    let slash = place.run(&["run", "/marina.book 2"]).await;
    assert_eq!((slash.code, &*slash.out), (Some(0), "marina: berth 2 is yours\n"), "{slash:?}");
    let both = place.run(&["action", "run", "marina", "book", "number=1"]).await.ok();
    assert_eq!(both, "marina: berth 1 is yours\n");
}

#[tokio::test]
async fn an_action_that_waits_for_nothing_is_told_when_it_is_added_and_at_each_start() {
    let place = Place::new("one-trigger").await;
    let code = HARBOUR.replace("NAME", "harbour");
    place.write(
        "harbour.py",
        code.replace("\"expose_to_model\": True", "\"trigger\": \"sesion_save_prepare\""),
    );
    let added = place.run(&["plugin", "add", "harbour.py", "--yes"]).await;
    assert_eq!(added.code, Some(0), "{added:?}");
    assert_eq!(
        added.err,
        "orlop: application harbour: \"book\" waits for \"sesion_save_prepare\", which Orlop never runs; another plugin has to. Did you mean \"session_save_prepare\"?\n"
    );
    let run = place.run(&["run", "hello"]).await;
    assert_eq!(
        run.err,
        "orlop: the action \"book\" of the plugin \"harbour\" waits for \"sesion_save_prepare\", which Orlop never runs; did you mean \"session_save_prepare\"?\n"
    );

    // An action of a session is none for models, and whoever adds it hears of it.
    let feature = r#"
class Counter:
    name = "counter"

    def get_actions(self, state):
        return [{"id": "count", "label": "Count", "expose_to_model": True}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        return {"message": "counted"}
"#;
    place.write("counter.py", feature);
    let added = place.run(&["plugin", "add", "counter.py", "--yes"]).await;
    assert!(added.err.contains("feature counter: \"count\" says expose_to_model"), "{added:?}");
}

#[tokio::test]
async fn an_action_of_a_session_that_waits_for_nothing_is_told_at_each_start() {
    let place = Place::new("one-session-trigger").await;
    let feature = r#"
class Counter:
    name = "counter"

    def get_actions(self, state):
        return [{"id": "count", "label": "Count", "trigger": "request_completed"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        return {"message": "counted"}
"#;
    place.write("counter.py", feature);
    place.run(&["plugin", "add", "counter.py", "--yes"]).await;
    for start in ["first", "second"] {
        let run = place.run(&["run", "hello"]).await;
        assert_eq!(
            run.err,
            "orlop: the action \"count\" of the plugin \"counter\" waits for \"request_completed\", which Orlop never runs; did you mean \"request_complete\"?\n",
            "{start}"
        );
    }
}
