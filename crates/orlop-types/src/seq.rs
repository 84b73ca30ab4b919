//! A list that is a value: cloning is one pointer, and a change shares what it did not touch.

use imbl::Vector;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::RangeBounds;

/// A persistent list. Appending and cutting off the end cost the same at any length, other cuts and
/// concatenations its logarithm; all leave every clone as it was.
///
/// A list is the first `kept` items of a shared `base`, followed by a `tail` of its own. A prefix
/// is therefore the same base with another number beside it; it keeps the whole base in memory.
#[derive(Debug)]
pub struct Seq<T: Clone> {
    base: Vector<T>,
    kept: usize,
    tail: Vector<T>,
}

impl<T: Clone> Clone for Seq<T> {
    fn clone(&self) -> Self {
        Self { base: self.base.clone(), kept: self.kept, tail: self.tail.clone() }
    }
}

impl<T: Clone> Default for Seq<T> {
    fn default() -> Self {
        Self::from(Vector::new())
    }
}

impl<T: Clone> From<Vector<T>> for Seq<T> {
    fn from(tail: Vector<T>) -> Self {
        Self { base: Vector::new(), kept: 0, tail }
    }
}

impl<T: Clone> Seq<T> {
    /// The empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.kept + self.tail.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at `index`.
    pub fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(self.kept) {
            Some(index) => self.tail.get(index),
            None => self.base.get(index),
        }
    }

    /// The last item.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All items in order.
    pub fn iter(&self) -> Iter<'_, T> {
        self.iter_from(0)
    }

    /// The items from `start` on, in order. Getting there costs nothing.
    pub fn iter_from(&self, start: usize) -> Iter<'_, T> {
        let in_base = start.min(self.kept);
        let in_tail = (start - in_base).min(self.tail.len());
        Iter {
            base: self.base.focus().narrow(in_base..self.kept).into_iter(),
            tail: self.tail.focus().narrow(in_tail..).into_iter(),
        }
    }

    /// The same list, laid out so that [`shared_len`](Self::shared_len) tells it from what is
    /// added to it later.
    pub fn settled(&self) -> Self {
        if self.tail.is_empty() {
            return self.clone();
        }
        let base = if self.kept == self.base.len() && self.tail.len() < 64 {
            let mut base = self.base.clone();
            self.tail.iter().for_each(|item| base.push_back(item.clone()));
            base
        } else {
            self.clone().into_whole()
        };
        Self { kept: base.len(), base, tail: Vector::new() }
    }

    /// How many leading items both certainly share in memory; there may be more. Costs the same at
    /// any length.
    pub fn shared_len(&self, other: &Self) -> usize {
        match self.base.ptr_eq(&other.base) {
            true => self.kept.min(other.kept),
            false => 0,
        }
    }

    /// Adds one item at the end.
    pub fn push(&mut self, item: T) {
        self.tail.push_back(item);
    }

    /// Adds all items of `other` at the end.
    pub fn append(&mut self, other: Seq<T>) {
        self.tail.append(other.into_whole());
    }

    /// The first `len` items (all, if there are fewer).
    pub fn prefix(&self, len: usize) -> Self {
        if len >= self.len() {
            return self.clone();
        }
        if len <= self.kept {
            return Self { base: self.base.clone(), kept: len, tail: Vector::new() };
        }
        if self.kept == 0 {
            return Self { base: self.tail.clone(), kept: len, tail: Vector::new() };
        }
        let (tail, _) = self.tail.clone().split_at(len - self.kept);
        Self { base: self.base.clone(), kept: self.kept, tail }
    }

    /// What follows the first `start` items.
    pub fn suffix(&self, start: usize) -> Self {
        match start {
            0 => self.clone(),
            start if start >= self.len() => Self::new(),
            start if start >= self.kept => {
                Self::from(self.tail.clone().split_at(start - self.kept).1)
            }
            start => Self::from(self.clone().into_whole().split_at(start).1),
        }
    }

    /// Base and tail as one.
    fn into_whole(self) -> Vector<T> {
        if self.kept == 0 {
            return self.tail;
        }
        let mut whole = match self.kept == self.base.len() {
            true => self.base,
            false => self.base.split_at(self.kept).0,
        };
        whole.append(self.tail);
        whole
    }

    /// This list with the items of `range` replaced by `items`. Bounds beyond the end are cut.
    pub fn splice(
        &self,
        range: impl RangeBounds<usize>,
        items: impl IntoIterator<Item = T>,
    ) -> Self {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let start = match range.start_bound() {
            Included(&n) => n,
            Excluded(&n) => n + 1,
            Unbounded => 0,
        };
        let end = match range.end_bound() {
            Included(&n) => n + 1,
            Excluded(&n) => n,
            Unbounded => self.len(),
        };
        let mut out = self.prefix(start);
        out.extend(items);
        out.append(self.suffix(end.max(start)));
        out
    }

    /// Replaces the item at `index`; out of range changes nothing.
    pub fn set(&mut self, index: usize, item: T) {
        if index >= self.len() {
            return;
        }
        match index.checked_sub(self.kept) {
            Some(index) => self.tail.set(index, item),
            None => self.base.set(index, item),
        };
    }

    /// Whether both are the same list in memory. `true` is certain, `false` says nothing.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        let bases = self.kept == 0 || self.base.ptr_eq(&other.base);
        self.kept == other.kept && bases && self.tail.ptr_eq(&other.tail)
    }
}

