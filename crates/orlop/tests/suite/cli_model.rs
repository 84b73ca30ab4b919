//! `orlop model`: the program beside local files and local servers.

use crate::common::{Place, finish};
use orlop_testkit::tiny_model::TinyModel;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A model file of so many bytes.
fn model(size: usize) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.resize(size, 7);
    bytes
}

async fn head_of(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap().to_ascii_lowercase()
}

/// Serves a file once as half of it, holding the rest back, and then what is asked for.
async fn halting(bytes: Vec<u8>, halted: Arc<Notify>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/m.gguf", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        head_of(&mut socket).await;
        let (total, half) = (bytes.len(), bytes.len() / 2);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {total}\r\nETag: \"a\"\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&bytes[..half]).await.unwrap();
        halted.notify_one();
        // Until the client goes.
        let _ = socket.read_to_end(&mut Vec::new()).await;
        let (mut socket, _) = listener.accept().await.unwrap();
        let head = head_of(&mut socket).await;
        let range = head.lines().find_map(|line| line.strip_prefix("range: bytes="));
        let start: usize = range.unwrap().trim_end_matches('-').parse().unwrap();
        assert!(start > 0 && start <= half, "{start}");
        let head = format!(
            "HTTP/1.1 206 OK\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{total}\r\nETag: \"a\"\r\n\r\n",
            total - start,
            total - 1
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&bytes[start..]).await.unwrap();
        let _ = socket.read_to_end(&mut Vec::new()).await;
    });
    url
}

#[tokio::test]
async fn a_file_is_adopted_and_its_hash_printed() {
    let place = Place::new("pull-file").await;
    let bytes = model(2_500_000);
    place.write("m.gguf", &bytes);
    let done = place.run(&["model", "pull", "mine", "--from", "m.gguf"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("2500000 bytes, SHA-256 "), "{done:?}");
    let lines: Vec<&str> = done.err.lines().filter(|line| line.contains('%')).collect();
    assert!((2..=11).contains(&lines.len()) && lines.last().unwrap().contains("100 %"), "{done:?}");
    assert!(std::fs::read(place.home().join("models/mine.gguf")).unwrap() == bytes);

    let again = place.run(&["model", "pull", "mine", "--from", "m.gguf", "--json"]).await;
    let events: Vec<Value> =
        again.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["already"]), (&json!("done"), &json!(true)));
    let forced = ["model", "pull", "mine", "--from", "m.gguf", "--json", "--force"];
    let forced = place.run(&forced).await.ok();
    assert!(forced.contains(r#"{"event":"progress","done":2500000,"total":2500000}"#), "{forced}");
}

#[tokio::test]
async fn what_cannot_be_brought_is_told() {
    let place = Place::new("pull-refused").await;
    place.run(&["model", "pull", "gpt-99"]).await.fails(4, &["no model is known as", "smollm2"]);
    place.run(&["model", "pull", "x", "--from", "none.gguf"]).await.fails(4, &["none.gguf"]);
    place.write("m.gguf", "nonsense");
    let refused = place.run(&["model", "pull", "x", "--from", "m.gguf"]).await;
    refused.fails(2, &["does not begin with GGUF"]);
    place.write("wrong.gguf", model(100));
    let wrong = place.run(&["model", "pull", "smollm2", "--from", "wrong.gguf"]).await;
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("it has 100 bytes, not 98362432"), "{wrong:?}");
    assert!(!place.home().join("models/smollm2.gguf").exists());
}

#[tokio::test]
async fn embedded_models_are_listed_with_what_they_can_do() {
    let place = Place::new("list-local").await;
    place.write("orlop.toml", "[agents.default]\nprovider = \"local\"\nmodel = \"tiny\"\n");
    place.write("tiny.gguf", TinyModel::default().bytes().0);
    place.run(&["model", "pull", "tiny", "--from", "tiny.gguf", "--json"]).await;
    assert_eq!(
        place.run(&["model", "list"]).await.ok(),
        "MODEL  CONTEXT  PRICE  TAGS\n\
         tiny   1K       -      tools, json_schema\n"
    );
}

