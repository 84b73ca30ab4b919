//! Builds the output of a response piece by piece, and tells each piece as the events of the API.

use super::item::{Item, Outcome, output_text};
use crate::openai::content::as_text;
use orlop_core::Value;
use orlop_core::types::PayloadKind;
use orlop_core::types::app_event::CallerCall;
use serde_json::json;

/// An event without its number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) kind: &'static str,
    pub(super) fields: Value,
    /// How many characters it adds to a text that may also be told in other pieces.
    pub(super) characters: Option<usize>,
}

impl Told {
    pub(super) fn new(kind: &'static str, fields: Value) -> Self {
        Self { kind, fields, characters: None }
    }

    /// How many numbers it takes: one for each character of a text, so that the numbers do not
    /// depend on its pieces.
    pub(super) fn numbers(&self) -> u64 {
        self.characters.map_or(1, |count| count as u64)
    }

    /// The rest of it, without the first so many characters of its text.
    pub(super) fn without(mut self, characters: u64) -> Self {
        let characters = usize::try_from(characters).unwrap_or(usize::MAX);
        if let (Some(count), Some(delta)) = (self.characters, self.fields.get_mut("delta")) {
            let text = delta.as_str().unwrap_or_default();
            let rest: String = text.chars().skip(characters).collect();
            *delta = rest.into();
            self.characters = Some(count.saturating_sub(characters));
        }
        self
    }
}

/// The output so far. Reasoning and text of an answer may both be open; what is closed does not
/// change any more.
pub(super) struct Writer {
    request: String,
    items: Vec<Item>,
    reasoning: Option<usize>,
    message: Option<usize>,
    /// The message that ends before it is whole.
    cut_off: Option<usize>,
    told: Vec<Told>,
}

impl Writer {
    /// Writes the response to `request`.
    pub(super) fn new(request: &str) -> Self {
        Self {
            request: request.to_owned(),
            items: Vec::new(),
            reasoning: None,
            message: None,
            cut_off: None,
            told: Vec::new(),
        }
    }

    /// The request whose response this is.
    pub(super) fn request(&self) -> &str {
        &self.request
    }

