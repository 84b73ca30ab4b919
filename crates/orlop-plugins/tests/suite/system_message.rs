//! The system message of an agent.

use crate::stage::{Stage, ask, echo, events_of};
use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::SystemMessage;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

struct Scene {
    provider: ScriptedProvider,
    core: Core,
}

impl Scene {
    fn new(answers: usize) -> Self {
        let provider = ScriptedProvider::default();
        for _ in 0..answers {
            provider.reply(ScriptedReply::text(&["ok"]));
        }
        let mut core = core_with(&provider).unwrap();
        core.register_feature(Arc::new(SystemMessage::default())).unwrap();
        Self { provider, core }
    }

    async fn ask(&self, session: &Session, text: &str, config: &Config) -> Session {
        let session = self.core.add_message(session, Message::user(text), config).await.unwrap();
        let sent = self.core.send_request(&session, config, RequestOptions::default()).await;
        sent.unwrap().session
    }
}

#[tokio::test] // M-07
async fn it_is_there_once_however_many_turns_there_are() {
    let scene = Scene::new(3);
    let config = config(json!({"system_message": "be kind"}));
    let mut session = Session::new("s");
    for text in ["a", "b", "c"] {
        session = scene.ask(&session, text, &config).await;
        session.verify().unwrap();
    }
    assert_eq!(scene.provider.last_request(), "be kind|a|ok|b|ok|c");
    let cut = scene.core.split_session(&session, Slice::range(0, 3), Some(&config)).await;
    let joined = scene.core.join_sessions(&cut.kept, &cut.removed, Some(&config)).await.unwrap();
    assert_eq!(texts(&joined), "be kind|a|ok|b|ok|c|ok");
}

#[tokio::test] // M-08
async fn another_text_takes_its_place() {
    let scene = Scene::new(3);
    let told = |text: &str| config(json!({ "system_message": text }));
    let session = scene.ask(&Session::new("s"), "a", &told("be kind")).await;
    let session = scene.ask(&session, "b", &told("be brief")).await;
    assert_eq!(scene.provider.last_request(), "be brief|a|ok|b");
    let session = scene.ask(&session, "c", &told("")).await;
    assert_eq!(scene.provider.last_request(), "a|ok|b|ok|c");
    assert_eq!(texts(&session), "a|ok|b|ok|c|ok");
}

#[tokio::test] // M-07
async fn without_a_text_it_does_nothing() {
    let scene = Scene::new(1);
    let session = scene.ask(&Session::new("s"), "a", &Config::empty()).await;
    assert_eq!((scene.provider.last_request().as_str(), texts(&session).as_str()), ("a", "a|ok"));
}

/// A stage with the feature on it.
fn with_feature() -> Stage {
    Stage::default().feature(SystemMessage::default())
}

/// What the model reads in a whole turn on this stage, or why it does not.
async fn told(stage: &Stage) -> String {
    told_by(&stage.start().await, stage).await
}

async fn told_by(app: &Application, stage: &Stage) -> String {
    stage.model.reply(ScriptedReply::text(&["ok"]));
    let events = events_of(app, ask(&uuid::Uuid::new_v4().to_string(), "hi")).await;
    match &events.last().unwrap().kind {
        EventKind::RequestFailed { error } => error["message"].as_str().unwrap().to_owned(),
        _ => stage.model.last_request().replace(&stage.outside().display().to_string(), ""),
    }
}

