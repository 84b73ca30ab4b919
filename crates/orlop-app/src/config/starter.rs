//! The configuration to begin with, as `orlop config init` writes it.

/// A commented configuration file. It is right as it is once `OPENAI_API_KEY` is set.
pub fn starter() -> &'static str {
    include_str!("starter.toml")
}

#[cfg(test)]
mod tests {
    use super::super::{AppConfig, RuntimeEnv, Schema, Vars};
    use super::*;
    use std::path::Path;

    fn problems(text: &str) -> Vec<String> {
        let vars = ["OPENAI_API_KEY", "ORLOP_TOKEN"].map(|name| (name.to_owned(), "k".to_owned()));
        let env = RuntimeEnv::from_vars(Vars::from(vars));
        let config = AppConfig::from_text(Path::new("orlop.toml"), text, env).unwrap();
        let schema = Schema::new(vec![("compaction".to_owned(), Default::default())])
            .providers(["openai_compatible", "local"]);
        let problems = config.check(&schema);
        problems
            .iter()
            .map(ToString::to_string)
            .filter(|problem| !problem.contains("there is no file"))
            .collect()
    }

    #[test]
    fn it_is_right_with_and_without_what_is_commented_out() {
        assert_eq!(problems(starter()), [""; 0]);
        let uncommented: String = starter()
            .lines()
            .map(|line| line.strip_prefix("#:").unwrap_or(line).to_owned() + "\n")
            .collect();
        assert!(uncommented.contains("\n[mcp_servers.everything]"));
        assert_eq!(problems(&uncommented), [""; 0]);
    }
}
