//! Which messages are replaced: positions as people give them, and borders that separate nothing
//! that belongs together.

use super::NAME;
use super::fill::estimate;
use orlop_core::{Map, Message, Role, Value};
use std::ops::Range;

/// What there is to cut: the messages, and what comes before each border in native history.
pub(super) struct Borders<'a> {
    messages: &'a [Message],
    /// For each border, the native position there; `None` where messages on both sides share
    /// items. Without native history to keep, borders have no position.
    native: Option<Vec<Option<usize>>>,
}

impl<'a> Borders<'a> {
    /// Borders between messages that stand for a native history of this length; `None` if that
    /// history is not to be kept, or the messages do not tell where they stand in it.
    pub(super) fn new(messages: &'a [Message], native_len: Option<usize>) -> Self {
        Self { messages, native: native_len.and_then(|len| places(messages, len)) }
    }

    /// Whether native history can be cut where messages are.
    pub(super) fn are_placed(&self) -> bool {
        self.native.is_some()
    }

    /// The native positions of a range.
    pub(super) fn native(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let places = self.native.as_ref()?;
        Some((*places.get(range.start)?)?..(*places.get(range.end)?)?)
    }

    /// Whether a cut before the message at `border` leaves calls with their results, and native
    /// items with their messages.
    fn is_clean(&self, border: usize) -> bool {
        let results_follow =
            self.messages.get(border).is_some_and(|message| message.role() == Role::Tool);
        let results_are_due = border == self.messages.len()
            && self.messages.last().is_some_and(|last| last.tool_calls().next().is_some());
        let is_placed =
            self.native.as_ref().is_none_or(|places| matches!(places.get(border), Some(Some(_))));
        !results_follow && !results_are_due && is_placed
    }

    /// The range without what must not be replaced: the system message, and at both ends what
    /// belongs to something outside.
    pub(super) fn within(&self, range: Range<usize>) -> Range<usize> {
        let system = self.messages.iter().take_while(|message| message.role() == Role::System);
        let mut start = range.start.max(system.count());
        let mut end = range.end.min(self.messages.len());
        while start < end && !self.is_clean(start) {
            start += 1;
        }
        while end > start && !self.is_clean(end) {
            end -= 1;
        }
        start..end.max(start)
    }

