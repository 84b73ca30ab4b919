//! How fast the embedded model reads and writes on one thread, beside llama.cpp with the same file.
//!
//! `ORLOP_LOCAL_MODEL` names the file and `ORLOP_LLAMA_CPP` a Python that has the package xllamacpp;
//! `cargo xtask bench` provides both. A figure is the best of several rounds, in tokens a second of
//! wall time and of processor time: the latter stands still while other programs run.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use orlop_local::{Message, Model, Options, Piece, Request, Sampling};

const ROUNDS: usize = 3;
const WRITTEN: usize = 64;
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog. ";

fn main() {
    // The last argument may be a filter for all benchmarks of the workspace.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if filter.is_some_and(|filter| !"local_model".contains(&filter)) {
        return;
    }
    let Some(path) = std::env::var_os("ORLOP_LOCAL_MODEL").filter(|path| !path.is_empty()) else {
        println!("local_model: skipped, ORLOP_LOCAL_MODEL names no model file");
        return;
    };
    let path = Path::new(&path);
    println!("local_model    1 thread, {}", path.file_name().unwrap_or_default().to_string_lossy());
    println!("load average   {}", load());
    match ours(path) {
        Ok(figures) => println!("orlop-local    {figures}"),
        Err(error) => println!("orlop-local    failed: {error}"),
    }
    match std::env::var_os("ORLOP_LLAMA_CPP").filter(|path| !path.is_empty()) {
        Some(python) => println!("llama.cpp      {}", theirs(&python, path)),
        None => {
            println!("llama.cpp      not measured, ORLOP_LLAMA_CPP names no Python with xllamacpp")
        }
    }
    println!("load average   {}", load());
}

fn ours(path: &Path) -> orlop_types::Result<String> {
    let start = Instant::now();
    // Nothing is kept, so that every round reads the whole prompt.
    let options = Options { threads: Some(1), cache_bytes: 0, ..Options::default() };
    let model = Model::open_with(path, &options)?;
    let opened = start.elapsed();
    let user = Message { role: "user".into(), content: SENTENCE.repeat(40), calls: Vec::new() };
    let request = Request {
        messages: vec![user],
        sampling: Sampling::greedy(),
        max_tokens: Some(WRITTEN),
        ..Request::default()
    };
    let mut best = Figures::default();
    for _ in 0..ROUNDS {
        let start = Clock::now();
        let mut read = None;
        let completion = model.chat(&request, &mut |piece| {
            if matches!(piece, Piece::Reading { read, of } if read == of) {
                read = Some(Clock::now());
            }
            ControlFlow::Continue(())
        })?;
        let (read, end) = (read.unwrap_or(start), Clock::now());
        // The first token is chosen from what the prompt gave; each further one is computed.
        let written = completion.usage.output.saturating_sub(1);
        best.better(completion.usage.prompt, &start, &read, written, &end);
    }
    Ok(format!("{best}, open {} ms, peak memory {} MiB", opened.as_millis(), peak_memory()))
}

fn theirs(python: &std::ffi::OsStr, path: &Path) -> String {
    let script = include_str!("llama_cpp.py");
    let prompt = SENTENCE.repeat(40);
    let run = Command::new(python)
        .args(["-c", script])
        .arg(path)
        .args([&prompt, &WRITTEN.to_string(), &ROUNDS.to_string()])
        .output();
    match run {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().last().unwrap_or("said nothing").to_owned()
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// Tokens a second, of wall and of processor time.
#[derive(Default)]
struct Figures {
    read: [f64; 2],
    written: [f64; 2],
}

impl Figures {
    fn better(&mut self, prompt: usize, start: &Clock, read: &Clock, written: usize, end: &Clock) {
        let spans =
            [(&mut self.read, prompt, start, read), (&mut self.written, written, read, end)];
        for (best, tokens, from, to) in spans {
            let seconds = [to.wall - from.wall, to.processor.saturating_sub(from.processor)];
            for (best, seconds) in best.iter_mut().zip(seconds) {
                *best = best.max(tokens as f64 / seconds.as_secs_f64().max(1e-9));
            }
        }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([read, read_cpu], [written, written_cpu]) = (self.read, self.written);
        write!(f, "decode {written:.1} tok/s ({written_cpu:.1} tok/cpu-s), ")?;
        write!(f, "prompt {read:.1} tok/s ({read_cpu:.1} tok/cpu-s)")
    }
}

#[derive(Clone, Copy)]
struct Clock {
    wall: Instant,
    processor: Duration,
}

impl Clock {
    fn now() -> Self {
        // The first number is the time this thread has run, in nanoseconds.
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let ran = text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
        Self { wall: Instant::now(), processor: Duration::from_nanos(ran) }
    }
}

fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kibibytes.unwrap_or(0u64) / 1024
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".into()).trim().into()
}
