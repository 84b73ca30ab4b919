//! Requests that plugins send themselves: their events come as they happen.

use crate::common::stage::*;
use crate::common::*;
use orlop_core::ActionCall;
use orlop_testkit::scripted::ScriptedReply;

const GRANTS: &str = "[grants]\napp = [\"load_session\", \"send_request\", \"update_agent\"]\n";

/// In both: an action of the core and one of the application, each with the text as it came.
const PYTHON: &str = r#"
class Asker:
    name = "asker"

    def get_actions(self):
        return [{"id": name, "label": name} for name in ("core", "app", "later")]

    def execute_action(self, app, action_id):
        core, config, session = app.load_session("s")
        if action_id == "core":
            events = core.send_request_stream(session, config)
        else:
            events = app.send_request(core, session, message="again", stream=True)
        return {"message": said(events)}

class Later:
    name = "later"

    def get_actions(self):
        return [{"id": "later", "label": "later"}]

    async def execute_action(self, app):
        core, config, session = await app.load_session("s")
        return {"message": said([event async for event in app.send_request(core, session, message="again", stream=True)])}

def said(events):
    events = list(events)
    parts = [event["message"]["content"] for event in events if event["type"] == "partial"]
    return "|".join(parts) + " " + events[-1]["type"]
"#;

const NODE: &str = r#"
import { ApplicationPlugin } from "orlop";
export class Asker extends ApplicationPlugin {
  name = "asker";
  getActions() { return ["core", "app"].map((id) => ({ id, label: id })); }
  async executeAction({ action_id }, call) {
    const { agent_id, session } = await call.app.loadSession("s");
    const events = action_id === "core" ? call.core.forAgent(agent_id).streamRequest(session) : call.app.streamRequest(session, { message: "again" });
    const parts = [];
    let last;
    for await (const event of events) {
      if (event.type === "partial") parts.push(event.message.content);
      last = event.type;
    }
    return { message: `${parts.join("|")} ${last}` };
  }
}
"#;

async fn check(package: impl FnOnce(&Stage) -> orlop_runtime::Package, actions: &[(&str, &str)]) {
    let stage = Stage::says(&["hello"]);
    for _ in actions {
        stage.model.reply(ScriptedReply::text(&["one ", "two ", "three"]));
    }
    let package = package(&stage);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    for (plugin, action) in actions {
        let done = app.execute_action(ActionCall::new(*plugin, *action), None).await.unwrap();
        assert_eq!(done["message"], "one |two |three final", "{plugin} {action}");
    }
    runtime.stop().await;
}

#[tokio::test]
async fn events_come_one_by_one_in_python() {
    let actions = [("asker", "core"), ("asker", "app"), ("later", "later")];
    check(|stage| package(stage, "asker", Some(GRANTS), PYTHON), &actions).await;
}

#[tokio::test]
async fn events_come_one_by_one_in_javascript() {
    let actions = [("asker", "core"), ("asker", "app")];
    check(|stage| node_package(stage, "asker", Some(GRANTS), NODE), &actions).await;
}
