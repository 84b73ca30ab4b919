//! What the configuration says about a request, in the words of the API.
//!
//! The API asks for `max_tokens` always, and for reasoning in one way or another, depending on
//! the model; the names of Anthropic's models say which. Other servers get what is oldest.

use crate::wire::options::{ToolChoice, output_schema, tool_choice};
use orlop_core::{Config, Map, Value};
use serde_json::json;

/// Configuration keys that go into the request under their own name.
const PARAMETERS: &[&str] = &[
    "model",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "thinking",
    "output_config",
    "metadata",
    "service_tier",
    "container",
    "context_management",
    "mcp_servers",
];

/// The fields of a request that the configuration gives.
pub fn parameters(config: &Config) -> Map {
    let given = PARAMETERS.iter();
    let mut params: Map =
        given.filter_map(|key| Some(((*key).to_owned(), config.get(key)?.clone()))).collect();
    let model = Model::named(config.text("model").unwrap_or_default());
    params.entry("max_tokens").or_insert_with(|| model.longest_answer().into());
    match config.get("stop") {
        Some(Value::String(stop)) => params.insert("stop_sequences".to_owned(), json!([stop])),
        Some(stop) => params.insert("stop_sequences".to_owned(), stop.clone()),
        None => None,
    };
    if let Some(choice) = choice(config) {
        params.insert("tool_choice".to_owned(), choice);
    }
    if let Some(tools) = config.get("server_tools") {
        params.insert("tools".to_owned(), tools.clone());
    }
    if let Some(effort) = config.text("reasoning_effort") {
        think(&mut params, model, effort);
    }
    if let Some(schema) = output_schema(config) {
        let format = json!({ "type": "json_schema", "schema": schema });
        output(&mut params, "format", format);
    }
    params
}

/// Adds to `output_config`; what is there stays.
fn output(params: &mut Map, key: &str, value: Value) {
    let config = params.entry("output_config").or_insert_with(|| json!({}));
    if let Value::Object(config) = config {
        config.entry(key).or_insert(value);
    }
}

fn choice(config: &Config) -> Option<Value> {
    let one_at_a_time = config.get("parallel_tool_calls").is_some_and(|many| many == false);
    let mut choice = match tool_choice(config) {
        Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::Tool(name)) => json!({ "type": "tool", "name": name }),
        Some(ToolChoice::Native(choice)) => choice,
        None if one_at_a_time => json!({ "type": "auto" }),
        None => return None,
    };
    if let (true, Value::Object(choice)) = (one_at_a_time, &mut choice) {
        choice.entry("disable_parallel_tool_use").or_insert_with(|| true.into());
    }
    Some(choice)
}

/// How hard the model should think; `thinking` in the configuration has the last word.
fn think(params: &mut Map, model: Model, effort: &str) {
    if effort == "none" {
        params.entry("thinking").or_insert_with(|| json!({ "type": "disabled" }));
        return;
    }
    if model.is_adaptive() {
        params.entry("thinking").or_insert_with(|| json!({ "type": "adaptive" }));
        let effort = if effort == "minimal" { "low" } else { effort };
        output(params, "effort", effort.into());
        return;
    }
    let longest = params.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    // Thinking counts as a part of the answer; a quarter is left for the rest.
    let budget = budget(effort).min(longest / 4 * 3).max(SMALLEST_BUDGET);
    params
        .entry("thinking")
        .or_insert_with(|| json!({ "type": "enabled", "budget_tokens": budget }));
}

/// The API refuses less.
const SMALLEST_BUDGET: u64 = 1024;

fn budget(effort: &str) -> u64 {
    match effort {
        "minimal" => SMALLEST_BUDGET,
        "low" => 4_096,
        "high" => 16_384,
        "xhigh" | "max" => 24_576,
        _ => 8_192,
    }
}

/// What the name of a model says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Model {
    /// One of Anthropic's, of this version; the newest if its name has none.
    Claude(u32, u32),
    /// Any other.
    Other,
}

