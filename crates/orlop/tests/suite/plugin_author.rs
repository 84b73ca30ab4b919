//! What the program does for those who write plugins: why something ran, turns that are kept and
//! played again, and a plugin that is started again as it changes.

use crate::common::{BOUND, Place, SECRET, finish, signal};
use expect_test::expect;
use serde_json::Value;
use std::process::Stdio;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

const GREETER: &str = r#"
class Greeter:
    name = "greeter"

    def initialize_request(self, native_messages, state):
        state["request"]["temperature"] = 0.5
        return native_messages, state

    def get_actions(self, state):
        return [
            {"id": "count", "label": "Count", "inputs": {}, "trigger": "request_complete"},
            {"id": "never", "label": "Never", "inputs": {}, "trigger": "request_completed"},
            {"id": "tidy", "label": "Tidy", "inputs": {}, "trigger": "session_fork"},
            {"id": "hand", "label": "By hand", "inputs": {}},
        ]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        first = context["core"].slice_session(session, start=0, end=1)
        return {"session_metadata": {"seen": len(session.messages)},
                "message": "%d messages, %d first" % (len(session.messages), len(first.messages))}
"#;

async fn place(name: &str, code: &str) -> Place {
    let place = Place::new(name).await;
    place.write("greeter/plugin.py", code);
    place.write(
        "greeter/plugin.toml",
        "[plugin]\nname = \"greeter\"\nversion = \"1.0.0\"\n[run]\npython = \"plugin.py\"\n",
    );
    let added = place.run(&["plugin", "add", "greeter", "--yes"]).await;
    assert_eq!(added.code, Some(0), "{added:?}");
    place
}

/// Lines without what is another one each time.
fn steady(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = match line.split_once(", request ") {
            Some((before, _)) => format!("{before}, request ID"),
            None => line.to_owned(),
        };
        let words = line.split(' ').collect::<Vec<_>>();
        let numbers = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
        let shown: Vec<&str> = (0..words.len())
            .map(|at| match words.get(at + 1) {
                Some(next) if next.starts_with("ms") && numbers(&words[at]) => "N",
                _ => words[at],
            })
            .collect();
        lines.push(shown.join(" "));
    }
    lines.join("\n")
}

