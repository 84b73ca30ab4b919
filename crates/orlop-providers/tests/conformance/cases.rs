//! The cases, each a test of every provider that it applies to.

use crate::subject::{Subject, subjects};
use crate::{answers, faults, pairs, streams};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;

/// A case as the table shows it.
pub(crate) struct Case {
    /// Its name, which is that of its test.
    pub(crate) name: &'static str,
    /// What holds.
    pub(crate) says: &'static str,
}

macro_rules! cases {
    ($($group:ident { $($name:ident: $says:literal;)* })*) => {
        /// All cases, in the order of the table.
        pub(crate) const CASES: &[Case] = &[$($(Case { name: stringify!($name), says: $says },)*)*];

        $($(
            #[tokio::test]
            async fn $name() {
                each(stringify!($name), |subject| Box::pin($group::$name(subject))).await;
            }
        )*)*
    };
}

cases! {
    answers {
        text: "a text comes as it was said, whole";
        stream: "a text comes in its pieces, and ends in the same message";
        tool_calls: "several tool calls at once with interleaved arguments, their results, the answer";
        reasoning: "reasoning is shown, and goes back to the server byte for byte";
        reasoning_with_calls: "so does reasoning that led to tool calls";
        images: "images go out inline and by address";
        system_message: "a system message reaches the server";
        usage: "token counts, those of caches and of reasoning included";
        finish_reasons: "the reasons to stop, in the same words for every API";
        structured_output: "the schema of the answer reaches the server";
        settings: "temperature, the longest answer and the choice of tools reach the server";
        model_list: "the list of models";
        empty_answer: "an answer of nothing is an answer";
    }
    streams {
        split_at_every_byte: "a stream split at any byte is the same stream";
        cut_at_every_byte: "a stream cut at any byte is complete or an error to try again";
        cut_connection: "a connection that breaks between any two events, seen through HTTP";
        slow_stream: "each piece is shown before the next one is sent";
        cancel_stream: "a cancelled stream closes its connection";
        dropped_stream: "a dropped stream closes its connection";
        cancel_whole: "a cancelled question closes its connection";
    }
    faults {
        refusals: "400, 401, 403, 404 and 413 are told at once, with the server's words and no key";
        passing_faults: "429, 500, 503 and 529 are tried again, then told";
        retry_after: "the server says when to ask again";
        error_in_stream: "an error inside a stream is an error, retryable if it may pass";
        malformed_stream: "a stream that is no JSON, or no text, is an error";
        malformed_answer: "so is an answer that is no JSON, or empty";
        refused_connection: "a server that is not there is named";
        timeouts: "a server that does not begin, or does not go on, is given up";
    }
    pairs {
        switch: "a conversation with tools moves to each other provider and back";
        failed_switch: "a switch that fails leaves the history as it was";
    }
}

/// Runs a case for every provider that it applies to, and tells all failures at once.
async fn each(case: &str, run: impl for<'a> Fn(&'a Subject) -> BoxFuture<'a, ()>) {
    let mut failed = Vec::new();
    for subject in subjects() {
        if subject.exempt(case).is_some() {
            continue;
        }
        println!("{case}: {}", subject.name);
        if AssertUnwindSafe(run(&subject)).catch_unwind().await.is_err() {
            failed.push(subject.name);
        }
    }
    assert!(failed.is_empty(), "{case} fails for {failed:?}; see above");
}
