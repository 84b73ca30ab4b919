//! The real program on a terminal of its own, with a screen that can be looked at.

use super::{BOUND, Place};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Lines that scrolled away and are still kept.
const SCROLLBACK: usize = 2000;

/// What the program has written so far.
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    ended: bool,
    /// Whether nobody reads what the program writes.
    held: bool,
}

/// A program on a terminal.
pub struct Terminal {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
}

/// The program of a place with these arguments and variables, on a terminal of 80 columns and 24 rows.
pub fn open(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_orlop"));
    command.args(arguments);
    open_command(place, command, variables, (80, 24))
}

/// Any command in a place.
pub fn open_command(
    place: &Place,
    mut command: CommandBuilder,
    variables: &[(&str, &str)],
    size: (u16, u16),
) -> Terminal {
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TERM", "xterm-256color");
    command.env("HOME", place.path());
    command.env("ORLOP_HOME", place.home());
    command.env("ORLOP_TRUST", "1");
    for (name, value) in variables {
        command.env(name, value);
    }
    open_in(place.path(), command, size)
}

/// A command in a folder, with the environment that it was given.
pub fn open_in(folder: &Path, mut command: CommandBuilder, (cols, rows): (u16, u16)) -> Terminal {
    let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    command.cwd(folder);
    let child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader().unwrap();
    let keys = pair.master.take_writer().unwrap();
    let parser = vt100::Parser::new(some(rows), some(cols), SCROLLBACK);
    let seen = Seen { parser, bytes: Vec::new(), ended: false, held: false };
    let seen = Arc::new((Mutex::new(seen), Condvar::new()));
    let shared = seen.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        loop {
            let count = output.read(&mut buffer).unwrap_or(0);
            let (seen, changed) = &*shared;
            let mut seen = seen.lock().unwrap();
            seen.parser.process(&buffer[..count]);
            seen.bytes.extend_from_slice(&buffer[..count]);
            seen.ended = count == 0;
            changed.notify_all();
            if seen.ended {
                return;
            }
            drop(changed.wait_while(seen, |seen| seen.held).unwrap());
        }
    });
    Terminal { seen, master: pair.master, keys, child }
}

impl Terminal {
    /// Presses keys, given as the bytes that a terminal sends for them.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Pastes a text.
    pub fn paste(&mut self, text: &str) {
        self.press(&format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Reads nothing more of what the program writes, until this is taken back. A little is read
    /// still, and a little more goes into the buffers of the system.
    pub fn hold(&self, held: bool) {
        self.seen.0.lock().unwrap().held = held;
        self.seen.1.notify_all();
    }

    /// The screen as it is, without empty lines at its end.
    pub fn screen(&self) -> String {
        shown(&self.seen.0.lock().unwrap().parser)
    }

    /// Everything that was written, as it came.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().bytes.clone()
    }

    /// Everything on the screen and above it.
    pub fn everything(&self) -> String {
        let mut seen = self.seen.0.lock().unwrap();
        let screen = seen.parser.screen_mut();
        let mut lines: Vec<String> = Vec::new();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let columns = screen.size().1.get();
        for offset in (1..=above).rev() {
            screen.set_scrollback(offset);
            lines.extend(screen.rows(0, columns).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns));
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Where the cursor is: row and column.
    pub fn cursor(&self) -> (u16, u16) {
        self.seen.0.lock().unwrap().parser.screen().cursor_position()
    }

    /// Waits until the screen is as it should be, and gives it.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        self.until_within(BOUND, what, holds)
    }

    /// The same, for what takes longer than a test usually may.
    #[track_caller]
    pub fn until_within(
        &self,
        bound: Duration,
        what: &str,
        holds: impl Fn(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + bound;
        let (seen, changed) = &*self.seen;
        let mut seen = seen.lock().unwrap();
        loop {
            let screen = shown(&seen.parser);
            if holds(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.ended, "never {what}:\n{screen}");
            seen = changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits until these words are on the screen.
    #[track_caller]
    pub fn shows(&self, words: &str) -> String {
        self.until(&format!("showed {words:?}"), |screen| screen.contains(words))
    }

    /// Waits until these words are not on the screen any more.
    #[track_caller]
    pub fn hides(&self, words: &str) -> String {
        self.until(&format!("hid {words:?}"), |screen| !screen.contains(words))
    }

    /// Gives the terminal another size.
    pub fn resize(&self, cols: u16, rows: u16) {
        self.seen.0.lock().unwrap().parser.screen_mut().set_size(some(rows), some(cols));
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
    }

    /// The process.
    pub fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the end and gives the exit code.
    #[track_caller]
    pub fn ends(mut self) -> u32 {
        let deadline = Instant::now() + BOUND;
        let (seen, changed) = &*self.seen;
        let mut seen = seen.lock().unwrap();
        while !seen.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it does not end:\n{}", shown(&seen.parser));
            seen = changed.wait_timeout(seen, left).unwrap().0;
        }
        drop(seen);
        self.child.wait().unwrap().exit_code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn some(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn shown(parser: &vt100::Parser) -> String {
    let contents = parser.screen().contents();
    let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}
