//! The tables of decisions, and properties of all command lines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::call::ToolCall;
use super::command::parse::parse;
use super::command::script::Word;
use super::judge::{Judge, Verdict};
use super::places::Places;
use super::rule::{Access, Rule};
use super::settings::{Mode, Policy};
use crate::workspace::Workspace;
use orlop_core::types::ToolDescriptor;
use orlop_core::{Map, Value};
use proptest::prelude::*;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Instant;

const COMMANDS: &str = include_str!("../../tests/policy/commands.txt");
const CALLS: &str = include_str!("../../tests/policy/calls.txt");

/// The workspace of the tables. The folder is removed with it.
struct Ground {
    folder: PathBuf,
    workspace: Workspace,
    home: String,
}

impl Ground {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("orlop-policy-{}", uuid::Uuid::new_v4()));
        let work = folder.join("work");
        for name in ["src", "sub", "secrets", "globs", "dashes", ".git"] {
            std::fs::create_dir_all(work.join(name)).unwrap();
        }
        std::fs::create_dir_all(folder.join("home/.ssh")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let work = folder.join("work");
        for name in [
            "a.txt",
            "b.txt",
            ".env",
            "AGENTS.md",
            "src/main.rs",
            "sub/c.txt",
            ".git/config",
            "secrets/key",
            "dashes/-o.txt",
        ] {
            std::fs::write(work.join(name), "x").unwrap();
        }
        for (target, link) in [
            ("sub", "in"),
            ("/etc", "out"),
            ("/etc/passwd", "sub/deep"),
            ("/etc/passwd", "globs/x.md"),
            ("loop", "loop"),
            (".git", "gitlink"),
            (".env", "envlink"),
            ("secrets", "seclink"),
        ] {
            symlink(target, work.join(link)).unwrap();
        }
        let workspace = Workspace::new(&work, []).unwrap();
        let home = folder.join("home").display().to_string();
        Self { folder, workspace, home }
    }

    fn judge(&self, policy: &Policy, call: &ToolCall) -> Verdict {
        let places = Places { workspace: &self.workspace, home: Some(&self.home) };
        Judge { policy, places }.judge(call)
    }

    fn command(&self, policy: &Policy, command: &str) -> Verdict {
        self.judge(policy, &shell(command))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn shell(command: &str) -> ToolCall {
    let name = "shell".to_owned();
    let command = Some(command.to_owned());
    ToolCall { name, access: Some(Access::Run), command, ..ToolCall::default() }
}

/// The settings of a section's head: `[mode=ask allow=rule;rule deny=rule]`.
fn policy(head: &str) -> Policy {
    let mut section = Map::new();
    let inner = head.trim_start_matches('[').trim_end_matches(']');
    let keys = ["mode=", " allow=", " deny=", " ask="];
    let mut starts: Vec<(usize, &str)> =
        keys.iter().filter_map(|key| Some((inner.find(key)?, *key))).collect();
    starts.sort();
    for (number, (start, key)) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(inner.len(), |next| next.0);
        let value = &inner[start + key.len()..end];
        let name = key.trim().trim_end_matches('=');
        let rules = || json!(value.split(';').collect::<Vec<_>>());
        section.insert(name.to_owned(), if name == "mode" { json!(value) } else { rules() });
    }
    let mut policy = Policy::default();
    policy.add(&Value::Object(section)).unwrap();
    policy
}

fn word_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny(_) => "deny",
    }
}

