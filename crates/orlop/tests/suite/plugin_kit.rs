//! `orlop plugin new` and `orlop plugin test` as authors use them, with the commands of the guide.

use crate::common;

use crate::common::npm::NpmRegistry;
use crate::common::{Place, finish};
use expect_test::expect;
use std::path::Path;
use std::process::Stdio;

/// The commands of the guide that begin a plugin, as they stand there.
fn blocks() -> Vec<String> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plugins/kit.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let blocks = guide.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(str::to_owned).collect()
}

/// Runs commands in a shell that finds this `orlop`.
async fn shell(place: &Place, commands: &str) -> common::Done {
    let bin = Path::new(env!("CARGO_BIN_EXE_orlop")).parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = place.program("sh");
    shell.args(["-e", "-c", commands]).env("PATH", format!("{bin}:{path}"));
    // Where the tools of Rust are found, which the home folder of the test has not.
    let home = std::env::var("HOME").unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let place = std::env::var(name).unwrap_or_else(|_| format!("{home}/{folder}"));
        shell.env(name, place);
    }
    finish(shell.stdout(Stdio::piped()).spawn().unwrap()).await
}

fn has(program: &str, arguments: &[&str]) -> bool {
    let done = std::process::Command::new(program).args(arguments).output();
    done.is_ok_and(|done| done.status.success())
}

/// npm finds the compiler that the SDK is tested with at a registry of this machine.
async fn prepare_npm(place: &Place) -> Option<NpmRegistry> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/typescript/node_modules");
    let registry = NpmRegistry::with(&modules, "typescript").await?;
    let config = format!("registry={}\naudit=false\nupdate-notifier=false\n", registry.url());
    place.write(".npmrc", config);
    Some(registry)
}

/// Cargo asks no registry: what is there of it is enough.
fn prepare_cargo(place: &Place) {
    place.write(".cargo/config.toml", "[net]\noffline = true\n[term]\nquiet = true\n");
}

#[tokio::test]
async fn three_commands_of_the_guide_lead_to_a_green_test() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 4);
    for commands in blocks {
        assert_eq!(commands.lines().count(), 3, "{commands}");
        let place = Place::new("kit").await;
        let mut npm = None;
        if commands.contains("script") && !has("node", &["--version"]) {
            orlop_testkit::skip(&commands, "there is no node");
            continue;
        }
        if commands.contains("npm") {
            npm = prepare_npm(&place).await;
            if npm.is_none() {
                orlop_testkit::skip(
                    &commands,
                    "no compiler of TypeScript; `npm ci` in sdk/typescript",
                );
                continue;
            }
        }
        if commands.contains("cargo") {
            prepare_cargo(&place);
        }
        let done = shell(&place, &commands).await;
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
        assert!(done.out.contains("30 passed, 0 failed, 1 skipped"), "{}", done.out);
        assert!(done.out.starts_with("made hello/; the plugin is in hello/"), "{}", done.out);
        if let Some(npm) = npm {
            assert_eq!(npm.sent(), ["typescript"], "npm itself brought the compiler");
        }
    }
}

