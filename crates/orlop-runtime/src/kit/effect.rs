//! What is so after a hook: an answer laid over the input it was an answer to. So the same is seen
//! whether a plugin answers with a whole list or with edits.

use super::probe::Answered;
use orlop_core::hooks::*;
use orlop_core::types::change::Patchable;
use orlop_core::types::{ActionResult, Change, ToolPart};
use orlop_core::{Map, Message, NativeItem, Session, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// What is so after `hook` answered to `args`.
pub(super) fn of(hook: Hook, args: &Map, answered: &Answered) -> Result<Value, String> {
    let outcome = &answered.outcome;
    match hook {
        Hook::Init => changed_state(args, "state", read(outcome)?),
        Hook::ProviderInitializeRequest
        | Hook::ExtensionInitializeRequest
        | Hook::FeatureInitializeRequest => {
            let change: RequestChange = read(outcome)?;
            Ok(json!({
                "native_messages": changed(args, "native_messages", change.native_messages)?,
                "state": changed_state(args, "state", change.state)?,
            }))
        }
        Hook::ProviderFinalize | Hook::ExtensionFinalize | Hook::FeatureFinalize => {
            let change: FinalizeChange = read(outcome)?;
            Ok(json!({
                "final_messages": changed(args, "final_messages", change.final_messages)?,
                "native_messages": changed(args, "native_messages", change.native_messages)?,
                "state": changed_state(args, "state", change.state)?,
            }))
        }
        Hook::ExtensionToNative | Hook::FeatureToNative => {
            changed::<NativeItem>(args, "native_messages", read(outcome)?)
        }
        Hook::ExtensionFromNative | Hook::FeatureFromNative => {
            changed::<Message>(args, "messages", read(outcome)?)
        }
        Hook::ExtensionExecuteAction | Hook::FeatureExecuteAction => {
            if outcome.is_null() {
                return Ok(json!({"native_messages": args.get("native_messages")}));
            }
            let result = ActionResult::from_json(outcome.clone());
            let mut result = result.map_err(|error| error.message().to_owned())?;
            let native =
                changed(args, "native_messages", std::mem::take(&mut result.native_messages))?;
            let mut value = plain(&result);
            value["native_messages"] = native;
            Ok(value)
        }
        Hook::CallApi => {
            let answer: Option<ModelAnswer> = read(outcome)?;
            let answer = answer.ok_or("it answered nothing, and has no stream_api to do it")?;
            Ok(json!({
                "final_messages": answer.final_messages,
                "state": changed_state(args, "state", answer.state)?,
            }))
        }
        Hook::StreamApi => streamed(args, &answered.parts),
        Hook::ProcessChunk => match outcome.is_null() {
            true => Ok(args.get("chunk").cloned().unwrap_or_default()),
            false => Ok(plain(&read::<Chunk>(outcome)?)),
        },
        Hook::StreamTool | Hook::ExecuteTool => tool_report(answered),
        _ => Ok(outcome.clone()),
    }
}

/// The report of a tool: the last that came on the way, or the answer.
fn tool_report(answered: &Answered) -> Result<Value, String> {
    let on_the_way =
        answered.parts.iter().rev().find_map(|part| match ToolPart::from_json(part.clone()) {
            Some(ToolPart::Report(report)) => Some(report.to_json()),
            _ => None,
        });
    match (&answered.outcome, on_the_way) {
        (Value::Null, Some(report)) => Ok(report),
        (Value::Null, None) => Err("it gave no report of how the call went".to_owned()),
        (report, _) => Ok(report.clone()),
    }
}

fn streamed(args: &Map, parts: &[Value]) -> Result<Value, String> {
    let (mut text, mut finals) = (String::new(), Vec::new());
    let mut state = args.get("state").cloned().unwrap_or_default();
    for part in parts {
        let chunk: Chunk = read(part)?;
        if let Some(partial) = chunk.partial {
            text.push_str(&partial.content);
        }
        finals.extend(chunk.final_messages);
        state = state_after(state, chunk.state);
    }
    Ok(json!({"text": text, "final_messages": finals, "state": state}))
}

/// A session after an action said what to lay over its metadata.
pub(super) fn session_after(session: &Value, effect: &Value) -> Value {
    let (Ok(read), Some(patch)) =
        (Session::from_json(session.clone()), effect["session_metadata"].as_object())
    else {
        return session.clone();
    };
    read.with_metadata_patch(patch).to_json()
}

fn changed_state(args: &Map, key: &str, change: StateChange) -> Result<Value, String> {
    Ok(state_after(args.get(key).cloned().unwrap_or_default(), change))
}

fn state_after(state: Value, change: StateChange) -> Value {
    let Value::Object(fields) = state else { return state };
    let mut state = State::from_json(fields);
    change.apply(&mut state);
    Value::Object(state.to_json())
}

fn changed<T: Patchable + DeserializeOwned + Serialize>(
    args: &Map,
    key: &str,
    change: Change<T>,
) -> Result<Value, String> {
    let before = args.get(key).cloned().unwrap_or_else(|| json!([]));
    if change.is_keep() {
        return Ok(before);
    }
    let before: Vec<T> = read(&before)?;
    let after = change.apply(&before.into()).map_err(|error| error.message().to_owned())?;
    Ok(Value::Array(after.iter().map(plain).collect()))
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Reads an answer as the host does; `null` is the one that changes nothing.
fn read<T: DeserializeOwned + Default>(answer: &Value) -> Result<T, String> {
    match answer {
        Value::Null => Ok(T::default()),
        // By way of the text, as it came: native items keep theirs.
        answer => serde_json::from_str(&answer.to_string()).map_err(|error| error.to_string()),
    }
}
