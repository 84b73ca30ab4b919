//! Elements that run actions, as types, in the order in which a surface shows them.

use super::dialog::Dialog;
use super::filled;
use super::safe::plain_line;
use super::surface::Surface;
use orlop_core::types::ActionOwner;
use orlop_core::{Map, Value};
use serde::{Deserialize, Serialize};

/// A button that runs an action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionElement {
    /// Where it is shown.
    pub surface: Surface,
    /// The plugin whose action it runs.
    pub plugin: String,
    /// The kind of that plugin, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_owner: Option<ActionOwner>,
    /// Its id; the action's if it has none.
    pub id: String,
    /// What it says.
    pub label: String,
    /// The name of its icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Its rank; lower ones come first, and those without one last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<f64>,
    /// The action.
    pub action_id: String,
    /// Parameters that are always the same.
    pub fixed_params: Map,
    /// Where other parameters come from; without it they are the answers to the dialog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param_map: Option<Map>,
    /// What to ask first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
}

impl ActionElement {
    /// Reads an element; `None` if it is none of a surface of actions, or names no action.
    pub fn read(element: &Map) -> Option<Self> {
        let surface = Surface::of_element(filled(element, "ui_type")?)?;
        let action_id = filled(element, "action_id")?.to_owned();
        let id = filled(element, "id").unwrap_or(&action_id).to_owned();
        let label = filled(element, "label").map(plain_line).filter(|label| !label.is_empty());
        let mapping = |key| element.get(key).and_then(Value::as_object).cloned();
        Some(Self {
            surface,
            plugin: filled(element, "plugin")?.to_owned(),
            action_owner: element
                .get("action_owner")
                .and_then(|owner| ActionOwner::deserialize(owner).ok()),
            label: label.unwrap_or_else(|| plain_line(&id)),
            id,
            icon: filled(element, "icon").map(plain_line).filter(|icon| !icon.is_empty()),
            order: element.get("order").and_then(Value::as_f64),
            action_id,
            fixed_params: mapping("fixed_params").unwrap_or_default(),
            param_map: mapping("param_map").filter(|map| !map.is_empty()),
            dialog: element.get("dialog").and_then(Dialog::read),
        })
    }
}

/// The buttons of a surface in the order in which they are shown.
pub fn elements_of(elements: &[Map], surface: Surface) -> Vec<ActionElement> {
    let read = elements.iter().filter_map(ActionElement::read);
    let mut found: Vec<_> = read.filter(|element| element.surface == surface).collect();
    let rank = |element: &ActionElement| element.order.unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    found
}

/// Adds the elements of application plugins, given by plugin in the order of registration, to
/// those of the core. They follow its rules: an element belongs to its plugin unless it names
/// another, settings come last, and a later setting takes the place of an earlier one of its key.
pub fn merge_elements<'a>(
    core: Vec<Map>,
    contributed: impl IntoIterator<Item = (&'a str, Vec<Value>)>,
) -> Vec<Map> {
    let contributed = contributed.into_iter().flat_map(|(plugin, elements)| {
        elements.into_iter().filter_map(move |element| annotated(element, plugin))
    });
    let mut others = Vec::new();
    let mut settings = indexmap::IndexMap::new();
    for element in core.into_iter().chain(contributed) {
        let is_setting = filled(&element, "ui_type") == Some("config");
        match filled(&element, "key").filter(|_| is_setting).map(str::to_owned) {
            Some(key) => {
                settings.insert(key, element);
            }
            None => others.push(element),
        }
    }
    others.extend(settings.into_values());
    others
}

