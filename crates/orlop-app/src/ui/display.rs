//! What an action wants a person to see: the `display` of its result.

use super::filled;
use super::safe::{plain_line, plain_text, web_url};
use orlop_core::{Map, Value};
use serde::Serialize;

/// A display. Its texts are plain and its addresses lead to the web, so every front end can show
/// them; links inside a markdown body go through [`web_url`] when it is rendered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Display {
    /// The heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The content.
    pub body: String,
    /// How to read the content.
    pub format: Format,
    /// Its tone.
    pub variant: Variant,
    /// Where the plugin would like it; [`super::Surface::place`] decides.
    pub presentation: Presentation,
    /// Whether the user may take it away.
    pub dismissible: bool,
    /// A later display with the same id is an update of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_id: Option<String>,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<DisplayAction>,
}

/// How the content of a display is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As it stands.
    #[default]
    Text,
    /// Markdown.
    Markdown,
}

/// The tone of a display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Neutral.
    #[default]
    Info,
    /// Something worked.
    Success,
    /// Something needs attention.
    Warning,
    /// Something failed.
    Error,
}

/// Where a plugin would like its display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presentation {
    /// Among the messages.
    #[default]
    Inline,
    /// Above everything.
    Banner,
    /// In front of everything.
    Modal,
}

/// A button of a display.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DisplayAction {
    /// Its id; not for showing.
    pub id: String,
    /// What it says.
    pub label: String,
    /// What it does.
    #[serde(flatten)]
    pub kind: DisplayActionKind,
}

/// What a button of a display does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DisplayActionKind {
    /// Opens a page.
    OpenUrl {
        /// The address, `http` or `https`.
        url: String,
    },
    /// Copies a text.
    CopyText {
        /// The text.
        text: String,
    },
    /// Runs an action.
    RunAction {
        /// The plugin.
        plugin: String,
        /// The action.
        action_id: String,
        /// Its parameters.
        params: Map,
        /// Whether the display stays whatever the action answers.
        preserve_display: bool,
    },
}

impl Display {
    /// The display of an action's result, if it has one with a body.
    pub fn from_result(result: &Map) -> Option<Self> {
        Self::from_value(result.get("display")?)
    }

    /// Reads a display. Values this version does not know become the defaults, and buttons it
    /// cannot offer are left out; only without a body there is nothing to show.
    pub fn from_value(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let body = plain_text(fields.get("body")?.as_str()?);
        if body.trim().is_empty() {
            return None;
        }
        let word = |key| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let actions = fields.get("actions").and_then(Value::as_array);
        Some(Self {
            title: filled(fields, "title").map(plain_line).filter(|title| !title.is_empty()),
            body,
            format: match word("format") {
                "markdown" => Format::Markdown,
                _ => Format::Text,
            },
            variant: match word("variant") {
                "success" => Variant::Success,
                "warning" => Variant::Warning,
                "error" => Variant::Error,
                _ => Variant::Info,
            },
            presentation: match word("presentation") {
                "modal" => Presentation::Modal,
                "banner" => Presentation::Banner,
                _ => Presentation::Inline,
            },
            dismissible: fields.get("dismissible").and_then(Value::as_bool).unwrap_or(true),
            display_id: filled(fields, "display_id").map(str::to_owned),
            actions: actions.into_iter().flatten().filter_map(DisplayAction::read).collect(),
        })
    }
}

