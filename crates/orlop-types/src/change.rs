//! How a plugin says what it changed in a list: nothing, edits, or the whole list anew.

use crate::error::{Error, Result};
use crate::json::Map;
use crate::message::Message;
use crate::native::NativeItem;
use crate::seq::Seq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A change to a list. Absent or `null` in JSON keeps the list, an array replaces it, and
/// `{"edits": [...]}` changes parts of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Change<T> {
    /// As it was.
    #[default]
    Keep,
    /// These items instead.
    Replace(Vec<T>),
    /// Only these parts differ. Edits apply one after another.
    Edit(Vec<Edit<T>>),
}

/// One edit of a list. Positions are zero-based and refer to the list as it is when the edit applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "op",
    rename_all = "snake_case",
    bound(deserialize = "T: serde::de::DeserializeOwned")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Edit<T> {
    /// Adds items at the end.
    Append {
        /// What is added.
        #[serde(deserialize_with = "items_from_buffer")]
        items: Vec<T>,
    },
    /// Replaces the items `start..end`; an empty range inserts.
    Replace {
        /// First position replaced.
        start: usize,
        /// Position after the last one replaced.
        end: usize,
        /// What comes there.
        #[serde(deserialize_with = "items_from_buffer")]
        items: Vec<T>,
    },
    /// Merges a patch into the `_metadata` of the items at these positions.
    PatchMetadata {
        /// Which items.
        indices: Vec<usize>,
        /// Keys laid over the existing ones.
        patch: Map,
    },
}

/// Tagged enums buffer their content as plain values, which raw JSON text cannot be read from
/// directly; going through a value loses nothing but white space and number spelling.
fn items_from_buffer<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    Vec::<serde_json::Value>::deserialize(deserializer)?
        .into_iter()
        .map(|value| serde_json::from_value(value).map_err(serde::de::Error::custom))
        .collect()
}

/// An item whose metadata an [`Edit::PatchMetadata`] can reach.
pub trait Patchable: Clone {
    /// This item with `patch` laid over its internal metadata.
    fn patched(&self, patch: &Map) -> Self;
}

impl Patchable for NativeItem {
    fn patched(&self, patch: &Map) -> Self {
        let mut merged = self.metadata().clone();
        merged.extend(patch.iter().map(|(key, value)| (key.clone(), value.clone())));
        if &merged == self.metadata() { self.clone() } else { self.with_metadata(merged) }
    }
}

impl Patchable for Message {
    fn patched(&self, patch: &Map) -> Self {
        patch.iter().fold(self.clone(), |message, (key, value)| {
            message.with_metadata_entry(key, value.clone())
        })
    }
}

impl<T> Change<T> {
    /// Whether nothing changes.
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// Adds `items` at the end.
    pub fn append(items: Vec<T>) -> Self {
        Self::Edit(vec![Edit::Append { items }])
    }

    /// Puts `items` before the item at `position`.
    pub fn insert(position: usize, items: Vec<T>) -> Self {
        Self::Edit(vec![Edit::Replace { start: position, end: position, items }])
    }
}

impl<T: Patchable> Change<T> {
    /// The list after this change; positions outside of it are out of range.
    pub fn apply(self, list: &Seq<T>) -> Result<Seq<T>> {
        match self {
            Self::Keep => Ok(list.clone()),
            Self::Replace(items) => Ok(items.into()),
            Self::Edit(edits) => {
                edits.into_iter().try_fold(list.clone(), |list, edit| edit.apply(list))
            }
        }
    }
}

impl<T: Patchable> Edit<T> {
    fn apply(self, mut list: Seq<T>) -> Result<Seq<T>> {
        let len = list.len();
        let outside =
            |what: String| Error::out_of_range(format!("the edit names {what} of a list of {len}"));
        match self {
            Self::Append { items } => {
                list.extend(items);
                Ok(list)
            }
            Self::Replace { start, end, .. } if start > end || end > list.len() => {
                Err(outside(format!("items {start}..{end}")))
            }
            Self::Replace { start, end, items } => Ok(list.splice(start..end, items)),
            Self::PatchMetadata { indices, patch } => {
                for index in indices {
                    let item = list.get(index).ok_or_else(|| outside(format!("item {index}")))?;
                    let item = item.patched(&patch);
                    list.set(index, item);
                }
                Ok(list)
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "T: serde::de::DeserializeOwned"))]
struct Edits<T> {
    edits: Vec<Edit<T>>,
}

impl<T: Serialize + Clone> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep => serializer.serialize_unit(),
            Self::Replace(items) => items.serialize(serializer),
            Self::Edit(edits) => Edits { edits: edits.clone() }.serialize(serializer),
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'n') => Ok(Self::Keep),
            Some(b'[') => serde_json::from_str(text).map(Self::Replace).map_err(D::Error::custom),
            _ => serde_json::from_str::<Edits<T>>(text)
                .map(|edits| Self::Edit(edits.edits))
                .map_err(D::Error::custom),
        }
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Change<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Change_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let item = generator.subschema_for::<T>();
        let edit = generator.subschema_for::<Edit<T>>();
        schemars::json_schema!({
            "description": "null keeps the list, an array replaces it, edits change parts of it.",
            "anyOf": [
                { "type": "null" },
                { "type": "array", "items": item },
                {
                    "type": "object",
                    "properties": { "edits": { "type": "array", "items": edit } },
                    "required": ["edits"]
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(items: &[i32]) -> Seq<NativeItem> {
        items.iter().map(|n| NativeItem::from(json!({ "n": n }))).collect()
    }

    #[test]
    fn edits_apply_in_order() {
        let change: Change<NativeItem> = serde_json::from_value(json!({"edits": [
            {"op": "append", "items": [{"n": 3}]},
            {"op": "replace", "start": 0, "end": 1, "items": []},
            {"op": "patch_metadata", "indices": [0], "patch": {"k": 1}},
        ]}))
        .unwrap();
        let changed = change.apply(&list(&[1, 2])).unwrap();
        assert_eq!(
            serde_json::to_value(&changed).unwrap(),
            json!([{"n": 2, "_metadata": {"k": 1}}, {"n": 3}])
        );
    }

    #[test]
    fn edits_outside_the_list_are_refused() {
        for edit in [
            Edit::Replace { start: 1, end: 3, items: vec![] },
            Edit::Replace { start: 2, end: 1, items: vec![] },
            Edit::PatchMetadata { indices: vec![2], patch: Map::new() },
        ] {
            assert!(Change::Edit(vec![edit]).apply(&list(&[1, 2])).is_err());
        }
    }

    #[test]
    fn all_three_json_forms_round_trip() {
        for value in [
            json!(null),
            json!([{"n": 1}]),
            json!({"edits": [{"op": "append", "items": [{"n": 1}]}]}),
        ] {
            let change: Change<NativeItem> = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&change).unwrap(), value);
        }
    }
}
