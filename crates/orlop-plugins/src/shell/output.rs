//! What a command prints: the beginning and the end for the model, the whole in a file up to a
//! limit, and pieces for people who watch. However much it is, little of it is held in memory.

use orlop_app::ui::plain_text;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The output of a command as far as the model reads it: its beginning and its end.
#[derive(Debug)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: Tail,
    most: usize,
    total: u64,
    log: Log,
}

impl Output {
    /// Keeps `most` bytes. What is longer goes to `log` as well.
    pub(super) fn new(most: usize, log: Log) -> Self {
        let tail = Tail::new(most - most / 3);
        Self { head: Vec::new(), tail, most, total: 0, log }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.total > self.most as u64 {
            if !self.log.is_begun() {
                // Nothing has been dropped so far.
                self.log.write(&self.head);
                self.log.write(self.tail.bytes());
            }
            self.log.write(bytes);
        }
        let room = (self.most / 3).saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.push(rest);
    }

    /// How many bytes were printed.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Where the whole is, if it is longer than what is kept here.
    pub(super) fn log(&self) -> Option<&Log> {
        self.log.is_begun().then_some(&self.log)
    }

    /// The text for the model, with a line where something is left out; `where_it_is` says where
    /// that can be read.
    pub(super) fn text(&self, where_it_is: &str) -> String {
        let left_out = self.tail.dropped();
        if left_out == 0 {
            return readable(&[&self.head, self.tail.bytes()].concat());
        }
        format!(
            "{}\n[... {left_out} bytes left out here{where_it_is} ...]\n{}",
            readable(&self.head[..complete(&self.head)]).trim_end_matches('\n'),
            readable(self.tail.bytes())
        )
    }
}

/// The last of many bytes.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// Up to twice as many as are wanted, so that they are moved rarely.
    held: Vec<u8>,
    most: usize,
    total: u64,
}

impl Tail {
    pub(super) fn new(most: usize) -> Self {
        Self { held: Vec::new(), most, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.held.extend_from_slice(&bytes[bytes.len().saturating_sub(self.most)..]);
        if self.held.len() > 2 * self.most {
            let too_many = self.held.len() - self.most;
            self.held.drain(..too_many);
        }
    }

    /// The last ones. A character that has lost its beginning is left out.
    pub(super) fn bytes(&self) -> &[u8] {
        let from = self.held.len().saturating_sub(self.most);
        let bytes = &self.held[from..];
        let is_cut = self.total > bytes.len() as u64;
        let rest = bytes.iter().take(3).take_while(|byte| is_cut && (0x80..0xc0).contains(*byte));
        &bytes[rest.count()..]
    }

    /// How many bytes are not there any more.
    pub(super) fn dropped(&self) -> u64 {
        self.total - self.bytes().len() as u64
    }

    /// Takes all that is there but the last bytes of an unfinished character; with it how many
    /// bytes were dropped before.
    pub(super) fn take_complete(&mut self) -> (Vec<u8>, u64) {
        let (bytes, dropped) = (self.bytes().to_vec(), self.dropped());
        let (now, rest) = bytes.split_at(complete(&bytes));
        *self = Self { held: rest.to_vec(), most: self.most, total: rest.len() as u64 };
        (now.to_vec(), dropped)
    }
}

/// A file that takes so many bytes and ignores the rest.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    most: u64,
    written: u64,
    file: Option<File>,
    failed: bool,
}

impl Log {
    /// The file is made with the first byte.
    pub(super) fn new(path: PathBuf, most: u64) -> Self {
        Self { path, most, written: 0, file: None, failed: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes are in it.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    fn is_begun(&self) -> bool {
        self.file.is_some() || self.failed
    }

    /// Whether it could be written at all.
    pub(super) fn is_there(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.failed {
            return;
        }
        if self.file.is_none() {
            self.file = private_file(&self.path);
        }
        let room = usize::try_from(self.most - self.written).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        // A full disk loses the file, not the command.
        match self.file.as_mut().map(|file| file.write_all(bytes)) {
            Some(Ok(())) => self.written += bytes.len() as u64,
            _ => {
                self.failed = true;
                self.file = None;
                let _ = std::fs::remove_file(&self.path);
            }
        }
    }
}

fn private_file(path: &Path) -> Option<File> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path).ok()
}

/// What people see while a command runs: pieces of text, and an end to it when it becomes too much.
#[derive(Debug)]
pub(super) struct Live {
    waiting: Tail,
    shown: usize,
}

/// The longest piece.
const PIECE: usize = 16 << 10;
/// The most that is shown of one command while it runs.
const SHOWN: usize = 256 << 10;

