//! Who changed what since which revision, so that edits made against an older revision are moved
//! to the present one, or refused with both names where they overlap.

use orlop_types::{ActionResult, Change, Edit, Error, Map, NativeItem, Result, Seq, Value};
use std::ops::Range;

/// One admitted change.
#[derive(Debug, Clone)]
pub struct LedgerEntry {
    /// The plugin that made it.
    pub plugin: String,
    /// Its action.
    pub action: String,
    change: Change<NativeItem>,
    before: Seq<NativeItem>,
    metadata: Map,
}

/// The changes admitted so far. The revision counts them.
///
/// An action that was given revision 3 may answer with edits against revision 3 while others have
/// made it 5 in the meantime. Edits of other places are moved along; edits of the same place, or
/// of the same metadata key, are a conflict that names both plugins. A whole list against an older
/// revision says nothing of places, so any change of the list since then is a conflict.
#[derive(Debug, Clone, Default)]
pub struct ChangeLedger(Vec<LedgerEntry>);

impl ChangeLedger {
    /// How many changes have been admitted.
    pub fn revision(&self) -> u64 {
        self.0.len() as u64
    }

    /// The admitted changes, oldest first.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.0
    }

    /// Admits the change in `result` of `action` of `plugin` to the native history `native`.
    /// Gives the history after it, if it is another one. The change is taken out of `result`.
    pub fn admit(
        &mut self,
        native: &Seq<NativeItem>,
        plugin: &str,
        action: &str,
        result: &mut ActionResult,
    ) -> Result<Option<Seq<NativeItem>>> {
        let base = result.base_revision.take().unwrap_or(self.revision());
        let since = usize::try_from(base).ok().and_then(|base| self.0.get(base..)).ok_or_else(|| {
            Error::bad_state(format!(
                "action \"{action}\" of plugin \"{plugin}\" answers to revision {base}, which there never was"
            ))
        })?;
        let change = std::mem::take(&mut result.native_messages);
        let metadata = match &result.session_metadata {
            Some(Value::Object(patch)) => patch.clone(),
            _ => Map::new(),
        };
        let (change, next) = match since {
            // The common case: nothing happened in between, the change applies as it is.
            [] => {
                let next = change.clone().apply(native)?;
                (change, next)
            }
            [first, ..] => {
                let change = match change {
                    Change::Replace(items) if first.before.iter().eq(&items) => Change::Keep,
                    other => other,
                };
                let mut effect = Effect::of(change, first.before.len())?;
                for earlier in since {
                    let theirs = Effect::of(earlier.change.clone(), earlier.before.len())?;
                    let overlap =
                        effect.overlap(&theirs).or_else(|| same_key(&metadata, &earlier.metadata));
                    if let Some(what) = overlap {
                        return Err(refused(plugin, action, earlier, &what));
                    }
                    effect.move_past(&theirs);
                }
                let change = effect.into_change();
                let next = change.clone().apply(native)?;
                (change, next)
            }
        };
        let changed = next != *native;
        if changed || !metadata.is_empty() {
            self.0.push(LedgerEntry {
                plugin: plugin.to_owned(),
                action: action.to_owned(),
                change,
                before: native.clone(),
                metadata,
            });
        }
        Ok(changed.then_some(next))
    }
}

fn refused(plugin: &str, action: &str, earlier: &LedgerEntry, what: &str) -> Error {
    Error::conflict(format!(
        "action \"{action}\" of plugin \"{plugin}\" and action \"{}\" of plugin \"{}\" both change {what}; the later one is refused, run it again on the present session",
        earlier.action, earlier.plugin
    ))
}

/// What a change does to a list, told in positions of the list before it: pieces replaced, and
/// metadata patched in place.
#[derive(Debug, Clone, Default)]
struct Effect {
    pieces: Vec<Piece>,
    patches: Vec<(usize, Map)>,
    /// Whether the list was given anew, not edited.
    whole: bool,
}

#[derive(Debug, Clone)]
struct Piece {
    range: Range<usize>,
    items: Vec<NativeItem>,
}

/// An item while edits are played through: an old one, possibly patched, or a new one.
enum Token {
    Old(usize, Option<Map>),
    New(NativeItem),
}

impl Effect {
    fn of(change: Change<NativeItem>, len: usize) -> Result<Self> {
        match change {
            Change::Keep => Ok(Self::default()),
            Change::Replace(items) => Ok(Self {
                pieces: vec![Piece { range: 0..len, items }],
                patches: vec![],
                whole: true,
            }),
            Change::Edit(edits) => Self::of_edits(edits, len),
        }
    }