#[tokio::test]
async fn a_failing_plugin_has_the_exit_code_one_and_says_why() {
    let place = Place::new("kit").await;
    place.run(&["plugin", "new", "hello"]).await.ok();
    let examples =
        "[[example]]\ntool = \"greet\"\ninput = { name = \"Ada\" }\nsays = \"Goodbye!\"\n";
    place.write("hello/examples.toml", examples);
    let done = place.run(&["plugin", "test", "hello"]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(1), ""));
    let failed: Vec<&str> = done.out.lines().filter(|line| !line.starts_with("ok ")).collect();
    expect![[r#"
        FAIL  tool hello: example "greet"
                seen:     Hello, Ada!
                expected: Goodbye!
                fix:      correct the plugin, or the example if this is what it should do
        skip  tool hello: what people see of "greet" (`orlop plugin test --update` writes it down, so that a change is noticed)

        29 passed, 1 failed, 1 skipped"#]].assert_eq(&failed.join("\n"));
    // The name of one that was added will do, and programs read JSON.
    place.run(&["plugin", "add", "hello", "--yes"]).await.ok();
    let moved = place.run_in("elsewhere", &["plugin", "test", "hello", "--json", "--update"]).await;
    assert_eq!((moved.code, moved.err.as_str()), (Some(1), ""));
    let report: serde_json::Value = serde_json::from_str(&moved.out).unwrap();
    assert_eq!((&report["failed"], &report["package"]), (&1.into(), &"hello".into()));
    assert!(place.path().join("hello/displays.toml").is_file());
}

#[tokio::test]
async fn errors_are_kind() {
    let place = Place::new("kit").await;
    place.run(&["plugin", "new", "hello"]).await.ok();
    let written = std::fs::read_to_string(place.path().join("hello/plugin.py")).unwrap();
    place
        .run(&["plugin", "new", "hello", "--lang", "javascript"])
        .await
        .fails(1, &["is there already and stays as it is"]);
    assert_eq!(std::fs::read_to_string(place.path().join("hello/plugin.py")).unwrap(), written);
    assert!(!place.path().join("hello/plugin.mjs").exists());
    place.run(&["plugin", "new", "a b"]).await.fails(2, &["use up to 64 letters, digits, _ and -"]);
    place.run(&["plugin", "test", "nowhere"]).await.fails(4, &["no plugin \"nowhere\" was added"]);
    place.run(&["plugin", "test", "./nowhere"]).await.fails(4, &["name the folder or the file"]);
    place.write("hello/examples.toml", "[[example]]\nname = \"x\"\n");
    place
        .run(&["plugin", "test", "hello"])
        .await
        .fails(2, &["exactly one of tool, action, chat and hook"]);
    place.run(&["plugin", "new", "rusty", "--lang", "rust"]).await.ok();
    let unbuilt = place.run(&["plugin", "test", "rusty"]).await;
    assert_eq!(unbuilt.code, Some(1));
    assert!(unbuilt.out.contains("is not there; build it first: `cargo build`"), "{}", unbuilt.out);
    place.write("hello/plugin.py", "def broken(:\n");
    place.write("hello/examples.toml", "");
    let done = place.run(&["plugin", "test", "hello"]).await;
    assert_eq!(done.code, Some(1));
    assert!(
        done.out.contains("plugin.py cannot be loaded: line 1: invalid syntax"),
        "{}",
        done.out
    );
}

#[tokio::test]
async fn a_method_that_is_nearly_a_hook_is_told() {
    let place = Place::new("kit").await;
    let told = async |file: &str, code: &str, written: &str, meant: &str| {
        let warning =
            format!("Slip.{written} is no hook, so it is never called; did you mean {meant}?");
        place.write(file, code);
        let tested = place.run(&["plugin", "test", file]).await;
        assert_eq!(tested.code, Some(0), "{}", tested.out);
        let expected =
            format!("warn  package: has only methods that are called\n        {warning}\n");
        assert!(tested.out.contains(&expected), "{}", tested.out);
        let added = place.run(&["plugin", "add", file, "--yes"]).await;
        assert_eq!((added.code, added.err), (Some(0), format!("orlop: {warning}\n")));
    };
    let python = "class Slip:\n    name = \"slip\"\n\n    def get_tags(self):\n        return []\n\n    def initialise_request(self, native_messages):\n        pass\n";
    told("slip.py", python, "initialise_request", "initialize_request").await;
    if has("node", &["--version"]) {
        let javascript = "export class Slip {\n  name = \"slipped\";\n  getTags() { return []; }\n  initialiseRequest() {}\n}\n";
        told("slipped.mjs", javascript, "initialiseRequest", "initializeRequest").await;
    }
}
