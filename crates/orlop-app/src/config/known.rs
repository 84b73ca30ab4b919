//! Every key that Orlop itself knows, as JSON Schema. New sections and keys are added here and
//! nowhere else; plugins add theirs through [`Schema`](super::Schema).

use orlop_core::{Map, Value};
use serde_json::json;
use std::sync::LazyLock;

/// Keys of the file that are the application's; every other key at the top is a setting that all
/// agents share.
pub(super) static SECTIONS: LazyLock<Map> = LazyLock::new(|| {
    properties([
        ("default_agent", text("The agent used where none is named.")),
        ("agents", json!({ "type": "object", "description": "The agents, by name." })),
        ("plugins", each("Plugins beside the shipped ones, by name.", plugin())),
        ("mcp_servers", each("MCP servers whose tools agents may use, by name.", mcp_server())),
        (
            "hosts",
            table(
                "What runs around the application.",
                &[(
                    "plugins",
                    texts("Host plugins; their order is the order they are registered in."),
                )],
            ),
        ),
        (
            "server",
            table(
                "The HTTP host.",
                &[
                    (
                        "listen",
                        with(
                            text("Where it listens: host and port."),
                            "default",
                            json!("127.0.0.1:7420"),
                        ),
                    ),
                    (
                        "tokens",
                        json!({
                            "type": "array", "items": token(),
                            "description": "Who may use it. Without any, only this machine may.",
                        }),
                    ),
                    ("jwt", jwt()),
                    (
                        "hosts",
                        texts("Further names that it is reached by, as in \"orlop.example.com\"."),
                    ),
                    (
                        "origins",
                        texts(
                            "Pages elsewhere that may use it, as in \"https://app.example.com\".",
                        ),
                    ),
                    (
                        "share_links",
                        truth(
                            "Whether users may make links by which others read a session.",
                            false,
                        ),
                    ),
                    ("limits", limits()),
                ],
            ),
        ),
        (
            "store",
            table(
                "Where sessions are kept.",
                &[(
                    "url",
                    url(
                        "\"sqlite:\" for the default file, \"sqlite:/path/x.db\" or \"postgres://...\".",
                        "sqlite:",
                    ),
                )],
            ),
        ),
        ("telemetry", telemetry()),
        (
            "events",
            table(
                "How events reach other processes.",
                &[(
                    "url",
                    url(
                        "\"memory:\", \"nats://...\", or \"postgres:\" to use the store's.",
                        "memory:",
                    ),
                )],
            ),
        ),
        (
            "assets",
            table(
                "Where attachments are kept.",
                &[
                    (
                        "url",
                        url("\"file:\" for the data folder, or \"s3://bucket/prefix\".", "file:"),
                    ),
                    (
                        "max_bytes",
                        with(
                            count("The largest attachment, in bytes."),
                            "default",
                            json!(MAX_ASSET_BYTES),
                        ),
                    ),
                    (
                        "types",
                        texts(
                            "Media types that are accepted, such as \"image/*\"; absent means all.",
                        ),
                    ),
                ],
            ),
        ),
        (
            "terminal",
            table(
                "The chat in the terminal.",
                &[
                    (
                        "keys",
                        json!({
                            "enum": ["emacs", "vi"], "default": "emacs",
                            "description": "The keys of the editor.",
                        }),
                    ),
                    ("history", truth("Whether what was sent is remembered beyond a chat.", true)),
                ],
            ),
        ),
    ])
});

/// Keys of an agent that are there whichever plugins are registered.
pub(super) static AGENT: LazyLock<Map> = LazyLock::new(|| {
    properties([
        ("extends", text("The agent whose settings this one starts from.")),
        ("description", text("What the agent is for.")),
        ("provider", text("The provider plugin that calls the model.")),
        ("model", text("The model to use.")),
        ("base_url", text("Where the model server is.")),
        ("api_key", with(text("The key of the model server."), "writeOnly", json!(true))),
        ("system_message", text("What the model is told first.")),
        (
            "context_window",
            count("How many tokens the model takes, where that is not known or less is wanted."),
        ),
        ("tools", texts("Tool plugins the agent may use; absent means all enabled ones.")),
        (
            "max_steps",
            with(count("How often the model may call tools in one request."), "default", json!(50)),
        ),
        (
            "fallback",
            json!({
                "type": "array", "description": "Models to ask where this one cannot be, in their order.",
                "items": { "anyOf": [text("A model of the same provider."), { "type": "object" }] },
            }),
        ),
        (
            "output_schema",
            json!({ "type": "object", "description": "The JSON Schema that answers have to fit." }),
        ),
        (
            "output_repairs",
            json!({
                "type": "integer", "minimum": 0, "default": crate::turn::OUTPUT_REPAIRS,
                "description": "How often the model is asked again for an answer that does not fit output_schema.",
            }),
        ),
    ])
});

