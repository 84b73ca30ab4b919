//! A file on its way to a client: piece by piece, whole or a range of it, and never shown as a page of
//! this server.

use crate::problem::Problem;
use crate::route::{Operation, Output};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::Stream;
use orlop_app::store::AssetRecord;
use orlop_core::Error;
use serde_json::json;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;

/// How much of a file is held at a time.
const PIECE: u64 = 64 * 1024;

/// A file, to be saved.
pub(super) struct File {
    record: AssetRecord,
    file: std::fs::File,
    size: u64,
    /// What was asked for, if it was not the whole.
    part: Option<Range<u64>>,
}

impl File {
    /// The file, or the range of it that the headers ask for. What asks for several is given the whole.
    pub(super) fn new(
        record: AssetRecord,
        file: std::fs::File,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let size = file.metadata().map_err(|error| {
            Error::unavailable(format!("the file cannot be read: {error}; try again"))
        })?;
        let size = size.len();
        let asked = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
        let part = match asked.and_then(|range| range_of(range, size)) {
            Some(part) if part.is_empty() => {
                return Err(Problem::new(
                    StatusCode::RANGE_NOT_SATISFIABLE,
                    "out_of_range",
                    format!("the file has {size} bytes, and none in this range; ask for others"),
                ));
            }
            part => part,
        };
        Ok(Self { record, file, size, part })
    }
}

/// The bytes that a `Range` header asks for, empty if there are none; nothing where it is to be ignored:
/// other units, several ranges, nonsense.
fn range_of(header: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (first.trim(), last.trim()) {
        ("", last) => Some(size.saturating_sub(number(last)?)..size),
        (first, "") => Some(number(first)?.min(size)..size),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| first.min(size)..last.saturating_add(1).min(size))
        }
    }
}

/// The bytes, read as they are sent.
fn pieces(file: std::fs::File, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> {
    futures::stream::try_unfold((file, range), |(file, range)| async move {
        if range.is_empty() {
            return Ok(None);
        }
        let read = tokio::task::spawn_blocking(move || read_piece(file, range));
        read.await.map_err(io::Error::other)?.map(Some)
    })
}

type Rest = (std::fs::File, Range<u64>);

fn read_piece(mut file: std::fs::File, range: Range<u64>) -> io::Result<(Bytes, Rest)> {
    file.seek(SeekFrom::Start(range.start))?;
    let wanted = PIECE.min(range.end - range.start);
    let mut piece = Vec::with_capacity(wanted as usize);
    let read = (&file).take(wanted).read_to_end(&mut piece)? as u64;
    if read == 0 {
        // It was promised to be longer; a connection that breaks off says so.
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok((piece.into(), (file, range.start + read..range.end)))
}

impl IntoResponse for File {
    fn into_response(self) -> Response {
        let range = self.part.clone().unwrap_or(0..self.size);
        let headers = [
            (header::CONTENT_TYPE, self.record.media_type),
            (
                header::CONTENT_DISPOSITION,
                format!("attachment; filename*=UTF-8''{}", quoted(&self.record.name)),
            ),
            (header::ACCEPT_RANGES, "bytes".to_owned()),
            (header::CONTENT_LENGTH, (range.end - range.start).to_string()),
        ];
        let body = Body::from_stream(pieces(self.file, range.clone()));
        if self.part.is_none() {
            return (headers, body).into_response();
        }
        let told = format!("bytes {}-{}/{}", range.start, range.end - 1, self.size);
        (StatusCode::PARTIAL_CONTENT, headers, [(header::CONTENT_RANGE, told)], body)
            .into_response()
    }
}

/// A name as headers carry it: everything but letters and digits as `%XX`.
fn quoted(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    name.bytes().fold(String::new(), |mut out, byte| {
        match plain(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

impl Output for File {
    fn describe(operation: &mut Operation<'_>) {
        let schema = json!({ "type": "string", "format": "binary" });
        operation.answers("200", "*/*", schema.clone());
        operation.answers("206", "*/*", schema);
        operation.refuses("416");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_its_specification_says() {
        for (header, range) in [
            ("bytes=0-3", Some(0..4)),
            ("bytes=2-", Some(2..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=-30", Some(0..10)),
            ("bytes=5-500", Some(5..10)),
            ("bytes=10-", Some(10..10)),
            ("bytes=-0", Some(10..10)),
            ("bytes=0-18446744073709551615", Some(0..10)),
            ("bytes=3-2", None),
            ("bytes=0-1,4-5", None),
            ("bytes=-", None),
            ("bytes=a-b", None),
            ("items=0-3", None),
        ] {
            assert_eq!(range_of(header, 10), range, "{header}");
        }
        assert_eq!(range_of("bytes=0-0", 0), Some(0..0));
    }
}
