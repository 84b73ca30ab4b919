//! Time as the application tells it.

use futures::future::{BoxFuture, FutureExt};
use orlop_core::hooks::Timer;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A moment in RFC 3339, in UTC, always to the millisecond: sorted as text they are in order.
///
/// ```
/// assert_eq!(orlop_app::rfc3339(0), "1970-01-01T00:00:00.000Z");
/// ```
pub fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// The seconds since 1970 of a moment in RFC 3339; `None` if it is none.
///
/// ```
/// assert_eq!(orlop_app::unix_seconds("1970-01-01T00:01:00.500Z"), Some(60));
/// ```
pub fn unix_seconds(moment: &str) -> Option<i64> {
    moment.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

/// The milliseconds since 1970 of a moment in RFC 3339; `None` if it is none.
pub(crate) fn unix_ms(moment: &str) -> Option<i64> {
    moment.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Now, in RFC 3339.
pub fn now() -> String {
    rfc3339(now_ms())
}

/// The time limits of hooks, measured by the runtime.
pub(crate) struct RuntimeTimer;

impl Timer for RuntimeTimer {
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}
