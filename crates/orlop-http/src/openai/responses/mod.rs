//! Responses: turns of sessions, in the words of the Responses API.
//!
//! `request` reads what is asked for, `input` its items; `stream` and `writer` tell what happens,
//! `resource` and `item` are what clients see, `stored` finds it again, and `kept` is what is kept beside it.

mod begin;
pub(super) mod input;
mod item;
pub(super) mod kept;
mod request;
mod resource;
mod routes;
mod stored;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use routes::routes;
pub(super) use stored::is_known;
