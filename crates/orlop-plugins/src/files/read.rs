//! `read_file`: lines of a text, or a picture.

use super::call::Call;
use super::place::{Opened, Place, bytes, missing, told};
use super::seen::Stamp;
use super::text::{BOM, HEAD, is_binary};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use orlop_core::types::ToolReport;
use orlop_core::{Error, Result};
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// How many lines are given if the model does not say, and how much text at most.
const LINES: usize = 2_000;
const MAX_TEXT: usize = 64 * 1024;

/// How much of one line is given.
const MAX_LINE: usize = 2_000;

/// Files up to this size are read whole, and can be changed.
pub(super) const MAX_WHOLE: u64 = 16 * 1024 * 1024;

/// Larger pictures are not sent: model servers refuse them.
const MAX_PICTURE: u64 = 3_500 * 1024;

#[derive(Deserialize)]
pub(super) struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    byte_offset: Option<u64>,
}

pub(super) fn read_file(call: &Call, arguments: &Arguments) -> Result<ToolReport> {
    let real = call.path(&arguments.path)?;
    let shown = call.shown(&real);
    let opened = Place::of(&real)?.open()?;
    let mut opened = opened.ok_or_else(|| missing(&real))?;
    let failed = |error| told("read", &real, error);
    let mut head = Vec::with_capacity(HEAD);
    (&mut opened.file).take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    if let Some(media_type) = picture(&head) {
        return show_picture(call, &real, &shown, media_type, opened);
    }
    if is_binary(&head) {
        return Err(Error::bad_argument(format!(
            "{shown} is no text ({}, {}); look at it with a program in the shell",
            kind_of(&head),
            bytes(opened.size)
        )));
    }
    if opened.size == 0 {
        call.seen.set(&call.session, &real, Some(Stamp::of_content(b"")));
        return Ok(ToolReport::ok(format!("{shown} is empty")));
    }
    opened.file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let range = Range::of(arguments, opened.size, &shown)?;
    let (text, stamp) = if opened.size <= MAX_WHOLE {
        let content = opened.read_all(&real, MAX_WHOLE)?;
        let stamp = Stamp::of_content(&content);
        let lines = content.split_inclusive(|byte| *byte == b'\n').count();
        (range.excerpt(call, &shown, Cursor::new(content), Some(lines))?, stamp)
    } else {
        let stamp = Stamp::of_outside(&opened);
        let reader = BufReader::with_capacity(1 << 16, opened.file);
        (range.excerpt(call, &shown, reader, None)?, stamp)
    };
    call.seen.set(&call.session, &real, Some(stamp));
    Ok(ToolReport::ok(text))
}

/// Which part of a file is wanted.
struct Range {
    /// Lines before the first one wanted, or bytes if lines are not counted.
    skip: u64,
    by_bytes: bool,
    limit: usize,
    size: u64,
}

impl Range {
    fn of(arguments: &Arguments, size: u64, shown: &str) -> Result<Self> {
        let limit = arguments
            .limit
            .map_or(LINES, |limit| usize::try_from(limit).unwrap_or(usize::MAX).max(1));
        match arguments.byte_offset {
            Some(_) if arguments.offset.is_some() => {
                Err(Error::bad_argument("give offset (a line) or byte_offset, not both".to_owned()))
            }
            Some(at) if at >= size => Err(Error::out_of_range(format!(
                "{shown} has {size} bytes; byte_offset {at} is beyond its end"
            ))),
            Some(at) => Ok(Self { skip: at, by_bytes: true, limit, size }),
            None => {
                let skip = arguments.offset.unwrap_or(1).max(1) - 1;
                Ok(Self { skip, by_bytes: false, limit, size })
            }
        }
    }

    fn excerpt(
        &self,
        call: &Call,
        shown: &str,
        mut reader: impl BufRead + Seek,
        lines: Option<usize>,
    ) -> Result<String> {
        let failed = |error| told("read", Path::new(shown), error);
        let mut at = 0;
        if self.by_bytes {
            at = reader.seek(SeekFrom::Start(self.skip)).map_err(failed)?;
        } else {
            for line in 0..self.skip {
                let read = pass_line(&mut reader, call).map_err(failed)?;
                if read == 0 {
                    return Err(Error::out_of_range(format!(
                        "{shown} has {line} lines; line {} is beyond its end",
                        self.skip + 1
                    )));
                }
                at += read;
                if call.is_over() {
                    call.go_on()?;
                    return Err(Error::unavailable(format!(
                        "line {} of {shown} was not reached in time; line {line} is at byte {at}: go on with byte_offset, or use search_files",
                        self.skip + 1
                    )));
                }
            }
        }
        let mut text = String::new();
        let mut count = 0;
        let mut long = 0;
        while count < self.limit && text.len() < MAX_TEXT {
            let Some(taken) = take_line(&mut reader, call).map_err(failed)? else { break };
            let line = taken.text.as_slice();
            let line = line.strip_prefix(BOM).filter(|_| at == 0).unwrap_or(line);
            if !self.by_bytes {
                text.push_str(&format!("{:>6}\t", self.skip + count as u64 + 1));
            }
            text.push_str(&String::from_utf8_lossy(line));
            if taken.cut {
                text.push_str(&format!(" ... (cut; the line has {})", bytes(taken.length)));
                long += 1;
            }
            text.push('\n');
            at += taken.length;
            count += 1;
        }
        if count == 0 {
            return Err(Error::out_of_range(format!(
                "{shown} has {} lines; line {} is beyond its end",
                lines.map_or(self.skip, |lines| lines as u64),
                self.skip + 1
            )));
        }
        text.push_str(&self.footer(at, count as u64, long, lines));
        Ok(text)
    }