impl DisplayAction {
    fn read(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let id = filled(fields, "id")?;
        let kind = match filled(fields, "kind")? {
            "open_url" => DisplayActionKind::OpenUrl { url: web_url(filled(fields, "url")?)? },
            "copy_text" => {
                DisplayActionKind::CopyText { text: plain_text(filled(fields, "text")?) }
            }
            "run_action" => DisplayActionKind::RunAction {
                plugin: filled(fields, "plugin")?.to_owned(),
                action_id: filled(fields, "action_id")?.to_owned(),
                params: match fields.get("params") {
                    None | Some(Value::Null) => Map::new(),
                    Some(params) => params.as_object()?.clone(),
                },
                preserve_display: fields.get("preserve_display").and_then(Value::as_bool)
                    == Some(true),
            },
            _ => return None,
        };
        let label = filled(fields, "label").map(plain_line).filter(|label| !label.is_empty());
        Some(Self { id: id.to_owned(), label: label.unwrap_or_else(|| plain_line(id)), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(display: Value, expected: Expect) {
        let shown = match Display::from_value(&display) {
            Some(display) => serde_json::to_string_pretty(&display).unwrap(),
            None => "nothing".to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test] // G-26, G-28
    fn a_display_has_all_its_parts() {
        check(
            json!({
                "format": "markdown",
                "title": "ChatGPT Login",
                "body": "Open [this link](https://example.test) and enter code `ABCD-EFGH`.",
                "variant": "warning",
                "presentation": "banner",
                "dismissible": false,
                "display_id": "chatgpt-auth-login",
                "actions": [
                    { "kind": "open_url", "id": "open", "label": "Open link", "url": "https://example.test" },
                    { "kind": "copy_text", "id": "copy", "label": "Copy code", "text": "ABCD-EFGH" },
                    {
                        "kind": "run_action", "id": "check", "label": "Check status", "plugin": "chatgpt_auth",
                        "action_id": "check_status", "params": { "deep": true }, "preserve_display": true,
                    },
                ],
            }),
            expect![[r#"
                {
                  "title": "ChatGPT Login",
                  "body": "Open [this link](https://example.test) and enter code `ABCD-EFGH`.",
                  "format": "markdown",
                  "variant": "warning",
                  "presentation": "banner",
                  "dismissible": false,
                  "display_id": "chatgpt-auth-login",
                  "actions": [
                    {
                      "id": "open",
                      "label": "Open link",
                      "kind": "open_url",
                      "url": "https://example.test"
                    },
                    {
                      "id": "copy",
                      "label": "Copy code",
                      "kind": "copy_text",
                      "text": "ABCD-EFGH"
                    },
                    {
                      "id": "check",
                      "label": "Check status",
                      "kind": "run_action",
                      "plugin": "chatgpt_auth",
                      "action_id": "check_status",
                      "params": {
                        "deep": true
                      },
                      "preserve_display": true
                    }
                  ]
                }"#]],
        );
    }

    #[test] // G-26, G-29
    fn what_is_absent_or_unknown_becomes_the_default() {
        let plain = json!({ "body": "Done." });
        let odd = json!({
            "body": "Done.", "format": "rtf", "title": 3, "variant": "purple", "presentation": ["modal"],
            "dismissible": "no", "display_id": "", "actions": "none",
        });
        assert_eq!(Display::from_value(&plain), Display::from_value(&odd));
        check(
            odd,
            expect![[r#"
            {
              "body": "Done.",
              "format": "text",
              "variant": "info",
              "presentation": "inline",
              "dismissible": true
            }"#]],
        );
    }

    #[test] // G-26
    fn without_a_body_there_is_no_display() {
        for none in
            [json!({}), json!({ "title": "x" }), json!({ "body": 5 }), json!({ "body": " " })]
        {
            check(none, expect!["nothing"]);
        }
        for none in [json!("text"), json!(null), json!(["body"])] {
            check(none, expect!["nothing"]);
        }
        assert_eq!(Display::from_result(&Map::new()), None);
    }

    #[test] // G-28, G-30
    fn buttons_that_cannot_be_offered_are_left_out() {
        let buttons = json!([
            { "kind": "open_url", "id": "script", "label": "x", "url": "javascript:alert(1)" },
            { "kind": "open_url", "id": "no-url", "label": "x" },
            { "kind": "copy_text", "id": "no-text", "label": "x" },
            { "kind": "run_action", "id": "no-action", "label": "x", "plugin": "p" },
            { "kind": "run_action", "id": "odd-params", "label": "x", "plugin": "p", "action_id": "a", "params": [] },
            { "kind": "explode", "id": "unknown", "label": "x" },
            { "id": "no-kind", "label": "x" },
            { "kind": "copy_text", "label": "no id", "text": "x" },
            "button",
            { "kind": "copy_text", "id": "unlabelled", "text": "x" },
            { "kind": "run_action", "id": "run", "label": "Run", "plugin": "p", "action_id": "a" },
        ]);
        let display = Display::from_value(&json!({ "body": "b", "actions": buttons })).unwrap();
        expect![[r#"
            [
              {
                "id": "unlabelled",
                "label": "unlabelled",
                "kind": "copy_text",
                "text": "x"
              },
              {
                "id": "run",
                "label": "Run",
                "kind": "run_action",
                "plugin": "p",
                "action_id": "a",
                "params": {},
                "preserve_display": false
              }
            ]"#]]
        .assert_eq(&serde_json::to_string_pretty(&display.actions).unwrap());
    }

    #[test] // G-30
    fn texts_lose_their_control_sequences() {
        check(
            json!({
                "title": "\u{1b}]0;owned\u{7}Title\nin two lines",
                "body": "first\u{1b}[2J\nsecond\u{202e}",
                "actions": [{ "kind": "copy_text", "id": "c", "label": "\u{1b}[31mCopy", "text": "a\u{8}b" }],
            }),
            expect![[r#"
                {
                  "title": "Title in two lines",
                  "body": "first\nsecond",
                  "format": "text",
                  "variant": "info",
                  "presentation": "inline",
                  "dismissible": true,
                  "actions": [
                    {
                      "id": "c",
                      "label": "Copy",
                      "kind": "copy_text",
                      "text": "ab"
                    }
                  ]
                }"#]],
        );
    }
}