#[tokio::test]
async fn ctrl_c_keeps_what_came_and_the_next_run_goes_on() {
    let place = Place::new("pull-resume").await;
    let (bytes, halted) = (model(400_000), Arc::new(Notify::new()));
    let url = halting(bytes.clone(), halted.clone()).await;
    let arguments = ["model", "pull", "mine", "--from", &url, "--json"];
    let mut child = place.command(&arguments).spawn().unwrap();
    halted.notified().await;
    // Wait until the program says that it has half of it.
    let mut out = tokio::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"done\":200000") {
        line.clear();
        let count = tokio::io::AsyncBufReadExt::read_line(&mut out, &mut line).await.unwrap();
        assert!(count > 0, "the program ended");
    }
    let id = child.id().unwrap().to_string();
    assert!(place.program("kill").args(["-INT", &id]).status().await.unwrap().success());
    let stopped = finish(child).await;
    stopped.fails(130, &["run the command again"]);
    let models = place.home().join("models");
    assert!(!models.join("mine.gguf").exists() && models.join("mine.gguf.part").exists());

    let done = place.run(&arguments).await.ok();
    assert!(done.contains("\"event\":\"done\""), "{done}");
    assert!(std::fs::read(models.join("mine.gguf")).unwrap() == bytes);
    assert!(!models.join("mine.gguf.part").exists());
}

#[tokio::test]
async fn two_processes_bring_one_model_once() {
    let place = Place::new("pull-twice").await;
    let bytes = model(3_000_000);
    place.write("m.gguf", &bytes);
    let arguments = ["model", "pull", "mine", "--from", "m.gguf", "--json"];
    let start = || finish(place.command(&arguments).spawn().unwrap());
    let (first, second) = tokio::join!(start(), start());
    let outs = [first.ok(), second.ok()];
    let already = |out: &String| out.contains("\"already\":true");
    assert_eq!(outs.iter().filter(|out| already(out)).count(), 1, "{outs:?}");
    assert!(std::fs::read(place.home().join("models/mine.gguf")).unwrap() == bytes);
}

#[tokio::test]
async fn ollama_brings_its_models_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers = [
        concat!(
            "{\"status\":\"pulling manifest\"}\n",
            "{\"status\":\"pulling abc\",\"digest\":\"abc\",\"total\":100}\n",
            "{\"status\":\"pulling abc\",\"digest\":\"abc\",\"total\":100,\"completed\":100}\n",
            "{\"status\":\"success\"}\n",
        ),
        "{\"status\":\"pulling manifest\"}\n{\"error\":\"pull model manifest: file does not exist\"}\n",
        "{\"status\":\"pulling manifest\"}\n",
    ];
    tokio::spawn(async move {
        for body in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let head = head_of(&mut socket).await;
            assert!(head.starts_with("post /api/pull "), "{head}");
            let length = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            let _ = socket.read_to_end(&mut Vec::new()).await;
        }
    });
    let place = Place::new("pull-ollama").await;
    place.write(
        "orlop.toml",
        format!("[agents.default]\nprovider = \"ollama\"\nmodel = \"m\"\nbase_url = \"{url}\"\n"),
    );
    let arguments = ["model", "pull", "m:1b", "--provider", "ollama"];
    let done = place.run(&arguments).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), "m:1b is here\n"), "{done:?}");
    assert!(done.err.contains("pulling manifest") && done.err.contains("100 %"), "{done:?}");
    let missing = place.run(&arguments).await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.err.contains("file does not exist"), "{missing:?}");
    let cut = place.run(&arguments).await;
    assert!(cut.code == Some(1) && cut.err.contains("ended early"), "{cut:?}");
    let mixed = place.run(&["model", "pull", "m", "--provider", "ollama", "--from", "x"]).await;
    mixed.fails(2, &["--from is not for Ollama"]);
}
