//! Files, flags and agents together, and files that nobody should have written.

use super::testing::Folder;
use super::*;
use expect_test::{Expect, expect};
use orlop_core::{Config, ErrorClass};
use serde_json::json;
use std::path::Path;

fn env(pairs: &[(&str, &str)]) -> RuntimeEnv {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    RuntimeEnv::from_vars(pairs.collect())
}

fn read(text: &str) -> AppConfig {
    let env = env(&[("KEY", "sk-1"), ("A", "1"), ("CONFIG_DIR", "/in/force")]);
    AppConfig::from_text(Path::new("/etc/bot/orlop.toml"), text, env).unwrap()
}

fn json_of(config: &Config) -> String {
    serde_json::to_string(config).unwrap()
}

const AGENTS: &str = r#"
temperature = 0.5
model = "shared"
[compaction]
enabled = true
keep = 4
[agents.default]
model = "own"
api_key = "${env:KEY}"
compaction.keep = 8
[agents.research]
extends = "default"
compaction.agent_id = "default"
[agents.other]
api_key = "${env:OTHER_KEY}"
[agents.literal]
api_key = "sk-literal"
headers = { X = "sk-literal" }
[server]
tokens = []
"#;

#[test] // I-34
fn an_agents_value_beats_the_shared_one() {
    let config = read(AGENTS);
    let check = |agent: &str, expected: Expect| {
        expected.assert_eq(&json_of(&config.build_agent_config(agent).unwrap()));
    };
    check(
        "default",
        expect![[
            r#"{"temperature":0.5,"model":"own","compaction":{"enabled":true,"keep":8},"api_key":"sk-1"}"#
        ]],
    );
    check(
        "research",
        expect![[
            r#"{"temperature":0.5,"model":"own","compaction":{"enabled":true,"keep":8,"agent_id":"default"},"api_key":"sk-1"}"#
        ]],
    );
    assert_eq!(config.agents(), ["default", "research", "other", "literal"]);
    assert_eq!(config.default_agent().unwrap(), "default");
    let unknown = config.build_agent_config("reserch").unwrap_err();
    assert_eq!(unknown.class(), ErrorClass::NotFound);
    expect![[
        r#"/etc/bot/orlop.toml: agents: there is no agent "reserch"; did you mean "research"?"#
    ]]
    .assert_eq(unknown.message());
}

#[test] // I-36
fn the_base_config_holds_all_agents_and_none_of_their_secrets() {
    let base = read(AGENTS).base_config("default").unwrap();
    assert_eq!(base.get("compaction.enabled"), Some(&json!(true)));
    assert_eq!(base.text("api_key"), Some("sk-1"));
    let agents = base.get("agents").unwrap();
    assert_eq!(agents["research"]["extends"], "default");
    assert_eq!(agents["default"]["api_key"], "${env:KEY}");
    assert_eq!(agents["other"]["api_key"], "${env:OTHER_KEY}");
    assert_eq!(agents["literal"], json!({ "api_key": "***", "headers": { "X": "***" } }));
    assert_eq!(base.get("server"), None);
    let raw = read(AGENTS).raw();
    assert_eq!(raw["agents"]["literal"]["api_key"], "sk-literal");
    assert_eq!(raw["server"]["tokens"], json!([]));
}

