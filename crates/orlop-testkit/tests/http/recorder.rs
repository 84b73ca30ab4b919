//! Recording: what passes through unchanged, and what must never be written.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use orlop_testkit::cassette::{Cassette, Recorder, Replayer};
use orlop_testkit::mock_model::{MockModel, Reply};
use orlop_testkit::{Gate, TestkitError};
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{Answer, Call, get, post, post_bytes};

/// A file that is removed at the end of the test.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("orlop-cassette-{}-{count}.json", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn chat(base_url: &str, said: &str, stream: bool) -> Call {
    let messages = json!([{"role": "user", "content": said}]);
    let body = json!({"model": "m", "stream": stream, "messages": messages});
    post(format!("{base_url}/chat/completions"), &body)
}

fn essence(answer: &Answer) -> (u16, Option<String>, Vec<u8>, bool) {
    let content_type = answer.header("content-type").map(str::to_owned);
    (answer.status, content_type, answer.body(), answer.complete)
}

#[tokio::test]
async fn what_was_recorded_can_be_replayed_from_the_file() -> Outcome {
    let upstream = MockModel::start().await?;
    upstream.reply(Reply::text(["Grüß ", "Gott"]));
    upstream.reply(Reply::tool_call("call_1", "echo", "{}"));
    upstream.reply(Reply::status(429).header("retry-after", "3").header("x-other", "1"));
    let recorder = Recorder::start(&upstream.base_url()).await?;
    assert!(recorder.base_url().ends_with("/v1"));

    let calls = |base: &str| {
        [
            chat(base, "one", true),
            chat(base, "two", false),
            chat(base, "three", true),
            get(format!("{base}/models?limit=1")),
        ]
    };
    let mut recorded = Vec::new();
    for call in calls(&recorder.base_url()) {
        recorded.push(call.answer().await?);
    }
    assert_eq!(recorded[2].header("x-other"), Some("1"), "headers pass through");
    assert_eq!(upstream.requests()[3].query.as_deref(), Some("limit=1"));

    let file = TemporaryFile::new();
    recorder.cassette().save(&file.0)?;
    drop((recorder, upstream));

    let cassette = Cassette::load(&file.0)?;
    let streams: Vec<bool> = cassette.exchanges.iter().map(|it| it.stream).collect();
    assert_eq!(streams, [true, false, false, false]);
    let request = &cassette.exchanges[0].request;
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.body["messages"][0]["content"], "one");
    assert_eq!(cassette.exchanges[3].request.path, "/v1/models?limit=1");
    assert_eq!(cassette.exchanges[3].request.body, Value::Null);

    let replayer = Replayer::start(cassette).await?;
    // In another order: requests are matched by what they say.
    for (call, recorded) in calls(&replayer.url("/v1")).into_iter().zip(&recorded).rev() {
        let replayed = call.answer().await?;
        assert_eq!(essence(&replayed), essence(recorded));
        assert_eq!(replayed.header("retry-after"), recorded.header("retry-after"));
    }
    assert_eq!(replayer.unused(), 0);
    Ok(())
}

#[tokio::test]
async fn the_file_has_the_shape_of_the_fixtures() -> Outcome {
    let upstream = MockModel::start().await?;
    upstream.reply(Reply::status(400).json(json!({"error": "no"})));
    let recorder = Recorder::start(&upstream.base_url()).await?;
    chat(&recorder.base_url(), "hi", false).answer().await?;
    let file = TemporaryFile::new();
    recorder.cassette().save(&file.0)?;

    let written: Value = serde_json::from_slice(&std::fs::read(&file.0)?)?;
    assert_eq!(
        written,
        json!({"exchanges": [{
            "host": "127.0.0.1",
            "stream": false,
            "request": {
                "method": "POST",
                "path": "/v1/chat/completions",
                "body": {
                    "model": "m",
                    "stream": false,
                    "messages": [{"role": "user", "content": "hi"}],
                },
            },
            "response": {
                "status": 400,
                "content_type": "application/json",
                "body": r#"{"error":"no"}"#,
            },
        }]})
    );
    Ok(())
}

