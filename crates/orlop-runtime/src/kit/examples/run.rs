//! Runs one example as the host would: a tool with its preview and its display, an action on a
//! session, a chat request, or a hook by itself.

use super::Example;
use crate::kit::bench::{Bench, Subject};
use crate::kit::probe::Wrong;
use crate::kit::report::Finding;
use crate::kit::{effect, samples};
use orlop_core::hooks::{Hook, Kind};
use orlop_core::types::nearest::hint;
use orlop_core::types::tool::schema_name;
use orlop_core::{Map, Value};
use serde_json::json;
use std::collections::BTreeMap;

/// An example that was run.
pub(in crate::kit) struct Ran {
    /// Kind and name of the plugin.
    pub(in crate::kit) label: String,
    /// The hook that did the work, and its whole input.
    pub(in crate::kit) hook: Hook,
    pub(in crate::kit) args: Map,
    pub(in crate::kit) context: Map,
    pub(in crate::kit) answers: Map,
    /// What is so afterwards.
    pub(in crate::kit) effect: Value,
    /// Whether anything is other than before.
    pub(in crate::kit) is_change: bool,
    /// The text of it.
    pub(in crate::kit) says: Option<String>,
    /// Why it failed.
    pub(in crate::kit) failure: Option<String>,
    /// What people see.
    pub(in crate::kit) shown: BTreeMap<String, String>,
}

impl Ran {
    /// Whether it is an example of this plugin that went well.
    pub(in crate::kit) fn is_good(&self, label: &str) -> bool {
        self.label == label && self.failure.is_none()
    }

    /// Runs an example. An error is that there is nothing it could be about.
    pub(super) fn of(
        example: &Example,
        bench: &mut Bench,
        subjects: &[Subject],
    ) -> Result<Self, Finding> {
        let (subject, hook, given) = called(example, subjects)?;
        let args = samples::args(hook, subject, &given);
        let mut ran = Self {
            label: subject.label.clone(),
            hook,
            args,
            context: example.context.clone(),
            answers: example.answers.clone(),
            effect: Value::Null,
            is_change: false,
            says: None,
            failure: None,
            shown: BTreeMap::new(),
        };
        if let (Some(_), Some(Kind::Application)) = (&example.action, subject.kind()) {
            let messages = example.messages.clone().unwrap_or_else(samples::messages);
            let session = samples::session(messages, example.metadata.clone());
            ran.context.entry("session").or_insert(session);
        }
        if let Ok(probe) = bench.probe() {
            probe.host = example.answers.clone();
        }
        let done = match &example.tool {
            Some(_) => ran.tool(subject, bench),
            None => ran.call(subject, bench),
        };
        if let Ok(probe) = bench.probe() {
            probe.host = Map::new();
        }
        if let Err(wrong) = done {
            ran.failure = Some(match wrong {
                Wrong::Refused { message } => message,
                other => other.to_string(),
            });
        }
        Ok(ran)
    }

    /// A hook by itself, an action, or a chat request.
    fn call(&mut self, subject: &Subject, bench: &mut Bench) -> Result<(), Wrong> {
        let answered = bench.ask(subject, self.hook, &self.args, &self.context)?;
        self.effect = effect::of(self.hook, &self.args, &answered).map_err(Wrong::Unfit)?;
        self.is_change = self.effect_differs();
        let text = |key: &str| self.effect.get(key).map(text_of).filter(|text| !text.is_empty());
        let (key, shown): (_, &[&str]) = match self.hook {
            Hook::InterceptChatRequest => ("text", &["text", "rewrite"]),
            Hook::ExtensionExecuteAction
            | Hook::FeatureExecuteAction
            | Hook::ApplicationExecuteAction => ("message", &["message", "display"]),
            Hook::StreamApi => ("text", &[]),
            _ => ("", &[]),
        };
        self.says = match &self.effect {
            Value::String(text) => Some(text.clone()),
            _ => text(key).or_else(|| text("rewrite")),
        };
        let shown = shown.iter().filter_map(|key| Some(((*key).to_owned(), text(key)?)));
        self.shown = shown.collect();
        let is_action = self.args.contains_key("action_id");
        if is_action && (self.effect["status"] == "error" || !self.effect["error"].is_null()) {
            let why = &self.effect["error"]["message"];
            let why = if why.is_null() { &self.effect["message"] } else { why };
            self.failure = Some(text_of(why));
        }
        Ok(())
    }