#[test] // I-37
fn placeholders_are_replaced_at_any_depth_and_only_where_they_are_used() {
    let config = read(
        r#"
[agents.a]
file = "${env:CONFIG_DIR}/a"
deep = [{ list = ["${env:A}-${env:A}", 5] }]
text = "$${env:A}"
[agents.b]
api_key = "${env:MISSING}"
other = "${env:GONE}"
"#,
    );
    expect![[r#"{"file":"/etc/bot/a","deep":[{"list":["1-1",5]}],"text":"${env:A}"}"#]]
        .assert_eq(&json_of(&config.build_agent_config("a").unwrap()));
    let error = config.build_agent_config("b").unwrap_err();
    expect![[r#"
        the configuration has 2 problems:
        /etc/bot/orlop.toml:7:11: agents.b.api_key: the environment variable MISSING is not set; set MISSING, or give a default as in ${env:MISSING:-default}
        /etc/bot/orlop.toml:8:9: agents.b.other: the environment variable GONE is not set; set GONE, or give a default as in ${env:GONE:-default}"#]].assert_eq(error.message());
}

#[test]
fn later_layers_win_and_flags_have_the_last_word() {
    let folder = Folder::new();
    folder.file("config/orlop/config.toml", "temperature = 1\n[agents.default]\nprovider = \"p\"\nmodel = \"user\"\ndir = \"${env:CONFIG_DIR}\"\n");
    folder.file(
        "work/orlop.toml",
        "[agents.default]\nmodel = \"project\"\ntop = \"${env:CONFIG_DIR}\"\n",
    );
    let config_home = folder.path().join("config").display().to_string();
    let vars = Vars::from([("HOME".into(), "/h".into()), ("XDG_CONFIG_HOME".into(), config_home)]);
    let locations = Locations::find(&vars, &folder.path().join("work"), None).unwrap();
    let locations = locations.trusting_project();
    let build = |flags: &[&str]| {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let env = RuntimeEnv::new(vars.clone(), &locations, Path::new("/builtin"));
        let config = AppConfig::load(&locations, &flags, env).unwrap();
        json_of(&config.build_agent_config("default").unwrap())
            .replace(&folder.path().display().to_string(), "T")
    };
    expect![[
        r#"{"temperature":1,"provider":"p","model":"project","dir":"T/config/orlop","top":"T/work"}"#
    ]]
    .assert_eq(&build(&[]));
    expect![[r#"{"temperature":2,"model":"flag","provider":"p","dir":"T/work","top":"T/work"}"#]]
        .assert_eq(&build(&[
            "temperature=2",
            "model=flag",
            "agents.default.dir=${env:CONFIG_DIR}",
        ]));
}

#[test]
fn what_one_layer_denies_no_other_allows() {
    let folder = Folder::new();
    folder.file(
        "config/orlop/config.toml",
        "[permissions]\nmode = \"ask\"\nallow = [\"a\"]\ndeny = [\"shell(rm *)\"]\n",
    );
    folder.file(
        "work/orlop.toml",
        "[permissions]\nmode = \"all\"\ndeny = []\n[agents.default.permissions]\nallow = [\"b\"]\ndeny = [\"x\", \"shell(rm *)\"]\n",
    );
    let config_home = folder.path().join("config").display().to_string();
    let vars = Vars::from([("HOME".into(), "/h".into()), ("XDG_CONFIG_HOME".into(), config_home)]);
    let locations = Locations::find(&vars, &folder.path().join("work"), None).unwrap();
    let flags = ["permissions.deny=[\"y\"]".to_owned()];
    let check = |locations: &Locations, expected: Expect| {
        let env = RuntimeEnv::new(vars.clone(), locations, Path::new("/builtin"));
        let config = AppConfig::load(locations, &flags, env).unwrap();
        expected.assert_eq(&json_of(&config.build_agent_config("default").unwrap()));
    };
    check(
        &locations,
        expect![[r#"{"permissions":{"mode":"ask","allow":["a"],"deny":["shell(rm *)","y","x"]}}"#]],
    );
    check(
        &locations.trusting_project(),
        expect![[r#"{"permissions":{"mode":"all","allow":["b"],"deny":["shell(rm *)","y","x"]}}"#]],
    );
}

#[test]
fn flags_are_laid_over_the_agent_that_is_chosen_by_default() {
    let vars = Vars::from([("HOME".into(), "/h".into())]);
    let locations = Locations::find(&vars, Path::new("/nowhere"), None).unwrap();
    let check = |flags: &[&str], expected: Expect| {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let config = AppConfig::load(&locations, &flags, env(&[("OPENAI_API_KEY", "k")])).unwrap();
        let (config, _) = config.or_default_agent(&["openai_compatible"]);
        expected.assert_eq(&json_of(&config.build_agent_config("default").unwrap()));
    };
    check(
        &["agents.default.model=m"],
        expect![[
            r#"{"provider":"openai_compatible","model":"m","base_url":"https://api.openai.com/v1","api_key":"k"}"#
        ]],
    );
    check(
        &["model=m"],
        expect![[
            r#"{"model":"m","provider":"openai_compatible","base_url":"https://api.openai.com/v1","api_key":"k"}"#
        ]],
    );
    check(&["agents.default.provider=p"], expect![[r#"{"provider":"p"}"#]]);
    check(&["provider=p"], expect![[r#"{"provider":"p"}"#]]);
}

#[test]
fn sections_are_typed_and_paths_are_relative_to_their_file() {
    let config = read(
        r#"
[plugins.mine]
path = "plugins/mine"
level = 3
[plugins.off]
enabled = false
path = "${env:MISSING}"
[mcp_servers.a]
command = ["npx", "x"]
env = { TOKEN = "${env:KEY}" }
cwd = "sub"
[mcp_servers.b]
url = "http://h/mcp"
headers = { Authorization = "Bearer ${env:MISSING}" }
[hosts]
plugins = ["b", "a"]
[[server.tokens]]
token = "${env:KEY}"
tenant = "acme"
user = "ana"
[agents.default]
"#,
    );
    assert_eq!(config.plugin_names(), ["mine"]);
    let mine = config.plugin("mine").unwrap();
    assert_eq!(mine.path.as_deref(), Some(Path::new("/etc/bot/plugins/mine")));
    assert_eq!(json!(mine.settings), json!({ "level": 3 }));
    assert_eq!(json_of(&config.build_agent_config("default").unwrap()), r#"{"mine":{"level":3}}"#);
    assert_eq!(config.mcp_server_names(), ["a", "b"]);
    let McpTransport::Command { command, env, cwd } = config.mcp_server("a").unwrap().transport
    else {
        panic!("a command")
    };
    assert_eq!((command.len(), env["TOKEN"].as_str()), (2, "sk-1"));
    assert_eq!(cwd.as_deref(), Some(Path::new("/etc/bot/sub")));
    assert!(config.mcp_server("b").unwrap_err().message().contains("MISSING is not set"));
    assert_eq!(config.mcp_server("c").unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(config.host_plugins().unwrap(), ["b", "a"]);
    let server = config.server().unwrap();
    assert_eq!(
        (server.listen.as_str(), server.tokens[0].token.as_str()),
        ("127.0.0.1:7420", "sk-1")
    );
    assert_eq!(format!("{:?}", server.tokens), "[ServerToken(acme/ana)]");
    assert_eq!(config.store_url().unwrap(), "sqlite:");
    assert_eq!(config.events_url().unwrap(), "memory:");
    assert_eq!(
        (config.assets().unwrap().url.as_str(), config.assets().unwrap().types),
        ("file:", None)
    );
    assert_eq!(config.section("nothing").unwrap(), None);
    assert!(!format!("{config:?}").contains("sk-"));
}

/// What reading a file of these bytes says.
fn check_file(bytes: impl AsRef<[u8]>, expected: Expect) {
    let folder = Folder::new();
    folder.file("orlop.toml", bytes);
    check_folder(&folder, expected);
}

fn check_folder(folder: &Folder, expected: Expect) {
    let vars = Vars::from([("HOME".into(), "/h".into())]);
    let locations = Locations::find(&vars, folder.path(), Some(Path::new("orlop.toml"))).unwrap();
    let config = AppConfig::read(&locations, &[], env(&[]));
    let problems = config.check(&Schema::new(Vec::new()));
    let shown: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    assert!(!shown.contains("sk-"), "{shown}");
    expected.assert_eq(&shown);
    assert_eq!(
        AppConfig::load(&locations, &[], env(&[])).is_err(),
        !config.read_problems.is_empty()
    );
}

#[test]
fn files_that_cannot_be_read() {
    check_folder(
        &Folder::new(),
        expect![[r#"
        orlop.toml: cannot be read: No such file or directory (os error 2); check the path and its permissions
    "#]],
    );
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("orlop.toml")).unwrap();
    check_folder(
        &folder,
        expect![[r#"
        orlop.toml: is a folder; name a TOML file
    "#]],
    );
    check_file(
        b"a = 1\nb = \"\xc3\xa4\xff\"\n",
        expect![[r#"
        orlop.toml:2:7: is not UTF-8 from here on; save the file as UTF-8
    "#]],
    );
    check_file(
        vec![b'#'; (1 << 20) + 1],
        expect![[r#"
        orlop.toml: is larger than 1048576 bytes; name a configuration file
    "#]],
    );
    check_file("", expect![[""]]);
}

#[test]
fn syntax_errors_are_all_found_and_show_nothing_of_the_line() {
    check_file(
        "api_key = sk-oops\n[agents.default\nmodel = \"sk-open\n\n[agents.default]\n[agents.default]\n",
        expect![[r#"
            orlop.toml:1:11: string values must be quoted, expected literal string; put the text in double quotes
            orlop.toml:2:16: unclosed table, expected `]`; correct the TOML here
            orlop.toml:6:9: duplicate key; keep one of the two
        "#]],
    );
    check_file(
        "model = \"a\"\nmodel = \"b\"\nx = nan\n",
        expect![[r#"
            orlop.toml:2:1: duplicate key; keep one of the two
        "#]],
    );
    check_file(
        "max_steps = 99999999999999999999\n",
        expect![[r#"
        orlop.toml:1:13: max_steps: is a number that cannot be stored; use a finite number of at most 64 bits
    "#]],
    );
}

#[test]
fn columns_are_right_after_a_mark_and_with_other_line_ends() {
    check_file(
        "\u{feff}modle = 1\r\nmax_steps = \"x\"\r\n",
        expect![[r#"
        orlop.toml:1:1: modle: unknown key; did you mean "model"?
        orlop.toml:2:13: max_steps: expected a whole number, found text; write a number without quotes
    "#]],
    );
    check_file(
        "agents.a = { \"ä\" = \"äöü\", \"a.b\" = 1, modle = 2 }\n",
        expect![[r#"
            orlop.toml:1:14: agents.a."ä": unknown key; remove it or correct its name
            orlop.toml:1:27: agents.a."a.b": unknown key; without quotes, dots lead into sections
            orlop.toml:1:38: agents.a.modle: unknown key; did you mean "model"?
        "#]],
    );
    check_file(
        "[agents.\"a.b\".\"c\\\"d\"]\n",
        expect![[r#"
            orlop.toml:1:15: agents."a.b"."c\"d": unknown key; remove it or correct its name
        "#]],
    );
}

#[test]
fn no_nesting_is_too_deep() {
    let keys = ["a"; 79].join(".");
    let deep = format!("{}{keys} = 1{}", format!("{keys} = {{").repeat(78), "}".repeat(78));
    let folder = Folder::new();
    for text in [
        deep.clone(),
        format!("a = 1\na = {{ {deep} }}\n"),
        "[".repeat(100_000),
        "a = [".repeat(1000),
        "a={".repeat(100_000),
        format!("a = {}1{}", "[".repeat(79), "]".repeat(79)),
    ] {
        let path = folder.file("orlop.toml", &text);
        let vars = Vars::from([("HOME".into(), "/h".into())]);
        let locations = Locations::find(&vars, folder.path(), Some(&path)).unwrap();
        let problems = AppConfig::read(&locations, &[], env(&[])).check(&Schema::new(Vec::new()));
        assert!(!problems.is_empty() && problems.len() <= 10);
    }
    let flag = format!("a={}", "[".repeat(50_000));
    let vars = Vars::from([("HOME".into(), "/h".into())]);
    let locations = Locations::find(&vars, Path::new("/nowhere"), None).unwrap();
    assert!(AppConfig::load(&locations, &[flag], env(&[])).is_ok());
}

#[test]
fn one_long_line_is_read_in_no_time() {
    let items: Vec<String> = (0..100_000).map(|index| format!("k{index}=1")).collect();
    let text = format!("a = {{ {} }}", items.join(","));
    let started = std::time::Instant::now();
    assert_eq!(read(&text).raw()["a"].as_object().unwrap().len(), 100_000);
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn a_long_chain_of_agents_is_refused() {
    let mut text = "[agents.a0]\n".to_owned();
    for index in 1..2000 {
        text += &format!("[agents.a{index}]\nextends = \"a{}\"\n", index - 1);
    }
    let config = read(&text);
    assert!(config.build_agent_config("a31").is_ok());
    let error = config.build_agent_config("a32").unwrap_err();
    assert!(error.message().contains("a chain of more than 32 agents"), "{error}");
    assert_eq!(config.check(&Schema::new(Vec::new())).len(), 2000 - 32);
}

#[test]
fn problems_are_told_to_programs() {
    let env = env(&[]);
    let config = AppConfig::from_text(Path::new("orlop.toml"), "modle = 1\n", env).unwrap();
    let problems = config.check(&Schema::new(Vec::new()));
    assert_eq!(
        serde_json::to_value(&problems).unwrap(),
        json!([{
            "kind": "unknown_key", "file": "orlop.toml", "line": 1, "column": 1, "key": "modle",
            "message": "unknown key", "remedy": "did you mean \"model\"?",
        }])
    );
}
