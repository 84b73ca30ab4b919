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

/// Whether the terminal is taken over; whoever panics has to give it back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, key by key and without an echo. It is given back when this is dropped.
pub(super) struct Raw(());

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        give_back_on_panic();
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

fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
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

/// What puts a text where other programs can paste it from, also over SSH.
pub(super) fn copying(text: &str) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("\x1b]52;c;{encoded}\x1b\\")
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