    /// Edits refer to the list as it is when each applies; playing them through tells what they
    /// come to in positions of the list before all of them.
    fn of_edits(edits: Vec<Edit<NativeItem>>, len: usize) -> Result<Self> {
        let mut tokens: Vec<Token> = (0..len).map(|index| Token::Old(index, None)).collect();
        for edit in edits {
            let outside = || Error::out_of_range("an edit names items outside of native history");
            match edit {
                Edit::Append { items } => tokens.extend(items.into_iter().map(Token::New)),
                Edit::Replace { start, end, items } => {
                    if start > end || end > tokens.len() {
                        return Err(outside());
                    }
                    tokens.splice(start..end, items.into_iter().map(Token::New));
                }
                Edit::PatchMetadata { indices, patch } => {
                    for index in indices {
                        match tokens.get_mut(index).ok_or_else(outside)? {
                            Token::Old(_, held) => {
                                held.get_or_insert_default().extend(patch.clone())
                            }
                            Token::New(item) => {
                                *item = orlop_types::change::Patchable::patched(item, &patch);
                            }
                        }
                    }
                }
            }
        }
        let mut effect = Self::default();
        let (mut next_old, mut new) = (0, Vec::new());
        for token in tokens.into_iter().chain([Token::Old(len, None)]) {
            match token {
                Token::New(item) => new.push(item),
                Token::Old(index, patch) => {
                    if index > next_old || !new.is_empty() {
                        effect.pieces.push(Piece {
                            range: next_old..index,
                            items: std::mem::take(&mut new),
                        });
                    }
                    if let Some(patch) = patch {
                        effect.patches.push((index, patch));
                    }
                    next_old = index + 1;
                }
            }
        }
        Ok(effect)
    }

    /// What both effects change, if they do.
    fn overlap(&self, other: &Self) -> Option<String> {
        if self.whole && !(other.pieces.is_empty() && other.patches.is_empty()) {
            return Some("native history, the later one as a whole".to_owned());
        }
        for mine in &self.pieces {
            for theirs in &other.pieces {
                let (start, end) = (
                    mine.range.start.max(theirs.range.start),
                    mine.range.end.min(theirs.range.end),
                );
                let inside = |a: &Range<usize>, b: &Range<usize>| {
                    a.is_empty() && b.start < a.start && a.start < b.end
                };
                if start < end
                    || inside(&mine.range, &theirs.range)
                    || inside(&theirs.range, &mine.range)
                {
                    return Some(format!("native items {}..{}", start, end.max(start)));
                }
            }
        }
        let replaced = |pieces: &[Piece], index: &usize| {
            pieces.iter().any(|piece| piece.range.contains(index))
        };
        let patched = |index: &usize| format!("native item {index}");
        if let Some((index, _)) =
            self.patches.iter().find(|(index, _)| replaced(&other.pieces, index))
        {
            return Some(patched(index));
        }
        if let Some((index, _)) =
            other.patches.iter().find(|(index, _)| replaced(&self.pieces, index))
        {
            return Some(patched(index));
        }
        self.patches.iter().find_map(|(index, mine)| {
            let (_, theirs) = other.patches.iter().find(|(other, _)| other == index)?;
            same_key(mine, theirs).map(|key| format!("{key} of native item {index}"))
        })
    }

    /// Moves this effect to the list as `earlier` left it; the two do not overlap.
    fn move_past(&mut self, earlier: &Self) {
        let moved = |position: usize| {
            earlier
                .pieces
                .iter()
                .filter(|piece| piece.range.end <= position)
                .fold(position, |now, piece| now + piece.items.len() - piece.range.len())
        };
        for piece in &mut self.pieces {
            let len = piece.range.len();
            let start = moved(piece.range.start);
            piece.range = start..start + len;
        }
        for (index, _) in &mut self.patches {
            *index = moved(*index);
        }
    }

    fn into_change(self) -> Change<NativeItem> {
        let patches = self
            .patches
            .into_iter()
            .map(|(index, patch)| Edit::PatchMetadata { indices: vec![index], patch });
        // From the end, so that earlier positions stay true.
        let pieces = self.pieces.into_iter().rev().map(|piece| Edit::Replace {
            start: piece.range.start,
            end: piece.range.end,
            items: piece.items,
        });
        let edits: Vec<_> = patches.chain(pieces).collect();
        if edits.is_empty() { Change::Keep } else { Change::Edit(edits) }
    }
}

/// The first key that both set to different values. Overrides are compared one by one.
fn same_key(mine: &Map, theirs: &Map) -> Option<String> {
    mine.iter().find_map(|(key, value)| {
        let other = theirs.get(key).filter(|other| *other != value)?;
        match (key.as_str(), value, other) {
            ("overrides", Value::Object(mine), Value::Object(theirs)) => {
                same_key(mine, theirs).map(|inner| inner.replace("metadata key ", "override "))
            }
            _ => Some(format!("metadata key \"{key}\"")),
        }
    })
}
