//! The chat with plugins: tools that ask, completions, actions with dialogs and displays, and the
//! operations on sessions. The program is this test itself, as one with plugins of its own.

#![cfg(unix)]
use crate::common;
mod displays;
mod harbour;

use crate::common::Place;
use crate::common::pty::{Terminal, open_command};
use orlop_core::types::{ActionDefinition, ActionResult, ToolReport};
use orlop_core::{Context, Manifest};
use orlop_testkit::mock_model::Reply;
use orlop_testkit::scripted::{ScriptedApplication, ScriptedFeature, ScriptedTool};
use portable_pty::CommandBuilder;
use serde_json::{Value, json};
use std::sync::Arc;

/// Carries the arguments of the program, one a line.
const ARGUMENTS: &str = "ORLOP_TEST_ARGUMENTS";

const CONTROL_K: &str = "\x0b";
const CONTROL_D: &str = "\x04";
const ESCAPE: &str = "\x1b";

fn result(public: Value) -> ActionResult {
    ActionResult { public: public.as_object().unwrap().clone(), ..ActionResult::unchanged() }
}

/// What the terminal tells of itself.
fn terminal_of(cx: &Context) -> String {
    cx.get("terminal").map(Value::to_string).unwrap_or_default()
}

/// `orlop` with the plugins of the tests, if the environment has arguments for it; else nothing.
#[test]
fn own_program() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let schema = json!({
        "name": "rm", "description": "Removes.", "annotations": { "approval": "ask" },
        "parameters": { "type": "object", "properties": {} },
    });
    let schema = schema.as_object().unwrap().clone();
    let tool = ScriptedTool::with_manifest(Manifest::new("remover", "1.0.0"))
        .get_tool_schemas(move |_, _| Ok(vec![schema.clone()]))
        .format_tool_call_preview(|_, _| Ok("Remove x\n-gone".to_owned()))
        .execute_tool(|_, _| Ok(ToolReport::ok("removed")));
    let feature = ScriptedFeature::new("emoji")
        .get_template(|_, _| Ok("Dear harbour master,".to_owned()))
        .get_completions(|input, _| {
            let offer = json!({ "replacement": ":boat:", "start": -2, "display": "boat ⛵" });
            Ok(if input.text.ends_with(":b") { vec![offer] } else { Vec::new() })
        })
        .apply_completion(|input, _| {
            Ok(if input.text.contains(":boat:") { "⛵".to_owned() } else { String::new() })
        })
        .get_ui_elements(|_, _| {
            Ok(vec![json!({
                "ui_type": "message_action", "action_id": "count", "label": "Count the letters",
                "param_map": { "index": "$message.index", "text": "$message.content" },
            })])
        })
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("count", "Count")]))
        .execute_action(|input, _| {
            let length = input.params["text"].as_str().unwrap_or_default().len();
            let index = &input.params["index"];
            Ok(result(json!({ "message": format!("message {index} has {length} letters") })))
        });
    let application = ScriptedApplication::new("harbour")
        .get_ui_elements(|_, _| async {
            Ok(vec![json!({
                "ui_type": "session_action", "action_id": "berth", "label": "Book a berth", "order": 1,
                "dialog": { "title": "Which berth?", "inputs": [
                    { "name": "number", "type": "integer", "label": "Number", "required": true },
                ] },
            })])
        })
        .get_actions(|_, _| async {
            Ok(vec![
                ActionDefinition::new("berth", "Book").input("number", "integer", true),
                ActionDefinition::new("pay", "Pay the fee"),
            ])
        })
        .execute_action(|input, cx| async move {
            if input.action_id == "pay" {
                return Ok(result(json!({ "display": { "title": "Paid", "body": "Fair winds." } })));
            }
            let body = format!("Berth **{}** is yours. {}", input.params["number"], terminal_of(&cx));
            Ok(result(json!({ "display": {
                "title": "Booked", "format": "markdown", "body": body, "variant": "success",
                "actions": [{ "id": "p", "label": "Pay now", "kind": "run_action",
                    "plugin": "harbour", "action_id": "pay" }],
            } })))
        });
    let plugins = orlop::shipped_plugins()
        .tool(Arc::new(tool))
        .tool(Arc::new(harbour::talkative()))
        .feature(Arc::new(feature))
        .feature(Arc::new(harbour::marks()))
        .application(Arc::new(application))
        .application(Arc::new(harbour::gate()))
        .application(Arc::new(harbour::tides()))
        .host(Arc::new(harbour::never_ends()));
    let arguments = ["orlop"].into_iter().chain(arguments.lines()).map(Into::into);
    let code = format!("{:?}", orlop::run(arguments, plugins));
    let number: String = code.chars().filter(char::is_ascii_digit).collect();
    std::process::exit(number.parse().unwrap());
}

/// The program on a terminal.
fn open(place: &Place, arguments: &[&str]) -> Terminal {
    open_with(place, arguments, &[])
}