    /// What was not shown, and how to see it.
    fn footer(&self, at: u64, count: u64, long: usize, lines: Option<usize>) -> String {
        let mut notes = Vec::new();
        if at < self.size {
            let of = match lines {
                Some(lines) if !self.by_bytes => format!(" of {lines}"),
                _ => String::new(),
            };
            notes.push(match self.by_bytes {
                true => format!(
                    "bytes {} to {at} of {}; go on with byte_offset {at}",
                    self.skip, self.size
                ),
                false => {
                    let (first, last) = (self.skip + 1, self.skip + count);
                    let size = if lines.is_none() {
                        format!(" ({})", bytes(self.size))
                    } else {
                        String::new()
                    };
                    format!("lines {first} to {last}{of}{size}; go on with offset {}", last + 1)
                }
            });
        }
        if long > 0 {
            notes.push(format!("{long} long lines were cut after {MAX_LINE} bytes"));
        }
        if notes.is_empty() { String::new() } else { format!("({})\n", notes.join("; ")) }
    }
}

/// Reads over one line; gives its length.
fn pass_line(reader: &mut impl BufRead, call: &Call) -> std::io::Result<u64> {
    let mut length = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let (used, done) = match memchr::memchr(b'\n', buffer) {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(used);
        length += used as u64;
        if done || call.is_over() {
            return Ok(length);
        }
    }
}

/// The beginning of a line without its end.
struct Taken {
    text: Vec<u8>,
    /// How long all of it is.
    length: u64,
    cut: bool,
}

/// The next line, if there is one.
fn take_line(reader: &mut impl BufRead, call: &Call) -> std::io::Result<Option<Taken>> {
    let mut text = Vec::new();
    let mut length = reader.by_ref().take(MAX_LINE as u64 + 2).read_until(b'\n', &mut text)? as u64;
    if length == 0 {
        return Ok(None);
    }
    if text.last() == Some(&b'\n') {
        text.pop();
        if text.last() == Some(&b'\r') {
            text.pop();
        }
    } else {
        length += pass_line(reader, call)?;
    }
    let cut = text.len() > MAX_LINE;
    if cut {
        // Not in the middle of a character.
        let end = (0..=MAX_LINE).rev().find(|at| text[*at] & 0xc0 != 0x80);
        text.truncate(end.unwrap_or(MAX_LINE));
    }
    Ok(Some(Taken { text, length, cut }))
}

fn show_picture(
    call: &Call,
    real: &Path,
    shown: &str,
    media_type: &str,
    mut opened: Opened,
) -> Result<ToolReport> {
    let size = opened.size;
    if !call.sees_pictures {
        return Ok(ToolReport::ok(format!(
            "{shown} is a picture ({media_type}, {}); this model cannot look at pictures",
            bytes(size)
        )));
    }
    if size > MAX_PICTURE {
        return Err(Error::bad_argument(format!(
            "{shown} is a picture of {}, more than the {} that can be sent; make it smaller in the shell",
            bytes(size),
            bytes(MAX_PICTURE)
        )));
    }
    opened.file.seek(SeekFrom::Start(0)).map_err(|error| told("read", real, error))?;
    let content = opened.read_all(real, MAX_PICTURE)?;
    call.seen.set(&call.session, real, Some(Stamp::of_content(&content)));
    let mut report =
        ToolReport::ok(format!("{shown} is a picture ({media_type}, {})", bytes(size)));
    let part = json!({ "type": "image", "data": STANDARD.encode(&content), "media_type": media_type, "name": shown });
    report.data.insert("multipart_content".to_owned(), json!([part]));
    Ok(report)
}

/// The media type of a picture that models take.
fn picture(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What a file that is no text seems to be.
fn kind_of(head: &[u8]) -> &'static str {
    match head {
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        [0x7f, b'E', b'L', b'F', ..] => "a program",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive or a document made of one",
        [0x1f, 0x8b, ..] => "gzip",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16 text; iconv makes UTF-8 of it",
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => "a SQLite database",
        _ => "binary",
    }
}
