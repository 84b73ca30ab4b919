//! What `check` says, as people see it.

use super::super::{RuntimeEnv, Vars};
use super::*;
use expect_test::{Expect, expect};
use orlop_core::Map;
use orlop_core::Value;
use serde_json::json;
use std::path::Path;

fn schema() -> Schema {
    let map = |value: Value| value.as_object().cloned().unwrap_or_default();
    let plugins: Vec<(&str, Map)> = vec![
        (
            "openai_compatible",
            map(json!({
                "model": { "type": "string", "required": true },
                "temperature": { "type": "number", "minimum": 0, "maximum": 2 },
                "reasoning_effort": { "type": "string", "enum": ["low", "medium", "high"] },
            })),
        ),
        ("local", Map::new()),
        (
            "compaction",
            map(json!({
                "compaction.enabled": { "type": "boolean", "default": true },
                "compaction.agent_id": { "type": "string" },
                "compaction.keep": { "type": "integer", "minimum": 1, "required": true },
            })),
        ),
        ("system_message", Map::new()),
    ];
    let plugins = plugins.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    Schema::new(plugins)
        .providers(["openai_compatible", "local"])
        .tools(["files", "shell"])
        .hosts(["slash_commands"])
}

fn read(text: &str) -> AppConfig {
    let vars = [("KEY", "sk-secret"), ("PORT", "99"), ("EFFORT", "extreme")];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env = RuntimeEnv::from_vars(Vars::from(vars));
    let file = super::super::origin::SourceFile::new(Path::new("orlop.toml"), Path::new(""));
    let layer = super::super::read::read_text(&file, text);
    AppConfig::of_layers(vec![layer], vec![file], env)
}

fn check(text: &str, expected: Expect) {
    let problems = read(text).check(&schema());
    let shown: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    assert!(!shown.contains("sk-"), "{shown}");
    expected.assert_eq(&shown);
}

const AGENT: &str = "[agents.default]\nprovider = \"local\"\n";

#[test] // I-42
fn the_example_of_the_documentation_is_right() {
    check(
        r#"
            default_agent = "default"
            temperature = 0.5
            [agents.default]
            provider = "openai_compatible"
            model    = "gpt-5-mini"
            base_url = "${env:OPENAI_BASE_URL:-https://api.openai.com/v1}"
            api_key  = "${env:KEY}"
            system_message = "You are helpful."
            tools    = ["files", "shell"]
            max_steps = 50
            [agents.default.compaction]
            enabled = true
            keep = 4
            [agents.research]
            extends = "default"
            model = "o-large"
            [plugins.local]
            enabled = true
            [mcp_servers.everything]
            command = ["npx", "-y", "@modelcontextprotocol/server-everything"]
            [hosts]
            plugins = ["slash_commands"]
            [server]
            listen = "127.0.0.1:7420"
            [[server.tokens]]
            token = "${env:KEY}"
            tenant = "acme"
            user = "ana"
            [store]
            url = "sqlite:"
            [events]
            url = "memory:"
            [assets]
            url = "file:"
        "#,
        expect![[""]],
    );
    check("", expect![[""]]);
}

