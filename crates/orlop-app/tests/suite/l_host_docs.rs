//! The page for authors of host plugins, and the example it shows.

use crate::common::*;
use orlop_core::hooks::{HOOKS, Kind};
use std::sync::Arc;

// begin example
use orlop_core::hooks::{ContextInput, Handled, InterceptInput, Interception};
use orlop_core::{Answer, Context, HostPlugin, Manifest};

/// Answers `/ping` itself, and tells the model whose request it is.
struct Greeter;

impl HostPlugin for Greeter {
    fn manifest(&self) -> Manifest {
        Manifest::host("greeter", "1.0.0").priority(10)
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        Answer::ok((input.text.trim() == "/ping").then(|| Handled::text("pong").into()))
    }

    fn context_providers<'a>(
        &'a self,
        input: &'a ContextInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<String>> {
        Answer::ok(vec![format!("The user is {}.", input.request.user_id)])
    }
}
// end example

#[tokio::test] // L-27
async fn the_example_of_the_page_works() {
    let mut scene = Scene::says(&["hello"]);
    scene.plugins = scene.plugins.host(Arc::new(Greeter));
    let (host, failures) = open_door(&scene).await;
    let chat = host.chat(chat_with("s", "/ping", true)).await.unwrap();
    assert_eq!(chat.handled.unwrap().text, "pong");
    chat_to_end(&host, chat_with("s", "hi", true)).await;
    assert_eq!(scene.provider.last_request(), "The user is local.|hi");
    assert_eq!(said(host.app(), "s").await, "hi|hello");
    assert_eq!(failures.text(), "");
}

#[test] // L-27
fn the_page_says_what_belongs_in_a_host_plugin_and_what_does_not() {
    let page = include_str!("../../../../docs/host-plugins.md");
    let between = |text: &'static str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from:?}"));
        rest.split_once(to).map_or(rest, |(part, _)| part)
    };
    let belongs = between(page, "\n## What belongs in one\n", "\n## ");
    for word in ["interception", "activity", "context", "attachment", "background"] {
        assert!(belongs.to_lowercase().contains(word), "{word}");
    }
    let does_not = between(page, "\n## What does not\n", "\n## ");
    for word in ["reasoning", "identity", "routes", "workflows"] {
        assert!(does_not.to_lowercase().contains(word), "{word}");
    }
    let this = include_str!("l_host_docs.rs");
    let example = between(this, "// begin example\n", "// end example");
    assert_eq!(between(page, "```rust\n", "```"), example, "the page shows the example above");
    for hook in HOOKS.iter().filter(|hook| hook.kind == Kind::Host) {
        let seconds = hook.timeout.unwrap().as_secs();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", hook.name)));
        let row = row.unwrap_or_else(|| panic!("no row for {}", hook.name));
        assert!(row.ends_with(&format!("| {seconds} s |")), "{row}");
    }
}
