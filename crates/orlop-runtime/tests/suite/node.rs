//! Plugins in JavaScript, run as processes.

use crate::common::stage::*;
use crate::common::*;
use orlop_core::{ActionCall, Map};
use serde_json::json;

#[tokio::test]
async fn a_declaration_is_a_tool() {
    let stage = Stage::calls(&[("c1", "add", json!({"a": 2, "b": 3}))]);
    let code = r#"
import { tool } from "orlop";
export const add = tool({
  name: "add", description: "Adds two numbers.",
  parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  run({ a, b }) { console.log("not for the protocol"); return a + b; },
});
"#;
    let package = node_package(&stage, "adder", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert_eq!(results(&events), ["5"]);
    runtime.stop().await;
}

#[tokio::test]
async fn an_application_plugin_works_with_sessions() {
    let code = r#"
import { ApplicationPlugin } from "orlop";
export class Counter extends ApplicationPlugin {
  name = "counter";
  getActions() {
    return [{ id: "count", label: "Count", inputs: { session_id: { type: "string", required: true } } }];
  }
  async executeAction(input, call) {
    const id = input.params.session_id;
    return call.app.withSessionLock(id, async () => {
      const { session } = await call.app.loadSession(id);
      session.metadata.counted = session.messages.length;
      await call.app.saveSession(session);
      const part = await call.core.sliceSession(session, { start: 0, end: 1 });
      return { message: `${session.messages.length} messages, ${part.messages.length} in a part` };
    });
  }
}
"#;
    let grants = "[grants]\napp = [\"load_session\", \"save_session\", \"acquire_session_lock\"]\n";
    let stage = Stage::says(&["hello"]);
    let package = node_package(&stage, "counter", Some(grants), code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    let call = ActionCall {
        plugin: "counter".to_owned(),
        action: "count".to_owned(),
        params: Map::from_iter([("session_id".to_owned(), json!("s"))]),
    };
    let done = app.execute_action(call, Some("s")).await.unwrap();
    assert_eq!(done["message"], "2 messages, 1 in a part");
    assert_eq!(kept(&app, "s", "counted").await, json!(2));
    // Native history is as it was: the next turn goes on with it.
    assert!(app.session("s").await.unwrap().session.verify().is_ok());
    runtime.stop().await;
}

#[tokio::test]
async fn an_extension_sees_every_chunk() {
    let code = r#"
import { Extension } from "orlop";
export class Loud extends Extension {
  name = "loud";
  processChunk({ chunk }) {
    if (chunk.partial) chunk.partial.content = chunk.partial.content.toUpperCase();
    return chunk;
  }
}
"#;
    let stage = Stage::default();
    stage.model.reply(orlop_testkit::scripted::ScriptedReply::text(&["one ", "two"]));
    let package = node_package(&stage, "loud", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "hi")).await;
    let shown: String = events
        .iter()
        .filter_map(|event| match &event.kind {
            orlop_app::EventKind::Partial { message, .. } => Some(message.content.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, "ONE TWO");
    runtime.stop().await;
}
