//! The loop of an answer: read what is new, choose a token, give out its text.

use std::ops::ControlFlow;

use orlop_types::{Error, Result};

use super::constraint::{self, Constraint};
use super::sampling::Sampler;
use super::{Completion, Finish, Piece, Request, Usage, calls};
use crate::llama::{BATCH, Cache};
use crate::model::Model;
use crate::tokenizer::TextStream;

/// Hears what happens and says whether to go on.
pub(crate) type Listener<'a> = dyn FnMut(Piece<'_>) -> ControlFlow<()> + 'a;

/// Answers a request.
pub(crate) fn generate(
    model: &Model,
    request: &Request,
    listener: &mut Listener<'_>,
) -> Result<Completion> {
    let constraint = model.grammars.constraint(request)?;
    let prompt = prompt(model, request)?;
    let cache = model.caches.take(&prompt, model.llama.measures());
    let usage = Usage { prompt: prompt.len(), cached: cache.tokens().len(), output: 0 };
    let mut answer = Answer {
        model,
        request,
        listener,
        sampler: Sampler::new(&request.sampling),
        text: AnswerText::new(request)?,
        constraint,
        cache,
        usage,
    };
    let finish = answer.run(&prompt);
    let Answer { cache, text, usage, listener, .. } = answer;
    model.caches.put(cache);
    let finish = finish?;
    let (text, calls, rest) = text.finish();
    if !rest.is_empty() && finish != Finish::Cancelled {
        // The answer is complete; a wish to stop has nothing left to stop.
        let _ = listener(Piece::Text(&rest));
    }
    let finish = match finish {
        Finish::Stop if !calls.is_empty() => Finish::ToolCalls,
        other => other,
    };
    Ok(Completion { text, calls, usage, finish })
}

/// The tokens of the conversation.
fn prompt(model: &Model, request: &Request) -> Result<Vec<u32>> {
    let offered = constraint::offered(request)?;
    let tools: Vec<_> = offered.into_iter().cloned().collect();
    let mut messages = request.messages.clone();
    if let Some(schema) = &request.output_schema {
        let paragraph = format!("Answer with JSON that satisfies this JSON Schema:\n{schema}");
        calls::add_to_system(&mut messages, &paragraph);
    }
    let text = model.template.render(&messages, &tools, &model.tokenizer)?;
    let tokens = model.tokenizer.prompt(&text);
    if tokens.is_empty() {
        return Err(Error::bad_argument("there is nothing to answer; send a message"));
    }
    if tokens.len() >= model.context {
        return Err(Error::bad_argument(format!(
            "the conversation has {} tokens and the embedded model takes {}; shorten it, or set a \
             larger `context` (this model: up to {})",
            tokens.len(),
            model.context - 1,
            model.llama.measures().context,
        ))
        .with_context_overflow());
    }
    Ok(tokens)
}

struct Answer<'a, 'b> {
    model: &'a Model,
    request: &'a Request,
    listener: &'a mut Listener<'b>,
    sampler: Sampler,
    text: AnswerText,
    constraint: Option<Constraint>,
    cache: Cache,
    usage: Usage,
}

impl Answer<'_, '_> {
    fn run(&mut self, prompt: &[u32]) -> Result<Finish> {
        let model = self.model;
        let room = model.context - prompt.len();
        let most = self.request.max_tokens.unwrap_or(room).min(room);
        let mut unread = prompt[self.cache.tokens().len()..].to_vec();
        let mut written = Vec::new();
        loop {
            let Some(mut logits) = self.read(&unread, prompt.len())? else {
                return Ok(Finish::Cancelled);
            };
            if most == 0 {
                return Ok(Finish::Length);
            }
            match &mut self.constraint {
                Some(constraint) => constraint.apply(&mut logits)?,
                None => self.sampler.penalise(&mut logits, &written),
            }
            let Some(token) = self.sampler.choose(&logits) else {
                return Err(Error::internal("no token may follow; the model file may be broken"));
            };
            if model.tokenizer.is_end(token) {
                return Ok(Finish::Stop);
            }
            unread = vec![token];
            if let Some(constraint) = &mut self.constraint {
                unread.extend(constraint.accept(token)?);
            }
            unread.truncate(most - written.len());
            written.extend(&unread);
            self.usage.output = written.len();
            if self.write(&unread).is_break() {
                return Ok(Finish::Stop);
            }
            if self.constraint.as_ref().is_some_and(Constraint::is_done) {
                return Ok(Finish::Stop);
            }
            let piece = self.text.take();
            if (self.listener)(Piece::Text(piece)).is_break() {
                return Ok(Finish::Cancelled);
            }
            if written.len() >= most {
                return Ok(Finish::Length);
            }
        }
    }

