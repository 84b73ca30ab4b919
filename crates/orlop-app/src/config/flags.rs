//! `--set key=value`: dotted keys, values in TOML or else as text.

use super::origin::Origin;
use super::problem::{Problem, ProblemKind};
use super::read::{read_flag_key, read_flag_value};
use super::tree::{Content, Node, Table, lay_over, shortened};

/// The layer that these flags make, a later one over an earlier one.
pub(super) fn layer(flags: &[String]) -> (Table, Vec<Problem>) {
    let (mut layer, mut problems) = (Table::new(), Vec::new());
    for flag in flags {
        let parsed = flag
            .split_once('=')
            .and_then(|(key, value)| Some((read_flag_key(key)?, read_flag_value(value))));
        match parsed {
            Some((steps, content)) => lay_over(&mut layer, nested(steps, content)),
            None => {
                // Only the key is shown: the value may be a secret.
                let key = flag.split_once('=').map_or(flag.as_str(), |(key, _)| key);
                let message = format!("\"{}\" is not a key and a value", shortened(key));
                problems.push(
                    Problem::new(ProblemKind::Syntax, Origin::Flag, "", message)
                        .remedy("write --set key=value, with dots between sections"),
                );
            }
        }
    }
    (layer, problems)
}

fn nested(steps: Vec<String>, content: Content) -> Table {
    let innermost = Node::made(content, Origin::Flag);
    let mut node = innermost;
    let mut steps = steps.into_iter().rev();
    let last = steps.next().unwrap_or_default();
    let mut table = Table::from_iter([(last, node)]);
    for step in steps {
        node = Node::made(Content::Table(table), Origin::Flag);
        table = Table::from_iter([(step, node)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::tree::table_to_json;
    use super::*;
    use expect_test::{Expect, expect};

    fn check(flags: &[&str], expected: Expect) {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let (layer, problems) = layer(&flags);
        let mut shown = serde_json::to_string(&table_to_json(&layer)).unwrap();
        for problem in problems {
            shown += &format!("\n{problem}");
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn values_are_toml_or_text() {
        check(
            &["a=1", "b=gpt-5", "c=true", "d=[1, \"x\"]", "e=", "f=\"1\"", "g=x=y", "h={k = 1.5}"],
            expect![[
                r#"{"a":1,"b":"gpt-5","c":true,"d":[1,"x"],"e":"","f":"1","g":"x=y","h":{"k":1.5}}"#
            ]],
        );
        check(
            &["a=nan", "b=\"open", "c=1\n[x]", "d=99999999999999999999"],
            expect![[r#"{"a":"nan","b":"\"open","c":"1\n[x]","d":"99999999999999999999"}"#]],
        );
    }

    #[test]
    fn keys_are_dotted_and_later_flags_win() {
        check(
            &[
                "agents.default.model=a",
                "agents.default.top=1",
                "agents.default.model=b",
                "agents.\"x.y\".z=1",
            ],
            expect![[r#"{"agents":{"default":{"model":"b","top":1},"x.y":{"z":1}}}"#]],
        );
    }

    #[test]
    fn what_is_no_flag_says_so_and_shows_no_value() {
        check(
            &["model", "=x", "a b=secret", "a#=secret", "[x]=secret", "a..b=secret"],
            expect![[r#"
                {}
                --set: "model" is not a key and a value; write --set key=value, with dots between sections
                --set: "" is not a key and a value; write --set key=value, with dots between sections
                --set: "a b" is not a key and a value; write --set key=value, with dots between sections
                --set: "a#" is not a key and a value; write --set key=value, with dots between sections
                --set: "[x]" is not a key and a value; write --set key=value, with dots between sections
                --set: "a..b" is not a key and a value; write --set key=value, with dots between sections"#]],
        );
        let deep = vec!["a"; 5_000].join(".") + "=1";
        assert_eq!(layer(&[deep]).1.len(), 1);
    }
}
