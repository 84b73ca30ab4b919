//! The one HTTP client of all providers: pooled connections, timeouts, retries, masked errors.
//!
//! A call is repeated only until the first byte of its answer was handed out. There is no timeout
//! on a whole request, since a stream may go on for as long as it goes on.

mod answer;
mod call;
mod failure;
mod overflow;
mod retry;
mod transport;

pub use answer::{Answer, Body};
pub use call::Call;
pub use failure::message_in;
pub use retry::{Jitter, Retries};

pub(crate) use failure::cut;
pub(crate) use overflow::{TOO_LONG, is_overflow};
pub(crate) use retry::passes;
pub(crate) use transport::{cause_of, client_for_files};

use answer::read_up_to;
use failure::Failure;
use orlop_types::Result;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use transport::{Reqwest, Transport};

/// The largest error body that is kept.
pub const MAX_ERROR_BODY: usize = 1024 * 1024;

/// How long to wait, and how often to try.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSettings {
    /// For a connection to stand.
    pub connect_timeout: Duration,
    /// From sending the request to the head of the answer. A server that does not stream thinks
    /// in this time.
    pub first_byte_timeout: Duration,
    /// Between two chunks of the answer.
    pub idle_timeout: Duration,
    /// What happens after a failure that may pass.
    pub retries: Retries,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            retries: Retries::default(),
        }
    }
}

/// A call that failed and is about to be tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// The number of the coming attempt.
    pub attempt: u32,
    /// How many there will be at most.
    pub of: u32,
    /// How long the wait until then is.
    pub wait: Duration,
    /// What went wrong; no key is in it.
    pub why: String,
}

/// Sends calls. Cloning shares the connections.
#[derive(Clone)]
pub struct HttpClient {
    transport: Arc<dyn Transport>,
    settings: HttpSettings,
    jitter: Jitter,
}

impl HttpClient {
    /// A client with its own pool of connections, made when it is first used.
    pub fn new(settings: HttpSettings) -> Self {
        Self::over(Arc::new(Reqwest::new(settings.connect_timeout)), settings)
    }

    fn over(transport: Arc<dyn Transport>, settings: HttpSettings) -> Self {
        Self { transport, settings, jitter: retry::clock_jitter() }
    }

    /// With another source of jitter: numbers from 0 up to 1.
    pub fn with_jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// How long it waits, and how often it tries.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// The same connections with other waiting times; the connect timeout stays as it was.
    pub fn with_settings(mut self, settings: HttpSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sends `call` until it is answered, fails for good, or the tries are used up.
    pub async fn send(&self, call: &Call) -> Result<Answer> {
        self.send_telling(call, |_| ()).await
    }

    /// The same; `tell` is told of every failure that is tried again, before the wait.
    pub async fn send_telling(&self, call: &Call, tell: impl Fn(Retry)) -> Result<Answer> {
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(call).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let retries = &self.settings.retries;
            let Some(delay) = retries.delay(attempt, failure.repeat, &self.jitter) else {
                return Err(failure.into_error(attempt, retries, call.secret()));
            };
            attempt += 1;
            tell(Retry {
                attempt,
                of: retries.attempts,
                wait: delay,
                why: call.secret().mask(failure.what()).into_owned(),
            });
            sleep(delay).await;
        }
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, Failure> {
        let limit = self.settings.first_byte_timeout;
        let reply = match timeout(limit, self.transport.send(call)).await {
            Err(_) => return Err(Failure::no_answer(call, limit)),
            Ok(Err(broken)) => return Err(Failure::no_connection(call, broken)),
            Ok(Ok(reply)) => reply,
        };
        if !reply.status.is_success() {
            let (status, headers) = (reply.status, reply.headers);
            // What lies beyond the limit is cut off after masking, lest half a key remains.
            let limit = MAX_ERROR_BODY + call.secret().longest();
            let body = read_up_to(reply.body, limit, self.settings.idle_timeout).await;
            return Err(Failure::answered(call, status, &headers, &body));
        }
        let idle = self.settings.idle_timeout;
        Answer::begin(reply, idle, call.secret().clone())
            .await
            .map_err(|broken| Failure::broken_at_start(call, broken))
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
