//! A provider without a network: a script of replies.
