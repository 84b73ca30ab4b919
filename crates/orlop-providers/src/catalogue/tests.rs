//! The list itself, how names find their entry, and what servers say.

use super::*;
use expect_test::{Expect, expect};
use orlop_core::{Map, Value};
use serde_json::json;
use std::collections::HashSet;

#[test]
fn the_list_is_sound() {
    let list: Catalogue = toml::from_str(include_str!("models.toml")).unwrap();
    assert_eq!(list.looked_up.len(), "2026-01-01".len());
    let ids: HashSet<&str> = list.models.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids.len(), list.models.len(), "an id stands there twice");
    let known = ["vision", "tools", "reasoning", "json_schema"];
    for entry in &list.models {
        let id = &entry.id;
        assert!(entry.tags.iter().all(|tag| known.contains(&tag.as_str())), "{id}");
        assert!(entry.context_window >= entry.max_output_tokens, "{id}");
        let name = id.replace('*', "x");
        assert_eq!(find(&name).map(|found| &found.id), Some(id), "{id} finds another");
        assert!(entry.price.is_some() || entry.long.is_none(), "{id}");
        let prices = entry.price.iter().chain(entry.long.as_ref().map(|long| &long.price));
        for price in prices {
            assert!(0.0 < price.input && price.input < price.output, "{id}");
            assert!(price.cache_read.is_none_or(|read| read < price.input), "{id}");
            assert!(price.cache_write.is_none_or(|written| written > price.input), "{id}");
        }
    }
}

#[test]
fn a_name_finds_the_longest_that_fits() {
    let found = |name: &str| find(name).map_or("-", |entry| entry.id.as_str());
    for (name, id) in [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini", "gpt-5-mini"),
        ("gpt-5.1", "gpt-5.1"),
        ("gpt-5.77", "-"),
        ("gpt-5-ultra", "-"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini-2.5-flash-lite-preview-09-2025", "gemini-2.5-flash-lite"),
        ("gemini-3.1-pro-preview", "gemini-3.1-pro"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-9", "-"),
        ("anthropic/claude-haiku-4.5", "claude-haiku-4-5"),
        ("mistral-large-2512", "mistral-large"),
        ("mistral-medium-latest", "mistral-medium"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("gpt-oss:20b", "gpt-oss"),
        ("qwen3:8b", "qwen3"),
        ("qwen3-vl-30b", "qwen3-vl*"),
        ("meta-llama/llama-4-scout-17b-16e-instruct", "llama-4-*"),
        ("my-own-model", "-"),
        ("", "-"),
    ] {
        assert_eq!(found(name), id, "{name}");
    }
}

#[test]
fn long_requests_cost_what_they_cost() {
    let usage = |input: u64| Usage { input, output: 1_000_000, ..Usage::default() };
    let dollars = |input: u64| format!("{:.4}", cost(&usage(input), "gemini-2.5-pro").unwrap());
    assert_eq!(dollars(200_000), "10.2500");
    assert_eq!(dollars(200_001), "15.5000");
    let written = Usage { input: 1_000_000, cache_write: Some(1_000_000), ..Usage::default() };
    assert_eq!(cost(&written, "claude-haiku-4-5"), Some(1.25));
    // Where no price of the cache is listed, reading is reading.
    let cached = Usage { input: 1_000_000, cache_read: Some(1_000_000), ..Usage::default() };
    assert_eq!(cost(&cached, "codestral"), Some(0.3));
    assert_eq!(cost(&cached, "gpt-oss-20b"), None);
    assert_eq!(cost(&cached, "my-own-model"), None);
}

fn check(said: Value, expected: Expect) {
    let mut model: Map = said.as_object().cloned().unwrap();
    describe(&mut model);
    expected.assert_eq(&Value::Object(model).to_string());
}

#[test]
fn what_the_server_says_goes_before_the_list() {
    check(
        json!({ "id": "gpt-4o-mini", "owned_by": "openai" }),
        expect![[
            r#"{"id":"gpt-4o-mini","owned_by":"openai","context_window":128000,"max_output_tokens":16384,"price":{"input":0.15,"output":0.6,"cache_read":0.075},"tags":["vision","tools","json_schema"]}"#
        ]],
    );
    check(
        json!({ "id": "gpt-4o-mini", "context_window": 4096, "tags": [], "price": null }),
        expect![[
            r#"{"id":"gpt-4o-mini","context_window":4096,"tags":[],"price":{"input":0.15,"output":0.6,"cache_read":0.075},"max_output_tokens":16384}"#
        ]],
    );
    check(
        json!({ "id": "vendor/new", "context_length": 32768, "pricing": { "prompt": "0.00000125", "completion": "0.00001", "input_cache_read": "0.000000125", "image": "0" } }),
        expect![[
            r#"{"id":"vendor/new","context_length":32768,"pricing":{"prompt":"0.00000125","completion":"0.00001","input_cache_read":"0.000000125","image":"0"},"context_window":32768,"price":{"input":1.25,"output":10.0,"cache_read":0.125}}"#
        ]],
    );
    check(
        json!({ "id": "served/here", "max_model_len": 8192 }),
        expect![[r#"{"id":"served/here","max_model_len":8192,"context_window":8192}"#]],
    );
    check(json!({ "id": "unknown" }), expect![[r#"{"id":"unknown"}"#]]);
}
