//! Packages of plugins with the real program: added, granted, used, switched off, removed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Place;
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
