//! The OpenAI-compatible API over a real listener.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chat;
mod conversations;
mod hosts;
mod responses;
mod scene;