    /// Everything but the newest messages, as far as these are no more than `tokens`.
    pub(super) fn but_the_newest(&self, tokens: u64) -> Range<usize> {
        let mut left = tokens;
        let kept = self.messages.iter().rev().take_while(|message| {
            let size = estimate(message);
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        let mut end = self.messages.len() - kept.count();
        while end < self.messages.len() && !self.is_clean(end) {
            end += 1;
        }
        self.within(0..end)
    }
}

/// Where native history can be cut, border by border.
fn places(messages: &[Message], native_len: usize) -> Option<Vec<Option<usize>>> {
    let positions: Option<Vec<Vec<usize>>> =
        messages.iter().map(|message| message.native_indices().positions()).collect();
    let positions = positions?;
    if positions.iter().flatten().any(|position| *position >= native_len) {
        return None;
    }
    // What follows a border begins at the lowest position of all messages behind it.
    let mut begins = vec![native_len; messages.len() + 1];
    for (index, own) in positions.iter().enumerate().rev() {
        let first = own.iter().min().copied().unwrap_or(native_len);
        begins[index] = first.min(begins[index + 1]);
    }
    let mut ends = 0;
    let mut places = Vec::with_capacity(begins.len());
    for (index, begin) in begins.into_iter().enumerate() {
        let begin = if index == 0 { 0 } else { begin };
        places.push((ends <= begin).then_some(begin));
        if let Some(own) = positions.get(index) {
            ends = own.iter().max().map_or(ends, |last| ends.max(last + 1));
        }
    }
    Some(places)
}

/// The range that `start`, `end` and `end_inclusive` name: negative numbers count from the end, and
/// the end is not part of the range unless it is said to be.
pub(super) fn named(params: &Map, len: usize) -> Range<usize> {
    let place = |number: i64| {
        let from_end = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
        match number < 0 {
            true => len.saturating_sub(from_end),
            false => from_end.min(len),
        }
    };
    let number = |key: &str| params.get(key).and_then(Value::as_i64);
    let inclusive = params.get("end_inclusive").and_then(Value::as_bool) == Some(true);
    let start = number("start").map_or(0, place);
    let end = number("end").map_or(len, |end| place(end) + usize::from(inclusive)).min(len);
    start..end.max(start)
}

/// Whether a message is a snapshot.
pub(super) fn is_snapshot(message: &Message) -> bool {
    message.metadata().contains_key(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_core::NativeIndices;
    use serde_json::json;

    /// `s`ystem, `u`ser, `a`ssistant, `c` an assistant that calls, `t`ool.
    fn talk(roles: &str) -> Vec<Message> {
        let message = |(index, role): (usize, char)| {
            let message = match role {
                's' => Message::system("x"),
                'u' => Message::user("x"),
                't' => Message::tool("x"),
                'c' => {
                    Message::assistant("").with_metadata_entry("tool_calls", json!([{"id": "1"}]))
                }
                _ => Message::assistant("x"),
            };
            message.with_native_indices(NativeIndices::new([index]))
        };
        roles.chars().enumerate().map(message).collect()
    }

    fn check_named(params: Value, expected: Range<usize>) {
        assert_eq!(named(params.as_object().unwrap(), 10), expected, "{params}");
    }

    #[test] // M-09, M-15
    fn ranges_are_named_as_slices_are() {
        check_named(json!({}), 0..10);
        check_named(json!({ "start": 2, "end": 6 }), 2..6);
        check_named(json!({ "start": 0, "end": 6, "end_inclusive": true }), 0..7);
        check_named(json!({ "start": -3 }), 7..10);
        check_named(json!({ "end": -2 }), 0..8);
        check_named(json!({ "end": -1, "end_inclusive": true }), 0..10);
        check_named(json!({ "start": 4, "end": 2 }), 4..4);
        check_named(json!({ "start": 99, "end": i64::MIN }), 10..10);
    }

    fn check(roles: &str, asked: Range<usize>, expected: Range<usize>) {
        let messages = talk(roles);
        for len in [Some(messages.len()), None] {
            let borders = Borders::new(&messages, len);
            assert_eq!(borders.within(asked.clone()), expected, "{roles} {asked:?}");
        }
    }

    #[test] // M-14
    fn a_call_stays_with_its_result() {
        check("ucttau", 0..6, 0..6);
        check("ucttau", 0..2, 0..1);
        check("ucttau", 0..3, 0..1);
        check("ucttau", 2..6, 4..6);
        check("ucttau", 3..5, 4..5);
        check("ucttau", 2..3, 3..3);
        check("uc", 0..2, 0..1);
        check("ucu", 0..2, 0..2);
        check("suaua", 0..3, 1..3);
        check("", 0..0, 0..0);
    }

    #[test]
    fn the_newest_stay_as_far_as_they_fit() {
        let messages = talk("uauctau");
        let borders = Borders::new(&messages, None);
        let each = estimate(&messages[0]);
        assert_eq!(borders.but_the_newest(each * 2), 0..5);
        assert_eq!(borders.but_the_newest(each * 3), 0..5, "a result stays with its call");
        assert_eq!(borders.but_the_newest(0), 0..7);
        assert_eq!(borders.but_the_newest(each * 99), 0..0);
    }

    #[test]
    fn messages_that_share_native_items_are_not_separated() {
        let place = |positions: &[usize]| {
            Message::assistant("x").with_native_indices(NativeIndices::new(positions.to_vec()))
        };
        let messages = [place(&[0]), place(&[1, 2]), place(&[2]), place(&[4])];
        let borders = Borders::new(&messages, Some(5));
        assert_eq!(borders.within(0..2), 0..1);
        assert_eq!(
            borders.native(&(0..3)),
            Some(0..4),
            "what has no message goes with the one before"
        );
        assert_eq!(borders.native(&(1..4)), Some(1..5));
        assert!(!Borders::new(&[Message::user("x")], Some(1)).are_placed());
        assert!(!Borders::new(&messages, Some(3)).are_placed());
    }
}
