//! A feature: counts the words of a session, with a button and after each request.

use orlop_core::hooks::{ActionInput, ActionsInput};
use orlop_core::{ActionDefinition, ActionResult, Answer, Context, Feature, Manifest, Plugin};
use serde_json::json;

pub struct MyPlugin;

impl Plugin for MyPlugin {
    fn manifest(&self) -> Manifest {
        Manifest::new("my_plugin", "0.1.0").without_models()
    }
}

impl Feature for MyPlugin {
    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        Answer::ok(vec![
            ActionDefinition::new("count_words", "Count words").on(&["request_complete"]),
        ])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ActionInput,
        _: &'a Context,
    ) -> Answer<'a, ActionResult> {
        let words: usize = input.session.messages().iter().map(|it| words(it.text())).sum();
        let result =
            json!({ "message": format!("{words} words"), "session_metadata": { "words": words } });
        ActionResult::from_json(result).into()
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[test]
fn counts_words() {
    assert_eq!(words(" one  two\nthree "), 3);
}
