//! The host plugin `shell`: a message `!ls` is a command that its user runs. What it prints becomes part
//! of the conversation, so that the model reads it with the next message; it is not asked now.

use crate::place::Place;
use orlop_app::{Application, Approval};
use orlop_core::hooks::{Handled, Hook, HookSet, InterceptInput, Interception};
use orlop_core::{
    Answer, Context, Error, ErrorClass, HostPlugin, Manifest, Map, Message, Result, Value,
};
use serde_json::json;

/// The tool that runs the command, with its settings, its sandbox and what permissions deny.
const TOOL: &str = "shell";

/// Runs the commands that people type.
pub struct ShellByHand;

impl HostPlugin for ShellByHand {
    fn manifest(&self) -> Manifest {
        // What was meant as a command must not reach a model because something failed.
        Manifest::host("shell", "1.0.0").critical().only(HookSet::of(&[Hook::InterceptChatRequest]))
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        cx: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        match command(&input.text) {
            Some(command) => Answer::later(async move {
                let handled = match run(command, input, cx).await {
                    Ok(handled) => handled,
                    Err(error) => failed(&error),
                };
                Ok(Some(handled.into()))
            }),
            None => Answer::ok(None),
        }
    }
}

/// The command of a message. There is none in what is meant for the model, such as `!= is ...`.
fn command(text: &str) -> Option<&str> {
    let command = text.strip_prefix('!')?.trim_end();
    let is_one = |first: char| !first.is_whitespace() && !"!=?".contains(first);
    command.starts_with(is_one).then_some(command)
}

async fn run(command: &str, input: &InterceptInput, cx: &Context) -> Result<Handled> {
    // One flow: nobody else has the session between the command and what is kept of it.
    let app = Application::of(cx)?.in_flow();
    let request = &input.request;
    let lock = app.acquire_session_lock(&request.session_id).await?;
    // A host that does not say who may be asked is not believed to have anybody.
    let approval = cx.get("approval").and_then(|it| serde_json::from_value(it.clone()).ok());
    let approval = approval.unwrap_or(Approval::Deny);
    let input = json!({ "command": command });
    let told = app.run_tool_by_hand(request, TOOL, input, approval).await?;
    let printed = told.text().trim_end();
    let mut place = Place::of(app.clone(), &request.session_id, &request.agent_id).await?;
    place.begin().await?;
    let said = format!("$ {command}\n{printed}\n[I ran this command myself.]");
    let message = Message::user(said).with_metadata_entry("ran", json!({ "command": command }));
    app.add_messages(&request.session_id, vec![message]).await?;
    lock.release().await;
    let data = json!({
        "command": "!",
        "display": { "title": format!("$ {command}"), "body": printed },
        "mutations": { "updated_session_ids": [request.session_id] },
    });
    Ok(Handled::text(printed).data(map(data)))
}

fn failed(error: &Error) -> Handled {
    let (status, hint) = match error.class() {
        ErrorClass::NotFound => (404, "; a space in front sends the text to the model"),
        ErrorClass::BadState => (403, ""),
        ErrorClass::Conflict => (409, ""),
        _ => (502, ""),
    };
    let text = format!("the command was not run: {}{hint}", error.message());
    Handled::text(text).status(status).data(map(json!({ "command": "!" })))
}

fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_text() {
        for (text, expected) in [
            ("!ls -la", Some("ls -la")),
            ("!cat <<x\na\nx\n", Some("cat <<x\na\nx")),
            ("!./run", Some("./run")),
            (" !ls", None),
            ("!", None),
            ("! ls", None),
            ("!= is an operator", None),
            ("!!", None),
            ("!? what", None),
            ("wow!ls", None),
        ] {
            assert_eq!(command(text), expected, "{text:?}");
        }
    }
}
