//! The author's kit: templates that work, and one suite of checks for all languages.

use expect_test::expect;
use orlop_app::config::{RuntimeEnv, Vars};
use orlop_core::Value;
use orlop_core::hooks::Kind;
use orlop_runtime::Package;
use orlop_runtime::kit::{self, Language, New, Report, TestOptions, Verdict, new_plugin};
use std::path::{Path, PathBuf};

const KINDS: [Kind; 6] =
    [Kind::Provider, Kind::Extension, Kind::Feature, Kind::Tool, Kind::Application, Kind::Host];

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("orlop-kit-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn env() -> RuntimeEnv {
    let kept = |(name, _): &(String, String)| matches!(name.as_str(), "PATH" | "HOME");
    RuntimeEnv::from_vars(std::env::vars().filter(kept).collect::<Vars>())
}

async fn test(path: &Path) -> Report {
    let package = Package::read(path).unwrap();
    kit::test(package, &env(), TestOptions::default()).await.unwrap()
}

fn has_node() -> bool {
    let found = std::process::Command::new("node").arg("--version").output();
    let is_there = found.is_ok_and(|found| found.status.success());
    if !is_there {
        orlop_testkit::skip("plugins in JavaScript", "there is no node");
    }
    is_there
}

/// A plugin from the template, in a folder of its language.
fn from_template(folder: &Folder, kind: Kind, language: Language) -> PathBuf {
    let parent = folder.0.join(format!("{language:?}")).join(kind.as_str());
    new_plugin(&New { name: "greet".to_owned(), kind, language }, &parent).unwrap().folder
}

/// The template in TypeScript, with the compiler that the SDK is tested with beside it, as
/// `npm install` puts one there. A Node that reads TypeScript itself does not use it.
fn in_typescript(folder: &Folder, kind: Kind) -> PathBuf {
    let place = from_template(folder, kind, Language::TypeScript);
    link_compiler(&place);
    place
}

fn link_compiler(place: &Path) {
    if let Some(modules) = compiler() {
        std::os::unix::fs::symlink(modules, place.join("node_modules")).unwrap();
    }
}

/// The folder with the compiler of TypeScript.
fn compiler() -> Option<PathBuf> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/typescript/node_modules");
    modules.join("typescript").is_dir().then(|| modules.canonicalize().unwrap())
}

fn has_typescript() -> bool {
    let reads = "process.exit(process.features.typescript ? 0 : 1)";
    let reads = std::process::Command::new("node").args(["-e", reads]).status();
    let is_there = compiler().is_some() || reads.is_ok_and(|done| done.success());
    if !is_there {
        let why = "node does not read TypeScript; `npm ci` in sdk/typescript";
        orlop_testkit::skip("plugins in TypeScript", why);
    }
    is_there
}

/// The template in Rust, built with the crate that came with it and what is there of the registry.
fn built(folder: &Folder, kind: Kind) -> PathBuf {
    let place = from_template(folder, kind, Language::Rust);
    build(&place, "greet");
    place
}

fn build(place: &Path, name: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-templates");
    let done = std::process::Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet"])
        .current_dir(place)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::create_dir_all(place.join("target/debug")).unwrap();
    // Copied by another process: a program that this one writes cannot be started as long as a child
    // of another test has inherited the open file.
    let copied = std::process::Command::new("cp")
        .args([target.join("debug").join(name), place.join("target/debug").join(name)])
        .status();
    assert!(copied.unwrap().success());
}

