//! A list that is a value: cloning is one pointer, and a change shares what it did not touch.

use imbl::Vector;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::RangeBounds;

/// A persistent list. Appending, cutting and concatenating cost time in the change, not in the
/// length, and leave every clone as it was.
#[derive(Debug)]
pub struct Seq<T: Clone>(Vector<T>);

impl<T: Clone> Clone for Seq<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone> Default for Seq<T> {
    fn default() -> Self {
        Self(Vector::new())
    }
}

impl<T: Clone> Seq<T> {
    /// The empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The item at `index`.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index)
    }

    /// The last item.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// All items in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + DoubleEndedIterator {
        self.0.iter()
    }

    /// Adds one item at the end.
    pub fn push(&mut self, item: T) {
        self.0.push_back(item);
    }

    /// Adds all items of `other` at the end.
    pub fn append(&mut self, other: Seq<T>) {
        self.0.append(other.0);
    }

    /// The first `len` items (all, if there are fewer).
    pub fn prefix(&self, len: usize) -> Self {
        if len >= self.len() {
            return self.clone();
        }
        Self(self.0.clone().split_at(len).0)
    }

    /// What follows the first `start` items.
    pub fn suffix(&self, start: usize) -> Self {
        match start {
            0 => self.clone(),
            start if start >= self.len() => Self::new(),
            start => Self(self.0.clone().split_at(start).1),
        }
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
        if index < self.len() {
            self.0.set(index, item);
        }
    }

    /// Whether both are the same list in memory. `true` is certain, `false` says nothing.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl<T: Clone + PartialEq> PartialEq for Seq<T> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.0 == other.0
    }
}

impl<T: Clone> Extend<T> for Seq<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.0.extend(items);
    }
}

impl<T: Clone> FromIterator<T> for Seq<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Clone> From<Vec<T>> for Seq<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<'a, T: Clone> IntoIterator for &'a Seq<T> {
    type Item = &'a T;
    type IntoIter = imbl::vector::Iter<'a, T, imbl::shared_ptr::DefaultSharedPtr>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Clone + Serialize> Serialize for Seq<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
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

    #[test]
    fn bounds_beyond_the_end_are_cut() {
        let list: Seq<u32> = (0..3).collect();
        assert_eq!(list.splice(9.., [4]).len(), 4);
        assert_eq!(list.prefix(9).len(), 3);
        assert!(list.suffix(9).is_empty());
    }
}
