//! What came of an action, in one form whoever ran it and however it failed.

use super::display::Display;
use super::safe::{plain_line, plain_text};
use orlop_core::types::ActionStatus;
use orlop_core::{ActionResult, Error, ErrorClass, Map, Result, Value};
use serde::Serialize;

/// What came of an action. As JSON it is the result with its known keys put in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub status: ActionStatus,
    /// The kind of failure: the class of an error, or the plugin's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// A short plain text about whatever `status` says. A failure always has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Which sessions are not what they were.
    #[serde(skip_serializing_if = "Mutations::is_empty")]
    pub mutations: Mutations,
    /// Hints to front ends, as the plugin wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui_effects: Option<Value>,
    /// All other keys of the result, untouched.
    #[serde(flatten)]
    pub extra: Map,
}

/// The sessions that an action created, changed and deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Mutations {
    /// New ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub created_session_ids: Vec<String>,
    /// Changed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub updated_session_ids: Vec<String>,
    /// Deleted ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted_session_ids: Vec<String>,
}

impl Outcome {
    /// The outcome of a call: a failure, and a result that tells of one, come to the same.
    pub fn of(called: Result<Map>) -> Self {
        called.map_or_else(|error| Self::from_error(&error), Self::from_result)
    }

    /// Reads a result; parts of the wrong form count as absent.
    pub fn from_result(result: Map) -> Self {
        let result = ActionResult { public: result, ..ActionResult::default() };
        let status = result.status();
        let mut extra = result.public;
        let mut outcome = Self {
            status,
            message: extra.shift_remove("message").and_then(text),
            display: Display::from_result(&extra),
            mutations: extra.get("mutations").map(Mutations::read).unwrap_or_default(),
            ui_effects: extra.shift_remove("ui_effects"),
            ..Self::default()
        };
        for key in ["status", "display", "mutations"] {
            extra.shift_remove(key);
        }
        if status == ActionStatus::Error {
            let error = extra.get("error");
            let part = |key| error.and_then(|error| error.get(key)).cloned().and_then(text);
            let kind = extra.get("error_type").cloned().and_then(text).or_else(|| part("type"));
            let kind = kind.map(|kind| plain_line(&kind)).filter(|kind| !kind.is_empty());
            outcome.error_type = kind.or_else(|| Some(ErrorClass::Plugin.as_str().to_owned()));
            let whole = || error.filter(|error| error.is_string()).cloned().and_then(text);
            let message = outcome.message.take().or_else(|| part("message")).or_else(whole);
            outcome.message =
                message.or_else(|| Some("the action failed and did not say why".to_owned()));
            extra.shift_remove("error_type");
        }
        outcome.extra = extra;
        outcome
    }

    /// The outcome of a call that failed.
    pub fn from_error(error: &Error) -> Self {
        Self {
            status: ActionStatus::Error,
            error_type: Some(error.class().as_str().to_owned()),
            message: Some(plain_text(error.message())),
            ..Self::default()
        }
    }

    /// Whether the action failed.
    pub fn failed(&self) -> bool {
        self.status == ActionStatus::Error
    }

    /// The message where it is to be shown: of a failure always, otherwise in place of a display.
    pub fn notice(&self) -> Option<&str> {
        let replaced = self.display.is_some() && !self.failed();
        self.message.as_deref().filter(|_| !replaced)
    }

    /// The sessions whose view is to be loaded anew.
    pub fn reload_session_ids(&self) -> Vec<String> {
        self.effect("reload_session_ids").map(ids).unwrap_or_default()
    }

    /// The place to go to, such as `{"screen": "sessions"}`.
    pub fn navigate(&self) -> Option<&Map> {
        self.effect("navigate")?.as_object()
    }

    fn effect(&self, name: &str) -> Option<&Value> {
        self.ui_effects.as_ref()?.get(name)
    }
}

impl Mutations {
    /// Whether no session is touched.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn read(value: &Value) -> Self {
        let part = |key| value.get(key).map(ids).unwrap_or_default();
        Self {
            created_session_ids: part("created_session_ids"),
            updated_session_ids: part("updated_session_ids"),
            deleted_session_ids: part("deleted_session_ids"),
        }
    }
}

/// Ids of a list, each once; a lone text is a list of one.
fn ids(value: &Value) -> Vec<String> {
    let listed = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let mut seen = std::collections::HashSet::new();
    let texts = listed.iter().filter_map(Value::as_str).filter(|id| !id.is_empty());
    texts.filter(|id| seen.insert(*id)).map(str::to_owned).collect()
}

