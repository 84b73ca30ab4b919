//! A completion as blocks: neighbouring pieces of one kind are one block, as servers send them.

use super::super::reply::{Completion, Part, ToolCall};
use crate::playback::Step;

/// One block of a completion.
pub(super) enum Block<'a> {
    /// Before anything is said.
    Pause(Step),
    Reasoning(Vec<Piece<'a>>),
    Text(Vec<Piece<'a>>),
    Calls(&'a [ToolCall]),
}

/// One piece of a text.
pub(super) enum Piece<'a> {
    Say(&'a str),
    Pause(Step),
}

/// One piece of a group of tool calls.
pub(super) enum CallPiece<'a> {
    Open(&'a ToolCall),
    Arguments(String),
    Close(&'a ToolCall),
}

/// The blocks of a completion, in order.
pub(super) fn blocks(completion: &Completion) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    for part in &completion.parts {
        match (part, blocks.last_mut()) {
            (Part::Reasoning(text), Some(Block::Reasoning(pieces)))
            | (Part::Text(text), Some(Block::Text(pieces))) => pieces.push(Piece::Say(text)),
            (Part::Reasoning(text), _) => blocks.push(Block::Reasoning(vec![Piece::Say(text)])),
            (Part::Text(text), _) => blocks.push(Block::Text(vec![Piece::Say(text)])),
            (Part::ToolCalls(calls), _) => blocks.push(Block::Calls(calls)),
            (Part::Wait(_) | Part::Delay(_), last) => {
                let Some(pause) = pause(part) else { continue };
                match last {
                    Some(Block::Reasoning(pieces) | Block::Text(pieces)) => {
                        pieces.push(Piece::Pause(pause));
                    }
                    _ => blocks.push(Block::Pause(pause)),
                }
            }
        }
    }
    blocks
}

/// The step of a part that waits.
pub(super) fn pause(part: &Part) -> Option<Step> {
    match part {
        Part::Wait(gate) => Some(Step::Wait(gate.clone())),
        Part::Delay(time) => Some(Step::Delay(*time)),
        Part::Reasoning(_) | Part::Text(_) | Part::ToolCalls(_) => None,
    }
}

/// The text of a block.
pub(super) fn joined(pieces: &[Piece<'_>]) -> String {
    let said = pieces.iter().map(|piece| match piece {
        Piece::Say(text) => *text,
        Piece::Pause(_) => "",
    });
    said.collect()
}

/// The pieces of a group of calls, each with the position of its call in the group: one call after
/// the other, or in turn if the completion is interleaved.
pub(super) fn call_pieces<'a>(
    completion: &Completion,
    calls: &'a [ToolCall],
) -> Vec<(usize, CallPiece<'a>)> {
    let mut per_call: Vec<std::vec::IntoIter<(usize, CallPiece<'a>)>> = calls
        .iter()
        .enumerate()
        .map(|(position, call)| {
            let fragments = split(&call.arguments, completion.fragments).into_iter();
            std::iter::once(CallPiece::Open(call))
                .chain(fragments.map(CallPiece::Arguments))
                .chain([CallPiece::Close(call)])
                .map(|piece| (position, piece))
                .collect::<Vec<_>>()
                .into_iter()
        })
        .collect();

    if !completion.interleaved {
        return per_call.into_iter().flatten().collect();
    }
    let mut pieces = Vec::new();
    loop {
        let before = pieces.len();
        pieces.extend(per_call.iter_mut().filter_map(Iterator::next));
        if pieces.len() == before {
            return pieces;
        }
    }
}

/// Splits between characters into `count` pieces of nearly the same length, fewer if there are
/// not enough characters.
fn split(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let count = count.clamp(1, characters.len().max(1));
    (0..count)
        .map(|piece| {
            let start = piece * characters.len() / count;
            let end = (piece + 1) * characters.len() / count;
            characters[start..end].iter().collect::<String>()
        })
        .filter(|piece| !piece.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn pieces_are_whole_characters_and_none_is_empty() {
        assert_eq!(split("abcdefg", 3), ["ab", "cd", "efg"]);
        assert_eq!(split("äöü", 2), ["ä", "öü"]);
        assert_eq!(split("ab", 9), ["a", "b"]);
        assert_eq!(split("ab", 0), ["ab"]);
        assert!(split("", 3).is_empty());
    }
}
