//! The HTTP host, from outside: a real listener, a real client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../orlop-app/tests/common/mod.rs"]
mod common;
mod site;

mod bad_input;
mod context;
mod costs;
mod hosts;
mod identity;
mod info;
mod leaving;
mod numbers;
mod operate;
mod page;
mod problems;
mod routes;
mod shares;
mod shutdown;
mod streams;
mod turns;
mod unbegun;