#[tokio::test]
async fn why_an_action_ran_or_did_not() {
    let place = place("explain", GREETER).await;
    let before = place.run(&["plugin", "explain", "greeter", "count"]).await.ok();
    expect![[r#"
        greeter, agent default; there has been no request yet
          feature on: it takes part for agent "default"
        action count (runs at request_complete): would run
          it runs at request_complete: A request succeeded; its result is about to be saved."#]]
    .assert_eq(before.trim_end());
    let run = place.run(&["run", "hello"]).await;
    let told = "orlop: the action \"never\" of the plugin \"greeter\" waits for \"request_completed\", which Orlop never runs; did you mean \"request_complete\"?\n";
    assert_eq!((run.code, run.err.as_str()), (Some(0), told), "{run:?}");
    let ran = place.run(&["plugin", "explain", "greeter", "count"]).await.ok();
    let ran = steady(&ran);
    let ran = ran.split("hooks in that request").next().unwrap();
    expect![[r#"
        greeter, agent default, request ID
          feature on: it takes part for agent "default"
        action count (runs at request_complete): ran
          at request_complete, N ms: gave {"session_metadata":{"seen":2},"message":"2 messages, 1 first"}"#]].assert_eq(ran.trim_end());
    let all = place.run(&["plugin", "explain", "greeter", "--json"]).await.json();
    let why: Vec<String> = all["actions"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|held| format!("{} {}: {}", held["action"], held["verdict"], held["why"]))
        .collect();
    expect![[r#"
        "never" "did_not_run": ["its trigger \"request_completed\" is no lifecycle that Orlop runs, and nobody ran it; did you mean \"request_complete\"?"]
        "tidy" "did_not_run": ["session_fork did not come in this request: A fork exists; runs on the fork."]
        "hand" "did_not_run": ["it has no trigger: it runs by hand only, `orlop action run greeter hand`"]"#]].assert_eq(&why.join("\n"));
    let hooks: Vec<&str> =
        all["hooks"].as_array().unwrap().iter().map(|h| h["hook"].as_str().unwrap()).collect();
    assert!(hooks.contains(&"initialize_request"), "{hooks:?}");
    let unknown = place.run(&["plugin", "explain", "greter"]).await;
    unknown.fails(4, &["there is no plugin \"greter\"", "did you mean \"greeter\"?"]);
}

#[tokio::test]
async fn what_keeps_a_plugin_from_running_is_named() {
    let code =
        GREETER.replace("name = \"greeter\"", "name = \"greeter\"\n    required_tags = [\"moon\"]");
    let place = place("explain-off", &code).await;
    let off = |text: String| text.lines().nth(1).unwrap().trim().to_owned();
    let tags = place.run(&["plugin", "explain", "greeter"]).await.ok();
    assert!(off(tags.clone()).starts_with("feature off: it requires the tag \"moon\""), "{tags}");
    let set = ["--set", "agents.default.greeter.enabled=false"];
    let disabled = place.run(&[&["plugin", "explain", "greeter"], &set[..]].concat()).await.ok();
    assert_eq!(
        off(disabled),
        "feature off: greeter.enabled = false switches it off for agent \"default\""
    );
    place.write("greeter/plugin.py", "raise RuntimeError('not today')\n");
    let broken = place.run(&["plugin", "explain", "greeter", "count"]).await.ok();
    assert!(broken.contains("package off: the package was left out"), "{broken}");
    assert!(broken.contains("not today"), "{broken}");
    assert!(broken.contains("action count: did not run"), "{broken}");
}

#[tokio::test]
async fn a_package_that_is_off_is_listed_and_explained() {
    let place = place("explain-disabled", GREETER).await;
    place.run(&["plugin", "disable", "greeter"]).await.ok();
    let row = place.run(&["plugin", "list"]).await.ok();
    assert!(row.contains("off: `[plugins.greeter] enabled = false` in "), "{row}");
    let listed = place.run(&["plugin", "list", "--json"]).await.json();
    assert_eq!(listed["off"][0]["name"], "greeter", "{listed}");
    let told = place.run(&["plugin", "explain", "greeter", "count"]).await.ok();
    let off = "  package off: `[plugins.greeter] enabled = false` in ";
    assert!(told.lines().any(|line| line.starts_with(off)), "{told}");
    assert!(told.contains("action count: did not run"), "{told}");
}

#[tokio::test]
async fn a_package_is_explained_by_its_plugins_and_a_hook_by_whether_it_is_there() {
    let both = "class First:\n    name = \"first\"\n\n    def get_tags(self):\n        return []\n\n\nclass Second(First):\n    name = \"second\"\n";
    let place = place("explain-package", both).await;
    let told = place.run(&["plugin", "explain", "greeter"]).await.ok();
    expect![[r#"
        first, agent default; there has been no request yet
          feature on: it takes part for agent "default"
        second, agent default; there has been no request yet
          feature on: it takes part for agent "default"
    "#]]
    .assert_eq(&told);
    let told = place.run(&["plugin", "explain", "first", "initialize_request"]).await.ok();
    assert!(told.ends_with("  initialize_request did not run: it has no such hook\n"), "{told}");
    let told = place.run(&["plugin", "explain", "first", "get_tags"]).await.ok();
    assert!(told.ends_with("  get_tags did not run: there has been no request yet\n"), "{told}");
}

#[tokio::test]
async fn a_failure_before_it_and_a_refusal_are_told() {
    let code = r#"
class First:
    name = "first"
    priority = 1

    def get_actions(self, state):
        return [{"id": "fall", "label": "Fall", "inputs": {}, "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        context["app"].load_session("s")


class Second:
    name = "second"
    priority = 200

    def get_actions(self, state):
        return [{"id": "late", "label": "Late", "inputs": {}, "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        return {}
"#;
    let place = place("explain-stop", code).await;
    place.run(&["run", "hello"]).await;
    let first = place.run(&["plugin", "explain", "first", "fall", "--json"]).await.json();
    assert_eq!(first["actions"][0]["verdict"], "failed", "{first}");
    assert_eq!(first["refused"][0], "app.load_session", "{first}");
    let second = place.run(&["plugin", "explain", "second", "late", "--json"]).await.json();
    assert_eq!(second["actions"][0]["verdict"], "did_not_run", "{second}");
    let why = second["actions"][0]["why"][0].as_str().unwrap();
    assert!(
        why.starts_with("request_complete was stopped before its turn: first fall failed"),
        "{why}"
    );
}

#[tokio::test]
async fn hooks_of_host_plugins_inside_of_a_turn_are_told() {
    let code = "class Guide:\n    name = \"guide\"\n\n    def context_providers(self):\n        return [\"It is low tide.\"]\n";
    let place = place("explain-host", code).await;
    place.run(&["run", "hello"]).await.ok();
    assert!(place.asked()["messages"].to_string().contains("It is low tide."));
    let told = place.run(&["plugin", "explain", "guide", "--json"]).await.json();
    assert_eq!(told["standing"][0]["kind"], "host", "{told}");
    let hook = &told["hooks"][0];
    assert_eq!(
        (hook["hook"].as_str(), hook["times"].as_u64()),
        (Some("context_providers"), Some(1)),
        "{told}"
    );
}

#[tokio::test]
async fn an_answer_that_came_too_late_and_a_start_that_failed_are_told() {
    let code = r#"
import time

class Late:
    name = "late"

    def get_actions(self, state):
        return [{"id": "wait", "label": "Wait", "inputs": {}, "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        time.sleep(600)
"#;
    let place = place("explain-late", code).await;
    let limits =
        "[plugin]\nname = \"greeter\"\n[run]\npython = \"plugin.py\"\n[limits]\ntimeout_ms = 500\n";
    place.write("greeter/plugin.toml", limits);
    place.run(&["run", "hello"]).await;
    let late = place.run(&["plugin", "explain", "late", "wait", "--json"]).await.json();
    assert_eq!(late["actions"][0]["verdict"], "timed_out", "{late}");
    // What only sounds like it is a failure.
    let failing = code.replace("time.sleep(600)", "raise ValueError('no answer within reason')");
    place.write("greeter/plugin.py", failing);
    place.run(&["run", "hello"]).await;
    let failed = place.run(&["plugin", "explain", "late", "wait", "--json"]).await.json();
    assert_eq!(failed["actions"][0]["verdict"], "failed", "{failed}");

    let broken = r#"
class Broken:
    name = "broken"

    def init(self, app):
        raise ValueError("no chart")

    def get_actions(self, state):
        return []

    def execute_action(self, app, action_id):
        return {}
"#;
    place.write("greeter/plugin.py", broken);
    let ask = async || {
        let told = place.run(&["plugin", "explain", "broken", "--json"]).await;
        serde_json::from_str::<Value>(&told.out).unwrap()["standing"][0].clone()
    };
    let told = ask().await;
    let why = told["why"].as_str().unwrap();
    assert!(why.starts_with("it could not begin: ") && why.contains("no chart"), "{told}");
    assert_eq!(told["active"], false, "{told}");
    // One that Orlop cannot do without keeps it from starting.
    place.write("greeter/plugin.toml", format!("{limits}on_failure = \"fail\"\n"));
    let told = ask().await;
    let why = told["why"].as_str().unwrap();
    assert!(why.starts_with("Orlop does not start: ") && why.contains("no chart"), "{told}");
    assert_eq!(told["active"], false, "{told}");
}

#[tokio::test]
async fn a_recorded_turn_shows_what_a_change_of_the_plugin_changes() {
    let place = place("replay", GREETER).await;
    let recorded = place.run(&["plugin", "record", "turn.jsonl", "--", "hello"]).await;
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    assert_eq!(recorded.out, "You said: hello\n");
    assert!(recorded.err.contains("hook calls of greeter in turn.jsonl"), "{recorded:?}");
    let file = place.path().join("turn.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(SECRET));
    let asked = place.times_asked();

    let same = place.run(&["plugin", "replay", "turn.jsonl"]).await.ok();
    assert!(same.ends_with("calls, no difference\n"), "{same}");

    place.write(
        "greeter/plugin.py",
        GREETER.replace("0.5", "0.7").replace("messages, %d first", "messages and %d first"),
    );
    let changed = place.run(&["plugin", "replay", "turn.jsonl", "greeter"]).await;
    assert_eq!(changed.code, Some(1), "{changed:?}");
    expect![[r#"
        greeter.initialize_request
        --- recorded
        +++ now
        @@ -4,7 +4,7 @@
             "state": {
               "patch": {
                 "request": {
        -          "temperature": 0.5
        +          "temperature": 0.7
                 }
               }
             }

        greeter.execute_action count
        --- recorded
        +++ now
        @@ -17,6 +17,6 @@
             "session_metadata": {
               "seen": 2
             },
        -    "message": "2 messages, 1 first"
        +    "message": "2 messages and 1 first"
           }
         }

        9 calls, 2 differences; --update takes them over"#]]
    .assert_eq(changed.out.trim_end());
    let updated = place.run(&["plugin", "replay", "turn.jsonl", "greeter", "--update"]).await.ok();
    assert!(updated.ends_with("2 differences, all taken over\n"), "{updated}");
    let same = place.run(&["plugin", "replay", "turn.jsonl", "greeter"]).await.ok();
    assert!(same.ends_with("calls, no difference\n"), "{same}");

    // What cannot be taken over is not offered, and a hook that is new is told.
    let ends = GREETER
        .replace("state[\"request\"][\"temperature\"] = 0.5", "import os; os._exit(3)")
        + "\n    def get_tags(self):\n        return []\n";
    place.write("greeter/plugin.py", ends);
    let ended = place.run(&["plugin", "replay", "turn.jsonl", "greeter"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!ended.out.contains("--update"), "{ended:?}");
    assert!(ended.out.ends_with("the recording cannot be updated, record the turn again\n"));
    let new = "greeter.get_tags is new, and the recording has no call of it";
    assert!(ended.out.lines().any(|line| line.starts_with(new)), "{ended:?}");
    place.write("greeter/plugin.py", "def broken(:\n");
    let broken = place.run(&["plugin", "replay", "turn.jsonl"]).await;
    broken.fails(4, &["is not in use here: the package was left out", "line 1: invalid syntax"]);

    let asks_more = GREETER.replace("start=0, end=1", "start=0, end=2");
    place.write("greeter/plugin.py", asks_more);
    let other = place.run(&["plugin", "replay", "turn.jsonl", "greeter"]).await;
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.out.contains("greeter.execute_action count asked what the recording cannot answer"),
        "{other:?}"
    );
    assert!(other.out.contains("core.slice_session"), "{other:?}");
    let kept = std::fs::read(&file).unwrap();
    let update = place.run(&["plugin", "replay", "turn.jsonl", "greeter", "--update"]).await;
    assert_eq!(update.code, Some(1), "{update:?}");
    assert!(std::fs::read(&file).unwrap() == kept, "a recording that is not known whole stays");
    assert_eq!(place.times_asked(), asked, "a replay asks no model");
}

#[tokio::test]
async fn a_recording_holds_no_secret_of_the_plugin_either() {
    let code = r#"
class Own:
    name = "greeter"
    config_schema = {"greeter.api_key": {"type": "string"}}

    def initialize_request(self, native_messages, state):
        state["request"]["user"] = "with " + state["config"]["greeter"]["api_key"]
        return native_messages, state
"#;
    let place = place("replay-secret", code).await;
    let config =
        format!("{}[agents.default.greeter]\napi_key = \"own-{SECRET}\"\n", place.config());
    place.write("orlop.toml", config);
    let recorded = place.run(&["plugin", "record", "turn.jsonl", "--", "hello"]).await;
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    assert_eq!(place.asked()["user"], format!("with own-{SECRET}"));
    let text = std::fs::read_to_string(place.path().join("turn.jsonl")).unwrap();
    assert!(!text.contains(SECRET));
    assert!(text.contains("with ***"));
    place.run(&["plugin", "replay", "turn.jsonl"]).await.ok();
}

/// `orlop plugin dev` at work.
struct Dev {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Dev {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["plugin", "dev"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines() }
    }

    /// Reads until a line has these words; gives all lines up to it.
    async fn until(&mut self, words: &str) -> Vec<String> {
        self.until_all(&[words]).await
    }

    /// Reads until all of these words have come, in any order.
    async fn until_all(&mut self, words: &[&str]) -> Vec<String> {
        let mut seen = Vec::new();
        let reading = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                seen.push(line);
                if words.iter().all(|word| seen.iter().any(|line| line.contains(word))) {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(BOUND, reading).await;
        assert_eq!(found, Ok(true), "no {words:?} in {seen:#?}");
        seen
    }

    async fn type_in(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn leave(self) {
        let Self { child, stdin, lines } = self;
        drop(stdin);
        signal(&child, "INT");
        drop(lines);
        let done = finish(child).await;
        assert_eq!(done.code, Some(0), "{done:?}");
    }
}

#[tokio::test]
async fn a_plugin_is_started_again_when_it_changes() {
    let place = place("dev", GREETER).await;
    let mut dev = Dev::start(&place, &["greeter", "hello"]);
    let seen = dev.until("answer: ").await.join("\n");
    assert!(seen.contains("greeter (feature greeter) ready in "), "{seen}");
    assert!(seen.contains("    + request.temperature: 0.5"), "{seen}");
    assert!(seen.contains("greeter.execute_action count  "), "{seen}");
    assert_eq!(place.asked()["temperature"], 0.5);

    let began = Instant::now();
    place.write("greeter/plugin.py", GREETER.replace("0.5", "0.25"));
    dev.until("ready in ").await;
    let took = began.elapsed();
    let seen = dev.until("answer: ").await.join("\n");
    assert!(seen.contains("    + request.temperature: 0.25"), "{seen}");
    eprintln!("from the change to a plugin that is ready: {} ms", took.as_millis());

    place.write("greeter/plugin.py", "def (\n");
    let seen = dev.until("cannot be used: ").await.join("\n");
    assert!(seen.contains("SyntaxError"), "{seen}");

    let failing = GREETER.replace("state[\"request\"]", "state[\"nothing\"]");
    place.write("greeter/plugin.py", failing);
    // The log is a pipe of its own: which of them comes first is open.
    dev.until_all(&["failed: Greeter.initialize_request: KeyError", "  |   File "]).await;
    dev.leave().await;
}

#[tokio::test]
async fn typed_lines_are_one_conversation_over_all_changes() {
    let place = place("dev-typed", GREETER).await;
    let mut dev = Dev::start(&place, &["greeter"]);
    dev.until("ready in ").await;
    dev.type_in("one").await;
    dev.until("answer: You said: one").await;
    place.write("greeter/plugin.py", format!("{GREETER}\n# changed\n"));
    dev.until("ready in ").await;
    dev.type_in("two").await;
    dev.until("answer: You said: two").await;
    let asked = place.asked();
    let said: Vec<&Value> =
        asked["messages"].as_array().unwrap().iter().map(|held| &held["content"]).collect();
    assert_eq!(said, ["one", "You said: one", "two"]);
    dev.leave().await;
}

#[tokio::test]
async fn an_action_that_was_refused_by_hand_says_why() {
    let code = r#"
class Asker:
    name = "asker"

    def get_actions(self, state):
        return [{"id": "ask", "label": "Ask", "inputs": {}, "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        core, config = context["core"], context["config"]
        for plugin in ("sleeper", "wearer", "asker"):
            try:
                core.execute_session_action(session, config, plugin, "rest", {})
            except Exception as error:
                pass
        return {}


class Sleeper:
    name = "sleeper"

    def get_actions(self, state):
        return [{"id": "rest", "label": "Rest", "inputs": {}}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        return {}


class Wearer(Sleeper):
    name = "wearer"
    required_tags = ["hat"]
"#;
    let place = place("explain-refused", code).await;
    let run = async |grants: &str| {
        let manifest = "[plugin]\nname = \"greeter\"\n[run]\npython = \"plugin.py\"\n";
        place.write("greeter/plugin.toml", format!("{manifest}{grants}"));
        place.run(&["plugin", "accept", "greeter", "--yes"]).await;
        place.run(&["--set", "agents.default.sleeper.enabled=false", "run", "hello"]).await;
        let mut told = Vec::new();
        for plugin in ["sleeper", "wearer", "asker"] {
            let why = place.run(&["plugin", "explain", plugin, "rest", "--json"]).await.json();
            let action = &why["actions"][0];
            told.push(format!("{plugin} {}: {}", action["verdict"], action["why"]));
        }
        told.join("\n")
    };
    expect![[r#"
        sleeper "refused": ["by hand: the plugin \"asker\" wanted to run it, and core.execute_session_action is not granted to that"]
        wearer "refused": ["by hand: the plugin \"asker\" wanted to run it, and core.execute_session_action is not granted to that"]
        asker "refused": ["by hand: the plugin \"asker\" wanted to run it, and core.execute_session_action is not granted to that"]"#]].assert_eq(&run("").await);
    expect![[r#"
        sleeper "refused": ["by hand: sleeper.enabled = false switches the plugin off"]
        wearer "refused": ["by hand: the plugin requires the tag \"hat\", which nothing gives"]
        asker "refused": ["by hand: the plugin offers no such action"]"#]]
    .assert_eq(&run("[grants]\napp = [\"execute_action\"]\n").await);
}