    /// What happened since this was asked last.
    pub(super) fn take(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// The items. Those that are open end as they are.
    pub(super) fn output(&self) -> Value {
        let open = |place: usize| self.reasoning == Some(place) || self.message == Some(place);
        let status = |place: usize, item: &Item| match item {
            Item::Own { result: None, .. } => "incomplete",
            _ if open(place) => "incomplete",
            _ => "completed",
        };
        let items = self.items.iter().enumerate();
        items.map(|(place, item)| item.json(&self.request, place, status(place, item))).collect()
    }

    fn id(&self, place: usize) -> String {
        self.items.get(place).map(|item| item.id(&self.request, place)).unwrap_or_default()
    }

    fn json(&self, place: usize, status: &str) -> Value {
        let item = self.items.get(place);
        item.map(|item| item.json(&self.request, place, status)).unwrap_or_default()
    }

    fn tell(&mut self, kind: &'static str, fields: Value) {
        self.told.push(Told::new(kind, fields));
    }

    /// Tells something of one item.
    fn tell_of(&mut self, kind: &'static str, place: usize, mut fields: Value) {
        fields["item_id"] = self.id(place).into();
        fields["output_index"] = place.into();
        self.tell(kind, fields);
    }

    /// Tells more of the text of an item.
    fn tell_text(&mut self, kind: &'static str, place: usize, delta: &str, fields: Value) {
        self.tell_of(kind, place, fields);
        if let Some(told) = self.told.last_mut() {
            told.fields["delta"] = delta.into();
            told.characters = Some(delta.chars().count());
        }
    }

    fn add(&mut self, item: Item) -> usize {
        let place = self.items.len();
        self.items.push(item);
        place
    }

    fn added(&mut self, place: usize, item: Value) {
        let fields = json!({ "output_index": place, "item": item });
        self.tell("response.output_item.added", fields);
    }

    fn done(&mut self, place: usize) {
        let status = if self.cut_off == Some(place) { "incomplete" } else { "completed" };
        let fields = json!({ "output_index": place, "item": self.json(place, status) });
        self.tell("response.output_item.done", fields);
    }

    /// More reasoning of the answer under way.
    pub(super) fn reason(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        let place = match self.reasoning {
            Some(place) => place,
            None => {
                let place = self.add(Item::Reasoning { text: String::new() });
                self.reasoning = Some(place);
                self.added(place, self.json(place, "in_progress"));
                let part = json!({ "type": "summary_text", "text": "" });
                let fields = json!({ "summary_index": 0, "part": part });
                self.tell_of("response.reasoning_summary_part.added", place, fields);
                place
            }
        };
        if let Some(Item::Reasoning { text }) = self.items.get_mut(place) {
            text.push_str(delta);
        }
        let fields = json!({ "summary_index": 0 });
        self.tell_text("response.reasoning_summary_text.delta", place, delta, fields);
    }

    /// More text of the answer under way.
    pub(super) fn say(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        let place = match self.message {
            Some(place) => place,
            None => {
                let place = self.add(Item::Message { text: String::new() });
                self.message = Some(place);
                self.added(place, self.json(place, "in_progress"));
                let fields = json!({ "content_index": 0, "part": output_text("") });
                self.tell_of("response.content_part.added", place, fields);
                place
            }
        };
        if let Some(Item::Message { text }) = self.items.get_mut(place) {
            text.push_str(delta);
        }
        let fields = json!({ "content_index": 0, "logprobs": [] });
        self.tell_text("response.output_text.delta", place, delta, fields);
    }

    /// The answer under way is whole.
    pub(super) fn close(&mut self) {
        let mut open = [self.reasoning.take(), self.message.take()];
        open.sort();
        for place in open.into_iter().flatten() {
            match self.items.get(place).cloned() {
                Some(Item::Reasoning { text }) => {
                    let fields = json!({ "summary_index": 0, "text": text });
                    self.tell_of("response.reasoning_summary_text.done", place, fields);
                    let part = json!({ "type": "summary_text", "text": text });
                    let fields = json!({ "summary_index": 0, "part": part });
                    self.tell_of("response.reasoning_summary_part.done", place, fields);
                }
                Some(Item::Message { text }) => {
                    let fields = json!({ "content_index": 0, "text": text, "logprobs": [] });
                    self.tell_of("response.output_text.done", place, fields);
                    let fields = json!({ "content_index": 0, "part": output_text(&text) });
                    self.tell_of("response.content_part.done", place, fields);
                }
                _ => {}
            }
            self.done(place);
        }
    }

    /// One of the agent's own tools is called.
    pub(super) fn own_call(&mut self, call_id: &str, name: &str, arguments: &str) {
        self.close();
        let called = |arguments: &str| Item::Own {
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            result: None,
        };
        let place = self.add(called(arguments));
        self.added(place, called("").json(&self.request, place, "in_progress"));
        self.tell_of("response.mcp_call.in_progress", place, json!({}));
        let fields = json!({ "delta": arguments });
        self.tell_of("response.mcp_call_arguments.delta", place, fields);
        let fields = json!({ "arguments": arguments });
        self.tell_of("response.mcp_call_arguments.done", place, fields);
    }

    /// What came of it.
    pub(super) fn own_result(&mut self, call_id: &str, outcome: Outcome) {
        let failed = outcome.failed;
        let is_it = |item: &Item| matches!(item, Item::Own { call_id: id, result: None, .. } if id == call_id);
        let Some(place) = self.items.iter().position(is_it) else { return };
        if let Some(Item::Own { result, .. }) = self.items.get_mut(place) {
            *result = Some(outcome);
        }
        let kind = if failed { "response.mcp_call.failed" } else { "response.mcp_call.completed" };
        self.tell_of(kind, place, json!({}));
        self.done(place);
    }

    /// A call for the client. Its arguments come at once.
    fn caller_call(&mut self, call: &CallerCall) {
        self.close();
        let input = as_text(&call.input);
        let empty = CallerCall { input: "".into(), ..call.clone() };
        let place = self.add(Item::Caller(call.clone()));
        self.added(place, Item::Caller(empty).json(&self.request, place, "in_progress"));
        let (delta, done, whole) = match call.kind {
            PayloadKind::Json => (
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                json!({ "arguments": input, "name": call.name }),
            ),
            PayloadKind::Text => (
                "response.custom_tool_call_input.delta",
                "response.custom_tool_call_input.done",
                json!({ "input": input }),
            ),
        };
        self.tell_of(delta, place, json!({ "delta": input }));
        self.tell_of(done, place, whole);
        self.done(place);
    }

    /// The request is over, and this is all it came to: what was not told is told now. The message
    /// at `cut_off` is not whole.
    pub(super) fn finish(&mut self, whole: &[Item], cut_off: Option<usize>) {
        self.cut_off = cut_off;
        for place in [self.reasoning, self.message].into_iter().flatten() {
            self.adopt(place, whole.get(place));
        }
        self.close();
        let told = self.items.len();
        // Calls for the client come last. Whatever was told otherwise, they must be heard of.
        let is_call = |item: &&Item| matches!(item, Item::Caller(_));
        let agree =
            whole.len() >= told
                && self.items.iter().zip(whole).all(|(told, whole)| {
                    std::mem::discriminant(told) == std::mem::discriminant(whole)
                });
        let rest: Vec<&Item> = match agree {
            true => whole.iter().skip(told).collect(),
            false => whole.iter().filter(is_call).collect(),
        };
        self.write(rest);
    }

    /// Tells whole items, in the order in which they are told piece by piece: reasoning stays open
    /// beside the text that follows it.
    pub(super) fn write<'a>(&mut self, items: impl IntoIterator<Item = &'a Item>) {
        items.into_iter().for_each(|item| self.write_one(item));
        self.close();
    }

    fn write_one(&mut self, item: &Item) {
        match item {
            Item::Reasoning { text } => {
                self.close();
                self.reason(text);
            }
            Item::Message { text } => {
                self.say(text);
                self.close();
            }
            Item::Own { call_id, name, arguments, result } => {
                self.own_call(call_id, name, arguments);
                if let Some(outcome) = result {
                    self.own_result(call_id, outcome.clone());
                }
            }
            Item::Caller(call) => self.caller_call(call),
        }
    }

    /// Takes the final text of an open item, which may be longer than what was told of it, or
    /// another one if a plugin changed it at the end.
    fn adopt(&mut self, place: usize, whole: Option<&Item>) {
        match (self.items.get_mut(place), whole) {
            (Some(Item::Message { text }), Some(Item::Message { text: whole })) => {
                match whole.strip_prefix(text.as_str()) {
                    Some(rest) => self.say(rest),
                    None => text.clone_from(whole),
                }
            }
            (Some(Item::Reasoning { text }), Some(Item::Reasoning { text: whole })) => {
                match whole.strip_prefix(text.as_str()) {
                    Some(rest) => self.reason(rest),
                    None => text.clone_from(whole),
                }
            }
            _ => {}
        }
    }
}