    /// Adds the text of tokens to the answer; breaks at a stop text.
    fn write(&mut self, tokens: &[u32]) -> ControlFlow<()> {
        for token in tokens {
            if self.model.tokenizer.is_end(*token) {
                return ControlFlow::Break(());
            }
            self.text.push(self.model.tokenizer.bytes(*token))?;
        }
        ControlFlow::Continue(())
    }

    /// Reads tokens batch by batch. Nothing if the listener stopped it.
    fn read(&mut self, tokens: &[u32], prompt: usize) -> Result<Option<Vec<f32>>> {
        let mut batches = tokens.chunks(BATCH).peekable();
        while let Some(batch) = batches.next() {
            let last = batches.peek().is_none();
            let logits = self.model.read_tokens(batch, &mut self.cache, last)?;
            if last && self.cache.tokens().len() > prompt {
                return Ok(Some(logits));
            }
            let read = self.cache.tokens().len();
            let piece = Piece::Reading { read: read.min(prompt), of: prompt };
            if (self.listener)(piece).is_break() {
                return Ok(None);
            }
            if last {
                return Ok(Some(logits));
            }
        }
        Err(Error::internal("there was no token to read"))
    }
}

/// The text of an answer: what is shown, and after it the calls.
struct AnswerText {
    shown: TextStream,
    /// The bytes from `<tool_call>` on, once it has come.
    calls: Option<Vec<u8>>,
    may_call: bool,
    /// All bytes before a call, to find out which of the stop texts has come.
    bytes: Vec<u8>,
}

impl AnswerText {
    fn new(request: &Request) -> Result<Self> {
        let may_call = !constraint::offered(request)?.is_empty();
        let mut stops = request.stop.clone();
        if may_call {
            stops.push(calls::BEGIN.to_owned());
        }
        let shown = TextStream::new(&stops);
        Ok(Self { shown, calls: None, may_call, bytes: Vec::new() })
    }

    fn push(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        if let Some(calls) = &mut self.calls {
            calls.extend_from_slice(bytes);
            return ControlFlow::Continue(());
        }
        self.bytes.extend_from_slice(bytes);
        if self.shown.push(bytes).is_continue() {
            return ControlFlow::Continue(());
        }
        // Which text ended it: a call begins, or a stop text of the request.
        let rest = self.bytes.get(self.shown.text().len()..).unwrap_or_default();
        if self.may_call && rest.starts_with(calls::BEGIN.as_bytes()) {
            self.calls = Some(rest.to_vec());
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    }

    /// New text to show.
    fn take(&mut self) -> &str {
        if self.calls.is_some() { "" } else { self.shown.take() }
    }

    /// The text, the calls, and what of the text was not given out yet.
    fn finish(mut self) -> (String, Vec<super::Call>, String) {
        let rest = self.shown.finish().to_owned();
        let text = self.shown.text();
        let Some(calls) = &self.calls else {
            return (text.to_owned(), Vec::new(), rest);
        };
        let calls = calls::read(&String::from_utf8_lossy(calls));
        (text.trim_end().to_owned(), calls, rest.trim_end().to_owned())
    }
}
