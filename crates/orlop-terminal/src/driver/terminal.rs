//! The terminal itself: taking it over, giving it back, and what only it can do.

use base64::Engine;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is taken over.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, key by key and without an echo. It is given back when this is dropped, also by a
/// panic on the way up.
pub(super) struct Raw(());

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        keep_panics_off_the_screen();
        let raw = Self(());
        raw.enter_again()?;
        Ok(raw)
    }

    pub(super) fn enter_again(&self) -> io::Result<()> {
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        // Terminals that do not know these pass over them; old consoles say that they do not.
        let _ = execute!(io::stdout(), EnableBracketedPaste);
        let _ = execute!(io::stdout(), PushKeyboardEnhancementFlags(flags));
        Ok(())
    }

    pub(super) fn leave(&self) {
        give_back();
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), PopKeyboardEnhancementFlags);
        let _ = execute!(io::stdout(), DisableBracketedPaste, Show);
        let _ = disable_raw_mode();
    }
}

/// Panics of plugins are caught and told as errors, and the chat goes on: they go to the log and
/// leave the terminal alone. Where a panic is the end of the program the terminal is given back.
fn keep_panics_off_the_screen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if cfg!(panic = "abort") {
                give_back();
            }
            match TAKEN.load(Ordering::SeqCst) {
                true => tracing::error!(target: "orlop::terminal", "{panic}"),
                false => before(panic),
            }
        }));
    });
}

/// Columns and rows.
pub(super) fn size() -> (usize, usize) {
    let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
    // A terminal that does not know says zero.
    let or = |number: u16, usual: usize| if number == 0 { usual } else { usize::from(number) };
    (or(width, 80), or(height, 24))
}

/// Puts a text where other programs can paste it from, also over SSH: gives the sequence that the
/// terminal has to be sent, if one is needed.
pub(super) fn copy(text: &str) -> Option<String> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    let sequence = format!("\x1b]52;c;{encoded}\x1b\\");
    if std::env::var_os("TMUX").is_none() {
        return Some(sequence);
    }
    // tmux passes over this sequence of programs unless it is told otherwise, but takes a text itself
    // and hands it on to its terminal. An old one does not, and may let it through in a wrapping.
    match copy_in_tmux(text) {
        Ok(true) => None,
        _ => Some(format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))),
    }
}

/// Whether tmux took the text.
fn copy_in_tmux(text: &str) -> io::Result<bool> {
    let mut command = Command::new("tmux");
    command.args(["load-buffer", "-w", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        io::Write::write_all(&mut input, text.as_bytes())?;
    }
    Ok(child.wait()?.success())
}

/// Opens a page with the program of the system, if there is one and somebody to see it.
pub(super) fn open(url: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Nobody waits for it but the system.
        std::thread::spawn(move || child.wait());
    }
}

/// Has a text written in `$VISUAL` or `$EDITOR`.
pub(super) fn edit(text: &str) -> Result<String, String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| usual.to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(usual);
    let name = format!("orlop-{}-{}.md", std::process::id(), uniq());
    let path = std::env::temp_dir().join(name);
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    write_private(&path, text)
        .map_err(|error| failed("the text cannot be put into a file", &error))?;
    let ran = Command::new(program).args(words).arg(&path).status();
    let edited = match ran {
        Ok(status) if status.success() => std::fs::read_to_string(&path)
            .map_err(|error| failed("what was written cannot be read", &error)),
        Ok(status) => Err(format!("{program} ended with {status}; the text is as it was")),
        Err(error) => {
            Err(format!("{program} cannot be started: {error}; set EDITOR to another one"))
        }
    };
    let _ = std::fs::remove_file(&path);
    edited
}

/// Writes a file that nobody else can read.
fn write_private(path: &std::path::Path, text: &str) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, text.as_bytes())
}

fn uniq() -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map(|it| it.as_nanos()).unwrap_or_default()
}

/// Stops the program until its user brings it back.
///
/// The signal goes to this very thread: sent to the process, another thread may take it while this
/// one runs on and takes the terminal again before the program stands still.
#[cfg(unix)]
pub(super) fn suspend() {
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTSTP);
}

/// Consoles have no background.
#[cfg(not(unix))]
pub(super) fn suspend() {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read;

    /// Tells the test below that it is the program and not the test.
    const BREAKS: &str = "ORLOP_TEST_BREAKS";

    /// Takes the terminal and breaks off, if the environment says so; else nothing.
    #[test]
    fn program_that_breaks_off() {
        if std::env::var_os(BREAKS).is_some() {
            let _raw = Raw::enter().unwrap();
            panic!("out of the window");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let name = "driver::terminal::tests::program_that_breaks_off";
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", "\"$0\" --exact \"$1\" --nocapture; echo; stty -a"]);
        command.arg(std::env::current_exe().unwrap());
        command.arg(name);
        command.env(BREAKS, "1");
        let mut child = pair.slave.spawn_command(command).unwrap();
        let mut output = pair.master.try_clone_reader().unwrap();
        drop(pair.slave);
        let mut text = Vec::new();
        // The other end is gone when everybody has ended, which some systems call an error.
        let _ = output.read_to_end(&mut text);
        child.wait().unwrap();
        let text = String::from_utf8_lossy(&text);
        let (taken, given) = (text.find("\x1b[?2004h"), text.find("\x1b[?2004l"));
        assert!(taken.is_some() && taken < given, "{text:?}");
        // What is typed is echoed again, and read line by line.
        assert!(text.contains(" icanon") && text.contains(" echo "), "{text}");
        assert!(text.contains("1 failed"), "{text}");
    }
}