impl Default for Live {
    fn default() -> Self {
        Self { waiting: Tail::new(PIECE), shown: 0 }
    }
}

impl Live {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.shown < SHOWN {
            self.waiting.push(bytes);
        }
    }

    /// Whether there is a piece to show.
    pub(super) fn is_waiting(&self) -> bool {
        complete(self.waiting.bytes()) > 0
    }

    /// The next piece. A character whose bytes have not all come yet stays behind.
    pub(super) fn take(&mut self) -> String {
        let (piece, dropped) = self.waiting.take_complete();
        let mut text = readable(&piece);
        if dropped > 0 {
            text = format!("[... {dropped} bytes ...]\n{text}");
        }
        self.shown += text.len();
        if self.shown >= SHOWN {
            text.push_str("\n[... what follows is not shown while it runs ...]\n");
            self.waiting = Tail::new(PIECE);
        }
        text
    }
}

/// How many bytes make complete characters.
fn complete(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let cut = bytes[from..].iter().rposition(|byte| *byte >= 0xc0).map(|at| from + at);
    match cut {
        Some(at) if is_unfinished(&bytes[at..]) => at,
        _ => bytes.len(),
    }
}

fn is_unfinished(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

/// Bytes as text: what is no UTF-8 is replaced, what a terminal would act on is gone, and of a line
/// that was drawn over again and again, as progress bars are, the last state is left.
pub(super) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains(['\r', '\u{1b}'])
        && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
    {
        return text.into_owned();
    }
    let last_state = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or(line).to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(last_state).collect();
    plain_text(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn log(name: &str, most: u64) -> Log {
        let name = format!("orlop-log-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Log::new(path, most)
    }

    fn check(printed: &[&str], expected: Expect) {
        let mut output = Output::new(30, log("check", 1000));
        for piece in printed {
            output.push(piece.as_bytes());
        }
        expected.assert_eq(&output.text(", all is in the file"));
        let _ = std::fs::remove_file(output.log.path());
    }

    #[test]
    fn short_output_is_left_alone() {
        check(
            &["one\n", "two\n"],
            expect![[r#"
            one
            two
        "#]],
        );
        check(&[], expect![""]);
    }

    #[test]
    fn of_long_output_the_beginning_and_the_end_are_left() {
        check(&["0123456789", "abcdefghijklmnopqrst"], expect!["0123456789abcdefghijklmnopqrst"]);
        check(
            &["0123456789ab", "cdefghijklmnopqrstuvwxyz"],
            expect![[r#"
            0123456789
            [... 6 bytes left out here, all is in the file ...]
            ghijklmnopqrstuvwxyz"#]],
        );
    }

    #[test]
    fn the_whole_is_in_the_file_up_to_its_limit() {
        let mut output = Output::new(30, log("whole", 64));
        output.push(b"0123456789012345678901234567");
        assert!(output.log().is_none());
        for _ in 0..1000 {
            output.push(b"more ");
        }
        let log = output.log().unwrap();
        let kept = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(kept, "0123456789012345678901234567more more more more more more more m");
        assert_eq!((log.written(), output.total()), (64, 5028));
        std::fs::remove_file(log.path()).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_no_fault_of_the_command() {
        let mut output = Output::new(3, Log::new("/dev/null/not/there".into(), 10));
        output.push(b"abcdefgh");
        assert!(!output.log().unwrap().is_there());
        assert!(output.text("").contains("5 bytes left out"));
    }

    #[test]
    fn pieces_are_cut_between_characters() {
        let mut live = Live::default();
        live.push("gr\u{fc}".as_bytes().split_last().unwrap().1);
        assert_eq!(live.take(), "gr");
        assert!(!live.is_waiting());
        live.push(&[0xbc, b'n']);
        assert_eq!(live.take(), "\u{fc}n");
        live.push(&[0xff, 0xfe]);
        assert_eq!(live.take(), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn watching_has_an_end() {
        let mut live = Live::default();
        let mut shown = 0;
        for _ in 0..100 {
            live.push(&[b'x'; 1 << 20]);
            if live.is_waiting() {
                shown += live.take().len();
            }
        }
        assert!(shown < SHOWN + PIECE + 1000, "{shown}");
        assert!(live.waiting.bytes().is_empty());
    }

    #[test]
    fn progress_bars_and_colours_are_made_readable() {
        let text = b"10%\r50%\r100%\r\n\x1b[32mok\x1b[0m\n\xff\n";
        expect![[r#"
            100%
            ok
            \u{fffd}
        "#]]
        .assert_eq(&readable(text).replace('\u{fffd}', "\\u{fffd}"));
    }
}
