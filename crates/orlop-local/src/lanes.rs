//! Threads that compute the same thing together.
//!
//! Every lane runs the same program. A product is divided by rows: each lane computes its share,
//! lays it open, waits for the others and takes theirs. What is cheap every lane does for itself,
//! so lanes meet only where they need each other's numbers, and nothing is shared that is written.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::{hint, thread};

/// How often a lane looks for the others before it lets other threads have the processor.
const LOOKS: u32 = 4_000;

/// What the lanes of one computation share.
pub(crate) struct Meeting {
    lanes: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    /// The shares of all lanes. Two sets in turn: a lane that comes late reads one set while the
    /// next product is written to the other.
    shares: [Vec<RwLock<Vec<f32>>>; 2],
}

/// One thread of a computation.
pub(crate) struct Lane<'a> {
    index: usize,
    meeting: &'a Meeting,
    set: usize,
}

/// Runs `work` in every lane and answers with what the first one made. Nothing if a lane panicked.
pub(crate) fn run<T: Send>(lanes: usize, work: impl Fn(&mut Lane<'_>) -> T + Sync) -> Option<T> {
    let lanes = lanes.max(1);
    let shares = || (0..lanes).map(|_| RwLock::default()).collect();
    let meeting = Meeting {
        lanes,
        arrived: AtomicUsize::new(0),
        round: AtomicUsize::new(0),
        broken: AtomicBool::new(false),
        shares: [shares(), shares()],
    };
    let start = |index| {
        let mut lane = Lane { index, meeting: &meeting, set: 0 };
        work(&mut lane)
    };
    if lanes == 1 {
        return Some(start(0));
    }
    thread::scope(|scope| {
        let (meeting, start) = (&meeting, &start);
        for index in 1..lanes {
            let guarded = move || {
                let guard = BreakOnPanic(meeting);
                start(index);
                std::mem::forget(guard);
            };
            if thread::Builder::new().spawn_scoped(scope, guarded).is_err() {
                meeting.broken.store(true, Ordering::Release);
            }
        }
        let guard = BreakOnPanic(meeting);
        let made = start(0);
        std::mem::forget(guard);
        (!meeting.broken.load(Ordering::Acquire)).then_some(made)
    })
}

/// Lets the others go on, with wrong numbers that are thrown away, if a lane does not arrive.
struct BreakOnPanic<'a>(&'a Meeting);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::Release);
    }
}

