//! The ids of tool calls as the API takes them: of certain characters, and each for one call only.
//! Ids of other servers may have other characters, and some servers count from 0 in every answer.

use std::collections::{HashMap, VecDeque};

/// The ids given out so far.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// How many calls had the same id.
    given: HashMap<String, usize>,
    /// What the calls of the last answer are called here; calls with one id wait in line.
    current: HashMap<String, VecDeque<String>>,
}

impl Ids {
    /// Another answer with calls begins.
    pub(super) fn next_answer(&mut self) {
        self.current.clear();
    }

    /// The id of a call that was called `id` elsewhere.
    pub(super) fn of_call(&mut self, id: &str) -> String {
        let spelled = spelled(id);
        let mut unique = spelled.clone();
        while let Some(times) = self.given.get_mut(&unique) {
            *times += 1;
            unique = format!("{spelled}_{times}");
        }
        self.given.insert(unique.clone(), 1);
        self.current.entry(id.to_owned()).or_default().push_back(unique.clone());
        unique
    }

    /// The id of the call that a result belongs to.
    pub(super) fn of_result(&mut self, id: &str) -> String {
        let line = self.current.get_mut(id);
        let first = line.and_then(|line| match line.len() {
            0 | 1 => line.front().cloned(),
            _ => line.pop_front(),
        });
        first.unwrap_or_else(|| spelled(id))
    }
}

fn spelled(id: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each answer is a list of ids, whose results follow in the same order.
    fn check(answers: &[&[&str]], expected: &[&[&str]]) {
        let mut ids = Ids::default();
        for (answer, expected) in answers.iter().zip(expected) {
            ids.next_answer();
            let calls: Vec<String> = answer.iter().map(|id| ids.of_call(id)).collect();
            let results: Vec<String> = answer.iter().map(|id| ids.of_result(id)).collect();
            assert_eq!(calls, *expected);
            assert_eq!(results, calls);
        }
    }

    #[test]
    fn ids_that_the_api_takes_stay() {
        check(&[&["toolu_01-a", "b"], &["c"]], &[&["toolu_01-a", "b"], &["c"]]);
    }

    #[test]
    fn other_characters_are_replaced() {
        check(&[&["functions.f:0", "é"]], &[&["functions_f_0", "_"]]);
    }

    #[test]
    fn an_id_that_comes_again_is_another() {
        check(
            &[&["0", "1"], &["0"], &["0", "0"], &["0_2"]],
            &[&["0", "1"], &["0_2"], &["0_3", "0_4"], &["0_2_2"]],
        );
    }

    #[test]
    fn a_result_without_a_call_keeps_its_id() {
        assert_eq!(Ids::default().of_result("a.b"), "a_b");
    }
}
