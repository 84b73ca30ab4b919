//! The configuration to begin with, as `orlop config init` writes it.

use super::app_config::AppConfig;
use super::default_agent::Candidate;
use std::fmt::Write;

/// A commented configuration file that changes nothing as it is: its agent is the one there would
/// be without it. Where other files have agents already, its own is commented out. The `providers`
/// are those that are registered.
pub fn starter(config: &AppConfig, providers: &[&str]) -> String {
    let is_configured = config.tree.contains_key("provider")
        || config.agent_table().into_iter().flatten().any(|(_, it)| it.origin.file().is_some());
    let before = if is_configured { "#:" } else { "" };
    let chosen = Candidate::find(&config.env, providers);
    let chosen = chosen.or_else(|| Candidate::registered(providers).next());
    let mut agent = format!("{before}[agents.default]\n");
    if let Some(chosen) = chosen {
        write_settings(&mut agent, before, chosen);
    }
    let _ = writeln!(agent, "{before}system_message = \"You are a helpful assistant.\"");
    if chosen.is_none_or(|chosen| chosen.has_tools) {
        agent += "#:tools = [\"files\", \"shell\"]          # absent: all tools that are enabled\n";
    }
    agent += "#:fallback = [\"another-model\"]        # models to ask where this one cannot be\n";
    let mut others = String::new();
    for other in Candidate::registered(providers) {
        if chosen.is_none_or(|chosen| chosen.provider != other.provider) {
            let _ = writeln!(others, "#:[agents.{}]", other.provider);
            write_settings(&mut others, "#:", other);
            others.push('\n');
        }
    }
    include_str!("starter.toml")
        .replace("{before}", before)
        .replace("{agent}\n", &(agent + "\n"))
        .replace("{others}\n", &others)
}

fn write_settings(out: &mut String, before: &str, candidate: &Candidate) {
    let _ = writeln!(out, "{before}provider = \"{}\"", candidate.provider);
    for (key, text) in candidate.settings {
        let _ = writeln!(out, "{before}{key} = \"{text}\"");
    }
    if !candidate.has_tools {
        let why = "this model is too small to use tools; remove the line for all that are enabled";
        let _ = writeln!(out, "{before}tools = []                          # {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RuntimeEnv, Schema, Vars};
    use super::*;
    use std::path::Path;

    const PROVIDERS: &[&str] = &["openai_compatible", "anthropic", "gemini", "local"];

    fn env(keys: &[&str]) -> RuntimeEnv {
        let vars = keys.iter().map(|name| ((*name).to_owned(), "k".to_owned()));
        RuntimeEnv::from_vars(vars.collect::<Vars>())
    }

    fn problems(text: &str, env: RuntimeEnv) -> Vec<String> {
        let config = AppConfig::from_text(Path::new("orlop.toml"), text, env).unwrap();
        let schema = Schema::new(vec![("compaction".to_owned(), Default::default())])
            .providers(PROVIDERS.iter().copied());
        let problems = config.check(&schema);
        problems
            .iter()
            .map(ToString::to_string)
            .filter(|problem| !problem.contains("there is no file"))
            .collect()
    }

    /// The agent of a configuration, as JSON, without what only the file says.
    fn agent(config: AppConfig) -> String {
        let agent = config.build_agent_config("default").unwrap();
        serde_json::to_string(&agent)
            .unwrap()
            .replace(r#","system_message":"You are a helpful assistant.""#, "")
    }

    #[test]
    fn it_works_as_it_is_with_the_agent_there_was_without_it() {
        for keys in [&[][..], &["OPENAI_API_KEY"], &["ANTHROPIC_API_KEY"], &["GEMINI_API_KEY"]] {
            let read =
                |text| AppConfig::from_text(Path::new("orlop.toml"), text, env(keys)).unwrap();
            let text = starter(&read(""), PROVIDERS);
            assert_eq!(problems(&text, env(keys)), [""; 0], "{keys:?}");
            let (without, _) = read("").or_default_agent(PROVIDERS);
            assert_eq!(agent(read(&text)), agent(without));
        }
    }

    #[test]
    fn it_is_right_with_what_is_commented_out() {
        let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "ORLOP_TOKEN"];
        for chosen in [&keys[..], &[]] {
            let none = AppConfig::from_text(Path::new("orlop.toml"), "", env(chosen)).unwrap();
            let uncommented: String = starter(&none, PROVIDERS)
                .lines()
                .map(|line| line.strip_prefix("#:").unwrap_or(line).to_owned() + "\n")
                .collect();
            assert!(uncommented.contains("\n[mcp_servers.everything]"));
            assert!(uncommented.contains("\n[agents.anthropic]"));
            assert_eq!(problems(&uncommented, env(&keys)), [""; 0]);
        }
    }

    #[test]
    fn agents_of_other_files_stay() {
        let there = "[agents.default]\nprovider = \"gemini\"\n";
        let there = AppConfig::from_text(Path::new("config.toml"), there, env(&[])).unwrap();
        let text = starter(&there, PROVIDERS);
        assert!(text.lines().all(|line| line.is_empty() || line.starts_with('#')), "{text}");
    }
}