#[tokio::test]
async fn a_stream_passes_while_it_is_recorded() -> Outcome {
    let gate = Gate::new();
    let upstream = MockModel::start().await?;
    upstream.reply(Reply::script().raw("data: 1\n\n").wait(&gate).raw("data: 2\n\n"));
    let recorder = Recorder::start(&upstream.base_url()).await?;

    let mut answer = chat(&recorder.base_url(), "hi", true).start().await?;
    assert_eq!(answer.chunk().await?, Some(b"data: 1\n\n".to_vec()));
    assert!(recorder.cassette().exchanges.is_empty(), "only what has ended is recorded");
    gate.open();
    assert_eq!(answer.finish().await?.text(), "data: 2\n\n");
    assert_eq!(recorder.cassette().exchanges[0].response.text(), "data: 1\n\ndata: 2\n\n");
    Ok(())
}

#[tokio::test]
async fn no_secret_is_ever_written() -> Outcome {
    // Put together here, so that no key stands in the sources, not even a false one.
    let secret = |name: &str| ["top", "-secret-", name].concat();
    let key = ["s", "k-", "proj-", "A1b2C3d4"].concat();
    let token = ["eyJ", "hbGci.", "payload"].concat();
    let told = ["project ", "\"blue\" ", "moon"].concat();

    let upstream = MockModel::start().await?;
    let told_in_json = Value::from(told.as_str()).to_string();
    let said = format!(
        r#"{{"a":"line\n{key}","b":"Authorization: Bearer {token}","c":{told_in_json},"d":"{}"}}"#,
        secret("authorization"),
    );
    upstream.reply(
        Reply::status(401)
            .header("set-cookie", format!("session={}; Path=/", secret("set-cookie")))
            .header("retry-after", secret("x-api-key"))
            .body(said),
    );
    let recorder = Recorder::start(&upstream.base_url()).await?;

    let call = |base: &str| {
        let [a, b, c] = ["key", "api_key", "access_token"].map(secret);
        let url = format!("{base}/chat/completions?key={a}&alt=sse&api_key={b}&access_token={c}");
        post(url, &json!({"text": format!("{key} and {told}"), "echo": secret("cookie"), "n": [a]}))
            .header("authorization", &format!("Bearer {}", secret("authorization")))
            .header("x-api-key", &secret("x-api-key"))
            .header("x-goog-api-key", &secret("x-goog-api-key"))
            .header("cookie", &format!("theme=dark; id={}", secret("cookie")))
    };
    let answer = call(&recorder.base_url()).answer().await?;
    // Told late, and masked all the same.
    recorder.secret(told.as_str());

    // The client and the upstream saw everything.
    assert!(answer.text().contains(&key) && answer.text().contains(&token));
    assert!(answer.header("set-cookie").is_some());
    assert_eq!(upstream.requests()[0].header("x-goog-api-key"), Some(&*secret("x-goog-api-key")));
    assert!(upstream.requests()[0].query.as_ref().is_some_and(|it| it.contains("access_token=")));

    // The file saw nothing.
    let file = TemporaryFile::new();
    recorder.cassette().save(&file.0)?;
    let written = std::fs::read_to_string(&file.0)?;
    for forbidden in ["top-", "secret", &key, &key[3..], &token, "blue", "moon", "access_token"] {
        assert!(!written.contains(forbidden), "{forbidden} in {written}");
    }
    assert!(!format!("{recorder:?}").contains("secret"));

    // And the same request still finds its answer.
    let replayer = Replayer::start(Cassette::load(&file.0)?).await?;
    let replayed = call(&replayer.url("/v1")).answer().await?;
    assert_eq!(replayed.status, 401, "{}", replayed.text());
    assert_eq!(replayed.json()?["a"], "line\n***");
    assert_eq!(replayed.json()?["b"], "Authorization: Bearer ***");
    assert_eq!(replayed.json()?["c"], "***");
    Ok(())
}

