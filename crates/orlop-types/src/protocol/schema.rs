//! The JSON Schemas of all messages, as one document.

use super::{
    Asked, Cancel, Description, Failure, HookCall, HostPart, Initialize, Log, Nothing, PROTOCOL,
    Part, Progress, app, core,
};
use crate::json::{Map, Value};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

/// The id of a request.
pub(super) struct Id;

impl JsonSchema for Id {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The id of a request.", "type": ["string", "integer"] })
    }
}

/// Every message with its whole line, and the result of its answer where it has one. What reads and
/// what writes a type agree on it, so that one document is enough.
pub fn document() -> Value {
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Messages of the plugin protocol, version {PROTOCOL}"),
    });
    let generator = &mut SchemaSettings::draft2020_12().into_generator();
    document["to_plugin"] = Value::Object(to_plugin(generator));
    document["to_host"] = Value::Object(to_host(generator));
    document["error"] = json!({
        "description": "The answer where something was not done.",
        "message": failure(generator),
    });
    let mut definitions = generator.take_definitions(true);
    definitions.sort_keys();
    document["$defs"] = Value::Object(definitions);
    without_empty_defaults(&mut document);
    document
}

/// That a field may be left out says `required`.
fn without_empty_defaults(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, value| key != "default" || !value.is_null());
            fields.values_mut().for_each(without_empty_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty_defaults),
        _ => {}
    }
}

fn failure(generator: &mut SchemaGenerator) -> Value {
    let (id, failure) = (generator.subschema_for::<Id>(), generator.subschema_for::<Failure>());
    json!({
        "type": "object",
        "properties": { "jsonrpc": { "const": "2.0" }, "id": id, "error": failure },
        "required": ["jsonrpc", "id", "error"],
    })
}

/// A request with its answer.
fn request(
    generator: &mut SchemaGenerator,
    method: &str,
    params: Option<Schema>,
    result: Schema,
) -> Value {
    let mut entry = notification(method, params);
    let id = generator.subschema_for::<Id>();
    entry["kind"] = "request".into();
    entry["message"]["properties"]["id"] = id.into();
    if let Some(required) = entry["message"]["required"].as_array_mut() {
        required.push("id".into());
    }
    entry["result"] = result.into();
    entry
}

fn notification(method: &str, params: Option<Schema>) -> Value {
    let mut line = json!({
        "type": "object",
        "properties": { "jsonrpc": { "const": "2.0" }, "method": { "const": method } },
        "required": ["jsonrpc", "method"],
    });
    if let Some(params) = params {
        line["properties"]["params"] = params.into();
        line["required"] = json!(["jsonrpc", "method", "params"]);
    }
    json!({ "kind": "notification", "message": line })
}

fn to_plugin(generator: &mut SchemaGenerator) -> Map {
    let (introduction, description) =
        (generator.subschema_for::<Initialize>(), generator.subschema_for::<Description>());
    let (call, anything) =
        (generator.subschema_for::<HookCall>(), generator.subschema_for::<Value>());
    let nothing = generator.subschema_for::<Nothing>();
    let (cancel, part) =
        (generator.subschema_for::<Cancel>(), generator.subschema_for::<HostPart<'_>>());
    Map::from_iter([
        entry("initialize", request(generator, "initialize", Some(introduction), description)),
        entry("hook", request(generator, "hook", Some(call), anything)),
        entry("cancel", notification("cancel", Some(cancel))),
        entry("part", notification("part", Some(part))),
        entry("ping", request(generator, "ping", None, nothing.clone())),
        entry("shutdown", request(generator, "shutdown", None, nothing)),
    ])
}

fn to_host(generator: &mut SchemaGenerator) -> Map {
    let (part, progress) =
        (generator.subschema_for::<Part<Value>>(), generator.subschema_for::<Progress>());
    let log = generator.subschema_for::<Log>();
    let mut messages = Map::from_iter([
        entry("part", notification("part", Some(part))),
        entry("progress", notification("progress", Some(progress))),
        entry("log", notification("log", Some(log))),
    ]);
    let scopes = [("core", core::schemas(generator)), ("app", app::schemas(generator))];
    for (scope, operations) in scopes {
        for (name, args, result) in operations {
            let method = format!("{scope}.{name}");
            let mut params = Asked::json_schema(generator);
            let needs = args.get("required").is_some();
            let fields = params.ensure_object();
            fields["properties"]["args"] = args.into();
            if needs {
                fields["required"] = json!(["call", "args"]);
            }
            if scope == "app" {
                fields["properties"].as_object_mut().map(|fields| fields.shift_remove("agent"));
            }
            let asked = request(generator, &method, Some(params), result);
            messages.extend([entry(&method, asked)]);
        }
    }
    messages
}

fn entry(method: &str, message: Value) -> (String, Value) {
    (method.to_owned(), message)
}
