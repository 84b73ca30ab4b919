//! Further plugins of the test's own program: tools that talk much or break, marks on sessions with a
//! setting, a gate that opens step by step, and a host plugin that never ends.

use super::result;
use orlop_core::types::{ActionDefinition, ActionResult, ToolReport};
use orlop_core::{Context, Manifest, Result};
use orlop_testkit::scripted::{ScriptedApplication, ScriptedFeature, ScriptedHost, ScriptedTool};
use serde_json::{Value, json};

/// Clears the screen, takes the clipboard and the title, turns text round, in all the ways there are.
const HOSTILE: &str = "\u{1b}[2J\u{9b}2J\u{1b}]52;c;ZXZpbA==\u{7}\u{9d}0;owned\u{9c}\u{1b}]0;owned\u{1b}\\\u{202e}quay\u{2066}\u{85}\n";

/// `list` says forty lines, `hostile` what terminals would act on, `break` panics.
pub(super) fn talkative() -> ScriptedTool {
    let schemas: Vec<_> = ["list", "hostile", "break"]
        .iter()
        .map(|name| {
            let schema = json!({
                "name": name, "description": "Does it.",
                "parameters": { "type": "object", "properties": {} },
            });
            schema.as_object().unwrap().clone()
        })
        .collect();
    ScriptedTool::with_manifest(Manifest::new("talkative", "1.0.0"))
        .get_tool_schemas(move |_, _| Ok(schemas.clone()))
        .execute_tool(|input, _| {
            assert!(input.tool_name != "break", "a plugin broke");
            if input.tool_name == "hostile" {
                return Ok(ToolReport::ok(HOSTILE.repeat(20)));
            }
            let lines: String = (1..=40).map(|number| format!("ship {number}\n")).collect();
            Ok(ToolReport::ok(lines))
        })
}

/// Marks sessions, which can be taken back, and has a setting.
pub(super) fn marks() -> ScriptedFeature {
    ScriptedFeature::new("marks")
        .get_ui_elements(|_, _| {
            Ok(vec![
                json!({ "ui_type": "session_action", "action_id": "mark", "label": "Mark it red" }),
                json!({ "ui_type": "config", "key": "marks.size", "label": "Size of marks", "type": "integer" }),
            ])
        })
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("mark", "Mark")]))
        .execute_action(|_, _| {
            Ok(ActionResult {
                session_metadata: Some(json!({ "mark": "red" })),
                ..result(json!({ "message": "Marked" }))
            })
        })
}

/// A form, and a display with a table.
pub(super) fn tides() -> ScriptedApplication {
    ScriptedApplication::new("tides")
        .get_ui_elements(|_, _| async {
            Ok(vec![json!({
                "ui_type": "session_action", "action_id": "tide", "label": "Tell the tide",
                "dialog": { "title": "Which day?", "inputs": [
                    { "name": "day", "type": "integer", "label": "Day of the month", "required": true },
                ] },
            })])
        })
        .get_actions(|_, _| async {
            let tide = ActionDefinition::new("tide", "Tell the tide");
            Ok(vec![tide.input("day", "integer", true)])
        })
        .execute_action(|_, _| async {
            let body = "| high water | metres |\n| --- | ---: |\n| 06:12 | 3.1 |\n| 18:40 | 3.3 |";
            Ok(result(json!({ "display": {
                "title": "High water", "format": "markdown", "body": body, "variant": "info",
                "actions": [{ "id": "b", "label": "Book a berth", "kind": "run_action",
                    "plugin": "harbour", "action_id": "berth" }],
            } })))
        })
}

fn display(body: &str, actions: Value) -> Value {
    json!({ "display": {
        "title": "Gate", "format": "markdown", "body": body, "variant": "warning",
        "display_id": "gate", "actions": actions,
    } })
}