fn annotated(element: Value, plugin: &str) -> Option<Map> {
    let Value::Object(mut element) = element else { return None };
    if filled(&element, "ui_type").is_none() {
        element.insert("ui_type".to_owned(), "config".into());
    }
    element.entry("plugin").or_insert_with(|| plugin.into());
    let runs_an_action = filled(&element, "ui_type").and_then(Surface::of_element).is_some()
        && element.get("action_id").is_some_and(Value::is_string);
    if runs_an_action {
        element.entry("action_owner").or_insert_with(|| "application".into());
    }
    Some(element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn map(value: Value) -> Map {
        value.as_object().cloned().unwrap()
    }

    fn check(element: Value, expected: Expect) {
        let element = ActionElement::read(&map(element));
        expected.assert_eq(&serde_json::to_string_pretty(&element).unwrap());
    }

    #[test] // J-16
    fn a_session_action_has_all_its_parts() {
        check(
            json!({
                "ui_type": "session_action", "plugin": "compaction", "action_owner": "application",
                "id": "compact", "label": "Compact range", "icon": "archive", "order": 45,
                "action_id": "compact_range", "fixed_params": { "deep": true },
                "param_map": { "session_id": "$session.session_id", "start": "$dialog.start" },
                "dialog": {
                    "kind": "form", "title": "Compact range",
                    "inputs": [{ "name": "start", "type": "integer", "label": "Start" }],
                },
            }),
            expect![[r#"
                {
                  "surface": "session_action",
                  "plugin": "compaction",
                  "action_owner": "application",
                  "id": "compact",
                  "label": "Compact range",
                  "icon": "archive",
                  "order": 45.0,
                  "action_id": "compact_range",
                  "fixed_params": {
                    "deep": true
                  },
                  "param_map": {
                    "session_id": "$session.session_id",
                    "start": "$dialog.start"
                  },
                  "dialog": {
                    "kind": "form",
                    "title": "Compact range",
                    "inputs": [
                      {
                        "name": "start",
                        "type": "integer",
                        "label": "Start"
                      }
                    ]
                  }
                }"#]],
        );
    }

    #[test] // J-16, J-17, J-18
    fn each_surface_has_its_elements() {
        let elements =
            ["session_list_action", "session_action", "message_action", "config", "mine"].map(
                |ui_type| map(json!({ "ui_type": ui_type, "plugin": "p", "action_id": ui_type })),
            );
        for (surface, action) in [
            (Surface::SessionList, "session_list_action"),
            (Surface::SessionAction, "session_action"),
            (Surface::MessageAction, "message_action"),
        ] {
            let found = elements_of(&elements, surface);
            assert_eq!(found.len(), 1);
            assert_eq!((&*found[0].id, &*found[0].label), (action, action));
        }
        assert!(elements_of(&elements, Surface::Terminal).is_empty());
    }

    #[test] // J-16
    fn parts_of_the_wrong_form_count_as_absent() {
        check(
            json!({
                "ui_type": "message_action", "plugin": "p", "action_id": "run", "id": 5, "label": "\u{1b}[1m\n",
                "icon": [], "order": "first", "fixed_params": [], "param_map": "all", "dialog": true,
                "action_owner": "nobody",
            }),
            expect![[r#"
                {
                  "surface": "message_action",
                  "plugin": "p",
                  "id": "run",
                  "label": "run",
                  "action_id": "run",
                  "fixed_params": {}
                }"#]],
        );
        for missing in ["ui_type", "plugin", "action_id"] {
            let mut element =
                map(json!({ "ui_type": "message_action", "plugin": "p", "action_id": "run" }));
            element.shift_remove(missing);
            assert_eq!(ActionElement::read(&element), None, "{missing}");
        }
    }

    #[test] // J-19
    fn elements_are_ordered_by_rank_and_then_as_they_came() {
        let ranks = [
            ("none 1", json!(null)),
            ("45", json!(45)),
            ("25 first", json!(25)),
            ("text", json!("1")),
            ("25 second", json!(25.0)),
            ("-1", json!(-1)),
            ("25.5", json!(25.5)),
        ];
        let elements = ranks.map(|(id, order)| {
            map(json!({
                "ui_type": "session_action", "plugin": "p", "action_id": "a", "id": id, "order": order,
            }))
        });
        let ids: Vec<_> =
            elements_of(&elements, Surface::SessionAction).into_iter().map(|e| e.id).collect();
        expect!["-1, 25 first, 25 second, 25.5, 45, none 1, text"].assert_eq(&ids.join(", "));
    }

    #[test] // J-15
    fn elements_of_application_plugins_join_those_of_the_core() {
        let core = vec![
            map(
                json!({ "ui_type": "session_action", "plugin": "f", "action_id": "a", "action_owner": "feature" }),
            ),
            map(json!({ "ui_type": "config", "plugin": "f", "key": "model" })),
            map(json!({ "ui_type": "config", "plugin": "f", "key": "tone" })),
        ];
        let first = vec![
            json!({ "ui_type": "session_list_action", "action_id": "tidy" }),
            json!({ "ui_type": "session_action", "action_id": "b", "plugin": "other", "action_owner": "feature" }),
            json!({ "key": "model", "label": "Model" }),
            json!("nothing"),
        ];
        let second = vec![json!({ "ui_type": "panel" }), json!({ "key": "size" })];
        let merged = merge_elements(core, [("one", first), ("two", second)]);
        let lines: String =
            merged.into_iter().map(|element| format!("{}\n", Value::from(element))).collect();
        expect![[r#"
            {"ui_type":"session_action","plugin":"f","action_id":"a","action_owner":"feature"}
            {"ui_type":"session_list_action","action_id":"tidy","plugin":"one","action_owner":"application"}
            {"ui_type":"session_action","action_id":"b","plugin":"other","action_owner":"feature"}
            {"ui_type":"panel","plugin":"two"}
            {"key":"model","label":"Model","ui_type":"config","plugin":"one"}
            {"ui_type":"config","plugin":"f","key":"tone"}
            {"key":"size","ui_type":"config","plugin":"two"}
        "#]].assert_eq(&lines);
    }
}
