//! What the chat costs on a real terminal: the start, a key, stopping and leaving, a fast stream, a
//! long session.
//!
//! Prints its own table, and fails if something takes longer than it may. The program runs on a pty
//! of its own, and what it writes is read as fast as it comes; processor time and memory are those of
//! its process, where the system tells them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(unix)]
#[path = "../tests/common/mod.rs"]
mod common;

#[cfg(unix)]
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(on_a_terminal::measure());
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod on_a_terminal {
    use crate::common::Place;
    use crate::common::pty::{Terminal, open};
    use orlop_testkit::Gate;
    use orlop_testkit::mock_model::Reply;
    use serde_json::json;
    use std::time::{Duration, Instant};

    const STARTS: usize = 15;
    const KEYS: usize = 100;
    const STOPS: usize = 20;
    const CHUNKS: usize = 6_000;
    const BURST: usize = 20;
    const MESSAGES: usize = 10_000;

    /// The most that stopping and leaving may take, nine times of ten.
    const AT_ONCE: Duration = Duration::from_millis(100);
    /// The most frames in a second, and what begins one.
    const FRAMES: f64 = 60.0;
    const FRAME: &str = "\x1b[?2026h";

    pub(super) async fn measure() {
        let place = Place::new("bench-terminal").await;
        let mut misses = Misses::default();
        start(&place);
        keys(&place);
        stops(&place, &mut misses);
        leaves(&place, &mut misses);
        stream(&place, &mut misses).await;
        long_session(&place).await;
        misses.judge();
    }

    /// What took longer than it may. All figures are printed before anything fails.
    #[derive(Default)]
    struct Misses(Vec<String>);

    impl Misses {
        fn at_once(&mut self, what: &str, sorted: &[Duration]) {
            let took = at(sorted, 90);
            if took > AT_ONCE {
                self.0.push(format!("{what} took {took:?}, and may take {AT_ONCE:?}"));
            }
        }

        fn frames(&mut self, a_second: f64) {
            if a_second > FRAMES {
                self.0.push(format!("{a_second:.1} frames a second, and {FRAMES} at most"));
            }
        }

        fn judge(self) {
            let misses = self.0.join("; ");
            match (misses.is_empty(), cfg!(debug_assertions)) {
                (true, _) => println!("budgets: kept"),
                (false, true) => println!("budgets: not judged without optimisation: {misses}"),
                (false, false) => panic!("budgets: {misses}"),
            }
        }
    }

    fn start(place: &Place) {
        let mut times: Vec<Duration> = (0..STARTS)
            .map(|_| {
                let since = Instant::now();
                let mut terminal = open(place, &[], &[]);
                terminal.shows("^K commands");
                let took = since.elapsed();
                terminal.press("\x04");
                terminal.ends();
                took
            })
            .collect();
        println!("start to a prompt, {STARTS} times: {}", spread(&mut times));
    }

    fn keys(place: &Place) {
        let mut terminal = open(place, &[], &[]);
        terminal.shows("^K commands");
        let mut text = String::new();
        let mut times: Vec<Duration> = (0..KEYS)
            .map(|number| {
                let key = char::from(b'a' + (number % 26) as u8);
                text.push(key);
                let shown = format!("› {text}");
                let since = Instant::now();
                terminal.press(&key.to_string());
                terminal
                    .until("showed the key", |screen| screen.replace("\n  ", "").contains(&shown));
                since.elapsed()
            })
            .collect();
        println!("key to screen, {KEYS} keys: {}", spread(&mut times));
    }

    /// An answer that goes on for as long as anybody listens.
    fn endless(place: &Place) -> Terminal {
        let gate = Gate::new();
        place.model.reply(Reply::text(["Once upon a time"]).wait(&gate));
        let terminal = open(place, &["go"], &[]);
        terminal.shows("Once upon a time");
        terminal
    }

    fn stops(place: &Place, misses: &mut Misses) {
        let mut times: Vec<Duration> = (0..STOPS)
            .map(|_| {
                let mut terminal = endless(place);
                let since = Instant::now();
                terminal.press("\x1b");
                terminal.shows("! Stopped");
                let took = since.elapsed();
                terminal.press("\x04");
                terminal.ends();
                took
            })
            .collect();
        println!("Esc until the answer is stopped, {STOPS} times: {}", spread(&mut times));
        misses.at_once("Esc", &times);
    }

    fn leaves(place: &Place, misses: &mut Misses) {
        let mut answering: Vec<Duration> = (0..STOPS)
            .map(|_| {
                let mut terminal = endless(place);
                let since = Instant::now();
                terminal.press("\x03");
                terminal.press("\x03");
                terminal.ends();
                since.elapsed()
            })
            .collect();
        let spread_answering = spread(&mut answering);
        println!(
            "Ctrl-C twice until the program is gone, in an answer, {STOPS} times: {spread_answering}"
        );
        let mut idle: Vec<Duration> = (0..STOPS)
            .map(|_| {
                let mut terminal = open(place, &[], &[]);
                terminal.shows("^K commands");
                let since = Instant::now();
                terminal.press("\x03");
                terminal.press("\x03");
                terminal.ends();
                since.elapsed()
            })
            .collect();
        println!("the same with nothing under way: {}", spread(&mut idle));
        misses.at_once("leaving an answer", &answering);
        misses.at_once("leaving", &idle);
    }

    async fn stream(place: &Place, misses: &mut Misses) {
        // About 2,000 chunks a second, in markdown: a timer is too coarse for one at a time.
        let chunk = |number: usize| match number % 40 {
            0 => "\n\n- ".to_owned(),
            39 => "\n\n```rust\nlet x = 1;\n```\n\n".to_owned(),
            _ => format!("word{number} "),
        };
        let mut reply = Reply::text([chunk(1)]);
        for burst in 0..CHUNKS / BURST {
            let chunks = (0..BURST).map(|number| chunk(burst * BURST + number));
            reply = reply.then_text(chunks).delay(Duration::from_millis(8));
        }
        place.model.reply(reply.then_text(["the end of it"]));
        let terminal = open(place, &["go"], &[]);
        terminal.shows("word1 ");
        let (before, bytes, since) = (cpu(&terminal), terminal.bytes().len(), Instant::now());
        terminal.shows("the end of it");
        let (took, after) = (since.elapsed(), cpu(&terminal));
        let written = terminal.bytes().split_off(bytes);
        let frames = String::from_utf8_lossy(&written).matches(FRAME).count();
        let frames = frames as f64 / took.as_secs_f64();
        println!(
            "a stream of {:.0} chunks a second for {:.1} s: {frames:.1} frames a second, {:.1} kB/s written",
            CHUNKS as f64 / took.as_secs_f64(),
            took.as_secs_f64(),
            written.len() as f64 / 1000.0 / took.as_secs_f64(),
        );
        if let (Some(before), Some(after)) = (before, after) {
            let used = after - before;
            println!(
                "it took {:.1} % of a core, {:.1} us of CPU a chunk",
                used.as_secs_f64() / took.as_secs_f64() * 100.0,
                used.as_micros() as f64 / CHUNKS as f64,
            );
        }
        println!("memory after it: {}", memory(&terminal));
        misses.frames(frames);
    }

    async fn long_session(place: &Place) {
        let messages: Vec<_> = (0..MESSAGES)
            .map(|number| {
                let role = if number % 2 == 0 { "user" } else { "assistant" };
                json!({ "role": role, "content": format!("Message {number}: {}", "some words ".repeat(20)) })
            })
            .collect();
        let session = json!({ "session_id": "long", "messages": messages, "metadata": {} });
        let file = place.write("long.json", session.to_string());
        place.run(&["session", "import", file.to_str().unwrap()]).await.ok();
        let since = Instant::now();
        let terminal = open(place, &["--resume", "long"], &[]);
        terminal.shows("Message 9999");
        terminal.shows("^K commands");
        let took = since.elapsed();
        println!(
            "a session of {MESSAGES} messages: open after {} ms, {}",
            took.as_millis(),
            memory(&terminal)
        );
    }

    fn spread(times: &mut [Duration]) -> String {
        times.sort_unstable();
        let [median, most, worst] = [50, 90, 100].map(|part| at(times, part).as_secs_f64() * 1e3);
        format!("{median:.1} ms median, {most:.1} ms at 90 %, {worst:.1} ms worst")
    }

    /// The time that so many of a hundred keep.
    fn at(sorted: &[Duration], part: usize) -> Duration {
        sorted[(sorted.len() - 1) * part / 100]
    }

    /// Processor time of the program so far, on Linux.
    fn cpu(terminal: &Terminal) -> Option<Duration> {
        let stat = read_of(terminal, "stat")?;
        let fields = stat.rsplit_once(')')?.1;
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|it| it.parse::<u64>().ok()).sum();
        Some(Duration::from_millis(ticks * 10))
    }

    /// Resident memory, on Linux.
    fn memory(terminal: &Terminal) -> String {
        let kilobytes = read_of(terminal, "status").and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
        kilobytes.map_or_else(|| "not known".to_owned(), |it| format!("{} MB", it / 1024))
    }

    /// What Linux tells of the program.
    fn read_of(terminal: &Terminal, what: &str) -> Option<String> {
        match cfg!(target_os = "linux") {
            true => std::fs::read_to_string(format!("/proc/{}/{what}", terminal.process())).ok(),
            false => None,
        }
    }
}
