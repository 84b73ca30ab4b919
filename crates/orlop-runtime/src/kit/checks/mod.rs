//! The checks that hold for every plugin, whatever its language. Each is one line of the report.

pub(super) mod answers;
pub(super) mod description;
pub(super) mod ends;
pub(super) mod faults;
pub(super) mod provider;
pub(super) mod sabotage;
pub(super) mod stability;
pub(super) mod surfaces;

use super::probe::Wrong;
use super::report::{Finding, Verdict};

/// A hook that gave nothing where it must give something.
fn broken(wrong: &Wrong, expected: &str) -> Verdict {
    Finding::new(wrong.to_string(), expected, wrong.fix()).into()
}
