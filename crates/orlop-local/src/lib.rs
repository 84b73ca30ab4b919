//! The embedded model: runs GGUF files of the llama family on the processor, without other tools.
//!
//! [`Model::open`] maps a file; [`Model::chat`] answers a conversation, calls tools and follows
//! schemas. It is synchronous and knows no provider, no session and no network: who embeds it runs
//! it on a thread that may block. A model file is not trusted; a broken one is an error.

mod chat;
mod format;
mod gguf;
mod kernels;
mod lanes;
mod llama;
mod mapped;
mod model;
#[cfg(test)]
mod reference;
mod tokenizer;

pub use chat::{
    Call, Completion, Finish, Message, Piece, Request, Sampling, Tool, ToolChoice, Usage,
};
pub use model::{Model, Options};