    fn effect_differs(&self) -> bool {
        match &self.effect {
            Value::Null => false,
            Value::Object(fields) if self.hook == Hook::ProcessChunk => {
                self.args.get("chunk") != Some(&Value::Object(fields.clone()))
            }
            Value::Object(fields) => fields
                .iter()
                .any(|(key, value)| self.args.get(key) != Some(value) && !value.is_null()),
            Value::Array(_) => {
                let before = if self.hook.name() == "from_native_messages" {
                    "messages"
                } else {
                    "native_messages"
                };
                self.args.get(before) != Some(&self.effect)
            }
            Value::String(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// A tool call from its preview to its display.
    fn tool(&mut self, subject: &Subject, bench: &mut Bench) -> Result<(), Wrong> {
        let name = self.args["tool_name"].as_str().unwrap_or_default().to_owned();
        self.args.insert(
            "tool_call".to_owned(),
            json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": self.args["payload"].to_string()}}),
        );
        if let Some(hook) = subject.has("prepare_tools") {
            let prepared =
                bench.effect(subject, hook, &samples::args(hook, subject, &Map::new()))?;
            self.args.insert("prepared".to_owned(), prepared);
        }
        if let Some(hook) = subject.has("format_tool_call_preview") {
            let preview = bench.ask(subject, hook, &self.args, &self.context)?.outcome;
            self.shown.insert("preview".to_owned(), text_of(&preview));
        }
        let answered = bench.ask(subject, self.hook, &self.args, &self.context)?;
        self.effect = effect::of(self.hook, &self.args, &answered).map_err(Wrong::Unfit)?;
        self.is_change = true;
        let report = self.effect.clone();
        let key = if report["success"] == true { "output" } else { "error" };
        let mut text = text_of(&report[key]);
        let with = |key: &str, value: Value| Map::from_iter([(key.to_owned(), value)]);
        if let Some(hook) = subject.has("format_tool_result") {
            let args = samples::args(hook, subject, &with("result", report.clone()));
            let formatted = bench.effect(subject, hook, &args)?;
            text = if formatted.is_null() { text } else { text_of(&formatted) };
        }
        if let Some(hook) = subject.has("to_display_format") {
            let mut given = with("result", report.clone());
            given.insert("text".to_owned(), text.clone().into());
            let display = bench.effect(subject, hook, &samples::args(hook, subject, &given))?;
            let display = if display.is_null() { text.clone() } else { text_of(&display) };
            self.shown.insert("display".to_owned(), display);
        }
        self.shown.insert("result".to_owned(), text.clone());
        if report["success"] != true {
            self.failure = Some(text.clone());
        }
        self.says = Some(text);
        Ok(())
    }
}

/// A text as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The plugin and the hook that an example is about, with what it gives.
fn called<'a>(
    example: &Example,
    subjects: &'a [Subject],
) -> Result<(&'a Subject, Hook, Map), Finding> {
    let fits = |subject: &&Subject| {
        example.plugin.as_ref().is_none_or(|name| *name == subject.described.name)
    };
    let subjects: Vec<&Subject> = subjects.iter().filter(fits).collect();
    if let Some(tool) = &example.tool {
        let names = |subject: &&Subject| {
            let schemas: Vec<String> = subject.schemas.iter().filter_map(tool_name).collect();
            schemas
        };
        let found = subjects.iter().find(|subject| names(subject).contains(tool));
        let known: Vec<String> = subjects.iter().flat_map(names).collect();
        let subject = found.ok_or_else(|| nothing("tool", tool, &known))?;
        let hook = subject.has("stream_tool").or_else(|| subject.has("execute_tool"));
        let hook = hook.ok_or_else(|| nothing("hook", "execute_tool", &subject.described.hooks))?;
        let given = Map::from_iter([
            ("tool_name".to_owned(), tool.clone().into()),
            ("payload".to_owned(), Value::Object(example.input.clone())),
        ]);
        return Ok((subject, hook, given));
    }
    if let Some(action) = &example.action {
        let has = |subject: &&&Subject| subject.actions.iter().any(|held| held.id == *action);
        let found = subjects.iter().find(has);
        let known =
            subjects.iter().flat_map(|subject| subject.actions.iter().map(|held| held.id.clone()));
        let subject = found.ok_or_else(|| nothing("action", action, &known.collect::<Vec<_>>()))?;
        let hook = subject.has("execute_action");
        let hook =
            hook.ok_or_else(|| nothing("hook", "execute_action", &subject.described.hooks))?;
        let definition = subject.actions.iter().find(|held| held.id == *action);
        let params =
            definition.map_or(Ok(example.input.clone()), |held| held.validate(&example.input));
        let params = params.map_err(|error| {
            Finding::new(
                error.message(),
                "inputs as the action declares them",
                "correct `input` of the example",
            )
        })?;
        let messages = example.messages.clone().unwrap_or_else(samples::messages);
        let mut given = Map::from_iter([
            ("action_id".to_owned(), action.clone().into()),
            ("params".to_owned(), Value::Object(params)),
        ]);
        if subject.kind() != Some(Kind::Application) {
            let native: Vec<Value> = messages
                .iter()
                .map(|message| json!({"role": message["role"], "content": message["content"]}))
                .collect();
            given.insert("native_messages".to_owned(), native.into());
            given
                .insert("session".to_owned(), samples::session(messages, example.metadata.clone()));
        }
        return Ok((subject, hook, given));
    }
    let (name, given) = match (&example.chat, &example.hook) {
        (Some(text), _) => {
            let mut given = example.input.clone();
            given.insert("text".to_owned(), text.clone().into());
            ("intercept_chat_request", given)
        }
        (None, hook) => (hook.as_deref().unwrap_or_default(), example.input.clone()),
    };
    let found = subjects.iter().find_map(|subject| Some((*subject, subject.has(name)?)));
    let known = subjects.iter().flat_map(|subject| subject.described.hooks.clone());
    let (subject, hook) = found.ok_or_else(|| nothing("hook", name, &known.collect::<Vec<_>>()))?;
    let mut given = given;
    // A state says only what matters; the rest is as `init` left it.
    if let (Some(Value::Object(state)), Value::Object(held)) = (given.get("state"), &subject.state)
    {
        let mut whole = held.clone();
        whole.extend(state.clone());
        given.insert("state".to_owned(), Value::Object(whole));
    }
    Ok((subject, hook, given))
}

fn nothing(what: &str, name: &str, known: &[String]) -> Finding {
    let known = known.iter().map(String::as_str);
    Finding::new(
        format!("the package has no {what} \"{name}\""),
        format!("that there is one; {}", hint(name, known)),
        "correct the example or the plugin",
    )
}

fn tool_name(schema: &Value) -> Option<String> {
    schema.as_object().and_then(schema_name).map(str::to_owned)
}
