//! The chat template of a model file: messages to the text that the model was trained on.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, ErrorKind, Value as Jinja};
use orlop_types::{Error, Result, Value};
use serde_json::{Map, json};

use super::{Message, Tool, calls};
use crate::tokenizer::Tokenizer;

/// Steps a template may take: a file is not trusted, and a template can loop.
const STEPS: u64 = 20_000_000;

/// What a file without a template is given: the form of ChatML.
const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + \
    message['content'] + '<|im_end|>\\n' }}{% endfor %}\
    {% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A compiled template.
pub(crate) struct Template {
    environment: Environment<'static>,
    /// It tells tools to the model in the form of [`calls`].
    knows_tools: bool,
    begin: String,
    end: String,
}

impl Template {
    /// Compiles the template of a file.
    pub(crate) fn new(source: Option<&str>, tokenizer: &Tokenizer) -> Result<Self> {
        let source = source.unwrap_or(CHATML).to_owned();
        let knows_tools = source.contains("tools") && source.contains(calls::BEGIN);
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| Error::internal(error.to_string()))?);
        environment.set_fuel(Some(STEPS));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", to_json);
        environment.add_function("raise_exception", raise_exception);
        environment.add_template_owned("chat", source).map_err(|error| {
            Error::bad_argument(format!(
                "the chat template of the model file cannot be read: {error}; take another file"
            ))
        })?;
        let (begin, end) = tokenizer.begin_and_end();
        Ok(Self { environment, knows_tools, begin, end })
    }

    /// The prompt of a conversation, up to where the assistant speaks.
    pub(crate) fn render(
        &self,
        messages: &[Message],
        tools: &[Tool],
        tokenizer: &Tokenizer,
    ) -> Result<String> {
        let told;
        let (messages, tools) = if self.knows_tools {
            (messages, tools)
        } else {
            told = calls::tell(messages, tools);
            (&told[..], &[][..])
        };
        let guard = |text: &str| tokenizer.guard(text);
        let messages: Vec<_> = messages.iter().map(|message| native(message, &guard)).collect();
        let mut values = json!({
            "messages": messages,
            "add_generation_prompt": true,
            "bos_token": self.begin,
            "eos_token": self.end,
        });
        if !tools.is_empty() {
            let tools: Vec<_> =
                tools.iter().map(|tool| guarded(calls::describe(tool), &guard)).collect();
            values["tools"] = tools.into();
        }
        let template = self.environment.get_template("chat");
        template.and_then(|template| template.render(Serde(values))).map_err(|error| {
            let reason = error.detail().map_or_else(|| error.to_string(), str::to_owned);
            Error::bad_argument(format!(
                "the chat template of the model refused the conversation: {reason}"
            ))
        })
    }
}

/// A message as templates expect it.
fn native(message: &Message, guard: &impl Fn(&str) -> String) -> Value {
    let mut native = json!({ "role": message.role, "content": guard(&message.content) });
    if !message.calls.is_empty() {
        let call = |call: &super::Call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            guarded(json!({ "type": "function", "function": function }), guard)
        };
        native["tool_calls"] = message.calls.iter().map(call).collect();
    }
    native
}

/// All texts in a value guarded, so that no argument of a call can steer the model.
fn guarded(value: Value, guard: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(guard(&text)),
        Value::Array(items) => items.into_iter().map(|item| guarded(item, guard)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, it)| (guard(&key), guarded(it, guard)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// As in Python, where templates come from: a space after commas and colons, and no HTML escapes.
fn to_json(value: &Jinja, options: Kwargs) -> Result<Jinja, minijinja::Error> {
    let failed = |error: serde_json::Error| {
        minijinja::Error::new(ErrorKind::BadSerialization, error.to_string())
    };
    let value = serde_json::to_value(value).map_err(failed)?;
    let text = match options.get::<Option<usize>>("indent")? {
        Some(_) => serde_json::to_string_pretty(&value).map_err(failed)?,
        None => calls::spaced(&value),
    };
    // Python's other options change nothing that matters to a model.
    let _ = options.args().count();
    Ok(Jinja::from_safe_string(text))
}

fn raise_exception(message: String) -> Result<String, minijinja::Error> {
    Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
}