/// A display with follow-ups of all kinds, and actions that say where to go.
pub(super) fn gate() -> ScriptedApplication {
    let button = |id: &str, label: &str| json!({ "ui_type": "session_action", "action_id": id, "label": label });
    let in_list = |id: &str, label: &str, order: Option<i64>| {
        let mut element = json!({ "ui_type": "session_list_action", "action_id": id, "label": label,
            "param_map": { "session": "$session.session_id" } });
        if let Some(order) = order {
            element["order"] = order.into();
        }
        element
    };
    let elements = [
        button("knock", "Knock at the gate"),
        button("travel", "Travel to the other session"),
        json!({ "ui_type": "session_action", "action_id": "sink", "label": "Sink this session",
            "param_map": { "session": "$session.session_id" } }),
        json!({ "ui_type": "session_action", "action_id": "announce", "label": "Announce a ship",
            "param_map": { "session": "$session.session_id" } }),
        in_list("unload", "Unload it", None),
        in_list("couple", "Couple it", Some(45)),
        in_list("anchor", "Anchor it", Some(25)),
    ];
    let mut actions =
        ["knock", "look", "open", "travel"].map(|id| ActionDefinition::new(id, id)).to_vec();
    for id in ["announce", "unload", "couple", "anchor"] {
        actions.push(ActionDefinition::new(id, id).input("session", "string", true));
    }
    actions.push(ActionDefinition::new("sink", "sink").input("session", "string", true));
    ScriptedApplication::new("gate")
        .get_ui_elements(move |_, _| {
            let elements = elements.to_vec();
            async move { Ok(elements) }
        })
        .actions(actions)
        .execute_action(|input, cx| async move {
            let run = |id: &str, label: &str, preserve: bool| {
                json!({ "id": id, "label": label, "kind": "run_action", "plugin": "gate",
                    "action_id": id, "params": {}, "preserve_display": preserve })
            };
            let session = input.params.get("session").cloned();
            Ok(result(match input.action_id.as_str() {
                "knock" => display(
                    "The code is **ABCD**.",
                    json!([
                        { "id": "c", "label": "Copy the code", "kind": "copy_text", "text": "ABCD" },
                        run("look", "Look", true),
                        run("open", "Open", false),
                        { "id": "m", "label": "Map", "kind": "open_url", "url": "https://example.test/map" },
                    ]),
                ),
                "look" => json!({ "message": "It is still shut" }),
                "open" => display("It is open.", json!([])),
                "announce" => {
                    let here = session.as_ref().and_then(Value::as_str).unwrap_or_default();
                    announce(&cx, here).await?;
                    json!({ "message": "Announced" })
                }
                "anchor" => json!({ "message": format!("Anchored {}", session.unwrap_or_default()),
                    "display": { "body": "not in a list" } }),
                "travel" => json!({ "message": "Bon voyage", "ui_effects": {
                    "navigate": { "screen": "session", "session_id": "s2" },
                } }),
                _ => json!({ "message": "Gone", "mutations": { "deleted_session_ids": [session] } }),
            }))
        })
}

/// Publishes two displays of one id in the session, and one in another.
async fn announce(cx: &Context, here: &str) -> Result<()> {
    let app = orlop_app::Application::of(cx)?;
    let seen = [("elsewhere", "A raft"), (here, "A barge"), (here, "A brig")];
    for (session, ship) in seen {
        let body = format!("{ship} comes in.");
        let event = json!({ "type": "ship_seen", "session_id": session,
            "display": { "title": "Lookout", "body": body, "display_id": "lookout" } });
        app.publish_event("gate", event.as_object().cloned().unwrap()).await?;
    }
    Ok(())
}

/// Notes what the terminal tells of itself when a request comes, and is not done with ending when
/// the program wants to.
pub(super) fn never_ends() -> ScriptedHost {
    ScriptedHost::new("never_ends")
        .on_request_start(|_, cx| async move {
            let told = cx.get("terminal").map(Value::to_string).unwrap_or_default();
            std::fs::write("terminal.json", told).unwrap();
            Ok(())
        })
        .stop(|_, _| std::future::pending::<Result<()>>())
}
