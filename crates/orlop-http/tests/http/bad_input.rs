//! Requests that no good client would send.

use crate::common::*;
use crate::site::*;
use orlop_http::Settings;
use reqwest::Method;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn connect(site: &Site) -> TcpStream {
    TcpStream::connect(site.url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Sends bytes as they are, and reads until the server closes.
async fn raw(site: &Site, bytes: &[u8]) -> String {
    let mut socket = connect(site).await;
    let _ = socket.write_all(bytes).await;
    let mut read = Vec::new();
    let _ = socket.read_to_end(&mut read).await;
    String::from_utf8_lossy(&read).into_owned()
}

#[tokio::test]
async fn bodies_that_are_no_json_are_refused_with_a_reason() {
    let mut settings = Settings::default();
    settings.limits.body_bytes = 10_000;
    let site = Site::with(&Scene::default(), settings).await;
    site.session("s").await;
    let deep = format!("{{\"content\": {}1{}}}", "[".repeat(4_000), "]".repeat(4_000));
    let large = format!("{{\"content\": \"{}\"}}", "x".repeat(20_000));
    let cases: &[(&[u8], u16)] = &[
        (b"", 400),
        (b"{", 400),
        (b"{\"content\": \"hi\"", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"{\"content\": \"a\", \"content\": \"b\"}", 400),
        (b"{\"content\": \"a\", \"sesion\": \"b\"}", 400),
        (b"{\"content\": \"\xff\xfe\"}", 400),
        (b"{\"content\": \"a\", \"stream\": \"yes\"}", 400),
        (b"{\"content\": \"a\", \"attachments\": [\"../../etc/passwd\"]}", 400),
        (b"{\"content\": \"a\", \"attachments\": [\"unknown\"]}", 404),
        (b"{\"content\": \"a\", \"request_id\": \"../x\"}", 400),
        (deep.as_bytes(), 400),
        (large.as_bytes(), 413),
    ];
    for (body, expected) in cases {
        let request = site.request(Method::POST, "/sessions/s/requests");
        let request = request.header("content-type", "application/json").body(body.to_vec());
        let (status, problem) = answer(request.send().await.unwrap()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
        assert_eq!(status, *expected, "{shown} {problem}");
        assert_eq!(problem["status"], *expected, "{shown}");
        assert!(problem["message"].as_str().unwrap().len() < 400, "{problem}");
    }
    // What is read elsewhere has to be as clear.
    for (session, wrong) in [
        (
            r#"{"session_id": "a", "messages": [{"role": "user", "role": "system", "content": "x"}], "metadata": {}}"#,
            "twice",
        ),
        (r#"{"session_id": "a", "session_id": "b", "messages": [], "metadata": {}}"#, "twice"),
        (r#"["xx", [], {}]"#, "list"),
        (r#"{"session_id": "a", "messages": [["user", "x"]], "metadata": {}}"#, ""),
    ] {
        let request = site.request(Method::POST, "/sessions/import");
        let request = request.header("content-type", "application/json").body(session);
        let (status, problem) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 400, "{session} {problem}");
        assert!(problem["message"].as_str().unwrap().contains(wrong), "{problem}");
    }
    // A list is not an object whose names were left out.
    for path in ["/sessions", "/sessions/s/fork", "//v1/conversations"] {
        let (status, problem) = site.post(path, json!(["default"])).await;
        assert_eq!(status, 400, "{path} {problem}");
    }
    // A body whose length nobody told is measured as it comes.
    let chunked = b"POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n";
    let chunked = [chunked.as_slice(), &vec![b' '; 0x4000], b"\r\n0\r\n\r\n"].concat();
    assert!(raw(&site, &chunked).await.starts_with("HTTP/1.1 413"));
}

#[tokio::test]
async fn a_body_that_breaks_off_changes_nothing() {
    let site = Site::open(&Scene::default()).await;
    let whole = r#"{"session_id": "half"}"#;
    for path in ["/api/v1/sessions", "/v1/conversations", "/api/v1/assets"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{whole}"
        );
        let mut socket = connect(&site).await;
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut read = String::new();
        let _ = socket.read_to_string(&mut read).await;
        assert!(!read.starts_with("HTTP/1.1 2"), "{path}: {read}");
    }
    assert_eq!(site.get("/sessions/half").await.0, 404);
    assert_eq!(site.get("/sessions").await.1["sessions"], json!([]));
}

#[tokio::test]
async fn bodies_of_another_kind_are_refused_by_their_name() {
    let site = Site::open(&Scene::default()).await;
    site.session("s").await;
    let (json, form) = (r#"{"content": "hi"}"#, "multipart/form-data; boundary=X");
    let cases = [
        ("/sessions/s/requests", "text/plain", json),
        ("/sessions/s/requests", "application/x-www-form-urlencoded", "content=hi"),
        ("/sessions/s/requests", "application/xml", "<content>hi</content>"),
        ("/sessions/s/requests", form, "--X--\r\n"),
        ("/sessions/s/requests", "application/jsonp", json),
        ("/sessions/s/requests", "", json),
        ("/sessions/import", "text/json", "{}"),
        ("/sessions", "text/plain", "{}"),
        ("/assets", "application/json", "{}"),
        ("/assets", "multipart/form-data", "--X--\r\n"),
        ("/assets", "image/png", "x"),
    ];
    for (path, kind, body) in cases {
        let request = site.request(Method::POST, path).header("content-type", kind).body(body);
        let (status, problem) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 415, "{path} {kind} {problem}");
        assert_eq!(problem["error_type"], "unsupported_media_type");
    }
    // Names of JSON are taken whatever their case, and with what is said beside them.
    for kind in ["Application/JSON; charset=utf-8", "application/vnd.api+json"] {
        let request = site.request(Method::POST, "/sessions").header("content-type", kind);
        assert_eq!(request.body("{}").send().await.unwrap().status(), 201, "{kind}");
    }
}

#[tokio::test]
async fn ids_that_are_paths_lead_nowhere() {
    let site = Site::open(&Scene::default()).await;
    for id in ["..%2f..%2fetc", "%2e%2e", "a%00b", "%ff", "a%20b", &"x".repeat(500)] {
        for path in ["/sessions/", "/requests/", "/assets/", "//v1/conversations/"] {
            let (status, problem) = site.get(&format!("{path}{id}")).await;
            assert!(matches!(status, 400 | 404), "{path}{id} {status} {problem}");
        }
    }
    assert_eq!(site.get("/sessions?limit=-1").await.0, 400);
    assert_eq!(site.get("/sessions?limit=99999999999999999999").await.0, 400);
    assert_eq!(site.get("/sessions?nope=1").await.0, 400);
    assert_eq!(site.get("/sessions?cursor=nonsense").await.0, 400);
    assert_eq!(site.get("/events?after=x").await.0, 400);
    let post = site.post("/sessions", json!({ "session_id": "../x" })).await;
    assert_eq!(post.0, 400);
}

#[tokio::test]
async fn heads_that_never_end_are_cut() {
    let site = Site::open(&Scene::default()).await;
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    let flood = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    assert!(raw(&site, flood.as_bytes()).await.starts_with("HTTP/1.1 431"));
    let long =
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    let answer = raw(&site, long.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert!(raw(&site, b"\x16\x03\x01 nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    assert_eq!(site.get("//healthz").await.0, 200);
}

#[tokio::test]
async fn a_client_that_dawdles_is_left() {
    let mut settings = Settings::default();
    settings.limits.client_timeout = Duration::from_millis(200);
    let site = Site::with(&Scene::default(), settings).await;
    // A head that does not come.
    assert_eq!(raw(&site, b"GET /healthz HTTP/1.1\r\nHo").await, "");
    // A head that comes a byte at a time, for ever.
    let (mut reader, mut writer) = connect(&site).await.into_split();
    let drip = tokio::spawn(async move {
        let _ = writer.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await;
        while writer.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut read = Vec::new();
    let _ = reader.read_to_end(&mut read).await;
    assert!(!read.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&read));
    drip.abort();
    // A body that comes a byte at a time.
    let head = b"POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
    let mut socket = connect(&site).await;
    socket.write_all(head).await.unwrap();
    let (mut reader, mut writer) = socket.into_split();
    let drip = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut first = [0; 12];
    reader.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
    drip.abort();
}

#[tokio::test]
async fn files_that_are_too_large_are_refused_and_leave_nothing() {
    let settings = Settings { max_asset_bytes: 1_000, ..Settings::default() };
    let site = Site::with(&Scene::default(), settings).await;
    let put = async |size: usize| {
        let form = format!(
            "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{}\r\n--X--\r\n",
            "x".repeat(size)
        );
        let request = site.request(Method::POST, "/assets");
        let request = request.header("content-type", "multipart/form-data; boundary=X").body(form);
        answer(request.send().await.unwrap()).await
    };
    assert_eq!(put(1_000).await.0, 201);
    let (status, problem) = put(2_000).await;
    assert_eq!(status, 413, "{problem}");
    assert!(problem["message"].as_str().unwrap().contains("larger than 1000"), "{problem}");
    assert_eq!(put(200_000).await.0, 413);
    assert_eq!(site.files(), 1);
    let app = site.host.app();
    assert_eq!(app.store().assets(app.scope(), None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn files_of_types_that_are_not_taken_are_refused_and_leave_nothing() {
    let types = Some(vec!["image/*".to_owned(), "text/plain".to_owned()]);
    let settings = Settings { asset_types: types, ..Settings::default() };
    let site = Site::with(&Scene::default(), settings).await;
    let put = async |kind: &str, bytes: &str| {
        let form = format!(
            "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n{kind}\r\n{bytes}\r\n--X--\r\n"
        );
        let request = site.request(Method::POST, "/assets");
        let request = request.header("content-type", "multipart/form-data; boundary=X").body(form);
        answer(request.send().await.unwrap()).await
    };
    assert_eq!(put("Content-Type: text/plain\r\n", "hello").await.0, 201);
    assert_eq!(put("", "GIF89a").await.0, 201);
    for (what, kind, bytes) in [
        ("what it says", "Content-Type: application/zip\r\n", "PK"),
        ("what its bytes say", "", "%PDF-1.7"),
        ("what its bytes say", "Content-Type: application/octet-stream\r\n", "%PDF-1.7"),
    ] {
        let (status, problem) = put(kind, bytes).await;
        assert_eq!(status, 415, "{what}: {problem}");
        assert_eq!(problem["error_type"], "unsupported_media_type");
        assert!(problem["message"].as_str().unwrap().contains("image/*, text/plain"), "{problem}");
    }
    assert_eq!(put("Content-Type: image/png\r\n", "GIF89a").await.0, 400);
    assert_eq!(site.files(), 2);
}

#[tokio::test]
async fn a_key_that_is_there_twice_is_refused_at_every_depth() {
    let site = Site::open(&Scene::default()).await;
    site.session("s").await;
    for (path, body) in [
        ("/sessions", r#"{"session_id": "a", "session_id": "b"}"#),
        ("/sessions", r#"{"session_id": "a", "metadata": {"x": {"y": 1, "y": 2}}}"#),
        ("/sessions/s/requests", r#"{"content": [{"a": 1, "a": 2}]}"#),
        (
            "/sessions/s/requests",
            r#"{"content": "x", "overrides": {"temperature": 1, "temperature": 0}}"#,
        ),
        ("/sessions/s/messages", r#"{"role": "user", "content": {"a": [{"b": 1, "b": 1}]}}"#),
        ("//v1/chat/completions", r#"{"model": "default", "model": "other", "messages": []}"#),
        (
            "//v1/chat/completions",
            r#"{"model": "default", "messages": [{"role": "user", "role": "system", "content": "x"}]}"#,
        ),
        (
            "//v1/responses",
            r#"{"model": "default", "input": "x", "metadata": {"a": "1", "a": "2"}}"#,
        ),
    ] {
        let request = site.request(Method::POST, path).header("content-type", "application/json");
        let (status, problem) = answer(request.body(body).send().await.unwrap()).await;
        assert_eq!(status, 400, "{path} {body} {problem}");
        assert!(problem.to_string().contains("is there twice"), "{problem}");
    }
}
