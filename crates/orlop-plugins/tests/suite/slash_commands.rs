//! Commands in place of messages: what is one, what it does, and what people write themselves.

use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_app::*;
use orlop_core::hooks::Handled;
use orlop_core::*;
use orlop_plugins::*;
use orlop_testkit::scripted::*;
use serde_json::json;

/// A stage with the plugin, and a model with something to say.
fn stage() -> Stage {
    let stage = Stage::says(&["one", "two", "three"]);
    stage.application(SlashCommands).host(SlashCommands)
}

/// The answer to a command in session `s`.
async fn answer(host: &Host, text: &str) -> Handled {
    let chat = host.chat(chat("s", text)).await.unwrap();
    let handled = chat.handled.clone();
    chat.ended().await;
    handled.unwrap_or_else(|| panic!("{text} went to the model"))
}

async fn check(host: &Host, text: &str, expected: Expect) {
    let handled = answer(host, text).await;
    expected.assert_eq(&format!("{} {}", handled.status, handled.text));
}

/// An application plugin with actions that say what they were given.
fn saying(name: &str, actions: Vec<ActionDefinition>) -> ScriptedApplication {
    ScriptedApplication::new(name).actions(actions).execute_action(|input, _| async move {
        let params = Value::Object(input.params).to_string();
        let result = json!({ "message": format!("{} {params}", input.action_id) });
        ActionResult::from_json(result)
    })
}

fn described(id: &str, description: &str) -> ActionDefinition {
    let description = Some(description.to_owned());
    ActionDefinition { description, ..ActionDefinition::new(id, id) }
}

