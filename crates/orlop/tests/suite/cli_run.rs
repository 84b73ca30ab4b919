//! `orlop run`: one turn, from the prompt to the exit code.

use crate::common;

use crate::common::{BOUND, Done, Place, finish, keys, listens_for_interrupts, signal};
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn user_text(asked: &Value) -> &str {
    asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
}

#[tokio::test]
async fn the_prompt_comes_from_arguments_input_or_both() {
    let place = Place::new("prompt").await;
    assert_eq!(place.run(&["run", "hello"]).await.ok(), "You said: hello\n");
    for (arguments, input, expected) in [
        (&["run"][..], "from a pipe\n", "from a pipe"),
        (&["run", "-"], "by dash\n\n", "by dash"),
        (&["run", "explain this"], "fn main() {}\n", "explain this\n\nfn main() {}"),
        (&["run", ""], "ünï\r\ncode ✓", "ünï\r\ncode ✓"),
    ] {
        place.run_with(arguments, input).await.ok();
        assert_eq!(user_text(&place.asked()), expected);
    }
    let count = place.times_asked();
    for (arguments, input) in
        [(&["run"][..], ""), (&["run", "-"], ""), (&["run", "  "], " \n"), (&["run", ""], "\n\n")]
    {
        let done = place.run_with(arguments, input).await;
        done.fails(2, &["nothing to", "write a"]);
        assert_eq!(done.out, "");
    }
    place.run(&["run"]).await.fails(2, &["there is nothing to ask", "orlop run"]);
    place.run_with(&["run"], b"\xff\xfe").await.fails(2, &["UTF-8", "attach"]);
    assert_eq!(place.times_asked(), count);
}

#[tokio::test]
async fn text_in_a_pipe_is_the_answer_and_nothing_else() {
    let place = Place::new("text").await;
    place.model.reply(Reply::text(["a ", "b\n", "c"]).reasoning("hmm"));
    assert_eq!(place.run(&["run", "x"]).await.ok(), "a b\nc\n");
    place.model.reply(Reply::text(["ends with a line\n"]));
    assert_eq!(place.run(&["run", "x"]).await.ok(), "ends with a line\n");
    place.model.reply(Reply::empty());
    let empty = place.run(&["run", "x"]).await;
    assert!(empty.out.trim().is_empty(), "{empty:?}");
}

#[tokio::test]
async fn json_has_the_keys_that_programs_rely_on() {
    let place = Place::new("json").await;
    let answer = place.run(&["run", "--session", "s", "--output", "json", "hello"]).await.json();
    assert_eq!(keys(&answer), ["messages", "model", "request_id", "session_id", "usage"]);
    assert_eq!(answer["session_id"], "s");
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["role"], "assistant");
    assert_eq!(messages[0]["content"], "You said: hello");
    assert!(answer["usage"].is_object(), "{answer}");

    place.model.reply(Reply::status(400));
    let done = place.run(&["run", "--output", "json", "hello"]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(1), ""));
    let failed: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(keys(&failed), ["error", "request_id", "session_id"]);
    assert_eq!(keys(&failed["error"]), ["message", "retryable", "type"]);
    assert_eq!(failed["error"]["type"], "provider");
}

/// Every line is an event of this request, numbers grow, and one event ends it: the last.
#[track_caller]
fn events(out: &str) -> Vec<Value> {
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends = ["final", "request_failed", "request_cancelled"];
    let known = ["request_started", "partial", "tool_call", "tool_partial", "tool_result"];
    let known = known.iter().chain(&["session_created", "session_updated", "action_result"]);
    let known: Vec<&str> = known.chain(&ends).copied().collect();
    let mut last = 0;
    for event in &events {
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last, "{event}");
        last = seq;
        let kind = event["type"].as_str().unwrap();
        assert!(known.contains(&kind), "{event}");
        let at = event["at"].as_str().unwrap();
        assert!(at.contains('T') && at.ends_with('Z'), "{event}");
        assert_eq!(event["request_id"], events[0]["request_id"], "{event}");
        assert_eq!(event["session_id"], events[0]["session_id"], "{event}");
        let fields: &[&str] = match kind {
            "request_started" => &["agent_id", "message_index"],
            "partial" => &["message"],
            "final" => &["messages", "session", "usage"],
            "request_failed" => &["error"],
            "request_cancelled" => &["reason"],
            _ => &[],
        };
        assert!(fields.iter().all(|field| event.get(field).is_some()), "{event}");
    }
    let is_end = |event: &Value| ends.contains(&event["type"].as_str().unwrap());
    assert_eq!(events.iter().filter(|event| is_end(event)).count(), 1, "{out}");
    assert!(is_end(events.last().unwrap()), "{out}");
    events
}

