//! The client over a scripted transport, on a clock that jumps: nothing here waits.

use super::*;
use crate::secret::Secret;
use bytes::Bytes;
use expect_test::{Expect, expect};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::time::Instant;
use transport::{Broken, Reply};

/// What the transport does with one attempt.
enum Act {
    /// Answers with a status, one header and a body.
    Say(u16, (&'static str, &'static str), &'static str),
    /// Answers well, and sends these pieces.
    Send(Vec<Piece>),
    Refuse,
    Hang,
}

enum Piece {
    Text(&'static str),
    After(Duration, &'static str),
    Break,
    Silence,
}

use Act::{Hang, Refuse, Say, Send};
use Piece::{After, Break, Silence, Text};

const PLAIN: (&str, &str) = ("x-test", "1");

struct Script {
    acts: Mutex<VecDeque<Act>>,
    start: Instant,
    /// The moments of the attempts, in milliseconds.
    attempts: Mutex<Vec<u128>>,
}

fn broken() -> Broken {
    Broken { cause: "Connection refused".into(), passes: true }
}

fn head(
    status: u16,
    (name, value): (&'static str, &'static str),
    body: transport::Chunks,
) -> Reply {
    let header = (HeaderName::from_static(name), HeaderValue::from_static(value));
    let headers = HeaderMap::from_iter([header]);
    Reply { status: StatusCode::from_u16(status).unwrap(), headers, body }
}

impl Transport for Script {
    fn send(&self, _: &Call) -> BoxFuture<'static, Result<Reply, Broken>> {
        self.attempts.lock().unwrap().push(self.start.elapsed().as_millis());
        let act = self.acts.lock().unwrap().pop_front().expect("an act for every attempt");
        Box::pin(async move {
            match act {
                Refuse => Err(broken()),
                Hang => std::future::pending().await,
                Say(status, header, body) => {
                    let body = stream::iter([Ok(Bytes::from_static(body.as_bytes()))]).boxed();
                    Ok(head(status, header, body))
                }
                Send(pieces) => {
                    let body = stream::iter(pieces).then(|piece| async move {
                        match piece {
                            Text(text) => Ok(Bytes::from_static(text.as_bytes())),
                            After(wait, text) => {
                                sleep(wait).await;
                                Ok(Bytes::from_static(text.as_bytes()))
                            }
                            Break => Err(broken()),
                            Silence => std::future::pending().await,
                        }
                    });
                    Ok(head(200, PLAIN, body.boxed()))
                }
            }
        })
    }
}

/// Runs one call against `acts`; says when it tried, what it read and how it ended.
async fn check(acts: Vec<Act>, expected: Expect) {
    let script = Arc::new(Script {
        acts: Mutex::new(acts.into()),
        start: Instant::now(),
        attempts: Mutex::default(),
    });
    let settings = HttpSettings {
        first_byte_timeout: Duration::from_secs(100),
        idle_timeout: Duration::from_secs(10),
        ..HttpSettings::default()
    };
    let client = HttpClient::over(script.clone(), settings).with_jitter(Arc::new(|| 1.0));
    let call = Call::get("http://host:1/v1", "models")
        .and_then(|call| call.bearer(Secret::new(["k", "e", "y"].concat())))
        .unwrap();
    let mut seen = String::new();
    let mut failed = None;
    match client.send(&call).await {
        Ok(answer) => {
            let mut body = answer.into_body();
            while let Some(chunk) = body.next().await {
                match chunk {
                    Ok(chunk) => seen.push_str(std::str::from_utf8(&chunk).unwrap()),
                    Err(error) => failed = Some(error),
                }
            }
        }
        Err(error) => failed = Some(error),
    }
    let attempts = script.attempts.lock().unwrap().clone();
    let end = match failed {
        Some(error) => format!("{error:?}\nretryable {}", error.retryable()),
        None => "end".to_owned(),
    };
    let elapsed = script.start.elapsed().as_millis();
    expected.assert_eq(&format!("{attempts:?}..{elapsed} {seen:?}\n{end}"));
}

#[tokio::test(start_paused = true)]
async fn a_good_answer_is_read_at_once() {
    check(
        vec![Send(vec![Text("a"), Text("b")])],
        expect![[r#"
        [0]..0 "ab"
        end"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_with_growing_waits() {
    check(
        vec![Refuse, Say(503, PLAIN, ""), Send(vec![Text("ok")])],
        expect![[r#"
        [0, 500, 1500]..1500 "ok"
        end"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn after_the_last_try_the_error_is_the_servers() {
    check(
        vec![Say(500, PLAIN, "x"), Say(502, PLAIN, "y"), Say(529, PLAIN, "{\"message\":\"key?\"}")],
        expect![[r#"
            [0, 500, 1500]..1500 ""
            provider: the model server answered 529 Overloaded: ***?; try again later (tried 3 times)
            retryable true"#]],
    )
    .await;
    check(vec![Refuse, Refuse, Refuse], expect![[r#"
        [0, 500, 1500]..1500 ""
        provider: cannot reach the model server at http://host:1: Connection refused; check "base_url" and that the server is running (tried 3 times)
        retryable true"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_is_not_tried_again() {
    check(vec![Say(400, PLAIN, "{\"error\":{\"message\":\"no\"}}")], expect![[r#"
        [0]..0 ""
        provider: the model server answered 400 Bad Request: no; change the request or the configuration of the agent accordingly
        retryable false"#]]).await;
    check(vec![Say(301, ("location", "https://other/v1"), "")], expect![[r#"
        [0]..0 ""
        provider: the model server answered 301 Moved Permanently; it redirects to https://other/v1: set "base_url" to where it wants to be asked
        retryable false"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long_to_wait() {
    check(
        vec![
            Say(429, ("retry-after", "7"), ""),
            Say(429, ("retry-after-ms", "20"), ""),
            Send(vec![]),
        ],
        expect![[r#"
            [0, 7000, 7020]..7020 ""
            end"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_bound_fails_at_once() {
    check(
        vec![Say(429, ("retry-after", "61"), "{\"error\":\"limit\"}")],
        expect![[r#"
            [0]..0 ""
            provider: the model server answered 429 Too Many Requests: limit; it asks to wait 61 seconds: try again then
            retryable true"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_not_asked_for_again() {
    check(vec![Hang], expect![[r#"
        [0]..100000 ""
        provider: the model server at http://host:1 did not answer within 100 seconds; try again later or raise the timeout
        retryable true"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_before_its_first_byte_is_tried_again() {
    check(
        vec![Send(vec![Break]), Send(vec![Text("ok")])],
        expect![[r#"
        [0, 500]..500 "ok"
        end"#]],
    )
    .await;
    check(vec![Send(vec![Break]), Send(vec![Break]), Send(vec![Break])], expect![[r#"
        [0, 500, 1500]..1500 ""
        provider: the answer ended early: the model server at http://host:1 sent none (Connection refused); try again (tried 3 times)
        retryable true"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_later_is_an_error() {
    check(vec![Send(vec![Text("ab"), Break])], expect![[r#"
        [0]..0 "ab"
        provider: the answer ended early: the connection to the model server broke (Connection refused) after 2 bytes; try again
        retryable true"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn only_silence_times_out() {
    let nine = Duration::from_secs(9);
    check(
        vec![Send(vec![After(nine, "a"), After(nine, "b"), After(nine, "c"), Text("d")])],
        expect![[r#"
            [0]..27000 "abcd"
            end"#]],
    )
    .await;
    check(vec![Send(vec![Text("a"), After(nine, "b"), Silence])], expect![[r#"
        [0]..19000 "ab"
        provider: the answer ended early: the model server sent nothing for 10 seconds after 2 bytes; try again
        retryable true"#]]).await;
    check(vec![Send(vec![Silence])], expect![[r#"
        [0]..10000 ""
        provider: the answer ended early: the model server sent nothing for 10 seconds after 0 bytes; try again
        retryable true"#]]).await;
}

#[test]
fn debug_output_has_no_key() {
    let client = HttpClient::new(HttpSettings::default());
    assert!(format!("{client:?}").starts_with("HttpClient { settings: HttpSettings {"));
}