#[tokio::test] // M-20, L-07, L-10
async fn help_is_handled_and_hello_is_not() {
    let stage = stage();
    let host = stage.open().await;
    check(
        &host,
        "/help",
        expect![[r#"
            200 Commands:
            - `/help [COMMAND]`: Shows the commands there are
            - `/agent [NAME]`: Shows the agents, or gives the session another
            - `/archive`: Puts the session away, or gets it back; it stays stored
            - `/clear`: Begins anew; the session so far stays stored
            - `/config [KEY]`: Shows the settings in force and where they come from
            - `/copy [NUMBER|code|all]`: Copies the last answer, an earlier one, its code, or everything
            - `/export [markdown|json]`: Gives the conversation as a file
            - `/fork [INDEX]`: Goes on in a copy, up to a message or all of it
            - `/model [NAME]`: Shows the models, or has the session use another
            - `/new`: Begins another session
            - `/pin`: Has lists begin with the session, or no longer
            - `/rename [TEXT]`: The same as /title
            - `/resume [ID|TITLE]`: Shows the last sessions, or goes on with one
            - `/title [TEXT]`: Shows the title of the session, or sets it
            - `/tools`: Shows the tools the agent has
            - `/trace [REQUEST]`: Shows what plugins did in the last request"#]],
    )
    .await;
    assert!(stage.model.requests().is_empty());
    assert!(host.app().load_session("s").await.unwrap().is_none(), "nothing is stored");
    chat_to_end(&host, chat("s", "hello")).await;
    assert_eq!(said(host.app(), "s").await, "hello|one");
}

#[tokio::test] // M-20
async fn an_unknown_command_is_reported_and_a_path_is_not() {
    let stage = stage();
    let host = stage.open().await;
    check(&host, "/hepl me", expect!["404 there is no command /hepl; did you mean /help? /help shows those there are, and a space in front sends the text to the model"]).await;
    check(&host, "/xyzzy", expect!["404 there is no command /xyzzy; /help shows those there are, and a space in front sends the text to the model"]).await;
    check(&host, "/help xyzzy", expect!["404 there is no command /xyzzy; /help shows those there are, and a space in front sends the text to the model"]).await;
    check(
        &host,
        "/help /fork",
        expect!["200 `/fork [INDEX]`: Goes on in a copy, up to a message or all of it"],
    )
    .await;
    for text in ["/etc/hosts has odd lines", " /help", "/ hello"] {
        chat_to_end(&host, chat("s", text)).await;
    }
    assert_eq!(
        said(host.app(), "s").await,
        "/etc/hosts has odd lines|one| /help|two|/ hello|three"
    );
    // A folder that is there is what somebody asks about.
    stage.model.reply(ScriptedReply::text(&["four"]));
    chat_to_end(&host, chat("s2", "/tmp is full")).await;
    assert_eq!(said(host.app(), "s2").await, "/tmp is full|four");
}

#[tokio::test] // M-20, C-35
async fn every_action_of_people_is_a_command() {
    let count = described("count", "Counts.").input("session_id", "string", false);
    let count = count.input("from", "integer", true).input("note", "string", false);
    let other = ActionDefinition::new("hidden", "Hidden").on(&["request_complete"]);
    let twice = described("show", "Shows a.");
    let stage = stage()
        .application(saying("numbers", vec![count, other, twice]))
        .application(saying("letters", vec![described("show", "Shows b.")]));
    let host = stage.open().await;
    check(&host, "/count 3 as you like", expect![[r#"200 count {"from":3,"note":"as you like"}"#]])
        .await;
    check(
        &host,
        "/numbers:count note='x y' from=4",
        expect![[r#"200 count {"note":"x y","from":4}"#]],
    )
    .await;
    check(
        &host,
        "/COUNT x",
        expect![[
            r#"400 input "from" of action "count" of plugin "numbers" must be of type integer"#
        ]],
    )
    .await;
    check(
        &host,
        "/count",
        expect![[r#"400 action "count" of plugin "numbers" needs the input "from""#]],
    )
    .await;
    check(&host, "/show", expect!["404 there is no command /show; /help shows those there are, and a space in front sends the text to the model"]).await;
    check(&host, "/letters.show", expect!["200 show {}"]).await;
    check(&host, "/hidden", expect!["404 there is no command /hidden; /help shows those there are, and a space in front sends the text to the model"]).await;
    chat_to_end(&host, chat("s", "hello")).await;
    check(&host, "/count from=1", expect![[r#"200 count {"from":1,"session_id":"s"}"#]]).await;
    let help = answer(&host, "/help").await.text;
    let (_, of_plugins) = help.split_once("\n\n").unwrap();
    expect![[r#"
        Actions of plugins:
        - `/count FROM [NOTE]`: Counts.
        - `/numbers.show`: Shows a.
        - `/letters.show`: Shows b."#]]
    .assert_eq(of_plugins);
}

#[tokio::test] // M-20
async fn short_names_are_there_where_their_actions_are() {
    let policy = saying(
        "permissions",
        vec![
            ActionDefinition::new("list_permissions", "Permissions").input(
                "session_id",
                "string",
                false,
            ),
            ActionDefinition::new("set_permission_mode", "Mode")
                .input("session_id", "string", true)
                .input("mode", "string", true),
        ],
    );
    let undo = ActionDefinition::new("undo_files", "Undo").input("session_id", "string", true);
    let stage = stage().application(policy).application(saying("file_changes", vec![undo]));
    let host = stage.open().await;
    let help = answer(&host, "/help").await.text;
    assert!(help.contains("`/permissions [MODE]`") && help.contains("`/undo`"), "{help}");
    assert!(!help.contains("/cost") && !help.contains("set_permission_mode"), "{help}");
    check(&host, "/undo", expect!["404 this session has not begun yet; write a message first"])
        .await;
    check(&host, "/permissions", expect!["200 list_permissions {}"]).await;
    assert!(host.app().load_session("s").await.unwrap().is_none());
    check(
        &host,
        "/permissions all",
        expect![[r#"200 set_permission_mode {"mode":"all","session_id":"s"}"#]],
    )
    .await;
    check(&host, "/undo", expect![[r#"200 undo_files {"session_id":"s"}"#]]).await;
    check(&host, "/undo-files", expect![[r#"200 undo_files {"session_id":"s"}"#]]).await;
}

#[tokio::test] // M-20
async fn the_plugins_that_ship_have_short_names() {
    let stage = stage()
        .feature(Compaction)
        .feature(Skills::default())
        .application(CompactionActions)
        .application(DeviceLogin::default())
        .application(FileChanges)
        .application(MemoryActions)
        .application(PermissionActions)
        .application(UsageReport);
    let host = stage.open().await;
    let help = answer(&host, "/help").await.text;
    let listed =
        help.lines().filter_map(|line| line.strip_prefix("- `/")?.split(['`', ' ']).next());
    let listed: Vec<&str> = listed.collect();
    for short in ["compact", "cost", "login", "logout", "memory", "permissions", "skills", "undo"] {
        assert_eq!(listed.iter().filter(|name| **name == short).count(), 1, "{short}: {help}");
    }
    assert!(!help.contains("compact_range"), "{help}");
    check(&host, "/compact", expect!["404 this session has not begun yet; write a message first"])
        .await;
    chat_to_end(&host, chat("s", "hi")).await;
    for text in ["/cost", "/memory", "/permissions", "/permissions read_only", "/skills", "/undo"] {
        let handled = answer(&host, text).await;
        assert_eq!(handled.status, 200, "{text}: {}", handled.text);
        assert!(
            !handled.text.is_empty() && !handled.text.starts_with("```json"),
            "{text}: {}",
            handled.text
        );
    }
}

#[tokio::test] // M-20
async fn sessions_are_begun_and_forked() {
    let stage = stage();
    let host = stage.open().await;
    check(&host, "/fork", expect!["404 this session has not begun yet; write a message first"])
        .await;
    chat_to_end(&host, chat("s", "a")).await;
    chat_to_end(&host, chat("s", "b")).await;
    let handled = answer(&host, "/fork 1").await;
    let fork = handled.data["ui_effects"]["navigate"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(said(host.app(), &fork).await, "a|one");
    assert_eq!(handled.data["mutations"]["created_session_ids"], json!([fork]));
    check(
        &host,
        "/fork x",
        expect![[r#"400 "x" is no number of a message; write for instance /fork 4, or /fork -3"#]],
    )
    .await;
    for text in ["/new", "/clear"] {
        let handled = answer(&host, text).await;
        let new = handled.data["ui_effects"]["navigate"]["session_id"].as_str().unwrap();
        let session = host.app().session(new).await.unwrap().session;
        assert_eq!((session.messages().len(), session.agent_id()), (0, Some("default")));
        assert_eq!(session.metadata()["working_dir"], stage.work().display().to_string());
    }
    assert_eq!(said(host.app(), "s").await, "a|one|b|two", "nothing is lost");
}

#[tokio::test] // M-20
async fn agents_models_and_titles_are_set() {
    let stage = stage()
        .more("[agents.other]\nprovider = \"scripted\"\nmodel = \"n\"\n[agents.broken]\nprovider = \"scripted\"\nmodel = \"${env:NOT_SET}\"\n");
    let host = stage.open().await;
    let app = host.app();
    let agents = answer(&host, "/agent").await.text;
    let agents = agents.replace(&format!("{}/", stage.home().display()), "");
    expect![[r#"
        - `default` (in use): scripted, m
        - `other`: scripted, n
        - `broken`: cannot be used: orlop.toml:11:9: agents.broken.model: the environment variable NOT_SET is not set; set NOT_SET, or give a default as in ${env:NOT_SET:-default}"#]]
    .assert_eq(&agents);
    check(
        &host,
        "/agent othr",
        expect![[r#"404 there is no agent "othr"; did you mean "other"?"#]],
    )
    .await;
    check(
        &host,
        "/title Of mice and \u{1b}[31mmen",
        expect![[r#"200 The title is now "Of mice and men""#]],
    )
    .await;
    check(&host, "/title", expect!["200 Of mice and men"]).await;
    check(&host, "/model x", expect!["200 The model of this session is now x"]).await;
    let events = chat_to_end(&host, chat("s", "hi")).await;
    assert_eq!(model_of(&events), "x");
    check(&host, "/model", expect!["200 The model is x. The server lists no others."]).await;
    check(&host, "/agent other", expect!["200 The agent is now other"]).await;
    check(&host, "/model default", expect!["200 The session uses the model of its agent again"])
        .await;
    assert_eq!(model_of(&chat_to_end(&host, chat("s", "hi")).await), "n");
    assert_eq!(app.session("s").await.unwrap().session.agent_id(), Some("other"));
    let handled = answer(&host, "/agent broken").await;
    assert_eq!(handled.status, 400, "{}", handled.text);
    assert_eq!(app.session("s").await.unwrap().session.agent_id(), Some("other"));
}

/// The model that answered.
fn model_of(events: &[std::sync::Arc<Event>]) -> String {
    match events.last().map(|event| &event.kind) {
        Some(EventKind::Final { model: Some(name), .. }) => name.model.clone().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test] // M-20
async fn tools_and_traces_are_shown() {
    let stage = stage().tool(echo("repeat"));
    let host = stage.open().await;
    check(&host, "/tools", expect!["200 - `repeat` (repeat): the repeat tool"]).await;
    check(&host, "/trace", expect!["404 this session has not begun yet; write a message first"])
        .await;
    chat_to_end(&host, chat("s", "a")).await;
    let handled = answer(&host, "/trace").await;
    let names = ["TOOK MS", "stream_api", "model_call", "ok"];
    assert!(names.iter().all(|name| handled.text.contains(name)), "{}", handled.text);
    check(&host, "/trace none", expect![[r#"404 there is no request "none""#]]).await;
}

#[tokio::test] // M-20
async fn files_are_commands_whose_text_the_model_gets() {
    let mut stage = stage()
        .file(".orlop/commands/review.md", "---\ndescription: Reviews a file\nargument-hint: FILE [HOW]\nmodel: large\n---\nReview $1. $2\n")
        .file(".claude/commands/review.md", "never")
        .file(".claude/commands/git/commit.md", "---\nmodel: haiku\nargument-hint: [what]\n---\n# Commit it\n$ARGUMENTS")
        .file(".orlop/commands/help.md", "Help me.")
        .file(".orlop/commands/not a name.md", "x")
        .file(".orlop/commands/broken.md", "---\nno end")
        .file(".orlop/commands/long.md", "x".repeat(70_000))
        .file(".orlop/commands/binary.md", [0xff, 0xfe])
        .file(".orlop/commands/notes.txt", "x");
    let user = stage.outside().join("config/orlop/commands");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("review.md"), "My own review of $ARGUMENTS").unwrap();
    std::fs::write(stage.outside().join("secret.md"), "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        stage.outside().join("secret.md"),
        stage.work().join(".orlop/commands/leak.md"),
    )
    .unwrap();
    let config = stage.outside().join("config").display().to_string();
    stage.vars.insert("XDG_CONFIG_HOME".to_owned(), config);
    let host = stage.open().await;
    let events = chat_to_end(&host, chat("s", "/review src/a.rs 'for names'")).await;
    assert_eq!(said(host.app(), "s").await, "Review src/a.rs. for names|one");
    assert_eq!(model_of(&events), "large");
    let session = host.app().session("s").await.unwrap().session;
    let first = session.messages().iter().next().unwrap();
    assert_eq!(first.metadata()["command"], "/review src/a.rs 'for names'");
    // The name of a model in another program's file means nothing here.
    let events = chat_to_end(&host, chat("s2", "/git:commit all of it")).await;
    assert_eq!(
        (said(host.app(), "s2").await.as_str(), model_of(&events).as_str()),
        ("# Commit it\nall of it|two", "m")
    );
    chat_to_end(&host, chat("s3", "/user:review it")).await;
    assert_eq!(said(host.app(), "s3").await, "My own review of it|three");
    let help =
        answer(&host, "/help").await.text.replace(&stage.work().display().to_string(), "WORK");
    let (_, files) = help.split_once("From files:").unwrap();
    expect![[r#"

        - `/project:help`: Help me.
        - `/review FILE [HOW]`: Reviews a file
        - `/git:commit [what]`: Commit it
        - `/user:review`: My own review of $ARGUMENTS

        Not used:
        - WORK/.orlop/commands/binary.md: it is not text in UTF-8
        - WORK/.orlop/commands/broken.md: the head has no end; close it with a line of three dashes
        - WORK/.orlop/commands/leak.md: a link leads out of the project
        - WORK/.orlop/commands/long.md: it is longer than 64 KiB
        - WORK/.orlop/commands/not a name.md: its name cannot be typed as a command; use letters, digits, - and _"#]]
    .assert_eq(files);
}

#[tokio::test] // M-20, G-21, G-22
async fn surfaces_read_what_came_of_a_command_from_the_final_event() {
    let stage = stage();
    let host = stage.open().await;
    let events = chat_to_end(&host, chat("s", "/title Mine")).await;
    let [event] = events.as_slice() else { panic!("{}", names(&events)) };
    let EventKind::Final { messages, .. } = &event.kind else { panic!("{event:?}") };
    let handled = &messages[0].metadata()["handled"];
    assert_eq!(
        *handled,
        json!({ "status": 200, "data": {
            "mutations": { "updated_session_ids": ["s"] },
            "ui_effects": { "reload_session_ids": ["s"] },
            "command": "/title",
        } })
    );
    let failed = answer(&host, "/agent x").await;
    let outcome = ui::Outcome::from_result(failed.data);
    assert_eq!((outcome.failed(), outcome.error_type.as_deref()), (true, Some("not_found")));
}

#[tokio::test] // M-20
async fn what_fails_is_told_and_reaches_no_model() {
    let broken = ScriptedApplication::new("broken")
        .actions(vec![ActionDefinition::new("fail", "Fail"), ActionDefinition::new("refuse", "R")])
        .execute_action(|input, _| async move {
            match &*input.action_id {
                "refuse" => Ok(ActionResult::error("disabled", "it is off")),
                _ => panic!("out of order"),
            }
        });
    let stage = stage().application(broken);
    let host = stage.open().await;
    let handled = answer(&host, "/fail").await;
    assert_eq!(handled.status, 502, "{}", handled.text);
    check(&host, "/refuse", expect!["422 it is off"]).await;
    assert!(stage.model.requests().is_empty());
}

#[tokio::test] // M-20
async fn commands_can_be_listed_for_completions() {
    let stage = stage().file(".orlop/commands/review.md", "Review $1.");
    let app = stage.start().await;
    let call = ActionCall::new("slash_commands", "list_commands");
    let result = app.execute_action(call, None).await.unwrap();
    let commands = result["commands"].as_array().unwrap();
    assert_eq!(
        commands.last().unwrap(),
        &json!({ "name": "review", "arguments": "", "description": "Review $1.", "source": "project" })
    );
    let listed = SlashCommands::list(&app, Some("s"), "default").await.unwrap();
    assert_eq!(listed.len(), commands.len());
    assert!(!listed.iter().any(|command| command.name == "list_commands"));
    let stage = stage.feature(Mentions::default());
    let offered = stage.start().await.completions("default", None, "/rev").await.unwrap();
    assert_eq!(offered[0]["display"], "/review");
}

#[tokio::test]
async fn sessions_are_put_away_pinned_and_found_again() {
    let stage = stage();
    let host = stage.open().await;
    check(&host, "/pin", expect!["404 this session has not begun yet; write a message first"])
        .await;
    check(&host, "/resume", expect!["200 There is no other session"]).await;
    chat_to_end(&host, chat("s", "about boats")).await;
    chat_to_end(&host, chat("t", "about trains")).await;
    let listed = async || {
        let page = host.app().list_sessions(&Default::default()).await.unwrap();
        page.sessions.iter().map(|it| it.session_id.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(listed().await, "t s");
    check(
        &host,
        "/pin",
        expect!["200 Lists of sessions begin with this one; /pin again undoes it"],
    )
    .await;
    chat_to_end(&host, chat("t", "more")).await;
    assert_eq!(listed().await, "s t");
    check(&host, "/pin", expect!["200 Lists of sessions no longer begin with this one"]).await;
    check(&host, "/archive", expect!["200 The session is put away; /archive gets it back"]).await;
    assert_eq!(listed().await, "t");
    check(&host, "/archive", expect!["200 The session is in the list again"]).await;
    assert_eq!(listed().await, "s t");
    let there = answer(&host, "/resume trains").await;
    assert_eq!(there.text, "The conversation goes on in t about trains");
    assert_eq!(there.data["ui_effects"]["navigate"]["session_id"], "t");
    assert_eq!(answer(&host, "/resume t").await.data, there.data);
    let all = answer(&host, "/resume").await;
    assert!(all.text.starts_with("- `t`: about trains (4 messages, "), "{}", all.text);
    assert_eq!(all.data["ui_effects"]["navigate"]["screen"], "sessions");
    check(
        &host,
        "/resume planes",
        expect![[
            r#"404 no session has the id or the title "planes"; /resume shows the last ones"#
        ]],
    )
    .await;
    check(&host, "/rename Boats", expect![[r#"200 The title is now "Boats""#]]).await;
}

#[tokio::test]
async fn words_are_taken_along() {
    let code = "Do this:\n```sh\nls\n```\nthen\n````md\n```\n````\nthat is all";
    let stage = Stage::says(&[code, "plain"]).application(SlashCommands).host(SlashCommands);
    let host = stage.open().await;
    check(&host, "/copy", expect!["404 this session has not begun yet; write a message first"])
        .await;
    chat_to_end(&host, chat("s", "one")).await;
    chat_to_end(&host, chat("s", "two")).await;
    let copied = answer(&host, "/copy").await;
    assert_eq!(
        (&*copied.text, &copied.data["ui_effects"]["copy_text"]),
        ("plain", &json!("plain"))
    );
    assert_eq!(answer(&host, "/copy 2").await.text, code);
    assert_eq!(answer(&host, "/copy code").await.text, "```\n");
    let all = answer(&host, "/copy all").await.text;
    assert!(all.starts_with("## user\n\none\n\n## assistant\n\nDo this:"), "{all}");
    check(&host, "/copy 3", expect!["404 there is no such answer yet; write a message first"])
        .await;
    check(&host, "/copy zero", expect![[r#"400 "zero" is no number; write /copy, /copy 2 for the answer before the last, /copy code or /copy all"#]]).await;

    let exported = answer(&host, "/export").await;
    assert!(exported.text.starts_with("The conversation is the attachment s.md ("));
    let asset = exported.data["ui_effects"]["download"]["asset_id"].as_str().unwrap().to_owned();
    let (_, bytes) = host.app().read_asset(&asset).await.unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), all);
    assert_eq!(answer(&host, "/export json").await.data["export"]["name"], "s.json");
    check(
        &host,
        "/export pdf",
        expect![[r#"400 "pdf" is no format; write /export markdown or /export json"#]],
    )
    .await;
}

#[tokio::test]
async fn settings_are_shown_with_where_they_come_from() {
    let stage = stage().settings("api_key = \"sk-secret\"\nmax_steps = 7");
    let host = stage.open().await;
    check(&host, "/model other", expect!["200 The model of this session is now other"]).await;
    let shown = answer(&host, "/config").await;
    assert!(!shown.text.contains("sk-secret"), "{}", shown.text);
    let shown = shown.text.replace(&stage.home().display().to_string(), "HOME");
    expect![[r#"
        - `model` = "other" (this session)
        - `provider` = "scripted" (HOME/orlop.toml:3:12)
        - `api_key` = "***" (HOME/orlop.toml:5:11)
        - `max_steps` = 7 (HOME/orlop.toml:6:13)"#]]
    .assert_eq(&shown);
    check(&host, "/config output_repairs", expect!["200 - `output_repairs` = 1 (default)"]).await;
    check(
        &host,
        "/config nothing",
        expect![[r#"404 no setting "nothing" is in force here; /config shows those that are"#]],
    )
    .await;
}
