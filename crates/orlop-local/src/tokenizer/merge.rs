//! Merges neighbouring tokens, the pair with the lowest rank first, until none is left.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No neighbour.
const NONE: usize = usize::MAX;

struct Symbol {
    id: u32,
    before: usize,
    after: usize,
    /// Merged into the one before it.
    gone: bool,
}

/// `pair` gives the rank of two neighbours and the token they become. Takes n log n steps, so a
/// word of a megabyte does not hold anybody up.
pub(super) fn merge(ids: Vec<u32>, pair: impl Fn(u32, u32) -> Option<(u32, u32)>) -> Vec<u32> {
    let last = ids.len().saturating_sub(1);
    let mut symbols: Vec<_> = ids
        .into_iter()
        .enumerate()
        .map(|(at, id)| Symbol {
            id,
            before: at.checked_sub(1).unwrap_or(NONE),
            after: if at == last { NONE } else { at + 1 },
            gone: false,
        })
        .collect();

    // Rank, place, and the two tokens the offer was made for: it is void if one has changed.
    let mut offers = BinaryHeap::new();
    let offer = |symbols: &[Symbol], offers: &mut BinaryHeap<_>, at: usize| {
        let Some(left) = symbols.get(at) else { return };
        let Some(right) = symbols.get(left.after) else { return };
        if let Some((rank, merged)) = pair(left.id, right.id) {
            offers.push(Reverse((rank, at, left.id, right.id, merged)));
        }
    };
    for at in 0..symbols.len() {
        offer(&symbols, &mut offers, at);
    }
    while let Some(Reverse((_, at, left, right, merged))) = offers.pop() {
        let after = symbols[at].after;
        let stands = !symbols[at].gone
            && symbols[at].id == left
            && symbols.get(after).is_some_and(|symbol| symbol.id == right);
        if !stands {
            continue;
        }
        symbols[after].gone = true;
        let next = symbols[after].after;
        symbols[at].id = merged;
        symbols[at].after = next;
        if let Some(next) = symbols.get_mut(next) {
            next.before = at;
        }
        let before = symbols[at].before;
        offer(&symbols, &mut offers, before);
        offer(&symbols, &mut offers, at);
    }
    symbols.iter().filter(|symbol| !symbol.gone).map(|symbol| symbol.id).collect()
}

/// A rank for a score: the higher the score, the lower the rank.
pub(super) fn highest_first(score: f32) -> u32 {
    let bits = score.to_bits();
    // The order of floats as the order of integers, upside down.
    if bits >> 31 == 1 { bits } else { 0x7fff_ffff - bits }
}
