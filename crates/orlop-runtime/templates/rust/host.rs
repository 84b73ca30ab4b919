//! A host plugin: answers /hello itself.

use orlop_core::hooks::{Handled, InterceptInput, Interception};
use orlop_core::{Answer, Context, HostPlugin, Manifest};

pub struct MyPlugin;

impl HostPlugin for MyPlugin {
    fn manifest(&self) -> Manifest {
        Manifest::host("my_plugin", "0.1.0")
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        Answer::ok(answer(&input.text).map(|text| Handled::text(text).into()))
    }
}

fn answer(text: &str) -> Option<&'static str> {
    (text == "/hello").then_some("Hello from my_plugin!")
}

#[test]
fn answers_hello() {
    assert_eq!(answer("/hello"), Some("Hello from my_plugin!"));
    assert_eq!(answer("good morning"), None);
}
