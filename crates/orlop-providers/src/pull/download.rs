//! A download that goes on where it was cut off, in this run or in a later one.

use super::part::{Part, note_of};
use super::{Known, Progress, Tell};
use crate::http::{cause_of, client_for_files, passes};
use futures::StreamExt;
use orlop_types::{Error, Result};
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// So many tries in a row that bring nothing end it.
const TRIES: u32 = 3;
/// So much silence is a broken connection.
const IDLE: Duration = Duration::from_secs(60);
/// The first pause after a try that brought nothing.
const PAUSE: Duration = Duration::from_millis(200);

/// What a `.part` file is a part of.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Note {
    url: String,
    /// What the server calls this version of the file; with it, it can say that it has another.
    version: Option<String>,
}

impl Note {
    fn read(part: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(note_of(part)).ok()?).ok()
    }

    /// Without a note a later run begins anew, so nothing is lost if it cannot be written.
    fn write(&self, part: &Path) {
        if let Ok(text) = serde_json::to_vec(self) {
            let _ = std::fs::write(note_of(part), text);
        }
    }
}

/// Brings the file at `url` into `path`.
pub(super) async fn download(
    url: &str,
    path: &Path,
    known: Option<&Known>,
    tell: &mut Tell<'_>,
) -> Result<Part> {
    let parsed = Url::parse(url).map_err(|error| {
        Error::bad_argument(format!(
            "{url:?} is no address ({error}); write it like https://host/file.gguf"
        ))
    })?;
    let host = parsed.host_str().unwrap_or_default().to_owned();
    tell(Progress::Note(&format!("downloading from {host}")));
    let client = client_for_files(&parsed, IDLE).map_err(|error| {
        Error::unavailable(format!(
            "cannot download anything: {}; check the certificates of this machine",
            cause_of(error)
        ))
    })?;
    let note = Note::read(path).filter(|note| note.url == url);
    // Without a name for the version only a known hash can tell whether the rest fits.
    let fits = note.as_ref().is_some_and(|note| note.version.is_some() || known.is_some());
    let part = if fits { Part::resume(path).await? } else { Part::begin(path)? };
    let mut download =
        Download { client, url: parsed, host, known, part, note: note.unwrap_or_default() };
    download.note.url = url.to_owned();
    let mut idle_tries = 0;
    loop {
        let before = download.part.written();
        let cause = match download.attempt(path, tell).await? {
            Outcome::Complete => return Ok(download.part),
            Outcome::Again => continue,
            Outcome::Cut(cause) => cause,
        };
        idle_tries = if download.part.written() > before { 0 } else { idle_tries + 1 };
        if idle_tries == TRIES {
            return Err(download.stopped(&cause));
        }
        tell(Progress::Note(&format!("{cause}; going on from {} bytes", download.part.written())));
        tokio::time::sleep(PAUSE * idle_tries).await;
    }
}

struct Download<'a> {
    client: reqwest::Client,
    url: Url,
    host: String,
    known: Option<&'a Known>,
    part: Part,
    note: Note,
}

/// How a try ended.
enum Outcome {
    /// Everything is here.
    Complete,
    /// Something was learned: try again at once.
    Again,
    /// It broke off; this is why.
    Cut(String),
}

impl Download<'_> {
    async fn attempt(&mut self, path: &Path, tell: &mut Tell<'_>) -> Result<Outcome> {
        let have = self.part.written();
        let mut request = self.client.get(self.url.clone());
        if have > 0 {
            request = request.header(RANGE, format!("bytes={have}-"));
            if let Some(version) = &self.note.version {
                request = request.header(IF_RANGE, version);
            }
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Ok(Outcome::Cut(cause_of(error))),
        };
        let range = content_range(response.headers());
        match response.status() {
            StatusCode::PARTIAL_CONTENT if have > 0 => {
                if range.and_then(|range| range.start) != Some(have) {
                    self.part.restart()?;
                    return Ok(Outcome::Again);
                }
            }
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => {
                if range.and_then(|range| range.total) == Some(have) {
                    return Ok(Outcome::Complete);
                }
                self.part.restart()?;
                return Ok(Outcome::Again);
            }
            // The server has no ranges, or another version of the file.
            StatusCode::OK if have > 0 => self.part.restart()?,
            StatusCode::OK => {}
            status if passes(status.as_u16()) => {
                return Ok(Outcome::Cut(format!("{} answered {status}", self.host)));
            }
            status => {
                return Err(Error::unavailable(format!(
                    "{} answered {status}; check the address",
                    self.host
                ))
                .with_retryable(false));
            }
        }
        self.note.version = version(response.headers());
        self.note.write(path);
        self.read(response, tell).await
    }

    async fn read(&mut self, response: Response, tell: &mut Tell<'_>) -> Result<Outcome> {
        let rest = response.content_length();
        let total = rest.map(|rest| self.part.written() + rest);
        let shown = self.known.map(|known| known.bytes).or(total);
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(chunk) => self.part.write(&chunk, self.known)?,
                Err(error) => return Ok(Outcome::Cut(cause_of(error))),
            }
            tell(Progress::Bytes { done: self.part.written(), total: shown });
        }
        match total {
            Some(total) if self.part.written() < total => {
                Ok(Outcome::Cut("the connection ended early".to_owned()))
            }
            _ => Ok(Outcome::Complete),
        }
    }

    fn stopped(&self, cause: &str) -> Error {
        let have = self.part.written();
        let so_far = match have {
            0 => "nothing came".to_owned(),
            have => format!("{have} bytes are kept, the next run goes on from there"),
        };
        Error::unavailable(format!(
            "the download from {} failed: {cause}; {so_far}; check the connection and try again",
            self.host
        ))
    }
}

/// What the server calls this version; a weak name does not promise the same bytes.
fn version(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let strong = text(ETAG).filter(|tag| !tag.starts_with("W/"));
    strong.or_else(|| text(LAST_MODIFIED)).map(str::to_owned)
}

/// `bytes START-END/TOTAL`, where `START-END` or `TOTAL` may be `*`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ContentRange {
    start: Option<u64>,
    total: Option<u64>,
}

fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes")?.trim().split_once('/')?;
    let start = range.split_once('-').and_then(|(start, _)| start.trim().parse().ok());
    Some(ContentRange { start, total: total.trim().parse().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_RANGE, text.parse().unwrap());
            content_range(&headers)
        };
        let range = |start, total| Some(ContentRange { start, total });
        assert_eq!(read("bytes 5-9/10"), range(Some(5), Some(10)));
        assert_eq!(read("bytes 5-9/*"), range(Some(5), None));
        assert_eq!(read("bytes */10"), range(None, Some(10)));
        assert_eq!(read("lines 1-2/3"), None);
    }

    #[test]
    fn only_strong_names_of_a_version_count() {
        let read = |pairs: &[(reqwest::header::HeaderName, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
            version(&pairs.collect())
        };
        assert_eq!(read(&[(ETAG, "\"a\""), (LAST_MODIFIED, "then")]).as_deref(), Some("\"a\""));
        assert_eq!(read(&[(ETAG, "W/\"a\""), (LAST_MODIFIED, "then")]).as_deref(), Some("then"));
        assert_eq!(read(&[(ETAG, "W/\"a\"")]), None);
    }
}