/// A text to show, whatever the plugin made of it.
fn text(value: Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => plain_text(&text),
        other => plain_text(&other.to_string()),
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn outcome(result: Value) -> Outcome {
        Outcome::from_result(result.as_object().cloned().unwrap())
    }

    fn check(result: Value, expected: Expect) {
        expected.assert_eq(&serde_json::to_string_pretty(&outcome(result)).unwrap());
    }

    #[test] // G-21, G-22, G-23, G-25
    fn a_result_keeps_what_its_plugin_wrote() {
        check(
            json!({
                "state": "pending",
                "mutations": {
                    "created_session_ids": ["new-session-1"],
                    "updated_session_ids": ["session-2"],
                    "deleted_session_ids": ["session-3"],
                },
                "ui_effects": {
                    "reload_session_ids": ["session-2"], "navigate": { "screen": "sessions" }, "confetti": [1, null],
                },
                "message": "Operation completed successfully.",
                "display": { "body": "Done." },
                "debug": { "display": { "steps": [1, 2] } },
            }),
            expect![[r#"
                {
                  "status": "ok",
                  "message": "Operation completed successfully.",
                  "display": {
                    "body": "Done.",
                    "format": "text",
                    "variant": "info",
                    "presentation": "inline",
                    "dismissible": true
                  },
                  "mutations": {
                    "created_session_ids": [
                      "new-session-1"
                    ],
                    "updated_session_ids": [
                      "session-2"
                    ],
                    "deleted_session_ids": [
                      "session-3"
                    ]
                  },
                  "ui_effects": {
                    "reload_session_ids": [
                      "session-2"
                    ],
                    "navigate": {
                      "screen": "sessions"
                    },
                    "confetti": [
                      1,
                      null
                    ]
                  },
                  "state": "pending",
                  "debug": {
                    "display": {
                      "steps": [
                        1,
                        2
                      ]
                    }
                  }
                }"#]],
        );
    }

    #[test] // G-21
    fn mutations_of_any_form_are_read() {
        let read = |mutations: Value| outcome(json!({ "mutations": mutations })).mutations;
        let ids = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let odd = read(json!({
            "created_session_ids": ["a", 5, "a", null, "", "b"], "updated_session_ids": "c",
            "deleted_session_ids": { "d": 1 }, "unknown": ["e"],
        }));
        assert_eq!(odd.created_session_ids, ids(&["a", "b"]));
        assert_eq!(odd.updated_session_ids, ids(&["c"]));
        assert!(odd.deleted_session_ids.is_empty());
        for none in [json!(null), json!([]), json!("x"), json!({})] {
            assert!(read(none).is_empty());
        }
    }

    #[test] // G-22
    fn effects_are_unchanged_and_the_known_ones_can_be_asked_for() {
        let effects = json!({ "reload_session_ids": ["s", 1], "navigate": { "screen": "sessions" }, "x": 1.50 });
        let found = outcome(json!({ "ui_effects": effects }));
        assert_eq!(found.ui_effects.as_ref(), Some(&effects));
        assert_eq!(found.reload_session_ids(), ["s"]);
        assert_eq!(found.navigate().and_then(|to| to["screen"].as_str()), Some("sessions"));
        let odd = outcome(json!({ "ui_effects": "none" }));
        assert_eq!(odd.ui_effects, Some(json!("none")));
        assert!(odd.reload_session_ids().is_empty() && odd.navigate().is_none());
    }

    #[test] // G-23
    fn the_message_is_shown_where_no_display_is() {
        let both = json!({ "message": "short", "display": { "body": "long" } });
        assert_eq!(outcome(both).notice(), None);
        assert_eq!(outcome(json!({ "message": "short", "display": {} })).notice(), Some("short"));
        let noop = outcome(json!({ "status": "noop", "message": "nothing to do" }));
        assert_eq!((noop.status, noop.notice()), (ActionStatus::Noop, Some("nothing to do")));
        let failed =
            json!({ "status": "error", "message": "short", "display": { "body": "long" } });
        assert_eq!(outcome(failed).notice(), Some("short"));
        assert_eq!(outcome(json!({ "message": "\u{1b}[2Jgone" })).notice(), Some("gone"));
    }

    #[test] // G-24
    fn a_failure_has_a_type_and_a_message() {
        check(
            json!({ "status": "error", "error_type": "disabled", "message": "Feature is not enabled." }),
            expect![[r#"
                {
                  "status": "error",
                  "error_type": "disabled",
                  "message": "Feature is not enabled."
                }"#]],
        );
        check(
            json!({ "status": "error" }),
            expect![[r#"
            {
              "status": "error",
              "error_type": "plugin",
              "message": "the action failed and did not say why"
            }"#]],
        );
    }

    #[test] // G-24, C-63
    fn every_way_to_fail_gives_the_same_outcome() {
        let raised =
            Error::not_found("there is no session \"s1\"").in_hook("app", "execute_action");
        let expected = Outcome::of(Err(raised));
        let said = "there is no session \"s1\"";
        let returned = json!({ "status": "error", "error_type": "not_found", "message": said });
        assert_eq!(outcome(returned), expected);
        assert!(expected.failed());
        assert_eq!(expected.error_type.as_deref(), Some("not_found"));

        // Features say it under `error`, which stays where it is for those who look for it there.
        let mut feature = outcome(json!({ "error": { "type": "not_found", "message": said } }));
        assert!(feature.extra.shift_remove("error").is_some());
        assert_eq!(feature, expected);
        let text = outcome(json!({ "error": "it broke" }));
        assert_eq!(text.notice(), Some("it broke"));
    }

    #[test] // G-24, G-25
    fn the_status_is_one_of_three() {
        let status = |result: Value| outcome(result).status;
        assert_eq!(status(json!({})), ActionStatus::Ok);
        assert_eq!(status(json!({ "status": "ok" })), ActionStatus::Ok);
        assert_eq!(status(json!({ "status": "pending" })), ActionStatus::Ok);
        assert_eq!(status(json!({ "status": 1, "error": null })), ActionStatus::Ok);
        assert_eq!(status(json!({ "status": "noop" })), ActionStatus::Noop);
        assert_eq!(status(json!({ "status": "error" })), ActionStatus::Error);
        let fine = outcome(json!({ "error_type": "none" }));
        assert_eq!((fine.error_type, &fine.extra["error_type"]), (None, &json!("none")));
    }
}