#[tokio::test]
async fn the_text_is_a_template() {
    let stage = with_feature().tool(echo("look")).tool(echo("do")).settings(
        r#"system_message = """
{{ agent }} with {{ provider }}/{{ model }} for {{ user }} of {{ tenant }} on {{ os }}
{% if "look" in tools %}Look first. {% endif %}Tools: {{ tools | join(", ") }}.
In {{ working_folder }}.
{% raw %}{{ as it is }}{% endraw %}""""#,
    );
    let told = told(&stage).await.replace(std::env::consts::OS, "OS");
    expect![[r#"
        default with scripted/m for local of local on OS
        Look first. Tools: look, do.
        In /work.
        {{ as it is }}|hi"#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn the_date_is_a_day_and_nothing_finer() {
    let stage = with_feature().settings("system_message = \"It is {{ date }}.\"");
    let told = told(&stage).await;
    let date = told.strip_prefix("It is ").and_then(|rest| rest.strip_suffix(".|hi")).unwrap();
    assert!(date.len() == 10 && date.split('-').count() == 3, "{date}");
}

#[tokio::test]
async fn a_mistake_in_a_template_says_its_line() {
    for (text, said) in [
        ("a\\nb {{ dat }}", "in line 2: undefined value"),
        ("a\\n\\n{% if %}", "in line 3: syntax error"),
        ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "fuel"),
        ("{{ 'x' * 300000 }}", "longer than 256 KiB"),
        ("{{ 'x' * 30000000000 }}", "too large"),
    ] {
        let told = told(&with_feature().settings(&format!("system_message = \"{text}\""))).await;
        assert!(told.contains(said), "{text}: {told}");
    }
}

#[tokio::test]
async fn instructions_come_from_the_root_of_the_repository_down() {
    let stage = with_feature()
        .file("../.git/HEAD", "")
        .file("../AGENTS.md", "Use tabs.\n")
        .file("../CLAUDE.md", "Left out.")
        .file("CLAUDE.md", "Use spaces.")
        .settings("system_message = \"Be kind.\"");
    expect![[r#"
        Be kind.

        Instructions from files of the user and the project. Where they differ, the later ones count.

        <instructions file="/AGENTS.md">
        Use tabs.
        </instructions>

        <instructions file="/work/CLAUDE.md">
        Use spaces.
        </instructions>|hi"#]]
    .assert_eq(&told(&stage).await);
    let off = stage.settings("instructions = false");
    assert_eq!(told(&off).await, "Be kind.|hi");
}

#[tokio::test]
async fn without_a_repository_they_come_from_the_home_folder_or_the_working_folder_alone() {
    let mut stage = with_feature().file("../AGENTS.md", "Far.").file("AGENTS.md", "Near.");
    let alone = told(&stage).await;
    assert!(!alone.contains("Far.") && alone.contains("Near."), "{alone}");
    stage.vars.insert("HOME".into(), stage.outside().display().to_string());
    let stage = stage.file("../.config/orlop/AGENTS.md", "Mine.");
    let all = told(&stage).await;
    let places = ["Mine.", "Far.", "Near."].map(|word| all.find(word).unwrap());
    assert!(places.is_sorted(), "{all}");
}

#[tokio::test]
async fn a_file_that_changes_is_read_again_and_the_text_replaced() {
    let stage = with_feature().file("AGENTS.md", "Use tabs.");
    let app = stage.start().await;
    assert!(told_by(&app, &stage).await.contains("Use tabs."));
    let stage = stage.file("AGENTS.md", "Use spaces, always.");
    let now = told_by(&app, &stage).await;
    assert!(!now.contains("tabs") && now.contains("Use spaces, always."), "{now}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_project_cannot_bring_in_other_files_or_more_than_fits() {
    let stage = with_feature().file("../secret.txt", "do not tell").file(".git/HEAD", "");
    std::os::unix::fs::symlink("../secret.txt", stage.work().join("AGENTS.md")).unwrap();
    assert_eq!(told(&stage).await, "hi");
    // A link to another file of the project is as good as the file.
    let stage = with_feature().file("CLAUDE.md", "Use tabs.");
    std::os::unix::fs::symlink("CLAUDE.md", stage.work().join("AGENTS.md")).unwrap();
    assert!(told(&stage).await.contains("Use tabs."));
    // A folder in the place of the file, and one that is no text.
    let stage = with_feature().file("AGENTS.md/x", "");
    assert_eq!(told(&stage).await, "hi");
    let stage = with_feature().file("AGENTS.md", b"caf\xe9 au lait");
    assert!(told(&stage).await.contains("caf\u{fffd} au lait"));
    let stage = with_feature().file("AGENTS.md", "\u{e9}".repeat(20_000));
    let told = told(&stage).await;
    assert!(told.contains("[7232 bytes more are not shown; read the file for them]"));
    assert!(!told.contains('\u{fffd}'), "the cut went through a character");
}

#[tokio::test]
async fn the_files_in_use_can_be_listed() {
    let stage = with_feature().file("AGENTS.md", "Use tabs.");
    let app = stage.start().await;
    told_by(&app, &stage).await;
    app.create_session(NewSession { id: Some("s".into()), ..NewSession::default() }).await.unwrap();
    let call = ActionCall::new("system_message", "list_instructions");
    let result = app.execute_action(call, Some("s")).await.unwrap();
    let shown = json!(result).to_string().replace(&stage.work().display().to_string(), "WORK");
    expect![[r#"{"message":"WORK/AGENTS.md (9 bytes)","files":[{"path":"WORK/AGENTS.md","bytes":9,"cut":false}]}"#]]
        .assert_eq(&shown);
}

/// A feature that has something to say in the system message.
struct Tide;

impl Plugin for Tide {
    fn manifest(&self) -> Manifest {
        Manifest::new("tide", "1.0.0").priority(5).without_models()
    }
}

impl Feature for Tide {
    fn initialize_request<'a>(
        &'a self,
        _: &'a hooks::RequestInput,
        _: &'a Context,
    ) -> Answer<'a, hooks::RequestChange> {
        let texts = json!({ "tide": "The tide is out." });
        Answer::ok(hooks::RequestChange::state(hooks::StateChange::set("system_context", texts)))
    }
}

#[tokio::test]
async fn other_features_add_to_it() {
    let stage = with_feature().feature(Tide).settings("system_message = \"Be kind.\"");
    assert_eq!(told(&stage).await, "Be kind.\n\nThe tide is out.|hi");
}