/// Judges every line of a table; tells all that are not as they should be. Gives how many there are.
fn check_table(table: &str, judge: impl Fn(&Ground, &Policy, &str) -> Verdict) -> usize {
    let ground = Ground::new();
    let (mut rules, mut head) = (Policy::default(), "");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (number, line) in table.lines().enumerate() {
        if line.starts_with('[') && line.contains("mode=") {
            (rules, head) = (policy(line), line);
            continue;
        }
        let Some((expected, rest)) = line.split_once(' ').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        count += 1;
        let rest =
            rest.replace('\u{2424}', "\n").replace("HOME/.ssh", &format!("{}/.ssh", ground.home));
        let rest = if table == CALLS {
            rest
        } else {
            rest.replace(&format!("{}/.ssh", ground.home), "HOME/.ssh")
        };
        let verdict = judge(&ground, &rules, &rest);
        if word_of(&verdict) != expected {
            wrong.push(format!("{}: {head} {line}\n    {verdict:?}", number + 1));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    count
}

#[test]
fn every_command_of_the_table_is_decided_on_as_it_says() {
    let count = check_table(COMMANDS, |ground, rules, command| ground.command(rules, command));
    assert!(count >= 600, "{count}");
}

#[test]
fn every_call_of_the_table_is_decided_on_as_it_says() {
    let count = check_table(CALLS, |ground, rules, rest| {
        let (tool, argument) = rest.split_once(' ').unwrap_or((rest, ""));
        ground.judge(rules, &called(tool, argument))
    });
    assert!(count >= 150, "{count}");
}

/// A call of one of the tools of the table.
fn called(name: &str, argument: &str) -> ToolCall {
    let annotations = match name {
        "read_file" | "search" => json!({ "access": "read", "path": "value" }),
        "write_file" => json!({ "access": "edit", "path": ["value"] }),
        "apply_patch" => json!({ "access": "edit", "patch": "value" }),
        "web_fetch" => json!({ "access": "network", "url": "value" }),
        "todo" => json!({ "access": "none" }),
        "lookup" => json!({ "readOnlyHint": true }),
        _ => json!({}),
    };
    let Value::Object(schema) = json!({ "name": name, "annotations": annotations }) else {
        panic!()
    };
    let tool = ToolDescriptor { schema, plugin: "test".to_owned() };
    let input = match argument {
        "" => json!({}),
        argument => json!({ "value": argument }),
    };
    ToolCall::new(name, Some(&tool), &input)
}

#[test]
fn a_command_is_judged_from_the_folder_it_runs_in() {
    let ground = Ground::new();
    let Value::Object(schema) =
        json!({ "name": "shell", "annotations": { "access": "run", "command": "command" } })
    else {
        panic!()
    };
    let tool = ToolDescriptor { schema, plugin: "test".to_owned() };
    for (cwd, command, expected) in [
        (json!("sub"), "cat c.txt", "allow"),
        (json!("sub"), "cat deep", "ask"),
        (json!("in"), "cat deep", "ask"),
        (json!("sub"), "cat ../a.txt", "allow"),
        (json!("sub"), "git status", "ask"),
        (json!("."), "git status", "allow"),
        (json!(""), "cat a.txt", "allow"),
        (json!(null), "cat a.txt", "allow"),
        (json!(".."), "ls", "ask"),
        (json!("out"), "ls", "ask"),
        (json!("/"), "ls", "ask"),
        (json!(7), "ls", "ask"),
    ] {
        let call = ToolCall::new("shell", Some(&tool), &json!({ "command": command, "cwd": cwd }));
        let verdict = ground.judge(&Policy::default(), &call);
        assert_eq!(word_of(&verdict), expected, "{cwd} {command}: {verdict:?}");
    }
}

/// What is offered to be remembered allows exactly what was asked about, and nothing beside it.
#[test]
fn offers_cover_what_was_shown() {
    let ground = Ground::new();
    let none: &[&str] = &[];
    for (command, expected) in [
        ("git commit -m 'a b'", &["shell(git commit *)"][..]),
        ("cargo test && git add .", &["shell(cargo test *)", "shell(git add *)"]),
        ("ls && rm a.txt", &["shell(rm a.txt)"]),
        ("rm 'a b'", &["shell(rm 'a b')"]),
        ("rm 'a*'", &["shell(rm 'a*')"]),
        ("timeout 5 cargo build", &["shell(cargo build *)"]),
        ("python3 x.py", &["shell(python3 x.py)"]),
        ("ruff check .", &["shell(ruff *)"]),
        ("git push origin main", &["shell(git push origin main)"]),
        ("npm install", &["shell(npm install)"]),
        ("git fetch --upload-pack=sh", &["shell(git fetch --upload-pack=sh)"]),
        ("git -c a=b commit", &["shell(git -c a=b commit)"]),
        ("rm *.txt", none),
        ("rm $X", none),
        ("sudo ls", none),
        ("bash -c 'rm x'", &["shell(rm x)"]),
        ("bash x.sh", none),
        ("env X=1 rm a", none),
        ("python3 -c 'x'", none),
        ("xargs rm", none),
        ("cargo test > /tmp/x", none),
        ("X=1 cargo test", none),
        ("rm 'it'\"'\"'s'", none),
        ("echo \"unclosed", none),
        ("cat /etc/passwd", none),
    ] {
        let verdict = ground.command(&Policy::default(), command);
        let Verdict::Ask { offers, .. } = &verdict else { panic!("{command}: {verdict:?}") };
        assert_eq!(offers, expected, "{command}");
        if !offers.is_empty() {
            let mut remembered = Policy::default();
            remembered.add(&json!({ "allow": offers })).unwrap();
            assert_eq!(ground.command(&remembered, command), Verdict::Allow, "{command}");
            let more = format!("{command}; rm -rf /");
            assert_ne!(ground.command(&remembered, &more), Verdict::Allow, "{more}");
        }
    }
    for (tool, argument, expected) in [
        ("write_file", "src/main.rs", &["write_file(src/main.rs)"][..]),
        ("write_file", "a.txt", &["write_file(./a.txt)"]),
        ("read_file", "/etc/hosts", &["read_file(/etc/hosts)"]),
        ("write_file", ".git/config", none),
        ("write_file", "a*.txt", none),
        ("web_fetch", "https://docs.rs/serde", &["web_fetch(domain:docs.rs)"]),
        ("web_fetch", "https://a@docs.rs/serde", none),
        ("mcp__x__y", "1", &["mcp__x__y"]),
    ] {
        let call = called(tool, argument);
        let Verdict::Ask { offers, .. } = ground.judge(&Policy::default(), &call) else { panic!() };
        assert_eq!(offers, expected, "{tool} {argument}");
        let mut remembered = Policy::default();
        remembered.add(&json!({ "allow": offers })).unwrap();
        let now = ground.judge(&remembered, &call);
        assert_eq!(now == Verdict::Allow, !offers.is_empty(), "{tool} {argument}");
    }
}

#[test]
fn reasons_tell_the_model_what_it_may_do_instead() {
    let ground = Ground::new();
    for (head, command, expected) in [
        (
            "[mode=read_only]",
            "rm a.txt",
            "`rm a.txt`: it is not on the list of commands that only look; the mode is read_only, in which files of the workspace can be read and searched, and nothing else",
        ),
        (
            "[mode=all deny=shell(rm *)]",
            "ls; rm a.txt",
            "the rule shell(rm *) denies a part of it; do it in another way, or tell the user what you would need",
        ),
    ] {
        let Verdict::Deny(reason) = ground.command(&policy(head), command) else { panic!() };
        assert_eq!(reason, expected);
    }
    let Verdict::Ask { reason, .. } = ground.command(&Policy::default(), "ls; cat ~/.ssh/id_rsa")
    else {
        panic!()
    };
    let expected =
        format!("`cat ~/.ssh/id_rsa`: {}/.ssh/id_rsa is outside of the workspace", ground.home);
    assert_eq!(reason, expected);
}

#[test]
fn rules_that_cannot_be_read_are_errors() {
    for text in ["", "(x)", "shell(ls", "a b", "@fly(x)", "shell)x("] {
        let error = Rule::new(text).unwrap_err();
        assert!(error.message().contains("is no rule of permissions"), "{}", error.message());
    }
    let mut policy = Policy::default();
    assert!(
        policy.add(&json!({ "mode": "yolo" })).unwrap_err().message().contains("ask, accept_edits")
    );
    assert!(policy.add(&json!({ "deny": "shell" })).is_err());
    assert!(policy.add(&json!({ "deny": [1] })).is_err());
    assert_eq!(policy.mode, Mode::Ask);
}

/// Lines that are made to hurt: they are answered at once, and never allowed.
#[test]
fn hostile_lines_are_asked_about_and_cost_little() {
    let ground = Ground::new();
    let denies = policy("[mode=all deny=shell(rm *)]");
    for (name, line) in [
        ("long", format!("echo {}", "a".repeat(1 << 20))),
        ("a million commands", "ls;".repeat(350_000)),
        ("many commands", "ls;".repeat(600)),
        ("substitutions", format!("{}ls{}", "echo $(".repeat(2_000), ")".repeat(2_000))),
        ("groups", format!("{}ls{}", "(".repeat(10_000), ")".repeat(10_000))),
        ("open groups", "(".repeat(30_000)),
        ("backticks", "`".repeat(30_000)),
        ("backslashes", "\\".repeat(10_001)),
        ("braces", "${".repeat(10_000)),
        ("quotes", "\"$(".repeat(10_000)),
        ("shells", (0..12).fold("rm x".to_owned(), |inner, _| format!("sh -c {}", quote(&inner)))),
        ("wrappers", format!("{}rm x", "env ".repeat(3_000))),
        ("here-documents", "cat <<A\n".repeat(3_000)),
        ("zero byte", "ls \0; rm x".to_owned()),
        ("carriage return", "ls\r\nrm x".to_owned()),
        ("no-break space", "ls\u{a0}-la".to_owned()),
        ("right to left", "ls \u{202e}x".to_owned()),
        ("escape", "ls \u{1b}[2K".to_owned()),
        ("zero width", "ls \u{200b}".to_owned()),
    ] {
        for policy in [&Policy::default(), &denies] {
            let verdict = ground.command(policy, &line);
            assert_ne!(verdict, Verdict::Allow, "{name}");
        }
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

const HARMLESS: &[&str] =
    &["ls", "cat a.txt", "git status", "pwd", "rg foo src", "echo hi", "head -n 3 a.txt", "true"];
const HARMFUL: &[&str] =
    &["rm -rf x", "rm a.txt", "/bin/rm a", "\\rm a", "r''m a", "rm", "FOO=1 rm a", "rm $X", "rm *"];

/// One command line of a harmless and a harmful one, put together as shells allow.
fn composed() -> impl Strategy<Value = String> {
    let leaf = proptest::sample::select(HARMFUL).prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 2, |inner| {
        (inner, proptest::sample::select(HARMLESS), 0..42_usize).prop_map(|(bad, good, how)| {
            let quoted = quote(&bad);
            match how {
                0 => format!("{good}; {bad}"),
                1 => format!("{bad}; {good}"),
                2 => format!("{good} && {bad}"),
                3 => format!("{good} || {bad}"),
                4 => format!("{good} | {bad}"),
                5 => format!("{good} & {bad}"),
                6 => format!("{good}\n{bad}"),
                7 => format!("({bad})"),
                8 => format!("{{ {bad}; }}"),
                9 => format!("({good}; {bad})"),
                10 => format!("echo $({bad})"),
                11 => format!("echo \"$({bad})\""),
                12 => format!("if {good}; then {bad}; fi"),
                13 => format!("if {bad}; then {good}; fi"),
                14 => format!("while {good}; do {bad}; done"),
                15 => format!("for x in 1 2; do {bad}; done"),
                16 => format!("f() {{ {bad}; }}; f"),
                17 => format!("! {bad}"),
                18 => format!("sh -c {quoted}"),
                19 => format!("bash -lc {quoted}"),
                20 => format!("eval {quoted}"),
                21 => format!("env sh -c {quoted}"),
                22 => format!("timeout 5 sh -c {quoted}"),
                23 => format!("nohup sh -c {quoted} &"),
                24 => format!("{good} | xargs sh -c {quoted}"),
                25 => format!("find . -exec sh -c {quoted} \\;"),
                26 => format!("cat <({bad})"),
                27 => format!("{good} > >({bad})"),
                28 => format!("cat <<EOF\n$({bad})\nEOF\n{good}"),
                29 => format!("cat <<'EOF'\nx\nEOF\n{bad}"),
                30 => format!("{good} # comment\n{bad}"),
                31 => format!("{good} \\\n; {bad}"),
                32 => format!("X=$({bad}) {good}"),
                33 => format!("{good} \"a b\" 'c;d'; {bad}"),
                34 => format!("cat <<< \"$({bad})\""),
                35 => format!("{good} 2>&1; {bad}"),
                36 => format!("until {bad}; do {good}; done"),
                37 => format!("{good} |& {bad}"),
                38 => format!("case x in x) {bad};; esac"),
                39 => format!("sudo sh -c {quoted}"),
                40 => format!("$( {bad} )"),
                _ => format!("command sh -c {quoted}"),
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_composition_with_a_command_that_is_not_allowed_is(line in composed()) {
        thread_local!(static GROUND: Ground = Ground::new());
        GROUND.with(|ground| {
            for head in [
                "[mode=ask]",
                "[mode=accept_edits]",
                "[mode=read_only]",
                "[mode=all deny=shell(rm *)]",
                "[mode=all ask=shell(rm *)]",
                "[mode=ask allow=shell(sh *);shell(bash *);shell(env *);shell(xargs *);shell(find *);shell(echo *);shell(cat *);shell(eval *);shell(timeout *);shell(sudo *)]",
            ] {
                let verdict = ground.command(&policy(head), &line);
                assert_ne!(verdict, Verdict::Allow, "{head} {line}");
            }
        });
    }

    #[test]
    fn anything_can_be_judged(line in "[a-z \\\\'\"$(){}`;&|<>#*?~=\n0-9-]{0,60}") {
        thread_local!(static GROUND: Ground = Ground::new());
        GROUND.with(|ground| drop(ground.command(&policy("[mode=all deny=shell(rm *);@read(.env)]"), &line)));
    }
}

/// Words are read as bash reads them: those of the table that are one plain command are given to
/// it, and what it makes of them is compared.
#[test]
fn words_are_what_a_shell_makes_of_them() {
    let ground = Ground::new();
    let mut lines: Vec<String> = Vec::new();
    for line in COMMANDS.lines() {
        let command = line.split_once(' ').map_or("", |(_, command)| command);
        let is_plain = !command.starts_with(['!', '{'])
            && !command
                .contains([';', '&', '|', '<', '>', '$', '(', ')', '`', '#', '~', '\u{2424}']);
        if is_plain
            && (line.starts_with("allow") || line.starts_with("ask") || line.starts_with("deny"))
        {
            lines.push(command.to_owned());
        }
    }
    lines.extend(
        [
            r#"a "b\"c" 'd\e' f\ g"#,
            r#"x"y"'z' "" ''"#,
            r#""\a\\\$\`" \\ \' \""#,
            "a\\\nb 'c\\\nd' \"e\\\nf\"",
        ]
        .map(str::to_owned),
    );
    let mut compared = 0;
    for line in lines {
        let script = parse(&line, None, 0);
        let [simple] = &*script.commands else { continue };
        let words: Option<Vec<&str>> = simple.words.iter().map(Word::fixed).collect();
        let Some(words) =
            words.filter(|_| simple.assignments.is_empty() && script.unclear.is_none())
        else {
            continue;
        };
        let code = format!("printf '%s\\0' {line}");
        let run = std::process::Command::new("bash")
            .arg("-c")
            .arg(&code)
            .current_dir(&ground.folder)
            .output();
        let Ok(run) = run else {
            orlop_testkit::skip("words as bash reads them", "bash is not there");
            return;
        };
        let made = String::from_utf8(run.stdout).unwrap();
        let made: Vec<&str> = made.split_terminator('\0').collect();
        assert_eq!(words, made, "{line}");
        compared += 1;
    }
    assert!(compared > 200, "{compared}");
}

/// What a decision costs: `cargo test -p orlop-plugins --lib a_decision -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn a_decision_costs_little() {
    let ground = Ground::new();
    let rules = policy("[mode=ask allow=shell(cargo test *);shell(git commit *) deny=shell(rm *)]");
    for command in [
        "git status",
        "git diff HEAD~1 -- src/main.rs",
        "cd src && rg -n foo . | head -n 20",
        "cargo test -p x --test y 2>&1 | tail -5",
        "bash -lc 'cat a.txt | sort -u && git log --oneline -n 3'",
        "rm -rf target",
    ] {
        let mut best = std::time::Duration::MAX;
        for _ in 0..50 {
            let start = Instant::now();
            for _ in 0..20 {
                std::hint::black_box(ground.command(&rules, command));
            }
            best = best.min(start.elapsed() / 20);
        }
        println!("{best:>12.1?} {command}");
    }
}
