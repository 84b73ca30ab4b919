//! What the application costs: persisted turns at different lengths of a session, a step of the
//! tool loop, forks, opening, streaming through events, and the start of the program.
//!
//! Prints its own table: what is compared is measured in turns within one run, on a real file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures::{StreamExt, stream};
use orlop_app::config::{AppConfig, RuntimeEnv, Vars};
use orlop_app::{Application, EventKind, NewSession, Plugins, Request, Target};
use orlop_core::hooks::{Chunk, ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_providers::openai::{OpenAiCompatible, events};
use orlop_store::SqliteStore;
use orlop_testkit::chat_stream::{bare_loop, reads};
use orlop_testkit::mock_model::{MockModel, Reply};
use orlop_testkit::scripted::{Over, ScriptedProvider, item};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LENGTHS: [usize; 3] = [10, 1_000, 10_000];
const TURNS: usize = 60;
const STEPS: usize = 20;
const CHUNKS: usize = 2_000;

fn main() {
    let folder = std::env::temp_dir().join(format!("orlop-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("one commit of a bare SQLite table, fsync: {}", micros(bare_commit(&folder)));
        turns(&folder).await;
        steps(&folder).await;
        forks(&folder).await;
        streaming(&folder).await;
        program(&folder).await;
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

fn micros(time: Duration) -> String {
    format!("{:.0} µs", time.as_secs_f64() * 1e6)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The least a durable step can cost here.
fn bare_commit(folder: &Path) -> Duration {
    let file = folder.join("bare.txt");
    let mut file = std::fs::File::create(file).unwrap();
    let times = (0..TURNS).map(|n| {
        use std::io::Write;
        let began = Instant::now();
        file.write_all(format!("{n:04096}").as_bytes()).unwrap();
        file.sync_data().unwrap();
        began.elapsed()
    });
    median(times.collect())
}

/// An agent on a provider that answers at once.
async fn application(folder: &Path, name: &str, plugins: Plugins) -> Application {
    let text = "[agents.default]\nprovider = \"scripted\"\nmodel = \"m\"\n";
    let env = RuntimeEnv::from_vars(Vars::new());
    let config = AppConfig::from_text(Path::new("orlop.toml"), text, env).unwrap();
    let store = SqliteStore::open(&folder.join(name)).unwrap();
    Application::builder(config, Arc::new(store)).plugins(plugins).start().await.unwrap()
}

fn answering(chunks: impl Fn() -> Vec<Chunk> + Send + Sync + 'static) -> Plugins {
    let provider = Over::new(ScriptedProvider::new("scripted"))
        .stream_api(move |_, _, _| Some(stream::iter(chunks().into_iter().map(Ok)).boxed()));
    Plugins::new().provider(Arc::new(provider), vec![])
}

fn one_answer() -> Vec<Chunk> {
    let text = "A short answer, as they often are, of some twenty words or so, to give the store something to write down.";
    vec![Chunk::partial(Partial::text(text)), Chunk::finals(vec![item("assistant", text)])]
}

/// A stored session of `length` messages whose native history is there.
async fn prepared(app: &Application, id: &str, length: usize) {
    let messages: Vec<_> = (0..length)
        .map(|n| match n % 2 {
            0 => json!({"role": "user", "content": format!("question {n}, of the usual length of a question")}),
            _ => json!({"role": "assistant", "content": format!("answer {n}, of the usual length of an answer, which is longer")}),
        })
        .collect();
    let session = json!({"session_id": id, "messages": messages, "metadata": {}});
    app.import_session(&session.to_string(), "json", None).await.unwrap();
    ask(app, id, true).await;
}

async fn ask(app: &Application, id: &str, persist: bool) -> Duration {
    let request = Request {
        session: match persist {
            true => Target::Stored(id.to_owned()),
            false => Target::StoredOrNew(NewSession::default()),
        },
        message: Some(Message::user("and what about this?")),
        stream: true,
        persist: (!persist).then_some(false),
        ..Request::default()
    };
    let began = Instant::now();
    app.send_request(request).await.unwrap().finish().await.unwrap();
    began.elapsed()
}

/// Bytes this process has handed to the system so far.
fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

async fn turns(folder: &Path) {
    let app = application(folder, "turns.db", answering(one_answer)).await;
    for length in LENGTHS {
        prepared(&app, &format!("s{length}"), length).await;
    }
    let mut times = vec![Vec::new(); LENGTHS.len()];
    let mut bytes = vec![0; LENGTHS.len()];
    for _ in 0..TURNS {
        for (index, length) in LENGTHS.iter().enumerate() {
            let before = written();
            times[index].push(ask(&app, &format!("s{length}"), true).await);
            bytes[index] += written() - before;
        }
    }
    for ((length, times), bytes) in LENGTHS.iter().zip(times).zip(bytes) {
        let best = times.iter().min().copied().unwrap();
        println!(
            "persisted turn at {length} messages: median {}, fastest {}, {} bytes written",
            micros(median(times)),
            micros(best),
            bytes / TURNS as u64
        );
    }
    let times = (0..TURNS).map(|_| ask(&app, "", false));
    let times: Vec<Duration> = stream::iter(times).then(|time| time).collect().await;
    println!("turn that is not stored: median {}", micros(median(times)));
}

/// A tool that does nothing.
struct Nothing;

impl Plugin for Nothing {
    fn manifest(&self) -> Manifest {
        Manifest::new("nothing", "1.0.0").without_models()
    }
}

impl Tool for Nothing {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = json!({"name": "nothing", "parameters": {"type": "object"}});
        Answer::ok(schema.as_object().cloned().into_iter().collect())
    }
    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::ok(ToolReport::ok("done"))
    }
}

async fn steps(folder: &Path) {
    let count = Arc::new(Mutex::new(0_usize));
    let plugins = answering(move || {
        let mut count = count.lock().unwrap();
        *count += 1;
        if count.is_multiple_of(STEPS + 1) {
            return one_answer();
        }
        let call = json!({"who": "assistant", "calls": [
            {"id": format!("c{count}"), "type": "function", "function": {"name": "nothing", "arguments": "{}"}},
        ]});
        vec![Chunk::finals(vec![NativeItem::from(call)])]
    });
    let app = application(folder, "steps.db", plugins.tool(Arc::new(Nothing))).await;
    app.create_session(NewSession { id: Some("s".into()), ..NewSession::default() }).await.unwrap();
    let (mut stored, mut free) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        stored.push(ask(&app, "s", true).await / STEPS as u32);
        free.push(ask(&app, "s", false).await / STEPS as u32);
    }
    let (stored, free) = (median(stored), median(free));
    println!(
        "step with one tool call: {} stored, {} not stored; durability adds {}",
        micros(stored),
        micros(free),
        micros(stored.saturating_sub(free))
    );
}

async fn forks(folder: &Path) {
    let app = application(folder, "forks.db", answering(one_answer)).await;
    for length in LENGTHS {
        let id = format!("s{length}");
        prepared(&app, &id, length).await;
        let mut forks = Vec::new();
        for _ in 0..20 {
            let began = Instant::now();
            app.fork_session(&id, Some(length as i64 / 2), None).await.unwrap();
            forks.push(began.elapsed());
        }
        println!("fork of {length} messages in the middle: median {}", micros(median(forks)));
    }
    drop(app);
    for length in LENGTHS {
        let mut opened = Vec::new();
        let mut tails = Vec::new();
        for _ in 0..7 {
            let app = application(folder, "forks.db", answering(one_answer)).await;
            let id = format!("s{length}");
            let began = Instant::now();
            let range = length.saturating_sub(20)..length;
            app.store().messages(app.scope(), &id, range).await.unwrap().unwrap();
            tails.push(began.elapsed());
            let began = Instant::now();
            app.session(&id).await.unwrap();
            opened.push(began.elapsed());
        }
        println!(
            "opening {length} messages: median {}; the last 20 of them: {}",
            micros(median(opened)),
            micros(median(tails))
        );
    }
}

async fn streaming(folder: &Path) {
    let reads = reads(CHUNKS, false);
    let played = reads.clone();
    let provider =
        Over::new(OpenAiCompatible::default()).named("scripted").stream_api(move |_, _, _| {
            let steps = events(stream::iter(played.clone().into_iter().map(Ok)));
            Some(steps.map(|step| step.map(Chunk::from)).boxed())
        });
    let plugins = Plugins::new().provider(Arc::new(provider), vec![]);
    let app = application(folder, "streaming.db", plugins).await;
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let began = Instant::now();
        std::hint::black_box(bare_loop(&reads));
        bare.push(began.elapsed());
        let request = Request {
            message: Some(Message::user("go")),
            stream: true,
            persist: Some(false),
            ..Request::default()
        };
        let began = Instant::now();
        let mut handle = app.send_request(request).await.unwrap();
        let mut seen = 0;
        while let Some(event) = handle.next().await {
            if let EventKind::Partial { message } = &event.kind {
                seen += message.content.len();
            }
        }
        whole.push(began.elapsed());
        assert_eq!(seen, CHUNKS * " word0000".len());
    }
    let (bare, whole) = (bare.into_iter().min().unwrap(), whole.into_iter().min().unwrap());
    println!(
        "chunk through the application: {:.0} ns beside {:.0} ns of the bare loop ({:.2}x), fastest of 40",
        whole.as_secs_f64() * 1e9 / CHUNKS as f64,
        bare.as_secs_f64() * 1e9 / CHUNKS as f64,
        whole.as_secs_f64() / bare.as_secs_f64()
    );
}

/// The program itself: from its start to the request at the server, to its end, and its memory
/// while it waits for the answer.
async fn program(folder: &Path) {
    let model = MockModel::start().await.unwrap();
    let asked = Arc::new(Mutex::new(None::<Instant>));
    let noted = asked.clone();
    model.otherwise(move |_| {
        *noted.lock().unwrap() = Some(Instant::now());
        Reply::text(["hello"])
    });
    let config = format!(
        "[agents.default]\nprovider = \"openai_compatible\"\nmodel = \"m\"\nbase_url = \"{}\"\n",
        model.base_url()
    );
    std::fs::write(folder.join("orlop.toml"), config).unwrap();
    let command = |home: PathBuf| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_orlop"));
        command
            .args(["--trust", "run", "hi"])
            .current_dir(folder)
            .env("ORLOP_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    };
    let (mut to_request, mut to_end) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let began = Instant::now();
        let status = command(folder.join("home")).status().await.unwrap();
        to_end.push(began.elapsed());
        assert!(status.success());
        to_request.push(asked.lock().unwrap().take().unwrap() - began);
    }
    println!(
        "orlop run: {} to the request, {} to the end (medians of 30; fastest {})",
        micros(median(to_request)),
        micros(median(to_end.clone())),
        micros(to_end.into_iter().min().unwrap())
    );
    let gate = orlop_testkit::Gate::new();
    model.reply(Reply::text(["hello"]).hold(&gate));
    let count = model.requests().len();
    let mut child = command(folder.join("home")).spawn().unwrap();
    model.wait_for_request(count + 1).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id().unwrap()))
        .unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("?");
    println!("orlop run while it waits for the model: {}", memory.trim());
    gate.open();
    child.wait().await.unwrap();
}
