//! The agent there is when nobody configured one: chosen by the keys in the environment.

use super::app_config::AppConfig;
use super::env::RuntimeEnv;
use super::origin::Origin;
use super::tree::{Content, Node, Table, lay_over};
use orlop_core::Value;

/// A provider that a key in the environment makes possible.
pub(super) struct Candidate {
    /// The variable that holds the key; none for a provider that needs none.
    key: Option<&'static str>,
    pub(super) provider: &'static str,
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Whether its model may use tools. The embedded one seldom does, and would read for most of a
    /// minute about those there are before its first word.
    pub(super) has_tools: bool,
}

impl Candidate {
    /// The first one that is registered and whose key is set.
    pub(super) fn find(env: &RuntimeEnv, providers: &[&str]) -> Option<&'static Self> {
        let is_set = |name: &str| env.get(name).is_some_and(|value| !value.is_empty());
        Self::registered(providers).find(|candidate| candidate.key.is_none_or(is_set))
    }

    /// Those whose provider is registered.
    pub(super) fn registered(providers: &[&str]) -> impl Iterator<Item = &'static Self> {
        CANDIDATES.iter().filter(|candidate| providers.contains(&candidate.provider))
    }
}

/// In the order of preference.
const CANDIDATES: &[Candidate] = &[
    Candidate {
        key: Some("OPENAI_API_KEY"),
        provider: "openai_compatible",
        settings: &[
            ("model", "${env:OPENAI_MODEL:-gpt-5-mini}"),
            ("base_url", "${env:OPENAI_BASE_URL:-https://api.openai.com/v1}"),
            ("api_key", "${env:OPENAI_API_KEY}"),
        ],
        has_tools: true,
    },
    Candidate {
        key: Some("ANTHROPIC_API_KEY"),
        provider: "anthropic",
        settings: &[
            ("model", "${env:ANTHROPIC_MODEL:-claude-sonnet-4-5}"),
            ("api_key", "${env:ANTHROPIC_API_KEY}"),
        ],
        has_tools: true,
    },
    Candidate {
        key: Some("GEMINI_API_KEY"),
        provider: "gemini",
        settings: &[
            ("model", "${env:GEMINI_MODEL:-gemini-2.5-flash}"),
            ("api_key", "${env:GEMINI_API_KEY}"),
        ],
        has_tools: true,
    },
    Candidate { key: None, provider: "local", settings: &[("model", "smollm2")], has_tools: false },
];

impl AppConfig {
    /// Adds the agent `default` where no agent is configured, with the first provider that is
    /// registered and whose key is set, and says in one line which one that is. Where none is
    /// possible the agent is there all the same, and using it says what to do.
    ///
    /// A file that has agents, or a `provider` that all share, is left as it is;
    /// flags are laid over the agent that is chosen, unless they name a provider themselves.
    pub fn or_default_agent(mut self, providers: &[&str]) -> (Self, Option<String>) {
        let agents = self.agent_table().into_iter().flatten();
        let is_configured = agents.into_iter().any(|(_, agent)| {
            let names_provider = agent.table().is_some_and(|agent| agent.contains_key("provider"));
            agent.origin != Origin::Flag || names_provider
        });
        if is_configured || !self.read_problems.is_empty() {
            return (self, None);
        }
        if self.tree.contains_key("provider") {
            self.add_default_agent(Table::new(), Origin::Default);
            return (self, None);
        }
        let Some(chosen) = Candidate::find(&self.env, providers) else {
            self.add_default_agent(Table::new(), Origin::Default);
            self.unusable = Some(nothing_to_use(providers));
            return (self, None);
        };
        let origin = chosen.key.map_or(Origin::Default, Origin::Environment);
        let provider = [("provider", chosen.provider)];
        let texts = provider.iter().chain(chosen.settings);
        let texts = texts.map(|(key, text)| (*key, Content::Scalar(Value::from(*text))));
        let no_tools = (!chosen.has_tools).then(|| ("tools", Content::List(Vec::new())));
        // A setting that is shared by all agents is the user's word, and stays.
        let settings = texts.chain(no_tools).filter(|(key, _)| !self.tree.contains_key(*key));
        let settings = settings
            .map(|(key, content)| (key.to_owned(), Node::made(content, origin.clone())))
            .collect();
        self.add_default_agent(settings, origin);
        let provider = chosen.provider;
        let found = match chosen.key {
            Some(key) => {
                format!(
                    "no agent is configured: using provider \"{provider}\" because {key} is set"
                )
            }
            None => format!(
                "no key of a provider is set and no agent configured: using the embedded model, provider \"{provider}\""
            ),
        };
        let notice = format!("{found} (orlop config init writes a configuration)");
        (self, Some(notice))
    }

    fn add_default_agent(&mut self, settings: Table, origin: Origin) {
        let agent = Node::made(Content::Table(settings), origin.clone());
        let agents = Table::from_iter([("default".to_owned(), agent)]);
        let made = Node::made(Content::Table(agents), origin);
        let flags =
            std::mem::replace(&mut self.tree, Table::from_iter([("agents".to_owned(), made)]));
        lay_over(&mut self.tree, flags);
    }
}