/// The same with variables.
fn open_with(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", "chat_plugins::own_program", "--nocapture", "--quiet"]);
    let arguments = arguments.join("\n");
    let variables = [&[(ARGUMENTS, arguments.as_str())], variables].concat();
    let terminal = open_command(place, command, &variables, (80, 24));
    terminal.shows("^K commands");
    terminal
}

async fn place(name: &str) -> Place {
    let place = Place::new(name).await;
    place.model.otherwise(|request| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        match last["role"].as_str() {
            Some("tool") => {
                Reply::text(["The tool said: ", last["content"].as_str().unwrap()]).any()
            }
            _ if last["content"] == "go" => Reply::tool_call("c1", "rm", "{\"of\":\"x\"}").any(),
            _ if last["content"] == "hostile" => Reply::tool_call("c1", "hostile", "{}").any(),
            _ if last["content"] == "list" => Reply::tool_call("c1", "list", "{}").any(),
            _ if last["content"] == "break" => Reply::tool_call("c1", "break", "{}").any(),
            _ => Reply::text(["You said: ", last["content"].as_str().unwrap_or_default()]).any(),
        }
    });
    place
}

#[tokio::test(flavor = "multi_thread")] // K-03
async fn a_tool_that_asks_is_allowed_or_denied_with_a_reason() {
    let place = place("chat-approval").await;
    let mut terminal = open(&place, &[]);
    terminal.press("go\r");
    let screen = terminal.shows("allow once");
    // Who looks elsewhere hears of it.
    assert!(terminal.bytes().contains(&0x07));
    assert!(screen.contains("Remove x") && screen.contains("-gone"), "{screen}");
    terminal.press("y");
    let screen = terminal.shows("The tool said: removed");
    assert!(screen.contains("● Remove x"), "{screen}");
    terminal.hides("Esc stops");
    terminal.press("go\r");
    terminal.shows("allow once");
    terminal.press("r");
    terminal.shows("Tell the model");
    terminal.press("not today\r");
    let screen = terminal.shows("✗ Remove x");
    terminal.hides("Esc stops");
    assert!(terminal.everything().contains("not today"), "{screen}");
    // Allowed for good, it is not asked again.
    terminal.press("go\r");
    terminal.shows("a  always allow");
    terminal.press("a");
    terminal.hides("Esc stops");
    terminal.press("go\r");
    terminal.until("did it unasked", |screen| screen.matches("said: removed").count() >= 2);
    terminal.hides("Esc stops");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-04, J-26, J-27, J-28
async fn completions_of_features_are_offered_and_applied() {
    let place = place("chat-complete").await;
    place.write("haven.txt", "quay\n");
    let mut terminal = open(&place, &[]);
    terminal.press("a :b");
    terminal.shows("boat ⛵");
    terminal.press("\t");
    terminal.shows("› a ⛵");
    terminal.press("\x15@hav");
    terminal.shows("haven.txt");
    terminal.press("\t");
    terminal.shows("quay");
    terminal.press("\x03/sess");
    terminal.shows("/sessions");
    terminal.press("\x15");
    terminal.hides("/sessions");
    terminal.press("/templates\r");
    terminal.shows("Dear harbour master,");
    terminal.press("\r");
    terminal.shows("› Dear harbour master,");
    terminal.press("\x15");
    terminal.hides("› Dear");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-05, K-06, K-23, J-15, J-16, J-17, J-20, H-32
async fn buttons_of_plugins_are_in_the_palette() {
    let place = place("chat-actions").await;
    let mut terminal = open(&place, &["hello"]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    terminal.press(CONTROL_K);
    terminal.press("book a");
    terminal.shows("Book a berth");
    terminal.press("\r");
    terminal.shows("Which berth?");
    terminal.press("seven\r");
    terminal.shows("must be a whole number");
    terminal.press("\x157\r");
    let screen = terminal.shows("Berth 7 is yours.");
    // The action was told of the terminal.
    assert!(screen.contains("\"columns\":80") && screen.contains("1. Pay now"), "{screen}");
    terminal.press("\x1b1");
    let screen = terminal.shows("Fair winds.");
    assert!(!screen.contains("Berth 7 is yours."), "{screen}");
    terminal.press(CONTROL_K);
    terminal.press("count the");
    terminal.shows("Count the letters");
    terminal.press("\r");
    terminal.shows("Which message?");
    terminal.press("You said");
    terminal.press("\r");
    terminal.shows("✓ message 1 has 15 letters");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_and_displays_are_as_the_page_shows_them() {
    let place = place("chat-screens").await;
    let mut terminal = open(&place, &["Is a berth free?"]);
    terminal.shows("You said: Is a berth free?");
    terminal.hides("Esc stops");
    terminal.press(CONTROL_K);
    terminal.press("tell the tide");
    terminal.shows("▸ Tell the tide");
    terminal.press("\r");
    terminal.shows("Which day?");
    terminal.press("someday\r");
    // What the test program says before the chat begins is no part of it.
    let drawn = |words: &'static str| {
        move |screen: &str| screen.contains(words) && screen.ends_with("^K commands")
    };
    let chat = |screen: &str| screen[screen.find("› Is").unwrap()..].to_owned();
    let screen = terminal.until("refused it", drawn("must be a whole number"));
    common::capture::check("docs/terminal.md", "form", &chat(&screen));
    terminal.press("\x1512\r");
    terminal.hides("Which day?");
    let screen = terminal.until("told it", drawn("1. Book a berth"));
    common::capture::check("docs/terminal.md", "display", &chat(&screen));
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-08, K-01
async fn sessions_are_listed_opened_forked_renamed_and_deleted() {
    let place = place("chat-sessions").await;
    place.run(&["run", "--session", "s1", "the first thing"]).await.ok();
    place.run(&["run", "--session", "s1", "the second thing"]).await.ok();
    place.run(&["run", "--session", "s2", "about lighthouses"]).await.ok();
    let mut terminal = open(&place, &["--resume"]);
    terminal.shows("Sessions:");
    terminal.shows("4 messages");
    // The last words of the chosen one stand below.
    terminal.shows("│ You said: about lighthouses");
    // What is typed is looked for in what was said, too.
    terminal.press("second thing");
    terminal.until("found it", |screen| screen.contains("▸") && !screen.contains("lighthouses"));
    terminal.press("\r");
    // The list shows these words as well, so it has to be gone.
    let opened = "You said: the second thing";
    let screen =
        terminal.until(opened, |screen| screen.contains(opened) && !screen.contains("Sessions:"));
    assert!(screen.contains("› the first thing"), "{screen}");
    // A message is written anew in a fork; the original stays.
    terminal.press("/edit\r");
    terminal.shows("Edit which message?");
    terminal.press("second\r");
    terminal.shows("✎ the second thing");
    terminal.press(" again\r");
    terminal.shows("You said: the second thing again");
    terminal.hides("Esc stops");
    assert_eq!(place.messages("s1").await.len(), 4);
    terminal.press("/rename\r");
    terminal.shows("Rename the session");
    terminal.press("\x15Harbour talk\r");
    terminal.shows("The session is called \"Harbour talk\"");
    // Another agent answers from now on.
    terminal.press(CONTROL_K);
    terminal.press("switch agent\r");
    terminal.shows("other");
    terminal.press("other\r");
    terminal.shows("other answers from now on");
    terminal.shows("other · o ·");
    terminal.press("/export\r");
    terminal.shows("File (.md or .json)");
    terminal.press("\x15talk.md\r");
    terminal.shows("Written to");
    let text = std::fs::read_to_string(place.path().join("talk.md")).unwrap();
    assert!(text.contains("the second thing again") && text.contains("## assistant"), "{text}");
    // Forks and deletes from the list.
    terminal.press("/sessions\r");
    terminal.shows("^F forks");
    terminal.press("lighthouses");
    terminal.shows("Sessions: lighthouses");
    terminal.shows("▸ about lighthouses");
    terminal.press("\x04");
    terminal.shows("for good?");
    terminal.press("y");
    terminal.shows("✓ Deleted");
    place.run(&["session", "show", "s2"]).await.fails(4, &["s2"]);
    terminal.press("/delete\r");
    terminal.shows("Delete this session for good?");
    terminal.press(ESCAPE);
    terminal.hides("for good?");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-01, K-05
async fn line_by_line_everything_is_reached_without_redrawing() {
    let place = place("chat-plain").await;
    let mut command = place.program("sh");
    let test = std::env::current_exe().unwrap();
    let script = format!(
        "printf 'hello\\n/palette\\nbook\\n1\\nseven\\n7\\ngo\\nn\\ngo\\ny\\n/templates\\n1\\n it is dry\\nhostile\\ny\\n/more\\n/quit\\n' | {} --exact chat_plugins::own_program --nocapture --quiet",
        test.display()
    );
    command.args(["-c", &script]).env(ARGUMENTS, "--plain");
    let done = common::finish(command.spawn().unwrap()).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}".contains(c);
    assert!(!done.out.contains(acts), "{done:?}");
    let mut rest = done.out.as_str();
    for words in [
        "You said: hello",
        "Commands",
        "1. Book a berth harbour",
        "Which berth?",
        "must be a whole number",
        "Berth 7 is yours.",
        "1. Pay now",
        // What would be done is read out, and not only with what.
        "Remove x\n-gone\n",
        "y: allow once",
        "Tool failed: Remove x",
        "y: allow once",
        "The tool said: removed",
        // A template is read out, and goes on.
        "Dear harbour master,\nHow it goes on",
        "You said: Dear harbour master, it is dry",
        "Tool: hostile",
        "more lines, /more shows all",
        "hostile\nquay\nquay\n",
    ] {
        let place = rest.find(words).unwrap_or_else(|| panic!("{words}:\n{}", done.out));
        rest = &rest[place..];
    }
}
