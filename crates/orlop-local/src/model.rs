//! A loaded model, and the door to it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use orlop_types::{Error, Result};

use crate::chat::{self, Completion, Grammars, Piece, Request, Template};
use crate::gguf::Gguf;
use crate::lanes;
use crate::llama::{Cache, Caches, Llama, Measures};
use crate::tokenizer::Tokenizer;

/// How a model is run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Threads that compute; without it the physical cores minus one.
    pub threads: Option<usize>,
    /// The most tokens of a conversation; without it what the model was trained for, up to 8192.
    pub context: Option<usize>,
    /// Bytes of memory for conversations that may go on. A conversation that is being answered
    /// has its memory beside it.
    pub cache_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: None, context: None, cache_bytes: 256 << 20 }
    }
}

impl Options {
    /// The most tokens of a conversation with a model that was trained for so many.
    fn context_within(&self, trained: usize) -> usize {
        self.context.unwrap_or(CONTEXT).min(trained)
    }
}

/// The context without a setting: longer conversations are slow on a processor.
const CONTEXT: usize = 8192;

/// A model that answers. It is shared: several threads may ask at the same time and take turns.
pub struct Model {
    pub(crate) llama: Llama,
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) template: Template,
    pub(crate) grammars: Grammars,
    pub(crate) caches: Caches,
    pub(crate) context: usize,
    threads: usize,
    /// Held while a batch is computed: two that compute at once would both be slow.
    turn: Mutex<()>,
}

impl Model {
    /// Opens a GGUF file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// Opens a GGUF file and runs it in this way.
    pub fn open_with(path: &Path, options: &Options) -> Result<Self> {
        Self::load(path, options).map_err(|error| unusable(path, &error))
    }

    /// The most tokens of a conversation with this GGUF file run in this way. Reads its header
    /// only; a file that cannot be run is an error.
    pub fn context_of(path: &Path, options: &Options) -> Result<usize> {
        let measured = Gguf::open(path).and_then(|file| Measures::read(&file.metadata));
        let measures = measured.map_err(|error| unusable(path, &error))?;
        Ok(options.context_within(measures.context))
    }

    fn load(path: &Path, options: &Options) -> Result<Self> {
        let file = Gguf::open(path)?;
        let tokenizer = Arc::new(Tokenizer::read(&file.metadata)?);
        let source = file.metadata.text("tokenizer.chat_template")?;
        let template = Template::new(source, &tokenizer)?;
        let llama = Llama::read(file, tokenizer.count())?;
        let context = options.context_within(llama.measures().context);
        if context < 2 {
            return Err(Error::bad_argument("`context` has to be at least 2"));
        }
        Ok(Self {
            caches: Caches::new(llama.measures(), options.cache_bytes),
            grammars: Grammars::new(tokenizer.clone()),
            threads: options.threads.unwrap_or_else(lanes::default_lanes).clamp(1, 256),
            turn: Mutex::default(),
            llama,
            tokenizer,
            template,
            context,
        })
    }

    /// Answers a request. The listener hears of every batch and every token, and may stop there.
    pub fn chat(
        &self,
        request: &Request,
        listener: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Completion> {
        chat::generate(self, request, listener)
    }

    /// The most tokens of a conversation.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Threads that compute.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Bytes of memory that kept conversations take.
    pub fn cached_bytes(&self) -> usize {
        self.caches.bytes()
    }

    pub(crate) fn read_tokens(
        &self,
        tokens: &[u32],
        cache: &mut Cache,
        last: bool,
    ) -> Result<Vec<f32>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.llama.read_tokens(tokens, cache, self.threads, last)
    }
}

/// The error with the file named in it.
fn unusable(path: &Path, error: &Error) -> Error {
    let named = error.message().contains(&*path.to_string_lossy());
    let message = match named {
        true => error.message().to_owned(),
        false => format!("{} cannot be used: {}", path.display(), error.message()),
    };
    Error::new(error.class(), message).with_retryable(false)
}
