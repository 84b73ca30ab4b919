//! Everything but `orlop run`: sessions, agents, configuration, and what the program says of itself.

use crate::common;

use crate::common::{BOUND, Place, SECRET, keys};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::io::AsyncWriteExt;

/// A place with a session `s` of two messages.
async fn place_with_session(name: &str) -> Place {
    let place = Place::new(name).await;
    place.run(&["run", "--session", "s", "alpha beta"]).await.ok();
    place
}

#[tokio::test] // K-08
async fn sessions_are_listed() {
    let place = place_with_session("list").await;
    place.run(&["run", "--session", "t", "--agent", "other", "gamma"]).await.ok();
    let text = place.run(&["session", "list"]).await.ok();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("ID ") && lines[0].ends_with("TITLE"), "{text}");
    assert!(lines[1].starts_with("t ") && lines[1].contains("other"), "{text}");
    assert!(lines[2].starts_with("s ") && lines[2].ends_with("alpha beta"), "{text}");

    let page = place.run(&["session", "list", "--json"]).await.json();
    assert_eq!((keys(&page), &page["next"]), (vec!["next", "sessions"], &Value::Null));
    let fields = ["agent_id", "created_at", "message_count", "revision", "session_id", "title"];
    assert_eq!(keys(&page["sessions"][0]), [&fields[..], &["updated_at"]].concat());
    assert_eq!(page["sessions"][0]["session_id"], "t");
    assert_eq!(page["sessions"][1]["message_count"], 2);

    let ids = async |arguments: &[&str]| {
        let page = place.run(&[&["session", "list", "--json"][..], arguments].concat()).await;
        let page = page.json();
        let ids = page["sessions"].as_array().unwrap().iter();
        let ids: Vec<String> =
            ids.map(|session| session["session_id"].as_str().unwrap().to_owned()).collect();
        (ids, page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(ids(&["--agent", "other"]).await.0, ["t"]);
    assert_eq!(ids(&["--query", "beta"]).await.0, ["s"]);
    assert_eq!(ids(&["--query", "nothing"]).await.0, Vec::<String>::new());
    let (first, next) = ids(&["--limit", "1"]).await;
    assert_eq!(first, ["t"]);
    assert_eq!(ids(&["--cursor", &next.unwrap()]).await.0, ["s"]);
    let more = place.run(&["session", "list", "--limit", "1"]).await;
    assert!(more.err.contains("session list --cursor"), "{more:?}");
    place.run(&["session", "list", "--cursor", "x"]).await.fails(2, &["cursor", "pass on"]);
}

#[tokio::test]
async fn a_session_is_shown_and_found() {
    let place = place_with_session("show").await;
    assert_eq!(
        place.run(&["session", "show", "s"]).await.ok(),
        "[0] user\nalpha beta\n\n[1] assistant\nYou said: alpha beta\n\n"
    );
    let last = place.run(&["session", "show", "s", "--last", "1"]).await.ok();
    assert_eq!(last, "[1] assistant\nYou said: alpha beta\n\n");
    let shown = place.run(&["session", "show", "s", "--last", "1", "--json"]).await.json();
    let fields = ["agent_id", "created_at", "first_index", "message_count", "messages"];
    let more = ["revision", "session_id", "title", "updated_at"];
    assert_eq!(keys(&shown), [&fields[..], &more].concat());
    assert_eq!((&shown["first_index"], &shown["message_count"]), (&json!(1), &json!(2)));
    assert_eq!(shown["messages"].as_array().unwrap().len(), 1);

    let found = place.run(&["session", "search", "beta", "said"]).await.ok();
    assert!(found.lines().nth(1).unwrap().starts_with("s "), "{found}");
    let found = place.run(&["session", "search", "beta", "--json"]).await.json();
    let fields = ["agent_id", "message_index", "session_id", "snippet", "title"];
    assert_eq!(keys(&found[0]), fields);
    assert_eq!(found[0]["session_id"], "s");
    for odd in ["nothing", "\"", "*", "a OR", "NEAR(", "--", "%", "ü✓"] {
        let found = place.run(&["session", "search", "--json", "--", odd]).await.json();
        assert_eq!(found, json!([]), "{odd}");
    }
    assert_eq!(place.run(&["session", "search"]).await.code, Some(2));
}

#[tokio::test]
async fn a_session_is_exported_and_imported() {
    let place = place_with_session("export").await;
    let text = place.run(&["session", "export", "s"]).await.ok();
    let exported: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(exported["session_id"], "s");
    assert_eq!(exported["messages"][0]["content"], "alpha beta");
    assert_eq!(place.run(&["session", "export", "s", "-o", "s.json"]).await.ok(), "");
    assert_eq!(std::fs::read_to_string(place.path().join("s.json")).unwrap(), text);

    let taken = place.run(&["session", "import", "s.json"]).await;
    taken.fails(1, &["there is a session \"s\" already", "another id"]);
    assert_eq!(place.run(&["session", "import", "s.json", "--id", "copy"]).await.ok(), "copy\n");
    let copy: Value =
        serde_json::from_str(&place.run(&["session", "export", "copy"]).await.ok()).unwrap();
    assert_eq!(copy["messages"], exported["messages"]);
    place.run(&["session", "delete", "s"]).await.ok();
    assert_eq!(place.run_with(&["session", "import", "-"], &text).await.ok(), "s\n");
    assert_eq!(place.run(&["session", "export", "s"]).await.ok(), text);
    // It is as good as the one it came from.
    place.run(&["run", "--session", "s", "more"]).await.ok();
    assert_eq!(place.messages("s").await.len(), 4);

    assert_eq!(
        place.run(&["session", "export", "copy", "--format", "markdown"]).await.ok(),
        "## user\n\nalpha beta\n\n## assistant\n\nYou said: alpha beta\n\n"
    );
    let nowhere = place.run(&["session", "export", "s", "-o", "no/where.json"]).await;
    nowhere.fails(1, &["no/where.json cannot be written", "name another file"]);
    place.write("broken.json", "{");
    place.write("other.json", "{\"a\": 1}");
    for file in ["broken.json", "other.json", "none.json"] {
        let done = place.run(&["session", "import", file]).await;
        done.fails(2, &[file, "cannot be", "`orlop session export` wrote"]);
    }
    let done = place.run_with(&["session", "import", "-"], b"\xff").await;
    assert_eq!(done.code, Some(2), "{done:?}");
}

#[tokio::test] // K-08
async fn a_session_is_forked() {
    let place = place_with_session("fork").await;
    place.run(&["run", "--session", "s", "two"]).await.ok();
    let whole = place.run(&["session", "fork", "s"]).await.ok();
    assert_eq!(place.messages(whole.trim()).await, place.messages("s").await);
    let part = place.run(&["session", "fork", "s", "--at", "1", "--id-of-fork", "f"]).await;
    assert_eq!(part.ok(), "f\n");
    assert_eq!(place.messages("f").await, place.messages("s").await[..2]);
    place.run(&["run", "--session", "f", "elsewhere"]).await.ok();
    assert_eq!(place.messages("s").await[2], "user: two");
    let taken = place.run(&["session", "fork", "s", "--id-of-fork", "f"]).await;
    taken.fails(1, &["there is a session \"f\" already", "choose another"]);
    place.run(&["session", "fork", "none"]).await.fails(4, &["no session \"none\""]);
    assert_eq!(place.run(&["session", "fork", "s", "--at", "x"]).await.code, Some(2));
}

#[tokio::test] // K-08
async fn a_session_is_edited() {
    let place = place_with_session("edit").await;
    let edit = async |arguments: &[&str]| {
        place.run(&[&["session", "edit", "s"][..], arguments].concat()).await
    };
    edit(&["--title", "A title ✓"]).await.ok();
    let shown = place.run(&["session", "show", "s", "--json"]).await.json();
    assert_eq!(shown["title"], "A title ✓");

    edit(&["--override", "model=special", "--override", "temperature=0.5"]).await.ok();
    place.run(&["run", "--session", "s", "two"]).await.ok();
    let asked = place.asked();
    assert_eq!((&asked["model"], &asked["temperature"]), (&json!("special"), &json!(0.5)));
    edit(&["--override", "model="]).await.ok();
    place.run(&["run", "--session", "s", "three"]).await.ok();
    assert_eq!(
        (&place.asked()["model"], &place.asked()["temperature"]),
        (&json!("m"), &json!(0.5))
    );

    edit(&["--message", "0", "--content", "changed"]).await.ok();
    edit(&["--message", "-1", "--content", "last"]).await.ok();
    let messages = place.messages("s").await;
    assert_eq!((messages[0].as_str(), messages[5].as_str()), ("user: changed", "assistant: last"));
    edit(&["--remove", "2", "--remove", "-2", "--remove", "3"]).await.ok();
    let kept = ["user: changed", "assistant: You said: alpha beta", "assistant: last"];
    assert_eq!(place.messages("s").await, kept);

    place.run(&["run", "--session", "t", "gamma"]).await.ok();
    edit(&["--join", "t"]).await.ok();
    assert_eq!(place.messages("s").await[3..], ["user: gamma", "assistant: You said: gamma"]);
    assert_eq!(place.messages("t").await.len(), 2);

    edit(&[]).await.fails(2, &["nothing to change", "--title"]);
    edit(&["--override", "x"]).await.fails(2, &["\"x\" is no key=value"]);
    edit(&["--message", "99", "--content", "x"]).await.fails(2, &["no message 99", "has 5"]);
    edit(&["--join", "none"]).await.fails(4, &["no session \"none\""]);
    assert_eq!(edit(&["--message", "0"]).await.code, Some(2));
    place.run(&["session", "edit", "none", "--title", "x"]).await.fails(4, &["no session"]);
    assert_eq!(place.messages("s").await.len(), 5);
}

#[tokio::test] // K-08
async fn sessions_are_deleted_and_switched() {
    let place = place_with_session("delete").await;
    for id in ["a", "b"] {
        place.run(&["run", "--session", id, "x"]).await.ok();
    }
    // None goes if one is not there.
    place.run(&["session", "delete", "a", "none"]).await.fails(4, &["no session \"none\"", "list"]);
    assert_eq!(place.messages("a").await.len(), 2);
    place.run(&["session", "delete", "a", "b", "--yes"]).await.ok();
    for id in ["a", "b"] {
        place.run(&["session", "show", id]).await.fails(4, &["no session", "session list"]);
        place.run(&["session", "delete", id]).await.fails(4, &["no session"]);
    }

    place.run(&["session", "switch", "s", "other"]).await.ok();
    place.run(&["run", "--session", "s", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], "o");
    place.run(&["session", "switch", "s", "none"]).await.fails(4, &["no agent \"none\"", "other"]);
    place.run(&["session", "switch", "none", "other"]).await.fails(4, &["no session"]);

    assert_eq!(place.run(&["session", "undo", "s", "--json"]).await.json(), json!([]));
    assert!(place.run(&["session", "undo", "s"]).await.ok().starts_with("CHANGE "));
    place.run(&["session", "undo", "s", "c"]).await.fails(4, &["no change \"c\""]);
    place.run(&["session", "undo", "none"]).await.fails(4, &["no session"]);
}

#[tokio::test]
async fn at_a_terminal_deleting_is_asked() {
    let place = place_with_session("ask").await;
    if std::process::Command::new("script").arg("--version").output().is_err() {
        let why = "`script` of util-linux is not installed";
        return orlop_testkit::skip("the question at a terminal", why);
    }
    for (answer, left) in [("n\n", true), ("\n", true), ("y\n", false)] {
        let mut command = place.program("script");
        let program = format!("{} session delete s", env!("CARGO_BIN_EXE_orlop"));
        command.args(["-qec", &program, "/dev/null"]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(answer.as_bytes()).await.unwrap();
        let output = tokio::time::timeout(BOUND, child.wait_with_output()).await.unwrap().unwrap();
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(seen.contains("Delete 1 session(s) for good? [y/N]"), "{seen:?}");
        assert_eq!(output.status.code(), Some(i32::from(left)), "{seen:?}");
        let shown = place.run(&["session", "show", "s"]).await;
        assert_eq!(shown.code, Some(if left { 0 } else { 4 }));
    }
}

#[tokio::test]
async fn agents_tools_and_models_are_listed() {
    let place = Place::new("agents").await;
    let agents = place.run(&["agent", "list", "--json"]).await.json();
    assert_eq!(keys(&agents[0]), ["agent_id", "default", "model", "problem", "provider"]);
    assert_eq!((&agents[0]["agent_id"], &agents[0]["default"]), (&json!("default"), &json!(true)));
    assert_eq!((&agents[1]["agent_id"], &agents[1]["model"]), (&json!("other"), &json!("o")));
    let text = place.run(&["agent", "list"]).await.ok();
    assert!(text.contains("default*") && text.contains("openai_compatible"), "{text}");

    let agent = place.run(&["agent", "show", "other", "--json"]).await.json();
    assert_eq!(keys(&agent), ["agent_id", "model", "plugins", "provider", "tools"]);
    assert_eq!(keys(&agent["plugins"]), ["extensions", "features", "providers", "tools"]);
    assert!(place.run(&["agent", "show"]).await.ok().contains("openai_compatible"));
    place.run(&["agent", "show", "none"]).await.fails(4, &["no agent \"none\"", "default"]);

    assert!(place.run(&["tool", "list", "--json"]).await.json().is_array());
    assert!(place.run(&["tool", "list", "--agent", "other"]).await.ok().starts_with("TOOL"));
    place.run(&["tool", "list", "--agent", "none"]).await.fails(4, &["no agent"]);
    let none = place.run(&["tool", "list", "--set", "tools=[]"]).await;
    assert!(none.err.contains("has no tools"), "{}", none.err);

    place.model.models(["one", "gpt-4o-mini"]);
    assert_eq!(
        place.run(&["model", "list"]).await.ok(),
        "MODEL        CONTEXT  PRICE       TAGS\n\
         one          -        -           -\n\
         gpt-4o-mini  128K     0.15 / 0.6  vision, tools, json_schema\n"
    );
    let models = place.run(&["model", "list", "--json"]).await.json();
    assert_eq!((&models[0]["id"], models.as_array().unwrap().len()), (&json!("one"), 2));
    assert_eq!(
        (&models[1]["context_window"], &models[1]["price"]["output"]),
        (&json!(128_000), &json!(0.6))
    );
    place.run(&["model", "list", "--agent", "none"]).await.fails(4, &["no agent"]);
    let closed = ["--set", "agents.default.base_url=http://127.0.0.1:1/v1"];
    let done = place.run(&[&closed[..], &["model", "list", "--json"]].concat()).await;
    done.fails(1, &["Connection refused"]);
    let done = place.run(&[&closed[..], &["doctor"]].concat()).await;
    assert!(done.code == Some(1) && done.out.contains("Connection refused"), "{done:?}");
}

#[tokio::test]
async fn actions_are_listed_and_run() {
    let place = place_with_session("actions").await;
    assert!(place.run(&["action", "list", "--json"]).await.json().is_array());
    assert!(place.run(&["action", "list", "--session", "s"]).await.ok().starts_with("PLUGIN"));
    place.run(&["action", "list", "--session", "none"]).await.fails(4, &["no session"]);
    for arguments in [&["x=1"][..], &["--session", "s"], &["--session", "s", "--preview"]] {
        let done = place.run(&[&["action", "run", "none", "go"][..], arguments].concat()).await;
        done.fails(4, &["no action \"go\" of plugin \"none\""]);
    }
    place.run(&["action", "run", "none", "go", "x"]).await.fails(2, &["\"x\" is no key=value"]);
    assert_eq!(place.run(&["action", "run", "none", "go", "--preview"]).await.code, Some(2));
}

#[tokio::test]
async fn the_trace_of_a_request_is_shown() {
    let place = Place::new("trace").await;
    place.run(&["trace"]).await.fails(4, &["no request yet", "orlop run"]);
    place.run(&["run", "--request-id", "r1", "one"]).await.ok();
    place.run(&["run", "--request-id", "r2", "two"]).await.ok();
    let last = place.run(&["trace", "--json"]).await.json();
    assert_eq!(last, place.run(&["trace", "r2", "--json"]).await.json());
    assert_ne!(last, place.run(&["trace", "r1", "--json"]).await.json());
    let hooks: Vec<&str> =
        last.as_array().unwrap().iter().filter_map(|entry| entry["hook"].as_str()).collect();
    assert!(hooks.contains(&"stream_api"), "{hooks:?}");
    let text = place.run(&["trace", "r1"]).await.ok();
    assert!(text.starts_with("AT MS") && text.contains("stream_api"), "{text}");
    place.run(&["trace", "none"]).await.fails(4, &["no request \"none\""]);
}

#[tokio::test] // I-42
async fn the_configuration_is_shown_checked_and_begun() {
    let place = Place::new("config").await;
    let text = place.run(&["config", "show"]).await.ok();
    assert!(text.contains("agents.default.api_key = \"***\""), "{text}");
    assert!(text.contains("# orlop.toml:3:9") && text.contains("# default"), "{text}");
    let shown = place.run(&["--set", "max_steps=7", "config", "show", "--json"]).await.json();
    assert!(!shown.to_string().contains(SECRET) && shown.to_string().contains("max_steps"));
    assert_eq!(place.run(&["config", "check"]).await.ok(), "");
    assert_eq!(place.run(&["config", "check", "--json"]).await.json(), json!([]));

    let schema = place.run(&["config", "schema"]).await.json();
    assert!(schema["$schema"].is_string() && schema["properties"]["agents"].is_object());
    let path = place.run(&["config", "path", "--json"]).await.json();
    assert_eq!(keys(&path), ["database", "files", "home", "user_file"]);
    assert_eq!(path["home"], place.home().to_str().unwrap());
    assert_eq!(path["files"], json!([place.path().join("orlop.toml")]));
    assert!(place.run(&["config", "path"]).await.ok().contains("orlop.db"));

    // Every problem at once, with file and line.
    place.write("bad.toml", "defalt_agent = \"x\"\n[agents.default]\nmax_steps = \"many\"\n");
    let done = place.run(&["--config", "bad.toml", "config", "check"]).await;
    done.fails(3, &["problems"]);
    for words in ["bad.toml:1:", "did you mean \"default_agent\"?", "bad.toml:3:", "max_steps"] {
        assert!(done.out.contains(words), "{words}: {done:?}");
    }
    let done = place.run(&["--config", "bad.toml", "config", "check", "--json"]).await;
    let problems: Value = serde_json::from_str(&done.out).unwrap();
    let fields = ["column", "file", "key", "kind", "line", "message", "remedy"];
    assert_eq!((done.code, keys(&problems[0])), (Some(3), fields.to_vec()));

    place.run(&["config", "init"]).await.fails(1, &["orlop.toml exists already", "name another"]);
    let done = place.run_in("new", &["config", "init"]).await;
    assert_eq!(done.ok(), "wrote orlop.toml\n");
    let mut check = place.command(&["config", "check"]);
    check.current_dir(place.path().join("new")).env("OPENAI_API_KEY", SECRET);
    assert_eq!(common::finish(check.spawn().unwrap()).await.ok(), "");
    let nowhere = place.run(&["config", "init", "no/where.toml"]).await;
    nowhere.fails(1, &["cannot be written", "name another file"]);
}

#[tokio::test] // I-38
async fn placeholders_know_the_folders() {
    let place = Place::new("folders").await;
    let config = place.config().replace("model = \"m\"", "model = \"${env:WORKING_DIR}\"");
    place.write("orlop.toml", config);
    place.run_in("below", &["run", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], place.path().join("below").to_str().unwrap());
    let config = place.config().replace("model = \"m\"", "model = \"${env:CONFIG_DIR}\"");
    place.write("orlop.toml", config);
    place.run_in("below", &["run", "hi"]).await.ok();
    assert_eq!(place.asked()["model"], place.path().to_str().unwrap());
}

#[tokio::test]
async fn the_doctor_says_what_is_wrong() {
    let place = place_with_session("doctor").await;
    let text = place.run(&["doctor"]).await.ok();
    assert!(text.contains("store") && text.contains("sandbox"), "{text}");
    assert!(!text.contains("PROBLEM"), "{text}");
    assert!(text.contains("plugin memory") && text.contains("limits.memory_mb is"), "{text}");
    if cfg!(target_os = "linux") {
        assert!(text.contains("limits.memory_mb is enforced"), "{text}");
    }
    let found = place.run(&["doctor", "--json"]).await.json();
    assert!(found.as_array().unwrap().iter().all(|it| it["ok"] == true), "{found}");
    assert_eq!(keys(&found[0]), ["detail", "ok", "what"]);

    let broken = place.run(&["--set", "agents.default.modle=x", "doctor"]).await;
    assert_eq!((broken.code, broken.err.as_str()), (Some(1), ""));
    assert!(broken.out.contains("PROBLEM") && broken.out.contains("did you mean"), "{broken:?}");
    place.write("home/orlop.db", "no database");
    let broken = place.run(&["doctor", "--json"]).await;
    let found: Value = serde_json::from_str(&broken.out).unwrap();
    let bad: Vec<&Value> =
        found.as_array().unwrap().iter().filter(|it| it["ok"] == false).collect();
    assert_eq!((broken.code, bad.len(), &bad[0]["what"]), (Some(1), 1, &json!("store")));
    assert!(bad[0]["detail"].as_str().unwrap().contains("no SQLite database"), "{found}");
}

#[tokio::test]
async fn shells_take_the_completions() {
    let place = Place::new("completions").await;
    let asked = "source ./orlop.bash; COMP_WORDS=(orlop session ex); COMP_CWORD=2; _orlop orlop ex session; echo ${COMPREPLY[@]}";
    for (shell, arguments, expected) in [
        ("bash", vec!["-c", asked], "export\n"),
        // That they can be read is what is to be known without a terminal.
        ("zsh", vec!["-n", "orlop.zsh"], ""),
        ("fish", vec!["--no-execute", "orlop.fish"], ""),
    ] {
        let script = place.run(&["completions", shell]).await.ok();
        place.write(&format!("orlop.{shell}"), script);
        let Ok(child) = place.program(shell).args(arguments).spawn() else {
            orlop_testkit::skip(shell, "this shell is not on this machine");
            continue;
        };
        assert_eq!(common::finish(child).await.ok(), expected, "{shell}");
    }
}

#[tokio::test]
async fn the_program_tells_about_itself() {
    let place = Place::new("help").await;
    let version = place.run(&["--version"]).await.ok();
    assert_eq!(version, format!("orlop {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).await.ok();
        assert!(script.contains("stream-json") && script.contains("session"), "{shell}");
    }
    assert_eq!(place.run(&["completions", "tcsh"]).await.code, Some(2));
    let none = place.run(&[]).await;
    none.fails(2, &["there is nothing to ask"]);
    // A mistyped command is no question.
    place.run(&["sesion"]).await.fails(2, &["did you mean \"session\"?", "orlop run sesion"]);
    place.run(&["--plain", "doctor"]).await.fails(2, &["do not go with a command"]);
    let page = place.run(&["man"]).await.ok();
    assert!(page.starts_with(".ie") && page.contains("continue"), "{page}");
    assert!(place.run(&["man", "run"]).await.ok().contains("orlop\\-run"));

    let mut commands = vec![Vec::<String>::new()];
    let mut seen = 0;
    while let Some(command) = commands.pop() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = place.run(&arguments).await.ok();
        assert!(help.contains("Usage: orlop") && help.lines().count() > 5, "{command:?}: {help}");
        seen += 1;
        let listed = help.split_once("Commands:\n").map_or("", |(_, listed)| listed);
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().unwrap();
            // Long descriptions go on in a further line, further in.
            if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
                assert!(line.trim() != name, "{command:?} does not tell what {name} does");
                commands.push([command.clone(), vec![name.to_owned()]].concat());
            }
        }
    }
    assert!(seen > 30, "{seen}");
    // Nothing of this needs a place for data.
    assert!(!place.home().exists());
}
