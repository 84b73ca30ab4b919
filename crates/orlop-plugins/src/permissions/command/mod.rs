//! Command lines: reading them, what the programs in them run, and which of them only look.

pub(crate) mod effect;
mod git;
pub(crate) mod parse;
pub(crate) mod runs;
pub(crate) mod script;
pub(crate) mod variables;
mod words;
