//! Settings that mean the same for every API and look different in each.

use orlop_core::{Config, Value};

/// Whether the model may, must or must not call a tool: `tool_choice` in the configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolChoice {
    /// `"auto"`: the model decides.
    Auto,
    /// `"none"`: it must not.
    None,
    /// `"required"`: it must call one.
    Required,
    /// `{"name": "..."}`: it must call this one.
    Tool(String),
    /// Anything else, in the words of the API.
    Native(Value),
}

/// What the configuration says about calling tools.
pub fn tool_choice(config: &Config) -> Option<ToolChoice> {
    let choice = config.get("tool_choice").filter(|choice| !choice.is_null())?;
    let fields = choice.as_object().filter(|fields| fields.len() == 1);
    let name = fields.and_then(|fields| fields.get("name")?.as_str());
    Some(match (choice.as_str(), name) {
        (Some("auto"), _) => ToolChoice::Auto,
        (Some("none"), _) => ToolChoice::None,
        (Some("required" | "any"), _) => ToolChoice::Required,
        (_, Some(name)) => ToolChoice::Tool(name.to_owned()),
        _ => ToolChoice::Native(choice.clone()),
    })
}

/// The JSON Schema that the answer has to fit: `output_schema` in the configuration.
pub fn output_schema(config: &Config) -> Option<&Value> {
    config.get("output_schema").filter(|schema| schema.is_object())
}
