//! What the example programs share, a tool written once for every provider, and plugins to learn
//! from.

pub mod plugins;

use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::{Answer, Context, Manifest, Map, Plugin, Tool, ToolReport};
use serde_json::json;

/// A tool that gives back the text it is called with, in capitals.
pub struct Shout;

impl Plugin for Shout {
    fn manifest(&self) -> Manifest {
        Manifest::new("shout", "1.0.0").without_models()
    }
}

impl Tool for Shout {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = json!({
            "name": "shout",
            "description": "Says a text in capitals.",
            "parameters": {
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            },
        });
        Answer::ok(schema.as_object().cloned().into_iter().collect())
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::ok(match input.payload["text"].as_str() {
            Some(text) => ToolReport::ok(text.to_uppercase()),
            None => ToolReport::failed("text is missing; call shout with {\"text\": \"...\"}"),
        })
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        Answer::ok(format!("shout {}", input.payload["text"]))
    }
}

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Compiles the code of the guide for authors of plugins.
#[cfg(doctest)]
#[doc = include_str!("../../docs/plugins/authors.md")]
struct Authors;