#[tokio::test]
async fn stream_json_is_one_event_a_line_with_one_end() {
    let place = Place::new("stream").await;
    place.model.reply(Reply::text(["a", "b", "c"]).reasoning("hmm"));
    let out = place.run(&["run", "--session", "s", "--output", "stream-json", "x"]).await.ok();
    let told = events(&out);
    let text: String = told
        .iter()
        .filter(|event| event["type"] == "partial")
        .filter_map(|event| event["message"]["content"].as_str())
        .collect();
    assert_eq!(text, "abc");
    assert!(told.iter().any(|event| event["message"]["metadata"]["reasoning"] == "hmm"), "{out}");
    let end = told.last().unwrap();
    assert_eq!(end["type"], "final");
    assert_eq!(end["session"]["message_count"], 2);
    assert!(end["session"]["revision"].as_u64().unwrap() > 0);

    place.model.reply(Reply::status(400));
    let done = place.run(&["run", "--output", "stream-json", "x"]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(1), ""));
    let told = events(&done.out);
    assert_eq!(told.last().unwrap()["type"], "request_failed");
    assert_eq!(keys(&told.last().unwrap()["error"]), ["message", "retryable", "type"]);
}

#[tokio::test] // L-21
async fn what_a_single_user_does_belongs_to_local_local() {
    use orlop_app::store::Store;
    let place = Place::new("local").await;
    place.run(&["run", "--session", "s", "one"]).await.ok();
    let store = orlop_store::SqliteStore::open(&place.database()).unwrap();
    let local = orlop_app::Scope::local();
    assert_eq!((local.tenant(), local.user()), ("local", "local"));
    assert!(store.head(&local, "s").await.unwrap().is_some());
    let other = orlop_app::Scope::new("acme", "ana").unwrap();
    assert!(store.head(&other, "s").await.unwrap().is_none());
}

