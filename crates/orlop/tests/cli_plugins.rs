//! Packages of plugins with the real program: added, granted, used, switched off, removed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Place, finish, signal};
use serde_json::json;

const DICE: &str = "import orlop\n\n@orlop.tool\ndef roll(sides: int = 6) -> int:\n    'Rolls a die.'\n    return sides\n";

fn manifest(grants: &str) -> String {
    format!("[plugin]\nname = \"dice\"\nversion = \"1.0.0\"\n[run]\npython = \"dice.py\"\n{grants}")
}

/// The names of packages, and those left out with the reason.
async fn listed(place: &Place) -> (Vec<String>, Vec<String>) {
    let listed = place.run(&["plugin", "list", "--json"]).await.json();
    let names = |key: &str, field: &str| -> Vec<String> {
        let items = listed[key].as_array().unwrap().iter();
        items.map(|item| item[field].as_str().unwrap().to_owned()).collect()
    };
    (names("packages", "name"), names("left_out", "reason"))
}

#[tokio::test]
async fn a_file_is_added_used_and_removed() {
    let place = Place::new("plugin-file").await;
    place.write("dice.py", DICE);
    let added = place.run(&["plugin", "add", "dice.py"]).await.ok();
    assert_eq!(added, "added dice: tool dice\n");
    assert!(place.run(&["tool", "list"]).await.ok().contains("Rolls a die."));
    assert_eq!(listed(&place).await, (vec!["dice".to_owned()], vec![]));
    let other = place.run(&["plugin", "add", "missing.py"]).await;
    other.fails(4, &["missing.py is no folder and no file"]);
    assert_eq!(place.run(&["plugin", "remove", "dice"]).await.ok(), "removed dice\n");
    assert_eq!(listed(&place).await, (vec![], vec![]));
    place.run(&["plugin", "remove", "dice"]).await.fails(4, &["no plugin \"dice\" was added"]);
}

#[tokio::test]
async fn what_a_package_asks_for_is_granted_once_and_again_if_it_changes() {
    let place = Place::new("plugin-grants").await;
    place.write("dice/dice.py", DICE);
    place.write("dice/plugin.toml", manifest("[grants]\napp = [\"load_session\"]\n"));
    let refused = place.run(&["plugin", "add", "dice"]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("- read your conversations"), "{refused:?}");
    assert!(refused.err.contains("say --yes if it may"), "{refused:?}");
    assert_eq!(listed(&place).await.0, Vec::<String>::new());
    place.run(&["plugin", "add", "dice", "--yes"]).await.ok();
    assert_eq!(listed(&place).await.0, ["dice"]);

    place.write("dice/plugin.toml", manifest("[grants]\nenv = [\"DICE_KEY\"]\n"));
    let (packages, left_out) = listed(&place).await;
    assert_eq!(packages, Vec::<String>::new());
    assert!(left_out[0].contains("see the environment variable DICE_KEY"), "{left_out:?}");
    assert!(left_out[0].contains("orlop plugin accept dice"), "{left_out:?}");
    place.run(&["plugin", "accept", "dice", "--yes"]).await.ok();
    assert_eq!(listed(&place).await.0, ["dice"]);
}

#[tokio::test]
async fn dangers_are_told_before_anything_runs_and_a_new_one_asks_again() {
    let place = Place::new("plugin-danger").await;
    let code = format!(
        "{DICE}\nimport pathlib, os\npathlib.Path(os.environ['PLUGIN_DATA'], 'ran').touch()\n"
    );
    place.write("dice/dice.py", code);
    let danger = |text: &str| manifest(&format!("[grants.danger]\n{text}\n"));
    place.write("dice/plugin.toml", danger("roll = \"decides over your money\""));
    let asked = place.run(&["plugin", "add", "dice"]).await;
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.err.contains("- offer roll, which decides over your money"), "{asked:?}");
    assert!(!place.home().join("plugin-data/dice/ran").exists(), "it ran before it was agreed to");
    place.run(&["plugin", "add", "dice", "--yes"]).await.ok();
    assert_eq!(listed(&place).await.0, ["dice"]);
    place.write("dice/plugin.toml", danger("roll = \"decides over your house\""));
    let (packages, left_out) = listed(&place).await;
    assert_eq!(packages, Vec::<String>::new());
    assert!(left_out[0].contains("which decides over your house"), "{left_out:?}");
    // A warning of what is not there warns of nothing.
    place.write("dice/plugin.toml", danger("throw = \"decides over your house\""));
    let tested = place.run(&["plugin", "test", "dice"]).await;
    assert_eq!(tested.code, Some(1), "{tested:?}");
    assert!(tested.out.contains("seen:     plugin.toml warns of \"throw\""), "{tested:?}");
}

