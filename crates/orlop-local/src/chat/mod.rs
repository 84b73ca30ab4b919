//! One answer of a model: what is asked for, and the loop that reads the prompt and writes tokens.

mod calls;
mod constraint;
mod generate;
mod sampling;
mod template;

use orlop_types::{Map, Value};

pub(crate) use constraint::Grammars;
pub(crate) use generate::generate;
pub use sampling::Sampling;
pub(crate) use template::Template;

/// What a model is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Tools the model may call.
    pub tools: Vec<Tool>,
    /// Whether it has to.
    pub tool_choice: ToolChoice,
    /// A JSON Schema: the answer is JSON that satisfies it. Tools are not offered then.
    pub output_schema: Option<Value>,
    /// How the next token is chosen.
    pub sampling: Sampling,
    /// The most tokens of the answer; without it the context is the limit.
    pub max_tokens: Option<usize>,
    /// Texts that end the answer; they are not part of it.
    pub stop: Vec<String>,
}

/// A message of the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text; of a tool message what the tool answered.
    pub content: String,
    /// What an assistant called.
    pub calls: Vec<Call>,
}

/// A tool as it is told to the model.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Option<Value>,
}

/// Whether the model calls tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It chooses between text and calls.
    #[default]
    Auto,
    /// It writes text; tools are not told to it.
    None,
    /// It calls at least one.
    Required,
    /// It calls this one.
    Named(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map,
}

/// What a model is doing, told while it does it: after each batch of the prompt and each token of
/// the answer, so that whoever listens can stop it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// It has read so many tokens of the prompt.
    Reading {
        /// Tokens read, those from the cache among them.
        read: usize,
        /// Tokens of the prompt.
        of: usize,
    },
    /// It has written so much more text; empty while a character or a call is not complete.
    Text(&'a str),
}

/// A finished answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Its text, without calls.
    pub text: String,
    /// The calls in it.
    pub calls: Vec<Call>,
    /// What it took.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// How many of them were known from an earlier answer.
    pub cached: usize,
    /// Tokens of the answer.
    pub output: usize,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model was done, or wrote a stop text.
    Stop,
    /// The model called tools.
    ToolCalls,
    /// `max_tokens` or the end of the context.
    Length,
    /// Whoever listened stopped it.
    Cancelled,
}
