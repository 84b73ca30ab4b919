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
    match (0..YEAR_10000).contains(&ms) {
        true => usual_rfc3339(ms),
        false => {
            let time = jiff::Timestamp::from_millisecond(ms);
            time.map(|time| format!("{time:.3}")).unwrap_or_default()
        }
    }
}

const YEAR_10000: i64 = 253_402_300_800_000;
const DAY: i64 = 86_400_000;

/// From the first of March of year 0 to the first of January 1970, in days.
const EPOCH: i64 = 719_468;
/// Days of 400 years, after which the calendar repeats itself.
const CYCLE: i64 = 146_097;

/// Each fragment of an answer has its time. A general formatter takes a thousand instructions for it, a
/// twentieth of everything that is done for a fragment.
fn usual_rfc3339(ms: i64) -> String {
    let (days, of_day) = (ms / DAY + EPOCH, ms % DAY);
    let of_cycle = days % CYCLE;
    let years = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * years + years / 4 - years / 100);
    // Months are counted from March, so that the day that may be missing is the last one.
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month < 10 {
        true => (days / CYCLE * 400 + years, month + 3),
        false => (days / CYCLE * 400 + years + 1, month - 9),
    };
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let mut put = |place: usize, digits: usize, mut number: i64| {
        for byte in text[place..place + digits].iter_mut().rev() {
            *byte += u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
    };
    put(0, 4, year);
    put(5, 2, month);
    put(8, 2, day);
    put(11, 2, of_day / 3_600_000);
    put(14, 2, of_day / 60_000 % 60);
    put(17, 2, of_day / 1_000 % 60);
    put(20, 3, of_day % 1_000);
    String::from_utf8(text.to_vec()).unwrap_or_default()
}

/// The milliseconds since 1970 of a moment written as [`usual_rfc3339`] does; `None` if it is written in
/// another way, or is none.
fn usual_unix_ms(moment: &str) -> Option<i64> {
    let text: &[u8; 24] = moment.as_bytes().try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|(place, mark)| text[*place] != *mark) {
        return None;
    }
    let number = |place: usize, digits: usize| {
        text[place..place + digits].iter().try_fold(0, |number: i64, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_date = (1..=12).contains(&month) && (1..=length).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (cycle, years) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = cycle * CYCLE + years * 365 + years / 4 - years / 100 + of_year - EPOCH;
    Some(days * DAY + ((hour * 60 + minute) * 60 + second) * 1_000 + number(20, 3)?)
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
    usual_unix_ms(moment)
        .or_else(|| moment.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn by_jiff(ms: i64) -> String {
        jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap()
    }

    #[test]
    fn moments_are_written_and_read_as_the_calendar_has_them() {
        // Every day of 1970 to 2110, some of each later year, and the ends of what there is.
        let early = (0..51_200).map(|day| day * DAY + day * 1_733 % DAY);
        let late = (0..8_000).map(|year| (year * 365 + 400 * 146) * DAY + year * 7_919 % DAY);
        let ends = [0, 1, 951_782_399_999, 951_782_400_000, 951_868_800_000, YEAR_10000 - 2 * DAY];
        for ms in early.chain(late).chain(ends).filter(|ms| *ms < YEAR_10000 - DAY) {
            assert_eq!(rfc3339(ms), by_jiff(ms));
            assert_eq!(unix_ms(&by_jiff(ms)), Some(ms));
        }
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn moments_that_are_none_or_written_otherwise_are_read_as_ever() {
        let other = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00.000+01:00"];
        assert_eq!(other.map(unix_ms), [Some(1_767_225_600_000); 2]);
        for none in ["2026-06-31T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01", "x"] {
            assert_eq!(unix_ms(none), None, "{none}");
        }
    }
}