#[tokio::test]
async fn a_broken_upstream_is_recorded_as_broken() -> Outcome {
    let upstream = MockModel::start().await?;
    // Ends inside a character, so the body is not even UTF-8.
    upstream.reply(Reply::script().raw(b"data: {\"a\":\"\xc3").cut());
    let recorder = Recorder::start(&upstream.base_url()).await?;
    let first = chat(&recorder.base_url(), "hi", true).answer().await?;
    assert!(!first.complete);

    let file = TemporaryFile::new();
    recorder.cassette().save(&file.0)?;
    let cassette = Cassette::load(&file.0)?;
    assert!(cassette.exchanges[0].response.cut);
    let replayer = Replayer::start(cassette).await?;
    let again = chat(&replayer.url("/v1"), "hi", true).answer().await?;
    assert_eq!(essence(&again), essence(&first));
    assert_eq!(again.body(), b"data: {\"a\":\"\xc3");
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_recording_and_the_upstream() -> Outcome {
    let gate = Gate::new();
    let upstream = MockModel::start().await?;
    upstream.reply(Reply::script().raw("data: 1\n\n").wait(&gate));
    let recorder = Recorder::start(&upstream.base_url()).await?;
    let mut answer = chat(&recorder.base_url(), "hi", true).start().await?;
    answer.chunk().await?;
    drop(answer);
    recorder.wait_for_exchanges(1).await;
    upstream.wait_for_disconnect().await;
    let response = &recorder.cassette().exchanges[0].response;
    assert_eq!((response.text().as_ref(), response.cut), ("data: 1\n\n", true));
    Ok(())
}

#[tokio::test]
async fn exchanges_stand_in_the_order_of_their_requests() -> Outcome {
    let gate = Gate::new();
    let upstream = MockModel::start().await?;
    upstream.reply(Reply::script().wait(&gate).done()).reply(Reply::script().done());
    let recorder = Recorder::start(&upstream.base_url()).await?;
    let slow = chat(&recorder.base_url(), "slow", true).send().await?;
    gate.reached().await;
    chat(&recorder.base_url(), "fast", true).answer().await?;
    gate.open();
    slow.head().await?.finish().await?;
    let said: Vec<Value> = recorder
        .cassette()
        .exchanges
        .iter()
        .map(|it| it.request.body["messages"][0]["content"].clone())
        .collect();
    assert_eq!(said, ["slow", "fast"]);
    Ok(())
}

#[tokio::test]
async fn bodies_other_than_json_and_none_at_all_are_recorded() -> Outcome {
    let upstream = MockModel::start().await?;
    upstream.reply(Reply::status(204).body("")).reply(Reply::status(200).body(""));
    let recorder = Recorder::start(&upstream.base_url()).await?;
    let url = recorder.base_url() + "/chat/completions";
    assert_eq!(post_bytes(&url, b"a=1&b=2").start().await?.status, 204);
    let empty = post_bytes(&url, b"").answer().await?;
    assert_eq!((empty.status, empty.complete, empty.text().as_str()), (200, true, ""));
    get(&url).method("DELETE").answer().await?;

    let cassette = recorder.cassette();
    let bodies: Vec<&Value> = cassette.exchanges.iter().map(|it| &it.request.body).collect();
    assert_eq!(bodies, [&json!("a=1&b=2"), &Value::Null, &Value::Null]);
    assert!(cassette.exchanges.iter().all(|it| !it.response.cut));
    assert_eq!(cassette.exchanges[2].request.method, "DELETE");

    let replayer = Replayer::start(cassette).await?;
    let url = replayer.url("/v1/chat/completions");
    assert_eq!(post_bytes(&url, b"a=1&b=2").start().await?.status, 204);
    assert_eq!(post_bytes(&url, b"").answer().await?.text(), "");
    Ok(())
}

#[tokio::test]
async fn an_upstream_that_is_not_there_gives_502_and_no_exchange() -> Outcome {
    let upstream = MockModel::start().await?;
    let address = upstream.base_url();
    upstream.stop().await;
    let recorder = Recorder::start(&address).await?;
    let answer = chat(&recorder.base_url(), "hi", true).answer().await?;
    assert_eq!(answer.status, 502);
    assert_eq!(answer.json()?["error"]["type"], "recorder_upstream");
    assert!(recorder.cassette().exchanges.is_empty());

    for address in ["not a url", "ftp://127.0.0.1/x"] {
        let started = Recorder::start(address).await;
        assert!(matches!(started, Err(TestkitError::Upstream(_))), "{address}");
    }
    Ok(())
}
