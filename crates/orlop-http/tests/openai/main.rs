//! The OpenAI-compatible API over a real listener.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod again;
mod chat;
mod conversations;
mod open_responses;
mod refusals;
mod responses;
mod scene;
mod slow;
