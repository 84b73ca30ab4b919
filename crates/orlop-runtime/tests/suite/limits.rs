//! What a package may use up, and what its failures mean: as it says, and as a configuration tightens
//! it.

use crate::common::stage::*;
use crate::common::*;
use orlop_runtime::{LeftOut, Runtime};
use serde_json::json;

/// How a turn ends with a plugin that fails.
async fn ends(limits: &str, code: &str) -> String {
    let stage = Stage::says(&["hello"]);
    let package = package(&stage, "fragile", Some(limits), code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "hi")).await;
    runtime.stop().await;
    names(&events).rsplit(' ').next().unwrap().to_owned()
}

const SKIP: &str = "[limits]\non_failure = \"skip\"\n";
const FAIL: &str = "[limits]\non_failure = \"fail\"\n";

#[tokio::test]
async fn a_turn_goes_on_without_a_feature_that_says_so() {
    let code = r#"
class Fragile:
    name = "fragile"

    def initialize_request(self, native_messages, state):
        raise RuntimeError("it broke")
"#;
    let usual = ends("", code).await;
    assert_ne!(usual, "final", "the hook table says that it fails");
    assert_eq!(ends(SKIP, code).await, "final");
    assert_eq!(ends(FAIL, code).await, usual);
}

#[tokio::test]
async fn a_chunk_stays_as_it_is_where_an_extension_says_so() {
    let code = r#"
class Fragile:
    name = "fragile"

    def process_chunk(self, chunk, state):
        raise RuntimeError("it broke")
"#;
    assert_ne!(ends("", code).await, "final");
    assert_eq!(ends(SKIP, code).await, "final");
}

/// A tool that never ends, and one that says too much.
const WILD: &str = r#"
import time
import orlop

@orlop.tool
def hang() -> str:
    "Hangs."
    time.sleep(1000)

@orlop.tool
def flood() -> str:
    "Says too much."
    return "x" * 2_000_000
"#;

/// What the model reads of a call of a tool, with these limits in the configuration.
async fn reads(tool: &str, limits: &str) -> String {
    let stage = Stage::calls(&[("c1", tool, json!({}))]);
    package(&stage, "wild", Some(""), WILD);
    let (stage, runtime, left_out) = configured(stage, limits);
    assert_eq!(left_out, []);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    runtime.stop().await;
    results(&events).remove(0)
}

/// The stage with the package `wild`, named in the configuration.
fn configured(stage: Stage, limits: &str) -> (Stage, Runtime, Vec<LeftOut>) {
    let folder = stage.outside().join("packages/wild");
    let text = format!("[plugins.wild]\npath = {folder:?}\n[plugins.wild.limits]\n{limits}\n");
    let stage = stage.more(&text);
    let (runtime, left_out) = Runtime::load(&stage.config().unwrap(), &stage.home());
    let added = runtime.clone();
    (stage.with(|plugins| added.plugins(plugins)), runtime, left_out)
}

#[tokio::test]
async fn a_configuration_gives_a_package_less_time() {
    let told = reads("hang", "timeout_ms = 300").await;
    assert!(told.contains("gave no answer within 300 ms (limits.timeout_ms)"), "{told}");
}

#[tokio::test]
async fn a_configuration_lets_a_package_say_less() {
    let told = reads("flood", "output_mb = 1").await;
    assert!(told.contains("sent a line of more than 1 MiB"), "{told}");
    let whole = reads("flood", "").await;
    assert!(!whole.contains("MiB") && whole.starts_with("xxx"), "{}", &whole[..80]);
}

#[tokio::test]
async fn a_limit_that_is_none_is_told() {
    let stage = Stage::default();
    package(&stage, "wild", Some(""), WILD);
    let (_, _, left_out) = configured(stage, "memory = 5");
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].reason.contains("[plugins.wild.limits]"), "{left_out:?}");
    assert!(left_out[0].reason.contains("memory"), "{left_out:?}");
}
