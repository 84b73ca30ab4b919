//! Tool calls that would ask: what a person at a terminal is asked, and what holds where there is
//! none. The program is this test itself, as one with a tool of its own.

use crate::common::{BOUND, Done, Place, finish};
use orlop_core::Manifest;
use orlop_core::types::ToolReport;
use orlop_testkit::mock_model::Reply;
use orlop_testkit::scripted::ScriptedTool;
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Carries the arguments of the program, one a line.
const ARGUMENTS: &str = "ORLOP_TEST_ARGUMENTS";

/// `orlop` with a tool that asks, if the environment has arguments for it; else nothing.
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
        .execute_tool(|_, _| Ok(ToolReport::ok("removed")));
    let arguments = ["orlop"].into_iter().chain(arguments.lines()).map(Into::into);
    let code = orlop::run(arguments, orlop::shipped_plugins().tool(Arc::new(tool)));
    // An exit code does not tell its number to anybody else.
    let code = format!("{code:?}");
    let number: String = code.chars().filter(char::is_ascii_digit).collect();
    std::process::exit(number.parse().unwrap());
}

/// The command that runs the program.
fn command_line() -> String {
    let test = std::env::current_exe().unwrap();
    format!("{} --exact approvals::own_program --nocapture --quiet", test.display())
}

/// A place where the model calls the tool, and then says `end`.
async fn place(name: &str) -> Place {
    let place = Place::new(name).await;
    place.model.otherwise(|request| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        match last["role"].as_str() {
            Some("tool") => Reply::text(["end"]).any(),
            _ if last["content"] == "go" => Reply::tool_call("c1", "rm", "{\"of\":\"x\"}").any(),
            _ if last["content"] == "ask" => {
                let question = json!({"question": "Which port?", "options": ["80", "443"]});
                Reply::tool_call("c1", "ask_user", question.to_string()).any()
            }
            _ => Reply::text(["hello"]).any(),
        }
    });
    place
}

fn in_pipes(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.program("sh");
    command.args(["-c", &command_line()]).env(ARGUMENTS, arguments.join("\n"));
    command
}

/// The tool message of a session.
async fn tool_result(place: &Place, session: &str) -> String {
    let shown = finish(in_pipes(place, &["session", "show", session, "--json"]).spawn().unwrap());
    let shown = json_of(&shown.await);
    let messages = shown["messages"].as_array().unwrap();
    let tool = messages.iter().find(|message| message["role"] == "tool");
    tool.map(|tool| tool["content"].to_string()).unwrap_or_default()
}

/// The JSON behind what the test frame prints.
fn json_of(done: &Done) -> Value {
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.out[done.out.find('{').unwrap()..]).unwrap()
}

#[tokio::test]
async fn without_a_terminal_a_flag_decides_and_the_default_is_no() {
    let place = place("approval-pipe").await;
    for (flag, runs) in [(None, false), (Some("--deny"), false), (Some("--yes"), true)] {
        let session = flag.unwrap_or("none").trim_start_matches('-');
        let mut arguments = vec!["run", "--session", session, "go"];
        arguments.extend(flag);
        let done = finish(in_pipes(&place, &arguments).spawn().unwrap()).await;
        assert_eq!(done.code, Some(0), "{done:?}");
        // What nobody decided is told.
        let told = "orlop: rm was not run, because nobody can be asked";
        assert_eq!(done.err.contains(told), flag.is_none(), "{done:?}");
        assert_eq!(done.err.lines().count(), usize::from(flag.is_none()), "{done:?}");
        assert!(done.out.ends_with("end\n"), "{done:?}");
        let result = tool_result(&place, session).await;
        assert_eq!(result.contains("removed"), runs, "{flag:?}: {result}");
        // The model hears why.
        assert!(runs || result.contains("approval"), "{flag:?}: {result}");
    }
    // Told again, it is not asked again.
    for again in [false, true] {
        let arguments = ["run", "--session", "twice", "--request-id", "r1", "go"];
        let done = finish(in_pipes(&place, &arguments).spawn().unwrap()).await;
        assert!(done.code == Some(0) && done.out.ends_with("end\n"), "{done:?}");
        assert_eq!(done.err.is_empty(), again, "{done:?}");
    }
}

const NO_TERMINALS: &str = "`script` of util-linux is not installed";

fn has_terminals() -> bool {
    std::process::Command::new("script").arg("--version").output().is_ok()
}

