//! Counts of tests, read from what the test programs print.

use std::fmt;

/// How many tests passed, failed and were skipped, over all test programs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    /// Adds the counts of a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`;
    /// any other line changes nothing.
    pub(super) fn read_line(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let Some((_verdict, counts)) = result.split_once(". ") else { return };
        for count in counts.split(';') {
            let Some((number, what)) = count.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Moves tests that said they were skipped, which the test programs count as passed.
    pub(super) fn count_skips(&mut self, skips: usize) {
        self.passed = self.passed.saturating_sub(skips);
        self.skipped += skips;
    }

    /// Counts a step that could not run at all.
    pub(super) fn count_skipped_step(&mut self) {
        self.skipped += 1;
    }

    /// Makes sure that a run with a failed step never reads `0 failed`, even if no test failed.
    pub(super) fn count_failed_step(&mut self) {
        self.failed = self.failed.max(1);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &str) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read_line(line));
        assert_eq!(tally.to_string(), expected);
    }

    #[test]
    fn counts_are_summed_over_test_programs() {
        check(
            &[
                "running 5 tests",
                "test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; \
                 finished in 0.01s",
                "   Doc-tests orlop_core",
                "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
            ],
            "7 passed, 1 failed, 2 skipped",
        );
    }

    #[test]
    fn a_coloured_verdict_is_read_too() {
        let line = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 3 passed; 0 failed; 0 ignored";
        check(&[line], "3 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn other_lines_change_nothing() {
        check(
            &["", "3 passed; 4 failed", "test result: odd", "test a ... ok"],
            "0 passed, 0 failed, 0 skipped",
        );
    }

    #[test]
    fn skips_are_taken_from_the_passed() {
        let mut tally = Tally { passed: 5, failed: 0, skipped: 1 };
        tally.count_skips(2);
        assert_eq!(tally, Tally { passed: 3, failed: 0, skipped: 3 });
    }

    #[test]
    fn a_step_that_could_not_run_is_one_skip() {
        let mut tally = Tally { passed: 5, failed: 0, skipped: 1 };
        tally.count_skipped_step();
        assert_eq!(tally, Tally { passed: 5, failed: 0, skipped: 2 });
    }

    #[test]
    fn a_failed_step_counts_only_if_no_test_failed() {
        let mut tally = Tally::default();
        tally.count_failed_step();
        assert_eq!(tally.failed, 1);
        tally.failed = 4;
        tally.count_failed_step();
        assert_eq!(tally.failed, 4);
    }
}