/// The lines that did not simply pass.
fn notable(report: &Report) -> String {
    let lines = report.to_string();
    let lines = lines.lines().filter(|line| !line.starts_with("ok ") && !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn templates_are_green_and_the_suite_says_the_same_of_all_languages() {
    let folder = Folder::new();
    let has_node = has_node();
    let has_typescript = has_node && has_typescript();
    let mut told = String::new();
    for kind in KINDS {
        let python = test(&from_template(&folder, kind, Language::Python)).await;
        assert!(python.is_green(), "{python}");
        told += &format!("{}\n{}\n", kind.as_str(), notable(&python));
        if has_node {
            let javascript = test(&from_template(&folder, kind, Language::JavaScript)).await;
            assert_eq!(python.to_string(), javascript.to_string());
        }
        if has_typescript {
            let typescript = test(&in_typescript(&folder, kind)).await;
            assert_eq!(python.to_string(), typescript.to_string());
        }
        let rust = test(&built(&folder, kind)).await;
        assert_eq!(python.to_string(), rust.to_string());
    }
    expect![[r#"
        provider
        skip  provider greet: answers the same in one piece and as a stream (it has one of them; Orlop makes the other)
        33 passed, 0 failed, 1 skipped
        extension
        27 passed, 0 failed, 0 skipped
        feature
        skip  feature greet: what people see of "counts the words of all messages" (`orlop plugin test --update` writes it down, so that a change is noticed)
        31 passed, 0 failed, 1 skipped
        tool
        skip  tool greet: what people see of "greets by name" (`orlop plugin test --update` writes it down, so that a change is noticed)
        30 passed, 0 failed, 1 skipped
        application
        skip  application greet: what people see of "counts the sessions there are" (`orlop plugin test --update` writes it down, so that a change is noticed)
        30 passed, 0 failed, 1 skipped
        host
        skip  host greet: what people see of "answers /hello" (`orlop plugin test --update` writes it down, so that a change is noticed)
        29 passed, 0 failed, 1 skipped
    "#]].assert_eq(&told);
}

const BAD_PYTHON: &str = r#"
class Bad:
    name = "bad"
    version = "2.0.0"
    config_schema = {"limit": {"type": "integer", "default": "ten"}}

    even = False

    def get_tags(self):
        self.even = not self.even
        return ["even" if self.even else "odd"]

    def initialize_request(self, native_messages, state):
        native_messages.append({"role": "user", "content": "again"})
        return native_messages, state

    def get_actions(self):
        return [{"id": "count", "label": "Count", "trigger": "request_completed"}]

    def execute_action(self, session):
        return {"session_metadata": {"runs": session.metadata.get("runs", 0) + 1}, "message": "counted"}

class Tools:
    name = "pair"

    def get_tool_schemas(self):
        return [{"name": "two words", "parameters": {"type": "object"}}]

    def execute_tool(self, tool_name, payload):
        return {"success": True, "output": "done"}
"#;

const BAD_JAVASCRIPT: &str = r#"
export class Bad {
  name = "bad";
  version = "2.0.0";
  getConfigSchema() { return { limit: { type: "integer", default: "ten" } }; }
  even = false;
  getTags() {
    this.even = !this.even;
    return [this.even ? "even" : "odd"];
  }
  initializeRequest({ native_messages }) { native_messages.push({ role: "user", content: "again" }); }
  getActions() { return [{ id: "count", label: "Count", trigger: "request_completed" }]; }
  executeAction({ session }) {
    return { session_metadata: { runs: (session.metadata.runs ?? 0) + 1 }, message: "counted" };
  }
}

export class Tools {
  name = "pair";
  getToolSchemas() { return [{ name: "two words", parameters: { type: "object" } }]; }
  executeTool() { return { success: true, output: "done" }; }
}
"#;

const BAD_RUST: &str = r#"
use orlop_plugin::{Plugin, json, serve};
use std::sync::atomic::{AtomicBool, Ordering};

fn main() -> std::process::ExitCode {
    let even = AtomicBool::new(false);
    let count = json!({ "id": "count", "label": "Count", "trigger": "request_completed" });
    let bad = Plugin::feature("bad")
        .with("version", json!("2.0.0"))
        .with("config_schema", json!({ "limit": { "type": "integer", "default": "ten" } }))
        .on("get_tags", move |_, _| {
            let was_even = even.fetch_xor(true, Ordering::Relaxed);
            Ok(json!([if was_even { "odd" } else { "even" }]))
        })
        .on("initialize_request", |args, _| {
            let again = json!({ "role": "user", "content": "again" });
            let mut items = args["native_messages"].as_array().cloned().unwrap_or_default();
            items.push(again);
            Ok(json!({ "native_messages": items }))
        })
        .on("get_actions", move |_, _| Ok(json!([count])))
        .on("execute_action", |args, _| {
            let runs = args["session"]["metadata"]["runs"].as_u64().unwrap_or(0);
            Ok(json!({ "session_metadata": { "runs": runs + 1 }, "message": "counted" }))
        });
    let tools = Plugin::tool("pair")
        .with("version", json!("1.0.0"))
        .on("get_tool_schemas", |_, _| Ok(json!([{ "name": "two words", "parameters": { "type": "object" } }])))
        .on("execute_tool", |_, _| Ok(json!({ "success": true, "output": "done" })));
    serve([bad, tools])
}
"#;

const BAD_EXAMPLES: &str = r#"
[[example]]
name = "counts"
action = "count"
says = "three"

[[example]]
name = "is refused"
action = "count"
fails = "not today"

[[example]]
name = "has a part"
hook = "initialize_request"
input = { native_messages = [] }
contains = { native_messages = [{ content = "never" }] }

[[example]]
name = "calls what is not there"
tool = "two_words"
"#;

fn bad(folder: &Folder, name: &str, run: &str, file: &str, code: &str) -> PathBuf {
    let manifest = format!(
        "[plugin]\nname = \"{name}\"\nversion = \"1.0.0\"\n[run]\n{run} = \"{file}\"\n[grants]\napp = [\"load_sesion\"]\n"
    );
    folder.write(&format!("{name}/plugin.toml"), &manifest);
    folder.write(&format!("{name}/examples.toml"), BAD_EXAMPLES);
    folder.write(&format!("{name}/{file}"), code);
    folder.0.join(name)
}

#[tokio::test]
async fn a_failing_check_says_what_to_do() {
    let folder = Folder::new();
    let report = test(&bad(&folder, "bad", "python", "plugin.py", BAD_PYTHON)).await;
    assert!(!report.is_green());
    expect![[r#"
        FAIL  package: asks for grants that there are
                seen:     app = ["load_sesion"]
                expected: an operation of the application
                fix:      correct [grants] of plugin.toml; did you mean "load_session"?
        warn  feature bad: has the version of its package
                it is 2.0.0 and the package 1.0.0; people see the one of the package
        FAIL  feature bad: describes its settings
                seen:     limit is of type integer, and its default is "ten"
                expected: a default of that type
                fix:      correct one of them
        warn  feature bad: waits for lifecycles that there are
                "count" waits for "request_completed", which Orlop never runs; another plugin has to. Did you mean "request_complete"?
        FAIL  tool pair: offers tools that models can call
                seen:     a tool named "two words"
                expected: a name of 1 to 64 letters, digits, _ and -, which all models take
                fix:      rename the tool
        FAIL  feature bad: example "counts"
                seen:     counted
                expected: three
                fix:      correct the plugin, or the example if this is what it should do
        skip  feature bad: what people see of "counts" (`orlop plugin test --update` writes it down, so that a change is noticed)
        FAIL  feature bad: example "is refused"
                seen:     it went well: {"session_metadata":{"runs":1},"message":"counted","native_messages":[{"role":"user","content":"Hello, wörld"},{"role":"assistant","content":"Hello! How can I help?"},{"role":"user","content":"Count to three."}]}
                expected: a failure with the words "not today"
                fix:      correct the plugin, or the example if this is what it should do
        skip  feature bad: what people see of "is refused" (`orlop plugin test --update` writes it down, so that a change is noticed)
        FAIL  feature bad: example "has a part"
                seen:     {"native_messages":[{"role":"user","content":"again"}],"state":{"config":{"provider":"sample","model":"sample-1"},"request":{}}} (look at /native_messages/0/content)
                expected: {"native_messages":[{"content":"never"}]}
                fix:      correct the plugin, or the example if this is what it should do
        FAIL  package: example "calls what is not there"
                seen:     the package has no tool "two_words"
                expected: that there is one; did you mean "two words"?
                fix:      correct the example or the plugin
        FAIL  feature bad: get_tags answers the same each time
                seen:     "odd", and then "even"
                expected: the same answer to the same input
                fix:      let the answer depend on the input alone: no time, no chance, no counters, no order of a set
        FAIL  feature bad: initialize_request changes nothing the second time
                seen:     /native_messages is [{"role":"user","content":"again"}] after the first run, [{"role":"user","content":"again"},{"role":"user","content":"again"}] after the second
                expected: that a second run on its own result changes nothing
                fix:      look first whether it is done already: requests are repeated, and lifecycles run again
        FAIL  feature bad: action count changes nothing the second time
                seen:     /metadata/runs is 1 after the first run, 2 after the second
                expected: that a second run on its own result changes nothing
                fix:      look first whether it is done already: requests are repeated, and lifecycles run again
        skip  tool pair: execute_tool answers as its schema says (no example calls it)
        46 passed, 10 failed, 3 skipped (2 warnings)"#]].assert_eq(&notable(&report));
}

#[tokio::test]
async fn defects_are_found_in_all_languages() {
    let folder = Folder::new();
    let python = test(&bad(&folder, "bad", "python", "plugin.py", BAD_PYTHON)).await;
    let outline = |report: &Report| -> Vec<String> {
        let word = |verdict: &Verdict| match verdict {
            Verdict::Ok => "ok",
            Verdict::Failed(_) => "failed",
            Verdict::Warning(_) => "warning",
            Verdict::Skipped(_) => "skipped",
        };
        let checks = report.checks.iter();
        checks.map(|it| format!("{} {}: {}", word(&it.verdict), it.about, it.name)).collect()
    };
    let rust = bad_rust();
    assert_eq!(outline(&python), outline(&test(&rust.0.join("bad")).await));
    if !has_node() {
        return;
    }
    let other = Folder::new();
    let javascript = test(&bad(&other, "bad", "node", "plugin.mjs", BAD_JAVASCRIPT)).await;
    assert_eq!(outline(&python), outline(&javascript));
    if !has_typescript() {
        return;
    }
    // Node reads the types away: a plugin that has none is TypeScript as well, one that has some is not JavaScript.
    let code = BAD_JAVASCRIPT.replace("getTags()", "getTags(): string[]");
    let other = Folder::new();
    let place = bad(&other, "bad", "node", "plugin.ts", &code);
    link_compiler(&place);
    assert_eq!(outline(&python), outline(&test(&place).await));
}

/// The same defects in Rust.
fn bad_rust() -> Folder {
    let folder = Folder::new();
    let new = New { name: "bad".to_owned(), kind: Kind::Feature, language: Language::Rust };
    let place = new_plugin(&new, &folder.0).unwrap().folder;
    bad(&folder, "bad", "command", "src/main.rs", BAD_RUST);
    let manifest = std::fs::read_to_string(place.join("plugin.toml")).unwrap();
    let manifest = manifest.replace("\"src/main.rs\"", "[\"./target/debug/bad\"]");
    folder.write("bad/plugin.toml", &manifest);
    build(&place, "bad");
    folder
}

/// A program without an SDK that gets the protocol wrong in every way a test can see.
const RUDE: &str = r#"
import json, os, pathlib, sys, time
for line in sys.stdin:
    message = json.loads(line)
    method, request = message.get("method"), message.get("id")
    say = lambda result: print(json.dumps({"jsonrpc": "2.0", "id": request, "result": result}), flush=True)
    if method == "initialize":
        say({"protocol": message["params"]["protocol"] if message["params"]["protocol"] == 99 else 1,
             "plugins": [
                 {"name": "rude", "kind": "feature", "hooks": ["init", "get_tags", "is_enabled", "get_template"]},
                 {"name": "rude", "kind": "tool", "hooks": ["get_tool_schemas", "execute_tool"]}]})
    elif method == "hook" and message["params"]["hook"] == "init":
        print(json.dumps({"jsonrpc": "2.0", "id": request, "error": {"code": 1, "message": "not ready"}}), flush=True)
    elif method == "hook" and message["params"]["hook"] == "get_tool_schemas":
        say([{"name": "work", "description": "Works once, and then it has enough."}])
    elif method == "hook" and message["params"]["hook"] == "execute_tool":
        if pathlib.Path(os.environ["PLUGIN_DATA"], "worked").exists():
            time.sleep(60)
        pathlib.Path(os.environ["PLUGIN_DATA"], "worked").touch()
        say({"success": True, "output": "worked"})
    elif method == "hook" and message["params"]["hook"] == "get_tags":
        say(["a", 1])
    elif method == "hook" and message["params"]["hook"] == "is_enabled":
        print("thinking", flush=True)
        say(True)
    elif method == "hook" and message["params"]["hook"] == "get_template":
        sys.exit("enough")
    elif method == "hook":
        say("whatever")
    elif method == "ping":
        say({})
    elif method == "shutdown":
        say({})
        time.sleep(60)
"#;

#[tokio::test]
async fn a_program_that_breaks_the_protocol_is_told_how() {
    let folder = Folder::new();
    let manifest = "[plugin]\nname = \"rude\"\n[run]\ncommand = [\"python3\", \"rude.py\"]\n";
    folder.write("plugin.toml", manifest);
    folder.write("rude.py", RUDE);
    folder.write("examples.toml", "[[example]]\ntool = \"work\"\nsays = \"worked\"\n");
    let report = test(&folder.0).await;
    let failed: Vec<String> = report
        .checks
        .iter()
        .filter_map(|check| match &check.verdict {
            Verdict::Failed(finding) => {
                let seen = finding.seen.lines().next().unwrap_or_default();
                Some(format!("{}: {} | {seen}", check.about, check.name))
            }
            _ => None,
        })
        .collect();
    expect![[r#"
        feature rude: init answers as its schema says | the error "not ready"
        feature rude: get_tags answers as its schema says | /1: 1 is not of type "string"
        feature rude: is_enabled answers as its schema says | a line on standard output that is no message: thinking
        feature rude: get_template answers as its schema says | the process ended; it said last:
        package: refuses methods it does not know | an unknown method gave no answer within 5 s
        package: refuses hooks and plugins it does not know | an unknown hook was answered with "whatever"
        package: passes over lines that are no messages | a ping gave the process ended; it said last:
        tool rude: answers soon after it was cancelled | no answer within 2 s
        package: refuses a protocol it does not speak | it says it speaks protocol 99
        package: ends when it is asked to | it still runs 2 s after shutdown"#]].assert_eq(&failed.join("\n"));
}

#[test]
fn templates_in_typescript_pass_their_compiler() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["sdk/typescript", "web"].map(|it| root.join(it).join("node_modules"));
    let compiler = places.iter().map(|it| it.join("typescript/bin/tsc")).find(|it| it.is_file());
    let folder = Folder::new();
    for kind in KINDS {
        let place = from_template(&folder, kind, Language::TypeScript);
        for file in ["index", "testing", "types"] {
            assert!(place.join(format!("orlop/{file}.d.ts")).is_file(), "{file}");
        }
        let Some(compiler) = compiler.as_ref().filter(|_| has_node()) else {
            orlop_testkit::skip("the types of templates", "no compiler of TypeScript");
            return;
        };
        let checked = std::process::Command::new("node")
            .arg(compiler)
            .args(["--noEmit", "--project"])
            .arg(&place)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stdout);
        assert!(checked.status.success(), "{kind:?}: {said}");
    }
}

#[tokio::test]
async fn one_mistake_is_told_once() {
    let folder = Folder::new();
    let code = "class Slip:\n    name = \"slip\"\n\n    def initialize_request(self, native_messages, state):\n        state[\"request\"][\"absent\"]\n";
    let report = test(&folder.write("slip.py", code)).await;
    expect![[r#"
        skip  package: examples (there are none; write some into slip.examples.toml)
        skip  feature slip: initialize_request changes nothing the second time (it does not answer)
        FAIL  feature slip: initialize_request answers as its schema says
                seen:     the error "Slip.initialize_request: KeyError: absent"
                expected: RequestChange, or null
                fix:      find the line that fails in the log of the plugin (run with -v), and let the hook take this input
        skip  feature slip: takes calls at once (no hook that can be called for it answers)
        skip  feature slip: survives faults as declared (it has no hook that can be called without an example and answers)
        17 passed, 1 failed, 4 skipped"#]].assert_eq(&notable(&report));
}

#[tokio::test]
async fn what_does_not_start_says_what_to_do() {
    let folder = Folder::new();
    let mut cases = vec![
        ("a.py", "def broken(:\n"),
        ("b.py", "import no_such_module\n"),
        ("c.py", "x = 1\n"),
        ("d.py", "import os\nos._exit(3)\n"),
        (
            "new/raw.py",
            "import json\nprint(json.dumps({\"id\": json.loads(input())[\"id\"], \"result\": {\"protocol\": 2}}), flush=True)\ninput()\n",
        ),
    ];
    let manifest = "[plugin]\nname = \"new\"\n[run]\ncommand = [\"python3\", \"raw.py\"]\n";
    folder.write("new/plugin.toml", manifest);
    if has_node() {
        cases.push(("e.mjs", "import \"no-such-package\";\n"));
        cases.push(("f.mjs", "export const x = 1;\n"));
    }
    let mut told = Vec::new();
    for (file, code) in cases {
        let file = folder.write(file, code);
        let report =
            test(if code.contains("input()") { file.parent().unwrap() } else { &file }).await;
        let [check] = &report.checks[..] else { panic!("{report}") };
        let Verdict::Failed(finding) = &check.verdict else { panic!("{report}") };
        told.push(finding.fix.to_string());
    }
    let fix = |start: &str| told.iter().filter(|fix| fix.starts_with(start)).count();
    assert!(fix("correct what the message says") == 1, "{told:?}");
    assert!(fix("install what it imports") == told.len() / 3, "{told:?}");
    assert!(fix("write a class with a name") == told.len() / 3, "{told:?}");
    assert!(fix("let it run until") == 1, "{told:?}");
    assert!(fix("update the older one") == 1, "{told:?}");
}

#[tokio::test]
async fn what_people_see_is_written_down_and_a_change_is_noticed() {
    let folder = Folder::new();
    let place = from_template(&folder, Kind::Tool, Language::Python);
    let package = || Package::read(&place).unwrap();
    let update = TestOptions { update: true, ..TestOptions::default() };
    assert!(kit::test(package(), &env(), update).await.unwrap().is_green());
    let written = std::fs::read_to_string(place.join("displays.toml")).unwrap();
    expect![[r##"
        # What people see of the examples. `orlop plugin test --update` writes this file: look at what changed.

        ["greets by name"]
        result = "Hello, Ada!"
    "##]].assert_eq(&written);
    let report = test(&place).await;
    assert_eq!(notable(&report), "31 passed, 0 failed, 0 skipped");
    std::fs::write(place.join("displays.toml"), written.replace("Hello", "Goodbye")).unwrap();
    let report = test(&place).await;
    expect![[r#"
        FAIL  tool greet: what people see of "greets by name"
                seen:     result: Hello, Ada!
                expected: result: Goodbye, Ada!
                fix:      if this is what people should see, `orlop plugin test --update` writes it down
        30 passed, 1 failed, 0 skipped"#]].assert_eq(&notable(&report));
}

#[tokio::test]
async fn a_file_alone_has_its_examples_beside_it() {
    let folder = Folder::new();
    let code = "import orlop\n\n@orlop.tool\ndef add(a: float, b: float) -> float:\n    'Adds.'\n    return a + b\n";
    let file = folder.write("sums.py", code);
    let report = test(&file).await;
    assert!(notable(&report).contains("write some into sums.examples.toml"), "{report}");
    folder.write("sums.examples.toml", "[[example]]\ntool = \"add\"\ninput = { a = 1, b = 2 }\nexpect = { success = true, output = 4 }\n");
    let report = test(&file).await;
    let checks = report.to_json();
    let failed: Vec<&Value> = checks["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["verdict"] == "failed")
        .collect();
    assert_eq!(failed.len(), 1, "{report}");
    assert_eq!(failed[0]["seen"], "/output: 3");
}

#[test]
fn templates_are_short_and_nothing_is_overwritten() {
    let folder = Folder::new();
    let languages = [Language::Python, Language::JavaScript, Language::TypeScript, Language::Rust];
    for language in languages {
        for kind in KINDS {
            let new = New { name: "short".to_owned(), kind, language };
            let parent = folder.0.join(format!("{language:?}")).join(kind.as_str());
            let made = new_plugin(&new, &parent).unwrap();
            let main = std::fs::read_to_string(made.folder.join(made.main)).unwrap();
            assert!(main.lines().count() <= 15, "{language:?} {kind:?}");
            let readme = std::fs::read_to_string(made.folder.join("README.md")).unwrap();
            assert!(readme.lines().count() <= 5 && !readme.contains("my_plugin"), "{readme}");
            // In Python functions are named after their package.
            let is_named = main.contains("\"short\"");
            assert!(is_named || language == Language::Python && kind == Kind::Tool, "{main}");
            let again = new_plugin(&new, &parent).unwrap_err();
            assert!(again.message().contains("is there already and stays as it is"));
        }
    }
    for name in ["", "a b", "../up", "1st", "-x", &"x".repeat(65)] {
        let new = New { name: name.to_owned(), kind: Kind::Tool, language: Language::Python };
        assert!(new_plugin(&new, &folder.0).is_err(), "{name}");
    }
}
