//! A provider without a server: it says backwards what was said.

use orlop_core::hooks::{FromNativeInput, ModelAnswer, ModelRequest, ToNativeInput};
use orlop_core::{Answer, Context, Manifest, Message, NativeItem, Plugin, Provider, Result};
use serde_json::json;

pub struct MyPlugin;

impl Plugin for MyPlugin {
    fn manifest(&self) -> Manifest {
        Manifest::new("my_plugin", "0.1.0").without_models()
    }
}

impl Provider for MyPlugin {
    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        let native =
            |it: &Message| NativeItem::from(json!({ "role": it.role(), "text": it.text() }));
        Answer::ok(input.messages.iter().map(native).collect())
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        let message = |(at, it): (usize, &NativeItem)| {
            let message =
                Message::from_json(json!({ "role": it.get("role"), "content": it.get("text") }))?;
            Ok(message.with_metadata_entry("native_indices", json!([at])))
        };
        input.native_messages.iter().enumerate().map(message).collect::<Result<_>>().into()
    }

    fn call_api<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        let last = request.native_messages.iter().last();
        let said = last.and_then(|it| it.get("text")?.as_str().map(backwards)).unwrap_or_default();
        let answer = NativeItem::from(json!({ "role": "assistant", "text": said }));
        Answer::ok(Some(ModelAnswer { final_messages: vec![answer], ..ModelAnswer::default() }))
    }
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

#[test]
fn says_it_backwards() {
    assert_eq!(backwards("abc"), "cba");
}
