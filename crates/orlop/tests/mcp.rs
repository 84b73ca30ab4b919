//! MCP servers in the real program: a turn that calls one, and the commands that look after them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "../../orlop-mcp/tests/scripted/mod.rs"]
mod scripted;

use common::Place;

#[test]
fn acts_as_a_server() {
    scripted::act();
}

/// A place with the servers `good`, which works, and `bad`, which does not start; and a model that
/// calls a tool.
async fn place(name: &str) -> Place {
    let place = Place::new(name).await;
    let folder = place.path().join("server");
    std::fs::create_dir_all(&folder).unwrap();
    let script = "script = [{ when = { tool_result = true }, text = \"It says: \", echo = true }, { tool_calls = [{ name = \"mcp__good__echo\", arguments = { text = \"ahoy\" } }] }]\n";
    let config = format!(
        "[agents.default]\nprovider = \"scripted\"\n{script}[agents.default.session_title]\nenabled = false\n[agents.other]\nextends = \"default\"\ntools = [\"files\", \"good\"]\n{}first_wait_ms = 20000\n{}first_wait_ms = 20000\n",
        scripted::configured("good", "good", &folder),
        scripted::configured("bad", "crash", &folder),
    );
    place.write("orlop.toml", config);
    place
}

#[tokio::test]
async fn a_turn_calls_a_server() {
    let place = place("mcp-run").await;
    // An agent that names its tools has the servers it names.
    let run = place.run(&["run", "--agent", "other", "go"]).await;
    assert_eq!(run.ok(), "It says: ahoy\n");
    // One that does not has all of them, and is told once that one of them is missing.
    let run = place.run(&["run", "go"]).await;
    assert_eq!((run.code, &*run.out), (Some(0), "It says: ahoy\n"), "{run:?}");
    assert_eq!(run.err.matches("MCP server").count(), 1, "{run:?}");
    assert!(
        run.err.contains(
            "MCP server \"bad\" could not be started: it ended (exit status: 7): no database at ***"
        ),
        "{run:?}"
    );
    // The servers were asked to end, and have.
    let ends = std::fs::read_to_string(place.path().join("server/ends")).unwrap();
    assert_eq!(ends, "end of input\nend of input\n");
}

#[tokio::test]
async fn servers_can_be_listed_and_tested() {
    let place = place("mcp-list").await;
    let states = async || {
        let listed = place.run(&["mcp", "list", "--json"]).await.json();
        let states = listed.as_array().unwrap().iter();
        let shown = states.map(|it| {
            format!("{} {} {}", it["name"], it["state"], it["tools"].as_array().unwrap().len())
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(states().await, r#""good" "new" 0, "bad" "new" 0"#);
    let info = place.run(&["plugin", "info", "good"]).await.ok();
    assert!(info.contains("\n  the MCP server of [mcp_servers.good]\n"), "{info}");
    let tested = place.run(&["mcp", "test", "good"]).await.ok();
    assert!(tested.starts_with("good: scripted 1, protocol 2025-11-25\n"), "{tested}");
    assert!(
        tested.contains("  mcp__good__echo (reads only)  Gives back what it gets.\n"),
        "{tested}"
    );
    assert!(
        tested.contains("  /good:greet\n") && tested.contains("  @good:demo://note\n"),
        "{tested}"
    );
    assert_eq!(states().await, r#""good" "ready" 10, "bad" "new" 0"#);
    let table = place.run(&["mcp", "list"]).await.ok();
    assert!(
        table.contains("good    command    ready  10     2        1          said so just now"),
        "{table}"
    );

    place
        .run(&["mcp", "test", "bad"])
        .await
        .fails(1, &["\"bad\" could not be started", "no database at ***"]);
    place
        .run(&["mcp", "test", "goof"])
        .await
        .fails(4, &["no MCP server \"goof\"", "did you mean \"good\"?"]);
    place.run(&["mcp", "login", "good"]).await.fails(1, &["is a command"]);
    assert_eq!(
        place.run(&["mcp", "logout", "good"]).await.ok(),
        "The login to good was not there.\n"
    );
}

#[tokio::test]
async fn a_server_with_the_name_of_a_tool_plugin_is_refused() {
    let place = Place::new("mcp-name").await;
    let more = scripted::configured("files", "good", place.path());
    place.write("orlop.toml", place.config() + &more);
    let words = ["orlop.toml:9:", "mcp_servers.files: has the name of a tool plugin"];
    place.run(&["run", "go"]).await.fails(3, &words);
    let checked = place.run(&["config", "check"]).await;
    assert_eq!(checked.code, Some(3), "{checked:?}");
    assert!(checked.out.contains(words[1]) || checked.err.contains(words[1]), "{checked:?}");
}

#[tokio::test]
async fn servers_are_added_and_removed_and_the_rest_of_the_file_stays() {
    let place = Place::new("mcp-add").await;
    let names = async || {
        let listed = place.run(&["mcp", "list", "--json"]).await.json();
        let names = listed.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
        names.collect::<Vec<_>>().join(" ")
    };
    let added = place
        .run(&["mcp", "add", "db", "--env", "TOKEN=${env:DB_TOKEN}", "--", "npx", "-y", "acme db"])
        .await
        .ok();
    let user = place.path().join(".config/orlop/config.toml");
    assert_eq!(added, format!("db is added to {}\n", user.display()));
    assert_eq!(
        std::fs::read_to_string(&user).unwrap(),
        "[mcp_servers.db]\ncommand = [\"npx\", \"-y\", \"acme db\"]\nenv = { TOKEN = \"${env:DB_TOKEN}\" }\n"
    );
    let kept = place.config() + "# keep me\n";
    place.write("orlop.toml", &kept);
    let url = ["mcp", "add", "web", "--url", "http://127.0.0.1:1/mcp", "--project"];
    place.run(&url).await.ok();
    let project = || std::fs::read_to_string(place.path().join("orlop.toml")).unwrap();
    assert!(
        project().starts_with(&place.config()) && project().contains("# keep me"),
        "{}",
        project()
    );
    assert_eq!(names().await, "db web");
    place.run(&url).await.fails(2, &["already"]);
    place.run(&["mcp", "add", "x"]).await;
    assert_eq!(place.run(&["mcp", "add", "x"]).await.code, Some(2));
    place.run(&["mcp", "remove", "web"]).await.fails(4, &["--project"]);
    place.run(&["mcp", "remove", "web", "--project"]).await.ok();
    assert_eq!(project(), kept);
    place.run(&["mcp", "remove", "db"]).await.ok();
    assert_eq!(names().await, "");
    // What would not work is not written.
    let odd = ["mcp", "add", "files", "--url", "http://127.0.0.1:1/mcp", "--project"];
    place.run(&odd).await.fails(2, &["tool plugin \"files\""]);
    assert_eq!(project(), kept);
    place.write("orlop.toml", "not = = toml");
    place.run(&url).await.fails(3, &["is no TOML", "correct it first"]);
}