impl Model {
    /// Reads names like `claude-sonnet-4-5-20250929`, `anthropic/claude-opus-4.6` or
    /// `claude-3-7-sonnet-latest`.
    fn named(name: &str) -> Self {
        let Some((_, rest)) = name.split_once("claude") else { return Self::Other };
        // Longer numbers are dates.
        let mut numbers = rest
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.len() <= 2)
            .filter_map(|word| word.parse().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), minor) => Self::Claude(major, minor.unwrap_or(0)),
            (None, _) => Self::Claude(u32::MAX, 0),
        }
    }

    fn is_at_least(self, major: u32, minor: u32) -> bool {
        matches!(self, Self::Claude(x, y) if (x, y) >= (major, minor))
    }

    /// Whether it decides itself how long to think.
    fn is_adaptive(self) -> bool {
        self.is_at_least(4, 6)
    }

    /// The limit of an answer unless the configuration says so: the largest that all models of
    /// the kind take.
    fn longest_answer(self) -> u64 {
        match self {
            _ if self.is_at_least(3, 7) => 32_000,
            Self::Claude(..) if !self.is_at_least(3, 5) => 4_096,
            _ => 8_192,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use orlop_core::Config;

    fn check(config: Value, expected: Expect) {
        let params = parameters(&Config::from_json(config).unwrap());
        expected.assert_eq(&Value::Object(params).to_string());
    }

    #[test]
    fn the_name_of_a_model_says_its_version() {
        for (name, model) in [
            ("claude-3-7-sonnet-20250219", Model::Claude(3, 7)),
            ("claude-3-haiku-20240307", Model::Claude(3, 0)),
            ("claude-sonnet-4-20250514", Model::Claude(4, 0)),
            ("claude-opus-4@20250514", Model::Claude(4, 0)),
            ("anthropic.claude-sonnet-4-5-20250929-v1:0", Model::Claude(4, 5)),
            ("anthropic/claude-haiku-4.5", Model::Claude(4, 5)),
            ("claude-opus-4-8", Model::Claude(4, 8)),
            ("claude-fable-5", Model::Claude(5, 0)),
            ("claude-mythos-preview", Model::Claude(u32::MAX, 0)),
            ("gpt-oss", Model::Other),
        ] {
            assert_eq!(Model::named(name), model, "{name}");
        }
    }

    #[test]
    fn a_limit_is_always_given() {
        check(
            json!({"model": "claude-3-opus-20240229"}),
            expect![[r#"{"model":"claude-3-opus-20240229","max_tokens":4096}"#]],
        );
        check(
            json!({"model": "claude-3-5-haiku-latest"}),
            expect![[r#"{"model":"claude-3-5-haiku-latest","max_tokens":8192}"#]],
        );
        check(
            json!({"model": "claude-opus-4-1"}),
            expect![[r#"{"model":"claude-opus-4-1","max_tokens":32000}"#]],
        );
        check(json!({"model": "smollm"}), expect![[r#"{"model":"smollm","max_tokens":8192}"#]]);
        check(
            json!({"model": "claude-opus-4-1", "max_tokens": 7}),
            expect![[r#"{"model":"claude-opus-4-1","max_tokens":7}"#]],
        );
    }

    #[test]
    fn effort_is_said_as_the_model_takes_it() {
        let with = |model: &str, effort: &str| json!({"model": model, "reasoning_effort": effort});
        check(
            with("claude-opus-4-8", "xhigh"),
            expect![[
                r#"{"model":"claude-opus-4-8","max_tokens":32000,"thinking":{"type":"adaptive"},"output_config":{"effort":"xhigh"}}"#
            ]],
        );
        check(
            with("claude-sonnet-4-5", "medium"),
            expect![[
                r#"{"model":"claude-sonnet-4-5","max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":8192}}"#
            ]],
        );
        check(
            with("smollm", "max"),
            expect![[
                r#"{"model":"smollm","max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":6144}}"#
            ]],
        );
        check(
            with("claude-opus-5", "none"),
            expect![[
                r#"{"model":"claude-opus-5","max_tokens":32000,"thinking":{"type":"disabled"}}"#
            ]],
        );
        check(
            json!({"model": "claude-opus-4-6", "reasoning_effort": "low", "thinking": {"type": "disabled"}}),
            expect![[
                r#"{"model":"claude-opus-4-6","thinking":{"type":"disabled"},"max_tokens":32000,"output_config":{"effort":"low"}}"#
            ]],
        );
    }

    #[test]
    fn settings_of_all_wires_are_said_in_the_words_of_this_one() {
        check(
            json!({"model": "claude-opus-4-8", "stop": "x", "tool_choice": "required", "parallel_tool_calls": false,
                "output_schema": {"type": "object"}, "reasoning_effort": "high"}),
            expect![[
                r#"{"model":"claude-opus-4-8","max_tokens":32000,"stop_sequences":["x"],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"thinking":{"type":"adaptive"},"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}}"#
            ]],
        );
        for (config, expected) in [
            (json!({"tool_choice": "auto"}), json!({"type": "auto"})),
            (json!({"tool_choice": "none", "parallel_tool_calls": false}), json!({"type": "none"})),
            (json!({"tool_choice": {"name": "f"}}), json!({"type": "tool", "name": "f"})),
            (
                json!({"parallel_tool_calls": false}),
                json!({"type": "auto", "disable_parallel_tool_use": true}),
            ),
            (json!({"parallel_tool_calls": true}), Value::Null),
        ] {
            let params = parameters(&Config::from_json(config).unwrap());
            assert_eq!(params.get("tool_choice").unwrap_or(&Value::Null), &expected);
        }
    }
}