fn nothing_to_use(providers: &[&str]) -> String {
    let keys: Vec<&str> =
        Candidate::registered(providers).filter_map(|candidate| candidate.key).collect();
    let remedy = match keys.is_empty() {
        true => "write a configuration with `orlop config init`".to_owned(),
        false => {
            format!("set {}, or write a configuration with `orlop config init`", keys.join(" or "))
        }
    };
    format!("no model can be used, because no agent is configured; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::super::{RuntimeEnv, Schema, Vars};
    use super::*;
    use expect_test::{Expect, expect};
    use std::path::Path;

    const ALL: &[&str] = &["openai_compatible", "anthropic", "gemini", "local"];

    fn choose(
        text: &str,
        vars: &[(&str, &str)],
        providers: &[&str],
    ) -> (AppConfig, Option<String>) {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env = RuntimeEnv::from_vars(vars.collect::<Vars>());
        let config = AppConfig::from_text(Path::new("orlop.toml"), text, env).unwrap();
        config.or_default_agent(providers)
    }

    fn check(vars: &[(&str, &str)], providers: &[&str], expected: Expect) {
        let (config, notice) = choose("", vars, providers);
        let agent = match config.build_agent_config(&config.default_agent().unwrap()) {
            Ok(agent) => serde_json::to_string(&agent).unwrap(),
            Err(error) => error.to_string(),
        };
        assert!(
            config.verify(&Schema::new(Vec::new()).providers(providers.iter().copied())).is_ok()
        );
        expected.assert_eq(&format!("{}\n{agent}\n", notice.unwrap_or_default()));
    }

    #[test]
    fn the_first_key_of_a_registered_provider_decides() {
        check(
            &[("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "g")],
            ALL,
            expect![[r#"
            no agent is configured: using provider "openai_compatible" because OPENAI_API_KEY is set (orlop config init writes a configuration)
            {"provider":"openai_compatible","model":"gpt-5-mini","base_url":"https://api.openai.com/v1","api_key":"k"}
        "#]],
        );
        check(
            &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://h/v1"), ("OPENAI_MODEL", "m")],
            ALL,
            expect![[r#"
                no agent is configured: using provider "openai_compatible" because OPENAI_API_KEY is set (orlop config init writes a configuration)
                {"provider":"openai_compatible","model":"m","base_url":"http://h/v1","api_key":"k"}
            "#]],
        );
        check(
            &[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "")],
            ALL,
            expect![[r#"
            no agent is configured: using provider "anthropic" because ANTHROPIC_API_KEY is set (orlop config init writes a configuration)
            {"provider":"anthropic","model":"claude-sonnet-4-5","api_key":"a"}
        "#]],
        );
        check(
            &[("GEMINI_API_KEY", "g")],
            ALL,
            expect![[r#"
            no agent is configured: using provider "gemini" because GEMINI_API_KEY is set (orlop config init writes a configuration)
            {"provider":"gemini","model":"gemini-2.5-flash","api_key":"g"}
        "#]],
        );
        check(
            &[("ANTHROPIC_API_KEY", "a")],
            &["openai_compatible", "local"],
            expect![[r#"
            no key of a provider is set and no agent configured: using the embedded model, provider "local" (orlop config init writes a configuration)
            {"provider":"local","model":"smollm2","tools":[]}
        "#]],
        );
        check(
            &[],
            ALL,
            expect![[r#"
            no key of a provider is set and no agent configured: using the embedded model, provider "local" (orlop config init writes a configuration)
            {"provider":"local","model":"smollm2","tools":[]}
        "#]],
        );
    }

    #[test]
    fn without_any_the_agent_says_what_to_do() {
        check(
            &[("ANTHROPIC_API_KEY", "a")],
            &["openai_compatible"],
            expect![[r#"

            no model can be used, because no agent is configured; set OPENAI_API_KEY, or write a configuration with `orlop config init`
        "#]],
        );
        check(
            &[],
            &[],
            expect![[r#"

            no model can be used, because no agent is configured; write a configuration with `orlop config init`
        "#]],
        );
    }

    #[test]
    fn what_is_configured_stays() {
        let vars = [("OPENAI_API_KEY", "k")];
        let (config, notice) = choose("[agents.mine]\nprovider = \"x\"", &vars, ALL);
        assert_eq!((config.agents(), notice), (vec!["mine"], None));
        let (config, notice) = choose("provider = \"x\"\nmodel = \"m\"", &vars, ALL);
        let agent = config.build_agent_config("default").unwrap();
        assert_eq!(
            (agent.text("provider"), agent.text("api_key"), notice),
            (Some("x"), None, None)
        );
        let (config, notice) = choose("model = \"m\"\n[store]\nurl = \"sqlite:\"", &vars, ALL);
        let agent = config.build_agent_config("default").unwrap();
        assert_eq!((agent.text("model"), agent.text("api_key")), (Some("m"), Some("k")));
        assert!(notice.is_some_and(|notice| !notice.contains('\n')));
    }
}