#[tokio::test] // C-01
async fn a_plugin_whose_name_is_taken_is_left_out_and_the_rest_works() {
    let place = Place::new("plugin-namesake").await;
    place.write("dice.py", DICE);
    place.run(&["plugin", "add", "dice.py"]).await.ok();
    place.write("files.py", DICE);
    place.run(&["plugin", "add", "files.py"]).await;
    let run = place.run(&["tool", "list"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = "orlop: the tool \"files\" of the package \"files\" is left out, because there is one of that name already; give it another name";
    assert!(run.err.contains(told), "{}", run.err);
    assert!(run.out.contains("read_file") && run.out.contains("Rolls a die."), "{}", run.out);
}

#[tokio::test]
async fn a_package_that_is_broken_or_switched_off_is_left_out() {
    let place = Place::new("plugin-broken").await;
    place.write("dice.py", DICE);
    place.run(&["plugin", "add", "dice.py"]).await.ok();
    place.write("dice.py", "import no_such_module_anywhere\n");
    let (packages, left_out) = listed(&place).await;
    assert_eq!(packages, Vec::<String>::new());
    assert!(left_out[0].contains("no_such_module_anywhere"), "{left_out:?}");
    place.write("dice.py", DICE);
    assert_eq!(listed(&place).await.0, ["dice"]);
    let off = ["--set", "plugins.dice.enabled=false", "plugin", "list", "--json"];
    assert_eq!(place.run(&off).await.json()["packages"], json!([]));
}

#[tokio::test]
async fn a_repository_is_copied_and_goes_with_the_plugin() {
    let place = Place::new("plugin-git").await;
    place.write("source/dice/dice.py", DICE);
    place.write("source/dice/plugin.toml", manifest(""));
    let folder = place.path().join("source/dice");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.email=a@example.com", "-c", "user.name=a"];
        let mut git = std::process::Command::new("git");
        let done = git.current_dir(&folder).args(identity).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let url = format!("file://{}", folder.display());
    let added = place.run(&["plugin", "add", &url]).await;
    assert_eq!((added.code, added.out.as_str()), (Some(0), "added dice: tool dice\n"), "{added:?}");
    let list = place.run(&["plugin", "list", "--json"]).await.json();
    let copy = list["packages"][0]["folder"].as_str().unwrap().to_owned();
    assert_ne!(copy, folder.display().to_string());
    place.run(&["plugin", "remove", "dice"]).await.ok();
    assert!(!std::path::Path::new(&copy).exists() && folder.join("dice.py").exists());
}

/// Whether a process runs; one that has ended and was not asked how does not.
#[cfg(target_os = "linux")]
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn leaving_takes_plugins_that_hang_along() {
    let place = Place::new("plugin-hangs").await;
    let code = r#"
import os, pathlib, subprocess, time

class Stuck:
    name = "stuck"

    def intercept_chat_request(self):
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        told = pathlib.Path(os.environ["PLUGIN_DATA"], "told")
        told.with_suffix(".new").write_text(f"{os.getpid()} {child.pid}")
        told.with_suffix(".new").rename(told)
        while True:
            time.sleep(1000)
"#;
    place.write("stuck.py", code);
    place.run(&["plugin", "add", "stuck.py"]).await.ok();
    let told = place.database().with_file_name("plugin-data").join("stuck/told");
    let child = place.command(&["run", "hi"]).spawn().unwrap();
    let processes = tokio::time::timeout(common::BOUND, async {
        loop {
            match std::fs::read_to_string(&told) {
                Ok(text) => break text,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    let processes = processes.await.unwrap();
    assert!(processes.split(' ').all(runs), "{processes}");
    signal(&child, "INT");
    assert_eq!(finish(child).await.code, Some(130));
    assert!(!processes.split(' ').any(runs), "{processes}");
}

/// Runs a program in the folder of the place.
async fn prepare(place: &Place, program: &str, arguments: &[&str]) -> Option<common::Done> {
    let started = place.program(program).args(arguments).spawn().ok()?;
    Some(finish(started).await)
}

#[tokio::test]
async fn a_package_of_npm_is_added_with_what_it_needs() {
    let place = Place::new("plugin-npm").await;
    let package = json!({
        "name": "@ana/greeter", "version": "1.0.0", "type": "module",
        "dependencies": { "words": "1.0.0" }, "bundleDependencies": ["words"],
        "scripts": { "postinstall": "echo ran > ran.txt" },
    });
    place.write("greeter/package.json", package.to_string());
    place.write(
        "greeter/plugin.toml",
        "[plugin]\nname = \"greeter\"\n[run]\nnode = \"plugin.mjs\"\n",
    );
    let code = r#"
import { tool } from "orlop";
import { hello } from "words";
export const greet = tool({
  name: "greet", description: `Says ${hello}.`, parameters: { type: "object", properties: {} }, run: () => hello,
});
"#;
    place.write("greeter/plugin.mjs", code);
    let words =
        json!({ "name": "words", "version": "1.0.0", "type": "module", "exports": "./index.mjs" });
    place.write("greeter/node_modules/words/package.json", words.to_string());
    place.write("greeter/node_modules/words/index.mjs", "export const hello = 'Ahoy';\n");
    let Some(packed) =
        prepare(&place, "npm", &["pack", "--silent", "--offline", "./greeter"]).await
    else {
        return orlop_testkit::skip("packages of npm", "there is no npm");
    };
    let file = packed.ok().trim().to_owned();
    let source = format!("npm:./{file}");
    let added = place.run(&["plugin", "add", &source]).await;
    assert_eq!(
        (added.code, added.out.as_str()),
        (Some(0), "added greeter: tool greet\n"),
        "{added:?}"
    );
    assert!(place.run(&["tool", "list"]).await.ok().contains("Says Ahoy."));
    let copies = place.database().with_file_name("plugins");
    let copy = std::fs::read_dir(&copies).unwrap().next().unwrap().unwrap().path();
    assert!(!copy.join("node_modules/@ana/greeter/ran.txt").exists(), "scripts must not run");
    place.run(&["plugin", "add", &source]).await.fails(1, &["orlop plugin remove greeter"]);
    place.run(&["plugin", "remove", "greeter"]).await.ok();
    assert!(!copy.exists(), "the copy goes with it");
}

#[tokio::test]
async fn a_package_of_pip_is_added_with_what_it_needs() {
    let place = Place::new("plugin-pip").await;
    // A wheel is a zip file with a description.
    let script = r#"
import zipfile
files = {
    "greeter/__init__.py": "",
    "greeter/plugin.toml": '[plugin]\nname = "greeter"\n[run]\npython = "plugin.py"\n',
    "greeter/plugin.py": "import orlop\nfrom greeting_words import HELLO\n\n@orlop.tool(description=f'Says {HELLO}.')\ndef greet() -> str:\n    return HELLO\n",
    "greeting_words.py": "HELLO = 'Ahoy'\n",
    "greeter-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n",
    "greeter-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
with zipfile.ZipFile("greeter-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
    record = "".join(f"{name},,\n" for name in files) + "greeter-1.0.dist-info/RECORD,,\n"
    wheel.writestr("greeter-1.0.dist-info/RECORD", record)
"#;
    prepare(&place, "python3", &["-c", script]).await.unwrap().ok();
    let has_pip = prepare(&place, "python3", &["-m", "pip", "--version"]).await.unwrap();
    if has_pip.code != Some(0) {
        return orlop_testkit::skip("packages of pip", "there is no pip");
    }
    let source = "pip:./greeter-1.0-py3-none-any.whl";
    let added = place.run(&["plugin", "add", source]).await;
    assert_eq!(
        (added.code, added.out.as_str()),
        (Some(0), "added greeter: tool greeter\n"),
        "{added:?}"
    );
    assert!(place.run(&["tool", "list"]).await.ok().contains("Says Ahoy."));
    place.run(&["plugin", "remove", "greeter"]).await.ok();
    let copies = place.database().with_file_name("plugins");
    assert_eq!(std::fs::read_dir(copies).unwrap().count(), 0, "the copy goes with it");
}

#[tokio::test]
async fn a_folder_made_for_other_agents_is_added_like_any_other() {
    let place = Place::new("plugin-bundle").await;
    place.write(
        "harbour/plugin.json",
        r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "harbour"}"#,
    );
    let skill = "---\nname: moor\ndescription: Moors a ship.\n---\nTie it.\n";
    place.write("harbour/skills/moor/SKILL.md", skill);
    let servers = json!({
        "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
        "mcpServers": { "tides": { "type": "stdio", "command": "tides" }, "old": { "type": "sse", "url": "https://x.example" } },
    });
    place.write("harbour/mcp.json", servers.to_string());
    let command = "grep -q storm && { echo 'stay in port' >&2; exit 2; }; true";
    let hooks = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    place.write("harbour/hooks/hooks.json", hooks.to_string());

    let asked = place.run(&["plugin", "add", "harbour"]).await;
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.err.contains("- run the MCP server tides: tides"), "{asked:?}");
    assert!(asked.err.contains("- run when you write something: grep"), "{asked:?}");
    let added = place.run(&["plugin", "add", "harbour", "--yes"]).await;
    assert_eq!(added.out, "added harbour: 1 skill, 1 MCP server, 1 command\n", "{added:?}");
    assert!(
        added.err.contains("not used: MCP server old: HTTP with SSE is not spoken"),
        "{added:?}"
    );

    let blocked = place.run(&["run", "sail into the storm"]).await;
    assert!(blocked.out.contains("stay in port"), "{blocked:?}");
    assert_eq!(place.times_asked(), 0);
    let answered = place.run(&["run", "hello"]).await;
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), "You said: hello\n"));
    assert!(place.asked().to_string().contains("Moors a ship."), "{}", place.asked());
    let servers = place.run(&["mcp", "list", "--json"]).await.json();
    assert_eq!(servers[0]["name"], "tides");
    place.run(&["plugin", "test", "harbour"]).await.fails(2, &["no program of its own"]);

    // What runs is granted: another command is another question.
    place.write("harbour/hooks/hooks.json", hooks.to_string().replace("storm", "rain"));
    let (packages, left_out) = listed(&place).await;
    assert_eq!((packages.len(), left_out.len()), (0, 1), "{left_out:?}");
    assert!(left_out[0].contains("orlop plugin accept harbour"), "{left_out:?}");
}
