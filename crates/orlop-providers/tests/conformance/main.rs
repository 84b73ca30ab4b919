//! One suite for every provider: what each of them has to do with answers, streams, faults and
//! conversations that begin elsewhere. `cases` lists it all, `subject` lists the providers, and
//! docs/providers-conformance.md is the table of both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod cases;
mod faults;
mod pairs;
mod stage;
mod streams;
mod subject;
mod table;
