//! When a failed call is tried again, and how long to wait before.

use orlop_types::Value;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Gives numbers from 0 up to 1, so that many clients do not come back at the same moment.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// How failures that may pass are tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct Retries {
    /// How often a call is sent at most; 1 never repeats.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each one.
    pub first_delay: Duration,
    /// The longest wait that is not asked for by the server.
    pub max_delay: Duration,
    /// The longest wait the server may ask for; beyond it the call fails at once.
    pub max_retry_after: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 3,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(60),
        }
    }
}

/// Whether a failure may pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Repeat {
    /// The same call would fail again.
    Never,
    /// After a while.
    Later,
    /// After the time the server named.
    After(Duration),
}

impl Retries {
    /// How long to wait after the failed attempt number `attempt`; `None` gives up.
    pub(super) fn delay(&self, attempt: u32, repeat: Repeat, jitter: &Jitter) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        match repeat {
            Repeat::Never => None,
            Repeat::After(wait) if wait > self.max_retry_after => None,
            Repeat::After(wait) if !wait.is_zero() => Some(wait),
            Repeat::After(_) | Repeat::Later => {
                let doubled = 2u32.saturating_pow(attempt - 1);
                let delay = self.first_delay.saturating_mul(doubled).min(self.max_delay);
                let part = 0.5 + 0.5 * jitter().clamp(0.0, 1.0);
                Some(Duration::try_from_secs_f64(delay.as_secs_f64() * part).unwrap_or(delay))
            }
        }
    }
}

/// Whether an answer with this status may be another one later.
pub(crate) fn passes(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529)
}

/// What a failed answer says about trying again.
pub(super) fn repeat(status: StatusCode, headers: &HeaderMap, body: &str) -> Repeat {
    if !passes(status.as_u16()) {
        return Repeat::Never;
    }
    match retry_after(headers).or_else(|| retry_delay(body)) {
        Some(wait) => Repeat::After(wait),
        None => Repeat::Later,
    }
}

/// The wait that Google names in the body: `error.details[].retryDelay`, as in `"39.5s"`.
fn retry_delay(body: &str) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body.get(0).unwrap_or(&body).get("error")?;
    let details = error.get("details")?.as_array()?;
    let wait = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(wait.strip_suffix('s')?.parse().ok()?).ok()
}

/// The wait in `Retry-After` (seconds, or a date counted from the server's own `Date`) or in the
/// finer `retry-after-ms`. What cannot be read counts as absent.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    if let Some(wait) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(wait / 1000.0).ok();
    }
    if let Some(wait) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(wait).ok();
    }
    let date = |name| httpdate::parse_http_date(headers.get(name)?.to_str().ok()?.trim()).ok();
    let now = date(DATE).unwrap_or_else(SystemTime::now);
    Some(date(RETRY_AFTER)?.duration_since(now).unwrap_or_default())
}

/// Jitter without a library: a counter, hashed with the keys the standard library draws.
pub(super) fn clock_jitter() -> Jitter {
    let (keys, count) = (RandomState::new(), AtomicU64::new(0));
    Arc::new(move || {
        let bits = keys.hash_one(count.fetch_add(1, Ordering::Relaxed)) >> 11;
        bits as f64 / (1u64 << 53) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn delays(repeat: Repeat, jitter: f64) -> Vec<Option<u128>> {
        let retries = Retries { attempts: 8, ..Retries::default() };
        let jitter: Jitter = Arc::new(move || jitter);
        (1..=8).map(|n| retries.delay(n, repeat, &jitter).map(|delay| delay.as_millis())).collect()
    }

    #[test]
    fn waits_double_up_to_a_bound() {
        let [half, full] = [0.0, 1.0].map(|jitter| delays(Repeat::Later, jitter));
        let expected = [500, 1000, 2000, 4000, 8000, 8000, 8000].map(Some);
        assert_eq!(full[..7], expected);
        assert_eq!(half[..7], expected.map(|delay| delay.map(|millis| millis / 2)));
        assert_eq!(full[7], None);
    }

    #[test]
    fn the_server_names_the_wait_up_to_a_bound() {
        assert_eq!(delays(Repeat::After(Duration::from_secs(60)), 0.0)[0], Some(60_000));
        assert_eq!(delays(Repeat::After(Duration::from_secs(61)), 0.0)[0], None);
        assert_eq!(delays(Repeat::After(Duration::ZERO), 1.0)[0], Some(500));
        assert_eq!(delays(Repeat::Never, 0.0)[0], None);
    }

    fn check(headers: &[(&'static str, &'static str)], expected: Option<f64>) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let wait = retry_after(&headers.collect()).map(|wait| wait.as_secs_f64());
        assert_eq!(wait, expected);
    }

    #[test]
    fn retry_after_has_three_forms() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        check(&[("retry-after", "7")], Some(7.0));
        check(&[("retry-after", " 1.5 ")], Some(1.5));
        check(&[("retry-after", "7"), ("retry-after-ms", "20")], Some(0.02));
        check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30.0));
        check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0.0));
    }

    #[test]
    fn an_unreadable_retry_after_counts_as_absent() {
        for value in ["", "soon", "-1", "NaN", "1e300"] {
            check(&[("retry-after", value)], None);
        }
        check(&[], None);
    }

    #[test]
    fn google_names_the_wait_in_the_body() {
        let detail = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"39.5s"}"#;
        let error = format!(r#"{{"error":{{"code":429,"details":[{{"x":1}},{detail}]}}}}"#);
        let seconds = |body: &str| retry_delay(body).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds(&error), Some(39.5));
        assert_eq!(seconds(&format!("[{error}]")), Some(39.5));
        for odd in ["", "{}", "[]", &error.replace("39.5s", "soon"), &error.replace("39.5", "-1")] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
        let status = StatusCode::TOO_MANY_REQUESTS;
        let mut headers = HeaderMap::new();
        let wait = |headers: &HeaderMap| repeat(status, headers, &error);
        assert_eq!(wait(&headers), Repeat::After(Duration::from_millis(39_500)));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(wait(&headers), Repeat::After(Duration::from_secs(7)));
        assert_eq!(repeat(StatusCode::BAD_REQUEST, &headers, &error), Repeat::Never);
    }

    #[test]
    fn jitter_stays_within_its_bounds() {
        let jitter = clock_jitter();
        let drawn: Vec<f64> = (0..1000).map(|_| jitter()).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(
            drawn.iter().any(|number| *number < 0.2) && drawn.iter().any(|number| *number > 0.8)
        );
    }
}
