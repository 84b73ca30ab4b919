//! From the contents of the API to the neutral transcript.

use super::call_ids::{function_call, of_item};
use super::to_native::TOOL_CALL_ID;
use crate::wire::facts::{recall, recall_result};
use orlop_types::{Map, Message, NativeItem, Role, Value};

/// The messages that the items amount to, each with the positions of the items it stems from.
///
/// An item with several results becomes a tool message for each of them, and one of the person if
/// it says something else. An item that is no content of a known role goes with the message before
/// it, else with the next.
pub fn from_native(items: &[NativeItem]) -> Vec<(Message, Vec<usize>)> {
    let mut read = Read::default();
    for (position, item) in items.iter().enumerate() {
        read.item(position, item);
    }
    read.messages
}

#[derive(Default)]
struct Read {
    messages: Vec<(Message, Vec<usize>)>,
    /// Items before the first message.
    waiting: Vec<usize>,
    /// Name and id of the calls that no result has come for.
    calls: Vec<(String, String)>,
    /// Whether the item before was the model's.
    model_spoke: bool,
}

impl Read {
    fn item(&mut self, position: usize, item: &NativeItem) {
        let parts = item.get("parts").and_then(Value::as_array);
        let parts: Vec<&Map> = parts.into_iter().flatten().filter_map(Value::as_object).collect();
        let before = self.messages.len();
        match item.get("role").and_then(Value::as_str) {
            Some("system") => self.say(Role::System, &parts, position),
            Some("model") => self.model(item, &parts, position),
            Some("user" | "function") => self.user(item, &parts, position),
            _ => {}
        }
        if self.messages.len() == before {
            match self.messages.last_mut() {
                Some((_, positions)) => positions.push(position),
                None => self.waiting.push(position),
            }
        }
    }

    fn push(&mut self, message: Message, position: usize) {
        let mut positions = std::mem::take(&mut self.waiting);
        positions.push(position);
        self.messages.push((message, positions));
    }

    fn say(&mut self, role: Role, parts: &[&Map], position: usize) {
        let Sorted { text, others, .. } = sort(parts);
        self.push(Message::new(role, text).with_multipart_content(others), position);
    }

    fn model(&mut self, item: &NativeItem, parts: &[&Map], position: usize) {
        let Sorted { text, thoughts, others, calls } = sort(parts);
        let mut metadata = Map::new();
        if !self.model_spoke {
            self.calls.clear();
        }
        self.model_spoke = true;
        let ids = of_item(item, calls.iter().copied());
        let calls: Vec<Value> = ids.zip(&calls).map(|(id, part)| self.call(id, part)).collect();
        if !calls.is_empty() {
            metadata.insert("tool_calls".to_owned(), calls.into());
        }
        if !thoughts.is_empty() {
            metadata.insert("reasoning".to_owned(), thoughts.into());
        }
        recall(item, &mut metadata);
        let message = Message::assistant(text).with_metadata(metadata);
        self.push(message.with_multipart_content(others), position);
    }

    /// The call as messages carry it: the part, with an id beside it if it has none inside.
    fn call(&mut self, id: String, part: &Map) -> Value {
        let call = function_call(part);
        let name = call.and_then(|call| call.get("name")?.as_str()).unwrap_or_default();
        let has_id = call.and_then(|call| call.get("id")?.as_str()) == Some(&id);
        self.calls.push((name.to_owned(), id.clone()));
        let mut part = part.clone();
        if !has_id {
            part.shift_insert(0, "id".to_owned(), id.into());
        }
        Value::Object(part)
    }

    fn user(&mut self, item: &NativeItem, parts: &[&Map], position: usize) {
        self.model_spoke = false;
        let is_result = |part: &&&Map| part.contains_key("functionResponse");
        let results: Vec<&Map> = parts.iter().filter(is_result).copied().collect();
        let rest: Vec<&Map> = parts.iter().filter(|part| !is_result(part)).copied().collect();
        // An item that came of a tool message is that message, with all its parts.
        let made_here = item.metadata().contains_key(TOOL_CALL_ID);
        for part in &results {
            let message = self.result(item, part, made_here);
            let message = match made_here {
                true => message.with_multipart_content(sort(&rest).others),
                false => message,
            };
            self.push(message, position);
        }
        if results.is_empty() || (!made_here && !rest.is_empty()) {
            self.say(Role::User, &rest, position);
        }
    }

    fn result(&mut self, item: &NativeItem, part: &Map, made_here: bool) -> Message {
        let response = &part["functionResponse"];
        let field = |key: &str| response.get(key).and_then(Value::as_str);
        let name = field("name").unwrap_or_default();
        let mut metadata = Map::new();
        let id = match made_here {
            true => item.metadata()[TOOL_CALL_ID].as_str().map(str::to_owned),
            false => self.answered(field("id"), name),
        };
        if let Some(id) = id {
            metadata.insert(TOOL_CALL_ID.to_owned(), id.into());
        }
        if !made_here {
            metadata.insert("tool_name".to_owned(), name.into());
        }
        let (text, failed) = result_text(response.get("response").unwrap_or(&Value::Null));
        if failed {
            metadata.insert("tool_error".to_owned(), true.into());
        }
        let result = recall_result(item, &mut metadata).filter(|_| made_here);
        let message = Message::tool(text).with_metadata(metadata);
        match result {
            Some(result) => message.with_tool_result(result),
            None => message,
        }
    }

    /// The id of the call that a result answers: its own, else that of the first call of the tool.
    fn answered(&mut self, id: Option<&str>, name: &str) -> Option<String> {
        let by_id = |call: &(String, String)| id == Some(call.1.as_str());
        let at = self.calls.iter().position(by_id);
        let by_name = || self.calls.iter().position(|call| id.is_none() && call.0 == name);
        match at.or_else(by_name) {
            Some(at) => Some(self.calls.remove(at).1),
            None => id.map(str::to_owned),
        }
    }
}

/// What a result says as text, and whether it tells of a failure.
pub(super) fn result_text(response: &Value) -> (String, bool) {
    let only = |key: &str| {
        response.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.get(key))
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    match (only("error"), only("output").or_else(|| only("result"))) {
        (Some(error), _) => (text(error), true),
        (None, Some(output)) => (text(output), false),
        (None, None) => (text(response), false),
    }
}

/// The parts of a content by kind.
#[derive(Default)]
struct Sorted<'a> {
    text: String,
    thoughts: String,
    calls: Vec<&'a Map>,
    others: Vec<Map>,
}

fn sort<'a>(parts: &[&'a Map]) -> Sorted<'a> {
    let mut sorted = Sorted::default();
    for part in parts {
        let thought = part.get("thought").is_some_and(|thought| thought == true);
        match part.get("text").and_then(Value::as_str) {
            _ if function_call(part).is_some() => sorted.calls.push(part),
            Some(text) if thought => sorted.thoughts.push_str(text),
            Some(text) => sorted.text.push_str(text),
            // A signature alone belongs to the item, not to the message.
            None if part.keys().all(|key| key == "thoughtSignature") => {}
            None => sorted.others.push((*part).clone()),
        }
    }
    sorted
}
