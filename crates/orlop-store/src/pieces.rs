//! A list as pieces of append-only logs: what a session's messages and native items are stored as.
//!
//! An edit makes new pieces, a fork copies them; the items themselves are written once and stay.

use orlop_app::store::{NewItem, Segment};
use orlop_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of an item: its log, and its position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ItemId {
    pub(crate) log: i64,
    pub(crate) position: u64,
}

const POSITION_BITS: u32 = 32;

impl ItemId {
    /// Both in one number, in the order of logs and positions.
    pub(crate) fn key(self) -> i64 {
        let position = i64::try_from(self.position).unwrap_or(i64::MAX);
        self.log.saturating_mul(1 << POSITION_BITS).saturating_add(position)
    }

    pub(crate) fn from_key(key: i64) -> Self {
        let position = key & ((1 << POSITION_BITS) - 1);
        Self { log: key >> POSITION_BITS, position: position.unsigned_abs() }
    }
}

/// A run of neighbouring items of one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) log: i64,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Piece {
    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }
}

/// A list. In JSON it is `[[log, start, end], ...]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(i64, u64, u64)>", into = "Vec<(i64, u64, u64)>")]
pub(crate) struct Pieces(Vec<Piece>);

impl From<Vec<(i64, u64, u64)>> for Pieces {
    fn from(triples: Vec<(i64, u64, u64)>) -> Self {
        let mut pieces = Self::default();
        triples.into_iter().for_each(|(log, start, end)| pieces.push(Piece { log, start, end }));
        pieces
    }
}

impl From<Pieces> for Vec<(i64, u64, u64)> {
    fn from(pieces: Pieces) -> Self {
        pieces.0.into_iter().map(|it| (it.log, it.start, it.end)).collect()
    }
}

impl Pieces {
    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(Piece::len).sum()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Piece> {
        self.0.iter()
    }

    /// Adds a run at the end; one that goes on where the last one ends makes it longer.
    pub(crate) fn push(&mut self, piece: Piece) {
        match self.0.last_mut() {
            _ if piece.start >= piece.end => {}
            Some(last) if last.log == piece.log && last.end == piece.start => last.end = piece.end,
            _ => self.0.push(piece),
        }
    }

    /// The part of the list in `range`, which must lie inside of it.
    pub(crate) fn slice(&self, range: Range<u64>) -> Self {
        let mut part = Self::default();
        let mut before = 0;
        for piece in &self.0 {
            let start = range.start.clamp(before, before + piece.len()) - before;
            let end = range.end.clamp(before, before + piece.len()) - before;
            part.push(Piece { log: piece.log, start: piece.start + start, end: piece.start + end });
            before += piece.len();
        }
        part
    }

    /// Where in the list an item first stands.
    pub(crate) fn position_of(&self, item: ItemId) -> Option<u64> {
        let mut before = 0;
        for piece in &self.0 {
            if piece.log == item.log && (piece.start..piece.end).contains(&item.position) {
                return Some(before + item.position - piece.start);
            }
            before += piece.len();
        }
        None
    }

    /// The logs it has pieces of.
    pub(crate) fn logs(&self) -> BTreeSet<i64> {
        self.0.iter().map(|piece| piece.log).collect()
    }
}

/// A list after a change, and the items it needs that are not stored yet.
#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten<'a> {
    pub(crate) pieces: Pieces,
    pub(crate) new: Vec<&'a NewItem>,
}

/// Builds a list out of parts of `kept` and new items, which take the positions from `next` on of
/// the log `log`.
pub(crate) fn rewrite<'a>(
    kept: &Pieces,
    segments: &'a [Segment],
    log: i64,
    next: u64,
) -> Result<Rewritten<'a>> {
    let length = kept.len();
    let mut list = Rewritten { pieces: Pieces::default(), new: Vec::new() };
    let mut end = next;
    for segment in segments {
        match segment {
            Segment::Kept(range) => {
                let (start, stop) = (range.start as u64, range.end as u64);
                if start > stop || stop > length {
                    return Err(Error::out_of_range(format!(
                        "positions {start} to {stop} cannot be kept of a stored list of {length}; load the session again"
                    )));
                }
                kept.slice(start..stop).iter().for_each(|piece| list.pieces.push(*piece));
            }
            Segment::New(items) => {
                let start = end;
                end += items.len() as u64;
                list.pieces.push(Piece { log, start, end });
                list.new.extend(items);
            }
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(list: &[(i64, u64, u64)]) -> Pieces {
        Pieces::from(list.to_vec())
    }

    fn new(count: usize) -> Segment {
        Segment::New(vec![NewItem { body: "1".to_owned(), search: String::new() }; count])
    }

    #[test]
    fn appending_makes_the_last_piece_longer() {
        let segments = [Segment::Kept(0..5), new(2)];
        let list = rewrite(&pieces(&[(1, 0, 5)]), &segments, 1, 5).unwrap();
        assert_eq!(list.pieces, pieces(&[(1, 0, 7)]));
        assert_eq!(serde_json::to_string(&list.pieces).unwrap(), "[[1,0,7]]");
        assert_eq!(list.new.len(), 2);
    }

    #[test]
    fn an_edit_in_the_middle_makes_three_pieces() {
        let segments = [Segment::Kept(0..2), new(1), Segment::Kept(3..5)];
        let list = rewrite(&pieces(&[(1, 0, 5)]), &segments, 1, 5).unwrap();
        assert_eq!(list.pieces, pieces(&[(1, 0, 2), (1, 5, 6), (1, 3, 5)]));
        assert_eq!(list.pieces.position_of(ItemId { log: 1, position: 5 }), Some(2));
        assert_eq!(list.pieces.position_of(ItemId { log: 1, position: 2 }), None);
    }

    #[test]
    fn pieces_that_are_neighbours_again_become_one() {
        let list = pieces(&[(1, 0, 2), (1, 2, 5), (2, 5, 5), (1, 5, 6)]);
        assert_eq!(list, pieces(&[(1, 0, 6)]));
        assert_eq!(Pieces::from(vec![(1, 0, 2), (1, 2, 5)]), pieces(&[(1, 0, 5)]));
    }

    #[test]
    fn a_slice_cuts_pieces_at_both_ends() {
        let list = pieces(&[(1, 10, 13), (2, 0, 4), (1, 0, 2)]);
        assert_eq!(list.slice(2..5), pieces(&[(1, 12, 13), (2, 0, 2)]));
        assert_eq!(list.slice(3..3), Pieces::default());
        assert_eq!(list.slice(0..9), list);
    }

    #[test]
    fn keeping_what_is_not_there_is_out_of_range() {
        for range in [Range { start: 0, end: 6 }, Range { start: 3, end: 2 }] {
            let error = rewrite(&pieces(&[(1, 0, 5)]), &[Segment::Kept(range)], 1, 5).unwrap_err();
            assert_eq!(error.class(), orlop_core::ErrorClass::OutOfRange);
        }
    }

    #[test]
    fn a_key_has_log_and_position_in_their_order() {
        let item = ItemId { log: 7, position: 9 };
        assert_eq!(ItemId::from_key(item.key()), item);
        assert!(item.key() < ItemId { log: 8, position: 0 }.key());
    }
}