/// The default of `assets.max_bytes`.
pub(super) const MAX_ASSET_BYTES: u64 = crate::assets::MAX_BYTES;

/// What the URLs of these keys may begin with.
pub(super) const URL_FORMS: &[(&str, &[&str])] = &[
    ("store.url", &["sqlite:", "postgres://", "postgresql://"]),
    ("events.url", &["memory:", "nats://", "postgres:", "postgresql:"]),
    ("assets.url", &["file:", "s3://"]),
];

fn plugin() -> Value {
    // Any further key is a setting of the plugin itself.
    object(
        "A plugin, and its settings for all agents.",
        &[
            (
                "path",
                text(
                    "A folder with plugin.toml, or a single .py, .ts, .js or .wasm file; relative to this file.",
                ),
            ),
            ("enabled", truth("Whether it is used.", true)),
            ("limits", plugin_limits()),
        ],
        json!(true),
    )
}

fn plugin_limits() -> Value {
    table(
        "Limits of a plugin that is a process, tighter than those of its plugin.toml.",
        &[
            ("memory_mb", count("Memory of its process and all it starts.")),
            ("timeout_ms", count("The longest answer.")),
            ("output_mb", count("The longest line and the longest stream.")),
            ("tokens_per_day", count("Tokens of requests that it sends itself.")),
            (
                "on_failure",
                json!({
                    "type": "string", "enum": ["skip", "fail"],
                    "description": "fail: a failure of any of its hooks fails the operation.",
                }),
            ),
        ],
    )
}

fn mcp_server() -> Value {
    table(
        "An MCP server: a command or a URL.",
        &[
            ("command", texts("The program and its arguments.")),
            ("url", text("Where it is reached over HTTP.")),
            ("env", strings("Further environment variables of the command.")),
            ("headers", strings("Further HTTP headers.")),
            ("cwd", text("The folder the command runs in; relative to this file.")),
            ("enabled", truth("Whether it is used.", true)),
            ("timeout_ms", count("The longest wait for an answer, in milliseconds.")),
            (
                "first_wait_ms",
                count(
                    "How long the first turn waits while nothing is known of it, in milliseconds.",
                ),
            ),
        ],
    )
}

fn token() -> Value {
    let mut token = table(
        "A bearer token and whom it stands for.",
        &[
            ("token", with(text("The token."), "writeOnly", json!(true))),
            ("tenant", text("The tenant.")),
            ("user", text("The user.")),
            (
                "scopes",
                json!({
                    "type": "array", "items": { "enum": ["read", "chat", "admin"] },
                    "default": ["read", "chat"], "description": "What may be done with it.",
                }),
            ),
        ],
    );
    token["required"] = json!(["token", "tenant", "user"]);
    token
}

fn jwt() -> Value {
    table(
        "Tokens that somebody else signs.",
        &[
            (
                "secret",
                with(text("The secret that signer and server share."), "writeOnly", json!(true)),
            ),
            ("jwks", text("A file with the signer's public keys; relative to this file.")),
            ("issuer", text("Who has to have signed them.")),
            ("audience", text("Whom they have to be meant for.")),
            (
                "tenant_claim",
                with(text("The claim that names the tenant."), "default", json!("tenant")),
            ),
            ("user_claim", with(text("The claim that names the user."), "default", json!("sub"))),
            (
                "scope_claim",
                with(text("The claim that names what may be done."), "default", json!("scope")),
            ),
        ],
    )
}

