//! Answers that follow a grammar: JSON of a schema, or calls of the offered tools.
//!
//! Before a token is chosen, every token that cannot continue a valid answer is forbidden.

use std::sync::{Arc, OnceLock};

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use orlop_types::{Error, Result, Value};
use serde_json::json;
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use super::calls::{BEGIN, END, no_parameters};
use super::{Request, Tool, ToolChoice};
use crate::tokenizer::Tokenizer;

/// Makes constraints for the vocabulary of a model. What they share is built on first use.
pub(crate) struct Grammars {
    tokenizer: Arc<Tokenizer>,
    factory: OnceLock<Result<ParserFactory>>,
}

/// The state of a constrained answer.
pub(super) struct Constraint(Matcher);

impl Grammars {
    pub(crate) fn new(tokenizer: Arc<Tokenizer>) -> Self {
        Self { tokenizer, factory: OnceLock::new() }
    }

    /// The constraint that a request asks for, if it asks for one.
    pub(super) fn constraint(&self, request: &Request) -> Result<Option<Constraint>> {
        let Some(grammar) = grammar(request)? else { return Ok(None) };
        let factory = self.factory.get_or_init(|| self.build()).as_ref().map_err(Clone::clone)?;
        let mut matcher = Matcher::new(factory.create_parser(grammar));
        match matcher.get_error() {
            None => Ok(Some(Constraint(matcher))),
            Some(reason) => {
                let reason = reason.lines().next().unwrap_or_default().to_owned();
                // Says which of several schemas it is.
                let _ = matcher.grammar_warnings();
                Err(Error::bad_argument(format!(
                    "the embedded model cannot follow the schema it was given: {reason}"
                )))
            }
        }
    }

    fn build(&self) -> Result<ParserFactory> {
        let environment: TokEnv = Arc::new(Vocabulary::new(self.tokenizer.clone()));
        let mut factory = ParserFactory::new_simple(&environment)
            .map_err(|error| Error::internal(format!("the vocabulary has no grammar: {error}")))?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(factory)
    }
}

impl Constraint {
    /// Forbids what cannot follow.
    pub(super) fn apply(&mut self, logits: &mut [f32]) -> Result<()> {
        let allowed = self.0.compute_mask_or_eos().map_err(failed)?;
        let end = logits.len().min(allowed.len());
        for (token, logit) in logits.iter_mut().enumerate() {
            if token >= end || !allowed.is_allowed(token as u32) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }

    /// Takes a token and answers with those that must follow it.
    pub(super) fn accept(&mut self, token: u32) -> Result<Vec<u32>> {
        self.0.consume_token(token).map_err(failed)?;
        if self.0.is_stopped() {
            return Ok(Vec::new());
        }
        let forced = self.0.consume_ff_tokens();
        match self.0.get_error() {
            None => Ok(forced),
            Some(reason) => Err(Error::internal(format!("the grammar failed: {reason}"))),
        }
    }

    /// Whether nothing can follow.
    pub(super) fn is_done(&self) -> bool {
        self.0.is_stopped()
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("the answer left its grammar: {error}"))
}

fn grammar(request: &Request) -> Result<Option<TopLevelGrammar>> {
    if let Some(schema) = &request.output_schema {
        return Ok(Some(TopLevelGrammar::from_json_schema(compact(schema, false)?)));
    }
    let tools = offered(request)?;
    if tools.is_empty() {
        return Ok(None);
    }
    let calls = calls_grammar(&tools)?;
    let start = match request.tool_choice {
        // Free text, or text up to the first call; after a call only calls.
        ToolChoice::Auto => format!(
            "start: FREE | before call more\n\
             before[suffix={begin}]: FREE\n\
             FREE: /(.|\\n)*/\n",
            begin = quoted(BEGIN),
        ),
        _ => format!("start: {begin} call more\n", begin = quoted(BEGIN)),
    };
    Ok(Some(TopLevelGrammar::from_lark(format!("{start}{calls}"))))
}

/// The tools that may be called.
pub(super) fn offered(request: &Request) -> Result<Vec<&Tool>> {
    match &request.tool_choice {
        _ if request.output_schema.is_some() => Ok(Vec::new()),
        ToolChoice::None => Ok(Vec::new()),
        ToolChoice::Auto => Ok(request.tools.iter().collect()),
        ToolChoice::Required if request.tools.is_empty() => Err(Error::bad_argument(
            "a call of a tool is required and no tool is offered; offer one",
        )),
        ToolChoice::Required => Ok(request.tools.iter().collect()),
        ToolChoice::Named(name) => match request.tools.iter().find(|tool| tool.name == *name) {
            Some(tool) => Ok(vec![tool]),
            None => Err(Error::bad_argument(format!(
                "a call of the tool {name:?} is required and it is not offered; offer it"
            ))),
        },
    }
}

/// What comes after `<tool_call>`: a call of one of the tools, its end, and more calls.
fn calls_grammar(tools: &[&Tool]) -> Result<String> {
    let names: Vec<_> = (0..tools.len()).map(|at| format!("call_{at}")).collect();
    let mut text = format!(
        "more: ({again} call)*\ncall: \"\\n\" ({names}) {end}\n",
        again = quoted(&format!("\n{BEGIN}")),
        names = names.join(" | "),
        end = quoted(&format!("\n{END}")),
    );
    for (at, tool) in tools.iter().enumerate() {
        let head = format!("{{\"name\": {}, \"arguments\": ", json!(tool.name));
        let parameters = tool.parameters.clone().filter(|it| !it.is_null());
        let schema = compact(&parameters.unwrap_or_else(no_parameters), true)?;
        text.push_str(&format!("call_{at}: {} arguments_{at} \"}}\"\n", quoted(&head)));
        text.push_str(&format!("arguments_{at}: %json {schema}\n"));
    }
    Ok(text)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A schema with the one way to write white space, so that a model cannot fill its answer with it.
/// `lenient`: what the grammar cannot express is left out instead of refused; a tool checks its
/// arguments itself.
fn compact(schema: &Value, lenient: bool) -> Result<Value> {
    let Value::Object(fields) = schema else {
        return match schema {
            Value::Bool(true) => compact(&json!({}), lenient),
            _ => Err(Error::bad_argument("a JSON Schema is an object; this one is not")),
        };
    };
    let mut fields = fields.clone();
    let options = json!({
        "whitespace_flexible": false,
        "item_separator": ", ",
        "key_separator": ": ",
        "lenient": lenient,
    });
    fields.insert("x-guidance".to_owned(), options);
    Ok(Value::Object(fields))
}

/// The vocabulary as the grammars need it.
struct Vocabulary {
    tokenizer: Arc<Tokenizer>,
    trie: TokTrie,
}

impl Vocabulary {
    fn new(tokenizer: Arc<Tokenizer>) -> Self {
        let count = u32::try_from(tokenizer.count()).unwrap_or(u32::MAX);
        let word = |token| match tokenizer.steering_text(token) {
            // A grammar of text never matches these.
            Some(text) => [&[TokTrie::SPECIAL_TOKEN_MARKER], text].concat(),
            None => tokenizer.bytes(token).to_vec(),
        };
        let words: Vec<_> = (0..count).map(word).collect();
        let trie = TokTrie::from(&TokRxInfo::new(count, tokenizer.end()), &words);
        Self { tokenizer, trie }
    }
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.tokenizer.encode_bytes(bytes)
    }
}