#[tokio::test]
async fn a_session_is_begun_and_gone_on_with() {
    let place = Place::new("session").await;
    place.run(&["run", "--session", "s", "one"]).await.ok();
    place.run(&["run", "--session", "s", "two"]).await.ok();
    let sent: Vec<Value> = place.asked()["messages"].as_array().unwrap().clone();
    let texts: Vec<&str> = sent.iter().map(|sent| sent["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "You said: one", "two"]);
    assert_eq!(
        place.messages("s").await,
        ["user: one", "assistant: You said: one", "user: two", "assistant: You said: two"]
    );
}

#[tokio::test]
async fn continue_takes_the_last_session_of_this_folder() {
    let place = Place::new("continue").await;
    let none = place.run(&["run", "--continue", "hi"]).await;
    none.fails(4, &["no session of this folder", "leave --continue out"]);
    place.run(&["run", "--session", "here1", "one"]).await.ok();
    place.run(&["run", "--session", "here2", "two"]).await.ok();
    let elsewhere = place.run_in("below", &["run", "-c", "hi"]).await;
    elsewhere.fails(4, &["no session of this folder"]);
    place.run_in("below", &["run", "--session", "there", "three"]).await.ok();

    place.run(&["run", "--continue", "four"]).await.ok();
    assert_eq!(place.messages("here2").await.len(), 4);
    place.run(&["run", "--session", "here1", "five"]).await.ok();
    place.run(&["run", "-c", "six"]).await.ok();
    assert_eq!(place.messages("here1").await.len(), 6);
    assert_eq!(place.messages("there").await.len(), 2);
    assert_eq!(place.times_asked(), 6);
}

#[tokio::test]
async fn agent_model_and_settings_reach_the_server() {
    let place = Place::new("settings").await;
    place.run(&["run", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], "m");
    place.run(&["run", "--session", "o", "--agent", "other", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], "o");
    place.run(&["run", "--model", "special", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], "special");
    // A session keeps its agent, and a flag is for one request only.
    place.run(&["run", "--session", "o", "-m", "special", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], "special");
    place.run(&["run", "--session", "o", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], "o");
    let set = ["--set", "agents.default.model=set", "--set", "agents.default.temperature=0.5"];
    place.run(&[&["run"][..], &set, &["hi"]].concat()).await.ok();
    let asked = place.asked();
    assert_eq!((&asked["model"], &asked["temperature"]), (&json!("set"), &json!(0.5)));
    let header = place.model.requests()[0].header("authorization").unwrap().to_owned();
    assert_eq!(header, format!("Bearer {}", common::SECRET));
}

#[tokio::test]
async fn files_are_attached() {
    let place = Place::new("attach").await;
    let text = place.write("notes.txt", "remember the milk");
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &[0, 0, 0, 1, 0, 0, 0, 1, 8, 6]].concat();
    let image = place.write("dot.png", png);
    let (text, image) = (text.to_str().unwrap(), image.to_str().unwrap());
    place.run(&["run", "--attach", text, "--attach", image, "what?"]).await.ok();
    let asked = place.asked();
    let hints = asked["messages"][0]["content"].as_str().unwrap();
    assert!(hints.contains("- notes.txt (text/plain, 17 bytes): text;"), "{hints}");
    let parts = asked["messages"][1]["content"].as_array().unwrap();
    assert_eq!(parts[0], json!({ "type": "text", "text": "what?" }));
    assert_eq!(parts[1]["text"], "File notes.txt:\n```txt\nremember the milk\n```");
    assert_eq!(parts[2]["text"], "Picture dot.png:");
    let url = parts[3]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
    // A file says enough.
    place.run(&["run", "--attach", text]).await.ok();

    let count = place.times_asked();
    place
        .run(&["run", "--attach", "nowhere.txt", "x"])
        .await
        .fails(2, &["nowhere.txt cannot be attached", "No such file", "name a file"]);
    place.run(&["run", "--attach", ".", "x"]).await.fails(2, &["cannot be attached", "directory"]);
    let small = ["run", "--set", "assets.max_bytes=10", "--attach", text, "x"];
    place.run(&small).await.fails(2, &["notes.txt"]);
    assert_eq!(place.times_asked(), count);
}

/// All files below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn an_ephemeral_request_stores_nothing() {
    let place = Place::new("ephemeral").await;
    let text = place.write("notes.txt", "remember the milk");
    let arguments = ["run", "--ephemeral", "--attach", text.to_str().unwrap(), "hi"];
    assert!(place.run(&arguments).await.ok().starts_with("You said: hi"));
    let told = place.run(&["run", "--ephemeral", "-o", "stream-json", "hi"]).await.ok();
    assert_eq!(events(&told).last().unwrap()["type"], "final");
    let listed = place.run(&["session", "list", "--json"]).await.json();
    assert_eq!(listed["sessions"], json!([]));
    place.run(&["trace"]).await.fails(4, &["no request"]);
    place.run(&["run", "--continue", "hi"]).await.fails(4, &[]);
    assert_eq!(files(&place.home().join("assets")), Vec::<std::path::PathBuf>::new());
    for other in [&["--session", "s"][..], &["--continue"]] {
        let done = place.run(&[&["run", "--ephemeral", "hi"][..], other].concat()).await;
        assert_eq!(done.code, Some(2), "{done:?}");
    }
}

