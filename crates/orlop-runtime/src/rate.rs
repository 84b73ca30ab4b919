//! How much a process says that nobody asked for: logs, parts of calls that have none, requests that
//! make no sense. Some of it is heard, more is left out, and too much of it is a flood.

use std::time::{Duration, Instant};

/// What is counted together.
const WINDOW: Duration = Duration::from_secs(10);
/// What is heard of it.
const HEARD_LINES: u64 = 2_000;
const HEARD_BYTES: u64 = 1 << 20;
/// What ends the process.
const FLOOD_LINES: u64 = 500_000;
const FLOOD_BYTES: u64 = 256 << 20;

/// What a process said without being asked.
#[derive(Default)]
pub(crate) struct Rate {
    since: Option<Instant>,
    lines: u64,
    bytes: u64,
    left_out: u64,
}

/// What becomes of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    /// It is heard.
    Yes,
    /// It is heard, after so many that were not.
    After(u64),
    /// It is left out.
    No,
    /// It is one too many: the process is ended.
    Flood,
}

impl Rate {
    /// Counts a line.
    pub(crate) fn add(&mut self, bytes: usize, now: Instant) -> Heard {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            *self = Self { since: Some(now), left_out: self.left_out, ..Self::default() };
        }
        self.lines += 1;
        self.bytes += bytes as u64;
        if self.lines > FLOOD_LINES || self.bytes > FLOOD_BYTES {
            return Heard::Flood;
        }
        if self.lines > HEARD_LINES || self.bytes > HEARD_BYTES {
            self.left_out += 1;
            return Heard::No;
        }
        match std::mem::take(&mut self.left_out) {
            0 => Heard::Yes,
            missing => Heard::After(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_is_heard_more_is_left_out_and_too_much_is_a_flood() {
        let (mut rate, now) = (Rate::default(), Instant::now());
        for _ in 0..HEARD_LINES {
            assert_eq!(rate.add(10, now), Heard::Yes);
        }
        for _ in 0..3 {
            assert_eq!(rate.add(10, now), Heard::No);
        }
        let later = now + WINDOW;
        assert_eq!(rate.add(10, later), Heard::After(3));
        assert_eq!(rate.add(10, later), Heard::Yes);
        assert_eq!(rate.add(HEARD_BYTES as usize, later), Heard::No);
        assert_eq!(rate.add(FLOOD_BYTES as usize, later), Heard::Flood);
        let mut rate = Rate::default();
        let last = (0..=FLOOD_LINES).map(|_| rate.add(1, now)).last();
        assert_eq!(last, Some(Heard::Flood));
    }
}