#[test] // I-42
fn unknown_keys_name_the_nearest() {
    check(
        r#"
defualt_agent = "default"
[agents.default]
provider = "local"
    modle = "m"
[agents.default.compaction]
keep = 1
enabeld = true
[agents.default.compactoin]
x = 1
[server]
listn = "x"
[stroe]
url = "sqlite:"
[agents.other]
provider = "local"
"compaction.enabled" = true
[plugins.compaction]
kep = 1
"#,
        expect![[r#"
            orlop.toml:2:1: defualt_agent: unknown key; did you mean "default_agent"?
            orlop.toml:5:5: agents.default.modle: unknown key; did you mean "model"?
            orlop.toml:8:1: agents.default.compaction.enabeld: unknown key; did you mean "enabled"?
            orlop.toml:9:17: agents.default.compactoin: unknown key; did you mean "compaction"?
            orlop.toml:12:1: server.listn: unknown key; did you mean "listen"?
            orlop.toml:13:2: stroe: unknown key; did you mean "store"?
            orlop.toml:15:9: agents.other.compaction.keep: the plugin "compaction" requires compaction.keep; add it
            orlop.toml:17:1: agents.other."compaction.enabled": unknown key; without quotes, dots lead into sections
            orlop.toml:19:1: plugins.compaction.kep: unknown key; did you mean "keep"?
        "#]],
    );
}

#[test] // I-42
fn wrong_types_say_what_was_expected() {
    check(
        r#"
agents.default = { provider = "local", tools = "files", max_steps = "${env:PORT}", model = 5 }
server = 1
plugins.x = true
[store]
url = ["sk-1"]
[[hosts.plugins]]
name = "x"
[agents.other]
provider = "local"
temperature = "sk-warm"
system_message = 5
api_key = 12345
[agents.other.compaction]
enabled = "yes"
"#,
        expect![[r#"
            orlop.toml:2:48: agents.default.tools: expected a list, found text; write a list such as ["a", "b"]
            orlop.toml:2:69: agents.default.max_steps: expected a whole number, found text; write the value itself: a placeholder always gives text
            orlop.toml:2:92: agents.default.model: expected text, found a whole number; put the value in double quotes
            orlop.toml:3:10: server: expected a section, found a whole number; write a section such as [name] with keys below it
            orlop.toml:4:13: plugins.x: expected a section, found true or false; write a section such as [name] with keys below it
            orlop.toml:6:7: store.url: expected text, found a list; put the value in double quotes
            orlop.toml:7:1: hosts.plugins[0]: expected text, found a section; put the value in double quotes
            orlop.toml:9:9: agents.other.compaction.keep: the plugin "compaction" requires compaction.keep; add it
            orlop.toml:11:15: agents.other.temperature: expected a number, found text; write a number without quotes
            orlop.toml:12:18: agents.other.system_message: expected text or a section, found a whole number; put the value in double quotes
            orlop.toml:13:11: agents.other.api_key: expected text, found a whole number; put the value in double quotes
            orlop.toml:15:11: agents.other.compaction.enabled: expected true or false, found text; write true or false without quotes
        "#]],
    );
}

#[test] // I-42
fn values_out_of_bounds_and_choices() {
    check(
        r#"
[agents.default]
provider = "openai_compatible"
model = "m"
temperature = 3
max_steps = 0
reasoning_effort = "hihg"
[agents.other]
extends = "default"
reasoning_effort = "${env:EFFORT}"
"#,
        expect![[r#"
            orlop.toml:5:15: agents.default.temperature: 3 is too large; use 2 or less
            orlop.toml:6:13: agents.default.max_steps: 0 is too small; use 1 or more
            orlop.toml:7:20: agents.default.reasoning_effort: "hihg" is not among the choices; did you mean "high"?
            orlop.toml:10:20: agents.other.reasoning_effort: "${env:EFFORT}" is not among the choices; known: high, low, medium
        "#]],
    );
}

#[test] // I-42
fn names_that_do_not_exist() {
    check(
        r#"
default_agent = "reserch"
[agents.research]
provider = "openai"
tools = ["files", "shel", "everything", "mine"]
[agents."a b"]
provider = "mine"
[plugins.mine]
path = "/"
[plugins.lost]
path = "no/such/folder"
[plugins.compacton]
[plugins.off]
enabled = false
path = "no/such/folder"
[mcp_servers.everything]
url = "http://127.0.0.1:3001/mcp"
[hosts]
plugins = ["slash_comands", "mine"]
"#,
        expect![[r#"
            orlop.toml:2:17: default_agent: there is no agent "reserch"; did you mean "research"?
            orlop.toml:4:12: agents.research.provider: there is no provider "openai"; did you mean "openai_compatible"?
            orlop.toml:5:19: agents.research.tools[1]: there is no tool plugin "shel"; did you mean "shell"?
            orlop.toml:6:9: agents."a b": is no name for an agent; use 1 to 128 letters, digits, '.', '_', ':', '@' or '-', beginning with a letter or a digit
            orlop.toml:11:8: plugins.lost.path: there is no file or folder "no/such/folder"; correct the path; it is relative to the file it is written in
            orlop.toml:12:10: plugins.compacton: no shipped plugin has this name; did you mean "compaction"?
            orlop.toml:19:12: hosts.plugins[0]: there is no host plugin "slash_comands"; did you mean "slash_commands"?
        "#]],
    );
}

#[test] // I-42
fn what_is_required_is_asked_of_those_that_use_it() {
    check(
        r#"
[agents.one]
provider = "openai_compatible"
[agents.two]
extends = "one"
model = "m"
[agents.three]
provider = "local"
[agents.three.compaction]
agent_id = "two"
[agents.four]
provider = "local"
[agents.four.compaction]
enabled = false
[agents.five]
"#,
        expect![[r#"
            orlop.toml:2:9: agents.one.model: the plugin "openai_compatible" requires model; add it
            orlop.toml:7:9: agents.three.compaction.keep: the plugin "compaction" requires compaction.keep; add it
            orlop.toml:15:9: agents.five.provider: an agent needs a provider; add it
        "#]],
    );
}

#[test] // I-42
fn agents_that_extend_nobody_or_each_other() {
    check(
        r#"
[agents.a]
provider = "local"
extends = "bb"
[agents.b]
extends = "d"
[agents.c]
extends = "b"
[agents.d]
extends = "c"
[agents.entry]
extends = "d"
[agents.self]
extends = "self"
"#,
        expect![[r#"
            orlop.toml:4:11: agents.a.extends: the agent "bb" does not exist; did you mean "b"?
            orlop.toml:6:11: agents.b.extends: agents extend each other in a circle: b -> d -> c -> b; remove one "extends" of it
            orlop.toml:14:11: agents.self.extends: agents extend each other in a circle: self -> self; remove one "extends" of it
        "#]],
    );
}

#[test]
fn fallbacks_are_checked_like_agents() {
    check(
        r#"
fallback = ["m", ""]
[agents.default]
provider = "local"
fallback = [
    "m",
    { provider = "openai", model = "x" },
    { provider = "openai_compatible", modle = "x" },
    { model = "x", temperature = 3, tools = [] },
    5,
]
[agents.fine]
provider = "local"
fallback = [{ provider = "openai_compatible", model = "x", api_key = "${env:KEY}" }, { temperature = 0 }]
[agents.other]
provider = "local"
fallback = "m"
"#,
        expect![[r#"
            orlop.toml:2:18: fallback[1]: names no model; name one, or remove it
            orlop.toml:7:18: agents.default.fallback[1].provider: there is no provider "openai"; did you mean "openai_compatible"?
            orlop.toml:8:5: agents.default.fallback[2].model: the plugin "openai_compatible" requires model; add it
            orlop.toml:8:39: agents.default.fallback[2].modle: unknown key; did you mean "model"?
            orlop.toml:9:34: agents.default.fallback[3].temperature: 3 is too large; use 2 or less
            orlop.toml:9:37: agents.default.fallback[3].tools: unknown key; known: api_key, base_url, compaction, context_window, local, model, openai_compatible, provider, reasoning_effort, system_message, temperature
            orlop.toml:10:5: agents.default.fallback[4]: expected text or a section, found a whole number; put the value in double quotes
            orlop.toml:17:12: agents.other.fallback: expected a list, found text; write a list such as ["a", "b"]
        "#]],
    );
}

#[test]
fn a_schema_is_wrong_where_it_is_wrong() {
    check(
        r#"
[agents.default]
provider = "local"
output_repairs = -1
[agents.default.output_schema]
type = "object"
properties.city = { type = "string" }
properties.size = { enum = [1], type = ["integer", "txt"] }
[agents.two]
provider = "local"
output_schema = { "$ref" = "https://example.com/s.json" }
[agents.three]
provider = "local"
output_schema = "s.json"
"#,
        expect![[r#"
            orlop.toml:4:18: agents.default.output_repairs: -1 is too small; use 0 or more
            orlop.toml:8:40: agents.default.output_schema.properties.size.type: is no JSON Schema that can be used: ["integer","txt"] is not valid under any of the schemas listed in the 'anyOf' keyword; correct the schema
            orlop.toml:11:1: agents.two.output_schema: is no JSON Schema that can be used: Resource 'https://example.com/s.json' is not present in a registry and retrieving it failed: files and addresses are not read; put what is referred to under $defs; correct the schema
            orlop.toml:14:17: agents.three.output_schema: expected a section, found text; write a section such as [name] with keys below it
        "#]],
    );
    // What an agent extends is replaced, not merged.
    let config = read(
        "[agents.a]\nprovider = \"local\"\noutput_schema = { required = [\"a\"] }\n\
         [agents.b]\nextends = \"a\"\noutput_schema = { type = \"object\" }\n",
    );
    let schema = config.build_agent_config("b").unwrap().get("output_schema").cloned();
    assert_eq!(schema, Some(json!({ "type": "object" })));
}

#[test] // I-37
fn variables_that_are_not_set_are_all_found() {
    check(
        r#"
[agents.default]
provider = "local"
api_key = "${env:NO_KEY}"
extra.deep = [{ x = "a${env:NO_DEEP}" }]
[agents.other]
extends = "default"
model = "${env:OPEN"
[mcp_servers.off]
enabled = false
command = ["${env:NO_PROGRAM}"]
[mcp_servers.on]
command = ["${env:NO_PROGRAM}"]
"#,
        expect![[r#"
            orlop.toml:4:11: agents.default.api_key: the environment variable NO_KEY is not set; set NO_KEY, or give a default as in ${env:NO_KEY:-default}
            orlop.toml:5:1: agents.default.extra: unknown key; remove it or correct its name
            orlop.toml:5:21: agents.default.extra.deep[0].x: the environment variable NO_DEEP is not set; set NO_DEEP, or give a default as in ${env:NO_DEEP:-default}
            orlop.toml:8:9: agents.other.model: has a placeholder without its end; write ${env:NAME} or ${env:NAME:-default}, and $${env:NAME} for the text itself
            orlop.toml:13:12: mcp_servers.on.command[0]: the environment variable NO_PROGRAM is not set; set NO_PROGRAM, or give a default as in ${env:NO_PROGRAM:-default}
        "#]],
    );
    let config = read("[agents.default]\nprovider = \"local\"\napi_key = \"${env:NO_KEY}\"\n");
    assert_eq!(config.check(&schema()).len(), 1);
    assert!(config.verify(&schema()).is_ok());
}

#[test] // I-42
fn sections_of_the_application() {
    check(
        &(AGENT.to_owned()
            + r#"
[mcp_servers.both]
command = ["x"]
url = "http://h"
[mcp_servers.neither]
[mcp_servers.empty]
command = []
headers = { a = "sk-1" }
[mcp_servers.ftp]
url = "ftp://u:sk-1@h"
[server]
listen = "7420"
[[server.tokens]]
token = "${env:KEY}"
tenant = "acme"
user = "ana"
[[server.tokens]]
token = "sk-secret"
tenant = "../acme"
user = "ben"
[[server.tokens]]
token = ""
tenant = "acme"
[store]
url = "mysql://u:sk-1@h/db"
[events]
url = "kafka:"
[assets]
url = "file:"
max_bytes = 0
types = ["image/*", 1]
"#),
        expect![[r#"
            orlop.toml:4:14: mcp_servers.both: has both command and url; keep one of them
            orlop.toml:7:14: mcp_servers.neither: has neither command nor url; add one of them
            orlop.toml:8:14: mcp_servers.empty: has headers, which need a url; remove them
            orlop.toml:9:11: mcp_servers.empty.command: names no program; add it as the first item
            orlop.toml:12:7: mcp_servers.ftp.url: "ftp://u:***@h" is not a URL that can be used here; begin with "http://" or "https://"
            orlop.toml:14:10: server.listen: "7420" is not a host and a port; write it as "127.0.0.1:7420"
            orlop.toml:20:9: server.tokens[1].token: is the same as server.tokens[0].token; give every user a token of their own
            orlop.toml:21:10: server.tokens[1].tenant: "../acme" is no tenant; use 1 to 128 letters, digits, '.', '_', ':', '@' or '-', beginning with a letter or a digit
            orlop.toml:23:1: server.tokens[2].user: is missing; add user
            orlop.toml:24:9: server.tokens[2].token: is empty; set a token that nobody can guess
            orlop.toml:27:7: store.url: "mysql://u:***@h/db" is not a URL that can be used here; begin with "sqlite:" or "postgres://" or "postgresql://"
            orlop.toml:29:7: events.url: "kafka:" is not a URL that can be used here; begin with "memory:" or "nats://" or "postgres:" or "postgresql:"
            orlop.toml:32:13: assets.max_bytes: 0 is too small; use 1 or more
            orlop.toml:33:21: assets.types[1]: expected text, found a whole number; put the value in double quotes
        "#]],
    );
}

#[test]
fn addresses_have_a_host_and_a_port() {
    let is_fine = |listen: &str| {
        let text = format!("{AGENT}[server]\nlisten = \"{listen}\"\n");
        read(&text).check(&schema()).is_empty()
    };
    for fine in ["127.0.0.1:0", "[::1]:7420", "localhost:80", "my-host.example:65535"] {
        assert!(is_fine(fine), "{fine}");
    }
    for bad in
        ["", ":80", "localhost", "localhost:", "h:70000", "1.2.3:80", "http://h:80", "::1:80 "]
    {
        assert!(!is_fine(bad), "{bad}");
    }
}

#[test] // I-42
fn a_broken_configuration_does_not_start() {
    let error =
        read("[agents.a]\nprovider = \"nobody\"\nmodle = 1\n").verify(&schema()).unwrap_err();
    let error = orlop_core::Error::from(error);
    expect![[r#"
        the configuration has 2 problems:
        orlop.toml:2:12: agents.a.provider: there is no provider "nobody"; known: local, openai_compatible
        orlop.toml:3:1: agents.a.modle: unknown key; did you mean "model"?"#]].assert_eq(error.message());
    assert_eq!(error.class(), orlop_core::ErrorClass::BadArgument);
}
