//! What a command says: a text for people, and for surfaces the same in the form of the result of
//! an action.

use orlop_app::ui::Outcome;
use orlop_core::hooks::Handled;
use orlop_core::{Error, ErrorClass, Map, Value};
use serde_json::json;

/// The answer of a command.
pub(super) struct Reply {
    text: String,
    data: Map,
    status: u16,
}

impl Reply {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), data: Map::new(), status: 200 }
    }

    /// With something for programs.
    pub(super) fn with(mut self, key: &str, value: Value) -> Self {
        self.data.insert(key.to_owned(), value);
        self
    }

    /// With a session that surfaces should go to.
    pub(super) fn created(self, session: &str) -> Self {
        self.with("mutations", json!({ "created_session_ids": [session] })).with(
            "ui_effects",
            json!({ "navigate": { "screen": "session", "session_id": session } }),
        )
    }

    /// With a session that surfaces should read again.
    pub(super) fn updated(self, session: &str) -> Self {
        self.with("mutations", json!({ "updated_session_ids": [session] }))
            .with("ui_effects", json!({ "reload_session_ids": [session] }))
    }

    /// What an action answered.
    pub(super) fn of_action(result: Map) -> Self {
        let outcome = Outcome::from_result(result.clone());
        let shown = outcome.display.as_ref().map(|display| match &display.title {
            Some(title) => format!("{title}\n\n{}", display.body),
            None => display.body.clone(),
        });
        let told = outcome.notice().map(str::to_owned).or(shown);
        let text = told.unwrap_or_else(|| match outcome.extra.is_empty() {
            true => "Done".to_owned(),
            // An action for programs; its result is better than nothing.
            false => {
                let all = serde_json::to_string_pretty(&outcome.extra).unwrap_or_default();
                format!("```json\n{all}\n```")
            }
        });
        let status = if outcome.failed() { 422 } else { 200 };
        Self { text, data: result, status }
    }

    pub(super) fn of_error(error: &Error) -> Self {
        let outcome = Outcome::from_error(error);
        let data = serde_json::to_value(&outcome).ok();
        let data = data.and_then(|data| data.as_object().cloned()).unwrap_or_default();
        let status = match error.class() {
            ErrorClass::BadArgument | ErrorClass::WrongType | ErrorClass::OutOfRange => 400,
            ErrorClass::NotFound => 404,
            ErrorClass::BadState | ErrorClass::Conflict | ErrorClass::Cancelled => 409,
            ErrorClass::Provider | ErrorClass::Plugin => 502,
            ErrorClass::Unavailable => 503,
            ErrorClass::Internal => 500,
        };
        Self { text: outcome.message.unwrap_or_default(), data, status }
    }

    /// As the answer to the request in which `command` was typed.
    pub(super) fn to_command(mut self, command: &str) -> Handled {
        self.data.insert("command".to_owned(), format!("/{command}").into());
        Handled::text(self.text).status(self.status).data(self.data)
    }
}

/// Rows under their titles, in columns.
pub(super) fn table<const N: usize>(titles: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([titles[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let titles = titles.map(str::to_owned);
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
