//! Responses: turns of sessions, in the words of the Responses API.
//!
//! `request` reads what is asked for, `input` its items; `stream` and `writer` tell what happens,
//! `resource` and `item` are what clients see, and `stored` finds it again.

mod begin;
mod input;
mod item;
mod request;
mod resource;
mod routes;
mod stored;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use routes::routes;