#[tokio::test]
async fn a_request_sent_twice_runs_once() {
    let place = Place::new("twice").await;
    let arguments = ["run", "--session", "s", "--request-id", "r1", "hi"];
    let first = place.run(&arguments).await.ok();
    let second = place.run(&arguments).await.ok();
    assert_eq!((first.as_str(), second), ("You said: hi\n", first.clone()));
    let json = [&arguments[..], &["--output", "json"]].concat();
    assert_eq!(place.run(&json).await.json()["request_id"], "r1");
    let stream = [&arguments[..], &["--output", "stream-json"]].concat();
    events(&place.run(&stream).await.ok());
    assert_eq!(place.times_asked(), 1);
    assert_eq!(place.messages("s").await.len(), 2);
    // One that failed stays failed.
    place.model.reply(Reply::status(400));
    let failing = ["run", "--session", "s", "--request-id", "r2", "hi"];
    place.run(&failing).await.fails(1, &["400"]);
    place.run(&failing).await.fails(1, &["400"]);
    assert_eq!(place.times_asked(), 2);
}

#[tokio::test]
async fn a_failing_model_is_told_in_a_sentence() {
    let place = Place::new("failing").await;
    let body = json!({ "error": { "message": format!("no such model, key {}", common::SECRET) } });
    place.model.reply(Reply::status(400).json(body));
    let done = place.run(&["run", "--session", "s", "hi"]).await;
    done.fails(1, &["400", "no such model"]);
    assert_eq!((done.out.as_str(), done.err.lines().count()), ("", 1), "{done:?}");

    for _ in 0..3 {
        place.model.reply(Reply::status(500).header("retry-after", "0"));
    }
    let done = place.run(&["run", "--session", "s", "hi"]).await;
    done.fails(1, &["500", "tried 3 times"]);
    assert_eq!((place.model.unused_replies(), done.err.lines().count()), (0, 1), "{done:?}");

    place.model.reply(Reply::text(["half an "]).cut());
    let done = place.run(&["run", "--session", "s", "hi"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    // The session is still good.
    assert_eq!(place.run(&["run", "--session", "s", "again"]).await.ok(), "You said: again\n");

    let closed = "agents.default.base_url=http://127.0.0.1:1/v1";
    let done = place.run(&["run", "--set", closed, "hi"]).await;
    done.fails(1, &["cannot reach", "127.0.0.1:1", "check"]);
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
}

/// Starts a turn that the model holds at the gate.
async fn held(place: &Place, gate: &Gate, arguments: &[&str]) -> tokio::process::Child {
    place.model.reply(Reply::text(["begun "]).wait(gate).then_text(["and done"]));
    let child = place.command(arguments).spawn().unwrap();
    tokio::time::timeout(BOUND, gate.reached()).await.unwrap();
    child
}

#[tokio::test]
async fn ctrl_c_cancels_and_the_session_goes_on() {
    let place = Place::new("ctrl-c").await;
    for (name, output) in [("INT", "text"), ("INT", "json"), ("TERM", "stream-json")] {
        let gate = Gate::new();
        let arguments = ["run", "--session", "s", "--output", output, "hi"];
        let child = held(&place, &gate, &arguments).await;
        signal(&child, name);
        let done = finish(child).await;
        assert_eq!(done.code, Some(130), "{done:?}");
        match output {
            "text" => assert!(done.err.starts_with("orlop: cancelled"), "{done:?}"),
            "json" => {
                let told: Value = serde_json::from_str(&done.out).unwrap();
                assert_eq!(told["error"]["type"], "cancelled");
            }
            _ => assert_eq!(events(&done.out).last().unwrap()["type"], "request_cancelled"),
        }
        assert_eq!(place.run(&["run", "--session", "s", "again"]).await.ok(), "You said: again\n");
    }
    let doctor = place.run(&["doctor", "--json"]).await.json();
    let open = doctor.as_array().unwrap().iter().find(|it| it["what"] == "interrupted requests");
    assert_eq!(open.unwrap()["detail"], "none");
}

#[tokio::test]
async fn ctrl_c_twice_leaves_at_once() {
    let place = Place::new("ctrl-c-twice").await;
    place.run(&["run", "--session", "s", "first"]).await.ok();
    let gate = Gate::new();
    let child = held(&place, &gate, &["run", "--session", "s", "hi"]).await;
    // Nobody can write, so that the cancelled turn cannot end.
    let other = rusqlite::Connection::open(place.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    signal(&child, "INT");
    tokio::time::timeout(BOUND, place.model.wait_for_disconnect()).await.unwrap();
    let began = Instant::now();
    signal(&child, "INT");
    let done = finish(child).await;
    assert_eq!((done.code, done.out.as_str()), (Some(130), ""), "{done:?}");
    // To wait for the turn would take five seconds.
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(place.run(&["run", "--session", "s", "again"]).await.ok(), "You said: again\n");
    assert_eq!(
        place.messages("s").await[..3],
        ["user: first", "assistant: You said: first", "user: hi"]
    );
}

#[tokio::test]
async fn ctrl_c_ends_the_wait_for_a_busy_session() {
    let place = Place::new("busy").await;
    let gate = Gate::new();
    let busy = held(&place, &gate, &["run", "--session", "s", "one"]).await;
    let waiting = place.command(&["run", "--session", "s", "two"]).spawn().unwrap();
    listens_for_interrupts(&waiting).await;
    signal(&waiting, "INT");
    let done = finish(waiting).await;
    assert_eq!((done.code, done.out.as_str()), (Some(130), ""), "{done:?}");
    // One that waits gets its turn.
    let waiting = place.command(&["run", "--session", "s", "three"]).spawn().unwrap();
    listens_for_interrupts(&waiting).await;
    gate.open();
    assert_eq!(finish(busy).await.ok(), "begun and done\n");
    assert_eq!(finish(waiting).await.ok(), "You said: three\n");
    assert_eq!(place.messages("s").await.len(), 4);
}

#[tokio::test]
async fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new("reader").await;
    place.run(&["run", "--session", "s", "hi"]).await.ok();
    let long = "word ".repeat(50_000);
    for arguments in [
        &["run", "--session", "s", "--output", "stream-json", "hi"][..],
        &["run", "--session", "s", "--output", "json", "hi"],
        &["run", "--session", "s", "hi"],
        &["session", "list"],
        &["session", "list", "--json"],
        &["session", "show", "s"],
        &["session", "export", "s"],
        &["config", "show"],
        &["config", "schema"],
        &["trace"],
        &["completions", "bash"],
        &["--help"],
    ] {
        place.model.reply(Reply::text([long.clone()]));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = finish(place.command(arguments).stdout(writer).spawn().unwrap()).await;
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // Nobody to complain to either.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = place.command(&["session", "show", "nope"]).stderr(writer).spawn().unwrap();
    assert_eq!(finish(done).await.code, Some(4));
    // The turns whose answers nobody read are there.
    let asked = place.messages("s").await;
    assert_eq!(asked.iter().filter(|line| line.starts_with("user")).count(), 4);
}

#[tokio::test]
async fn large_input_works_and_too_large_input_is_refused() {
    let place = Place::new("large").await;
    let large = "0123456789abcde\n".repeat(5 * 64 * 1024);
    place.model.reply(Reply::text(["read"]));
    let arguments = ["run", "--session", "s", "--output", "json", "sum up"];
    let answer = place.run_with(&arguments, &large).await.json();
    assert_eq!(answer["messages"][0]["content"], "read");
    assert_eq!(user_text(&place.asked()), format!("sum up\n\n{}", large.trim_end()));
    assert_eq!(place.messages("s").await[0].len(), "user: sum up\n\n".len() + large.len() - 1);
    let count = place.times_asked();
    let too_large = vec![b'x'; 16 * 1024 * 1024 + 1];
    let done = place.run_with(&["run", "-"], too_large).await;
    done.fails(2, &["larger than 16 MiB", "attach it"]);
    assert_eq!(place.times_asked(), count);
}

#[tokio::test]
async fn pipes_get_no_escape_codes() {
    let place = Place::new("escapes").await;
    place.run(&["run", "--session", "s", "hi"]).await.ok();
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["session", "list"],
        &["session", "show", "s"],
        &["doctor"],
        &["config", "show"],
        &["-vv", "run", "hi"],
        &["run", "--output", "xml", "hi"],
        &["nonsense"],
    ] {
        let done = place.run(arguments).await;
        assert!(!done.out.contains('\x1b') && !done.err.contains('\x1b'), "{done:?}");
    }
    // What the model says is kept as it is where a program reads it, and made harmless in lists.
    place.model.reply(Reply::text(["\x1b[31mred"]));
    assert_eq!(place.run(&["run", "--session", "s", "hi"]).await.ok(), "\x1b[31mred\n");
    assert!(!place.run(&["session", "show", "s"]).await.ok().contains('\x1b'));
}

/// A program in a pseudo terminal, or nothing where `script` is missing.
fn in_a_terminal(place: &Place, what: &str, arguments: &str) -> Option<tokio::process::Command> {
    let there = std::process::Command::new("script").arg("--version").output().is_ok();
    if !there {
        orlop_testkit::skip(what, "`script` of util-linux is not installed");
        return None;
    }
    let mut command = place.program("script");
    let program = format!("{} {arguments}", env!("CARGO_BIN_EXE_orlop"));
    command.args(["-qec", &program, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::piped());
    Some(command)
}

/// Reads until the text is there.
async fn read_until(out: &mut tokio::process::ChildStdout, seen: &mut String, text: &str) {
    let reading = async {
        let mut bytes = [0; 1024];
        while !seen.contains(text) {
            let count = out.read(&mut bytes).await.unwrap();
            assert!(count > 0, "it ended: {seen:?}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    let in_time = tokio::time::timeout(BOUND, reading).await;
    assert!(in_time.is_ok(), "{text:?} never came");
}

#[tokio::test] // K-02
async fn a_terminal_shows_the_answer_as_it_comes() {
    let place = Place::new("terminal").await;
    let Some(mut command) = in_a_terminal(&place, "streaming to a terminal", "run hello") else {
        return;
    };
    let gate = Gate::new();
    place.model.reply(Reply::text(["Hel"]).wait(&gate).then_text(["lo \x1b[31mred"]));
    let mut child = command.spawn().unwrap();
    let _input = child.stdin.take();
    let (mut out, mut seen) = (child.stdout.take().unwrap(), String::new());
    read_until(&mut out, &mut seen, "Hel").await;
    assert_eq!(seen, "Hel");
    gate.open();
    read_until(&mut out, &mut seen, "\n").await;
    out.read_to_string(&mut seen).await.unwrap();
    assert_eq!(seen, "Hello red\r\n");
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn ctrl_c_at_a_terminal_cancels_and_says_so() {
    for (colour, note) in [(true, "\x1b[2mcancelling"), (false, "cancelling")] {
        let place = Place::new("terminal-ctrl-c").await;
        let Some(mut command) = in_a_terminal(&place, "Ctrl-C at a terminal", "run hello") else {
            return;
        };
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let gate = Gate::new();
        place.model.reply(Reply::text(["Hel"]).wait(&gate));
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let (mut out, mut seen) = (child.stdout.take().unwrap(), String::new());
        read_until(&mut out, &mut seen, "Hel").await;
        input.write_all(b"\x03").await.unwrap();
        tokio::time::timeout(BOUND, out.read_to_string(&mut seen)).await.unwrap().unwrap();
        assert!(seen.contains(note) && seen.contains("orlop: cancelled"), "{seen:?}");
        assert_eq!(seen.contains('\x1b'), colour, "{seen:?}");
        assert_eq!(child.wait().await.unwrap().code(), Some(130));
    }
}

#[tokio::test]
async fn the_agent_that_nobody_configured_is_told_at_a_terminal_only() {
    let place = Place::new("notice").await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    let url = place.model.base_url();
    let with_key = |command: &mut tokio::process::Command| {
        command.env("OPENAI_API_KEY", common::SECRET).env("OPENAI_BASE_URL", &url);
        command.spawn().unwrap()
    };
    let done: Done = finish(with_key(&mut place.command(&["run", "hi"]))).await;
    assert_eq!(done.ok(), "You said: hi\n");
    let what = "the notice at a terminal";
    let Some(mut command) = in_a_terminal(&place, what, "run hi") else { return };
    let mut child = with_key(&mut command);
    let _input = child.stdin.take();
    let (mut out, mut seen) = (child.stdout.take().unwrap(), String::new());
    read_until(&mut out, &mut seen, "You said: hi").await;
    let notice = seen.lines().next().unwrap();
    assert!(notice.contains("OPENAI_API_KEY is set") && !seen.contains(common::SECRET), "{seen:?}");
}