impl Lane<'_> {
    /// Whether this is the lane that does what only one may do.
    pub(crate) fn is_first(&self) -> bool {
        self.index == 0
    }

    /// The part of `count` things that this lane does.
    pub(crate) fn share(&self, count: usize) -> Range<usize> {
        self.share_of(self.index, count)
    }

    fn share_of(&self, lane: usize, count: usize) -> Range<usize> {
        let lanes = self.meeting.lanes;
        count * lane / lanes..count * (lane + 1) / lanes
    }

    /// Computes rows of several products together. `compute` gets a product, its rows and room for
    /// them; `outs` are the products, as `[column][row]`.
    pub(crate) fn products(
        &mut self,
        columns: usize,
        outs: &mut [&mut [f32]],
        compute: impl Fn(usize, Range<usize>, &mut [f32]),
    ) {
        if self.meeting.lanes == 1 {
            for (product, out) in outs.iter_mut().enumerate() {
                compute(product, 0..out.len() / columns.max(1), out);
            }
            return;
        }
        let rows: Vec<_> = outs.iter().map(|out| out.len() / columns.max(1)).collect();
        self.exchange(
            |lane, share| {
                let mut start = 0;
                share.resize(rows.iter().map(|rows| lane.share(*rows).len() * columns).sum(), 0.0);
                for (product, rows) in rows.iter().enumerate() {
                    let mine = lane.share(*rows);
                    let end = start + mine.len() * columns;
                    compute(product, mine, &mut share[start..end]);
                    start = end;
                }
            },
            |lane, index, share| {
                let mut parts = share.iter();
                for (out, rows) in outs.iter_mut().zip(&rows) {
                    let theirs = lane.share_of(index, *rows);
                    for column in 0..columns {
                        for out in &mut out[column * rows..][theirs.clone()] {
                            *out = parts.next().copied().unwrap_or_default();
                        }
                    }
                }
            },
        );
    }

    /// Computes a run of equal items together. `compute` gets its items and room for them.
    pub(crate) fn items(
        &mut self,
        count: usize,
        out: &mut [f32],
        compute: impl Fn(Range<usize>, &mut [f32]),
    ) {
        if self.meeting.lanes == 1 {
            return compute(0..count, out);
        }
        let size = out.len() / count.max(1);
        self.exchange(
            |lane, share| {
                let mine = lane.share(count);
                share.resize(mine.len() * size, 0.0);
                compute(mine, share);
            },
            |lane, index, share| {
                let theirs = lane.share_of(index, count);
                for (out, number) in out[theirs.start * size..].iter_mut().zip(share) {
                    *out = *number;
                }
            },
        );
    }

    fn exchange(
        &mut self,
        write: impl FnOnce(&Self, &mut Vec<f32>),
        mut read: impl FnMut(&Self, usize, &[f32]),
    ) {
        let shares = &self.meeting.shares[self.set];
        write(self, &mut shares[self.index].write().unwrap_or_else(PoisonError::into_inner));
        self.set = 1 - self.set;
        self.wait();
        for (index, share) in shares.iter().enumerate() {
            read(self, index, &share.read().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits until every lane is here.
    pub(crate) fn wait(&self) {
        let meeting = self.meeting;
        if meeting.lanes == 1 {
            return;
        }
        let round = meeting.round.load(Ordering::Acquire);
        if meeting.arrived.fetch_add(1, Ordering::AcqRel) + 1 == meeting.lanes {
            meeting.arrived.store(0, Ordering::Release);
            meeting.round.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let mut looks = 0;
        while meeting.round.load(Ordering::Acquire) == round
            && !meeting.broken.load(Ordering::Acquire)
        {
            looks += 1;
            if looks < LOOKS { hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// As many lanes as the machine bears beside its other work: physical cores minus one.
pub(crate) fn default_lanes() -> usize {
    let logical = thread::available_parallelism().map_or(1, |count| count.get());
    let physical = physical_cores().unwrap_or(logical).min(logical);
    physical.saturating_sub(1).max(1)
}

/// The distinct cores that Linux names; elsewhere unknown.
fn physical_cores() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let mut cores = std::collections::HashSet::new();
    let mut package = "";
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.trim() {
            "physical id" => package = value,
            "core id" => {
                cores.insert((package, value));
            }
            _ => {}
        }
    }
    (!cores.is_empty()).then_some(cores.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(lanes: usize) -> Vec<f32> {
        let (columns, rows) = (3, 7);
        run(lanes, |lane| {
            let mut out = vec![0.0; columns * rows];
            for round in 0..50 {
                lane.products(columns, &mut [&mut out], |_, range, share| {
                    let width = range.len();
                    for column in 0..columns {
                        for (at, row) in range.clone().enumerate() {
                            share[column * width + at] = (round * 100 + column * 10 + row) as f32;
                        }
                    }
                });
            }
            out
        })
        .unwrap()
    }

    #[test]
    fn lanes_make_the_same_product_as_one() {
        let alone = product(1);
        assert_eq!(alone[7 + 3], 4913.0);
        for lanes in 2..6 {
            assert_eq!(product(lanes), alone, "{lanes} lanes");
        }
    }

    #[test]
    fn more_lanes_than_items_leave_some_idle() {
        let made = run(5, |lane| {
            let mut out = vec![0.0; 6];
            lane.items(3, &mut out, |range, share| {
                for (at, item) in range.enumerate() {
                    share[2 * at] = item as f32;
                    share[2 * at + 1] = -(item as f32);
                }
            });
            out
        });
        assert_eq!(made.unwrap(), [0.0, -0.0, 1.0, -1.0, 2.0, -2.0]);
    }

    #[test]
    fn a_lane_that_panics_leaves_nobody_waiting() {
        let outcome = std::panic::catch_unwind(|| {
            run(3, |lane| {
                assert!(lane.share(3) != (2..3), "the last lane fails");
                lane.wait();
            })
        });
        // The scope passes the panic on after all lanes have ended.
        assert!(outcome.is_err());
    }
}