/// The items of a [`Seq`], in order.
pub struct Iter<'a, T: Clone> {
    base: Part<'a, T>,
    tail: Part<'a, T>,
}

impl<T: Clone> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { base: self.base.clone(), tail: self.tail.clone() }
    }
}

type Part<'a, T> = imbl::vector::Iter<'a, T, imbl::shared_ptr::DefaultSharedPtr>;

impl<'a, T: Clone> Iterator for Iter<'a, T> {
    type Item = &'a T;
    fn next(&mut self) -> Option<&'a T> {
        self.base.next().or_else(|| self.tail.next())
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.base.len() + self.tail.len();
        (left, Some(left))
    }
}

impl<T: Clone> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.tail.next_back().or_else(|| self.base.next_back())
    }
}

impl<T: Clone> ExactSizeIterator for Iter<'_, T> {}

impl<T: Clone + PartialEq> PartialEq for Seq<T> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.iter().eq(other.iter())
    }
}

impl<T: Clone> Extend<T> for Seq<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.tail.extend(items);
    }
}

impl<T: Clone> FromIterator<T> for Seq<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<Vector<T>>())
    }
}

impl<T: Clone> From<Vec<T>> for Seq<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T: Clone> IntoIterator for &'a Seq<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Clone + Serialize> Serialize for Seq<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for Seq<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(feature = "schema")]
impl<T: Clone + schemars::JsonSchema> schemars::JsonSchema for Seq<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("List_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_clones_alone() {
        let first: Seq<u32> = (0..200).collect();
        let mut second = first.clone();
        second.push(200);
        let third = second.splice(10..20, [7, 8]);
        assert_eq!((first.len(), second.len(), third.len()), (200, 201, 193));
        assert_eq!(third.get(10), Some(&7));
        assert_eq!(third.get(12), Some(&20));
        assert_eq!(first.prefix(3).iter().copied().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(first.suffix(198).iter().copied().collect::<Vec<_>>(), [198, 199]);
    }

    /// Every operation against a plain vector, on lists made by random cuts and additions.
    #[test]
    fn behaves_as_a_vector() {
        let mut random = 7_u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        let mut lists = vec![(Seq::<usize>::new(), Vec::<usize>::new())];
        for step in 0..4_000 {
            let (mut list, mut plain) = lists[below(lists.len())].clone();
            let at = below(plain.len() + 2);
            let to = at + below(plain.len() + 2);
            let (from, upto) = (at.min(plain.len()), to.min(plain.len()));
            match below(7) {
                0 => {
                    list.push(step);
                    plain.push(step);
                }
                1 => {
                    list.extend(0..at * 3);
                    plain.extend(0..at * 3);
                }
                2 => {
                    list = list.prefix(at);
                    plain.truncate(at);
                }
                3 => {
                    list = list.suffix(at);
                    plain.drain(..from);
                }
                4 => {
                    list = list.splice(at..to, [step, step]);
                    plain.splice(from..upto, [step, step]);
                }
                5 => {
                    list.set(at, step);
                    if let Some(item) = plain.get_mut(at) {
                        *item = step;
                    }
                }
                _ => {
                    let (other, other_plain) = lists[below(lists.len())].clone();
                    assert_eq!(list == other, plain == other_plain);
                    list.append(other);
                    plain.extend(other_plain);
                }
            }
            if plain.len() > 3_000 {
                (list, plain) = (list.prefix(1_500), plain[..1_500].to_vec());
            }
            assert!(list.iter().eq(plain.iter()), "step {step}");
            assert!(list.iter().rev().eq(plain.iter().rev()));
            assert_eq!((list.len(), list.iter().len()), (plain.len(), plain.len()));
            assert_eq!((list.get(at), list.last()), (plain.get(at), plain.last()));
            assert_eq!(list, plain.iter().copied().collect());
            assert!(list.iter_from(at).eq(plain.iter().skip(at)));
            let settled = list.settled();
            assert!(settled.iter().eq(plain.iter()));
            let mut longer = settled.clone();
            longer.push(step);
            for other in [&longer, &lists[below(lists.len())].0, &settled.prefix(at)] {
                let shared = settled.shared_len(other);
                assert!(settled.iter().take(shared).eq(other.iter().take(shared)));
            }
            if plain.len() > 200 {
                assert_eq!(settled.shared_len(&longer), plain.len());
                assert_eq!(settled.shared_len(&settled.prefix(at)), at.min(plain.len()));
            }
            if step % 3 == 0 {
                list = settled;
            }
            match lists.len() {
                0..20 => lists.push((list, plain)),
                _ => lists[below(20)] = (list, plain),
            }
        }
    }

    #[test]
    fn bounds_beyond_the_end_are_cut() {
        let list: Seq<u32> = (0..3).collect();
        assert_eq!(list.splice(9.., [4]).len(), 4);
        assert_eq!(list.prefix(9).len(), 3);
        assert!(list.suffix(9).is_empty());
    }
}