fn telemetry() -> Value {
    let service = with(text("What this program is called there."), "default", json!("orlop"));
    table(
        "Where `orlop serve` sends traces for OpenTelemetry.",
        &[
            (
                "otlp_endpoint",
                text("A collector that takes OTLP over HTTP, as in \"http://127.0.0.1:4318\"."),
            ),
            ("headers", strings("Headers of requests to it, such as keys.")),
            ("service_name", service),
            ("hooks", truth("Whether each hook of a plugin becomes a span, too.", false)),
        ],
    )
}

/// The keys of `[server.limits]`, what they mean, and their defaults.
const LIMITS: &[(&str, &str, u64)] = &[
    ("body_bytes", "The largest body of a request; attachments have assets.max_bytes.", 16 << 20),
    ("turns_per_tenant", "Turns that run at once for one tenant.", 256),
    ("requests_per_minute", "Requests a minute with one token.", 1_200),
    ("streams_per_tenant", "Event streams open at once for one tenant.", 20_000),
    ("connections", "Connections open at once.", 40_000),
    ("client_timeout_s", "Seconds a client may take to send what it has begun.", 30),
    ("queue_timeout_s", "Seconds a request with `queue` waits for a busy session.", 600),
    ("shutdown_timeout_s", "Seconds turns have to reach a checkpoint when the server ends.", 20),
];

/// The default of a limit of the server.
pub(super) fn server_limit(key: &str) -> u64 {
    LIMITS.iter().find(|(name, ..)| *name == key).map_or(u64::MAX, |(_, _, default)| *default)
}

fn limits() -> Value {
    let keys: Vec<(&str, Value)> = LIMITS
        .iter()
        .map(|(key, description, default)| {
            (*key, with(count(description), "default", json!(default)))
        })
        .collect();
    table("How much of the server may be used.", &keys)
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn url(description: &str, default: &str) -> Value {
    with(text(description), "default", json!(default))
}

fn count(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "description": description })
}

fn truth(description: &str, default: bool) -> Value {
    json!({ "type": "boolean", "default": default, "description": description })
}

fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn strings(description: &str) -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": description })
}

fn each(description: &str, item: Value) -> Value {
    json!({ "type": "object", "additionalProperties": item, "description": description })
}

fn table(description: &str, keys: &[(&str, Value)]) -> Value {
    object(description, keys, json!(false))
}

fn object(description: &str, keys: &[(&str, Value)], others: Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "properties": properties(keys.iter().cloned()),
        "additionalProperties": others,
    })
}

fn with(mut schema: Value, field: &str, value: Value) -> Value {
    schema[field] = value;
    schema
}

fn properties<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Map {
    keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect()
}

/// Whether the name means something in a configuration by itself, so that it can be no plugin's.
pub fn is_key(name: &str) -> bool {
    SECTIONS.contains_key(name)
        || AGENT.contains_key(name)
        || super::secrets::is_secret_section(name)
}

/// Whether a key of `[plugins.NAME]` is Orlop's and not the plugin's.
pub(super) fn is_plugin_key(key: &str) -> bool {
    SECTIONS["plugins"]["additionalProperties"]["properties"].get(key).is_some()
}

/// Whether a key of an agent cannot be shared by all of them.
pub(super) fn is_of_agents_only(key: &str) -> bool {
    matches!(key, "extends" | "description")
}

/// Whether a key of an agent makes no sense in one of its fallbacks.
pub(super) fn is_of_no_fallback(key: &str) -> bool {
    is_of_agents_only(key)
        || matches!(key, "fallback" | "tools" | "max_steps" | "output_schema" | "output_repairs")
}

/// Whether a mapping under this key is one thing, which is replaced and never merged.
pub(super) fn is_whole(key: &str) -> bool {
    key == "output_schema"
}

/// Whether lists under this key add up over all layers: what one file denies, another one (that of
/// a project somebody else made, for instance) cannot allow.
pub(super) fn adds_up(key: &str) -> bool {
    key == "deny"
}

/// The default of a key in a section.
pub(super) fn default_of(section: &str, key: &str) -> Option<&'static Value> {
    SECTIONS.get(section)?.get("properties")?.get(key)?.get("default")
}

/// The keys of an agent that have a default whichever provider it has.
pub(super) fn agent_defaults() -> impl Iterator<Item = (&'static str, &'static Value)> {
    AGENT.iter().filter_map(|(key, schema)| Some((key.as_str(), schema.get("default")?)))
}