/// Runs the program at a terminal and types `answer` once `question` is there. Gives its exit code
/// and what was to be seen.
async fn at_a_terminal(
    place: &Place,
    arguments: &[&str],
    question: &str,
    answer: &str,
) -> (Option<i32>, String) {
    let mut command = place.program("script");
    command.args(["-qec", &command_line(), "/dev/null"]).stdin(Stdio::piped());
    command.env(ARGUMENTS, arguments.join("\n"));
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut seen = String::new();
    let talking = async {
        let mut bytes = [0; 1024];
        while !seen.contains(question) {
            let count = out.read(&mut bytes).await.unwrap();
            assert!(count > 0, "it ended: {seen:?}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        input.write_all(answer.as_bytes()).await.unwrap();
        out.read_to_string(&mut seen).await.unwrap();
        child.wait().await.unwrap().code()
    };
    let ended = tokio::time::timeout(BOUND, talking).await.expect("it did not end");
    (ended, seen)
}

#[tokio::test]
async fn at_a_terminal_a_person_is_asked() {
    let place = place("approval-terminal").await;
    if !has_terminals() {
        return orlop_testkit::skip("approvals at a terminal", NO_TERMINALS);
    }
    for (session, answer, code, runs) in [
        ("yes", "y\n", 0, true),
        ("no", "n\n", 0, false),
        ("empty", "\n", 0, false),
        ("ctrl-c", "\x03", 130, false),
        ("session", "s\n", 0, true),
        ("always", "a\n", 0, true),
    ] {
        let (ended, seen) = at_a_terminal(
            &place,
            &["run", "--session", session, "go"],
            "Run it? [y/N/s/a]",
            answer,
        )
        .await;
        assert_eq!(ended, Some(code), "{session}: {seen:?}");
        assert!(seen.contains("rm") && seen.find("rm") < seen.find("Run it?"), "{seen:?}");
        assert_eq!(seen.contains("end\r\n"), code == 0, "{session}: {seen:?}");
        let result = tool_result(&place, session).await;
        assert_eq!(result.contains("removed"), runs, "{session}: {result}");
        let again = in_pipes(&place, &["run", "--session", session, "hi"]).spawn().unwrap();
        let again = finish(again).await;
        assert!(again.code == Some(0) && again.out.ends_with("hello\n"), "{again:?}");
        let again = in_pipes(&place, &["run", "--session", session, "go"]).spawn().unwrap();
        let is_remembered = matches!(session, "session" | "always");
        assert_eq!(finish(again).await.err.is_empty(), is_remembered, "{session}");
    }
    // What was to be remembered for good is not asked about again, in any session.
    let again =
        finish(in_pipes(&place, &["run", "--session", "other", "go"]).spawn().unwrap()).await;
    assert!(again.code == Some(0) && again.err.is_empty(), "{again:?}");
    assert!(tool_result(&place, "other").await.contains("removed"));
}

#[tokio::test]
async fn a_question_is_answered_at_a_terminal_and_by_nobody_else() {
    let place = place("question-terminal").await;
    for (flag, told) in [(None, 1), (Some("--yes"), 0), (Some("--deny"), 0)] {
        let session = flag.unwrap_or("none").trim_start_matches('-');
        let mut arguments = vec!["run", "--session", session, "ask"];
        arguments.extend(flag);
        let done = finish(in_pipes(&place, &arguments).spawn().unwrap()).await;
        assert!(done.code == Some(0) && done.out.ends_with("end\n"), "{done:?}");
        assert_eq!(done.err.lines().count(), told, "{done:?}");
        let result = tool_result(&place, session).await;
        assert!(result.contains("nobody is there to answer"), "{flag:?}: {result}");
    }
    if !has_terminals() {
        return orlop_testkit::skip("questions at a terminal", NO_TERMINALS);
    }
    for (session, answer, expected) in [
        ("choice", "2\n", "The user answered: 443"),
        ("words", "any port\n", "The user answered: any port"),
        ("nothing", "\n", "the user does not want to answer"),
    ] {
        let (ended, seen) =
            at_a_terminal(&place, &["run", "--session", session, "ask"], "> ", answer).await;
        assert_eq!(ended, Some(0), "{session}: {seen:?}");
        assert!(seen.contains("Which port?") && seen.contains("2. 443"), "{seen:?}");
        let result = tool_result(&place, session).await;
        assert!(result.contains(expected), "{session}: {result}");
    }
}
