//! One item of a provider's own history, kept as the bytes that go back to the provider.
//!
//! The text is made once; building a request from ten thousand items copies, it does not
//! serialise. `_metadata`, which never leaves the process, is held apart from that text.

use crate::findings::Findings;
use crate::json::{Map, Value, minify};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The key under which a native item carries data for Orlop and its plugins only.
pub const INTERNAL_METADATA: &str = "_metadata";

/// A provider-native item. Cloning is one pointer.
///
/// ```
/// use orlop_types::NativeItem;
/// use serde_json::json;
/// let item = NativeItem::from(json!({"role": "user", "_metadata": {"k": 1}}));
/// assert_eq!(item.wire(), r#"{"role":"user"}"#);
/// assert_eq!(item.metadata()["k"], 1);
/// ```
#[derive(Clone)]
pub struct NativeItem(Arc<Inner>);

/// What a request reads of each item stands together, and the rest behind it.
#[repr(C)]
struct Inner {
    wire: Box<RawValue>,
    findings: Findings,
    metadata: Map,
    value: OnceLock<Value>,
}

impl NativeItem {
    fn assemble(wire: Box<RawValue>, metadata: Map) -> Self {
        Self::with(wire, metadata, OnceLock::new())
    }

    fn with(wire: Box<RawValue>, metadata: Map, value: OnceLock<Value>) -> Self {
        Self(Arc::new(Inner { wire, metadata, value, findings: Findings::default() }))
    }

    /// Takes JSON text as the provider sent it. White space between tokens is dropped, everything
    /// else stays byte for byte.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Self::from_raw(raw)
    }

    fn from_raw(raw: &RawValue) -> Result<Self, serde_json::Error> {
        let text = minify(raw.get())
            .ok_or_else(|| serde_json::Error::custom("a native item nests too deep"))?;
        serde_json::from_str::<Readable>(&text)?;
        // The key may be spelled with escapes, so any escaped letter leads to the careful way, too.
        if text.starts_with('{') && (text.contains("\"_metadata\"") || text.contains("\\u00")) {
            return Self::split(&text);
        }
        Ok(Self::assemble(RawValue::from_string(text)?, Map::new()))
    }

    /// Takes `_metadata` out of an object's text.
    fn split(text: &str) -> Result<Self, serde_json::Error> {
        let mut fields: RawFields = serde_json::from_str(text)?;
        let Some(at) = fields.0.iter().position(|(key, _)| key == INTERNAL_METADATA) else {
            return Ok(Self::assemble(RawValue::from_string(text.to_owned())?, Map::new()));
        };
        let (_, internal) = fields.0.remove(at);
        fields.0.retain(|(key, _)| key != INTERNAL_METADATA);
        let metadata = serde_json::from_str(internal.get()).unwrap_or_default();
        Ok(Self::assemble(serde_json::value::to_raw_value(&fields)?, metadata))
    }

    /// The JSON text that goes to the provider: no `_metadata`, no white space between tokens.
    #[inline]
    pub fn wire(&self) -> &str {
        self.0.wire.get()
    }

    /// What the item carries for Orlop and its plugins; never sent.
    pub fn metadata(&self) -> &Map {
        &self.0.metadata
    }

    /// The item as a value, without `_metadata`. Parsed on first use.
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| serde_json::from_str(self.wire()).unwrap_or_default())
    }

    /// A field of the item.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.value().get(key)
    }

    /// What `find` finds in the item. It is asked on first use; what it said, also if that was
    /// nothing, is kept with the item, one of each type. So a request need not look again into all
    /// items that were sent before. Keep little: places in the text, for instance.
    ///
    /// ```
    /// use orlop_types::NativeItem;
    /// struct Call(usize);
    /// let item = NativeItem::from_text(r#"{"call":"f"}"#)?;
    /// let find = |item: &NativeItem| item.wire().find("call").map(Call);
    /// assert!(item.found(find).is_some_and(|call| call.0 == 2));
    /// assert!(item.clone().found::<Call>(|_| None).is_some(), "it was found before");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// `find` may not call this method of the same item.
    #[inline]
    pub fn found<T: Any + Send + Sync>(&self, find: impl FnOnce(&Self) -> Option<T>) -> Option<&T> {
        self.0.findings.get(|| find(self))
    }

    /// The same item with other internal metadata. An item that is no object takes none.
    pub fn with_metadata(&self, metadata: Map) -> Self {
        if !self.wire().starts_with('{') {
            return self.clone();
        }
        Self::with(self.0.wire.clone(), metadata, self.0.value.clone())
    }

    /// Whether the item is a JSON object.
    pub fn is_object(&self) -> bool {
        self.wire().starts_with('{')
    }

    /// Whether both are the same item in memory.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The item with `_metadata` in place, as sessions store it.
    pub fn to_json(&self) -> Value {
        let mut value = self.value().clone();
        if let (Value::Object(fields), false) = (&mut value, self.metadata().is_empty()) {
            fields.insert(INTERNAL_METADATA.to_owned(), Value::Object(self.metadata().clone()));
        }
        value
    }
}

impl From<Value> for NativeItem {
    fn from(mut value: Value) -> Self {
        let metadata = match value.as_object_mut().and_then(|o| o.shift_remove(INTERNAL_METADATA)) {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        // A `Value` always serialises; the null text is there so that no path can panic.
        let wire =
            serde_json::value::to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let item = Self::assemble(wire, metadata);
        let _ = item.0.value.set(value);
        item
    }
}

impl From<Map> for NativeItem {
    fn from(fields: Map) -> Self {
        Value::Object(fields).into()
    }
}

impl PartialEq for NativeItem {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || (self.wire() == other.wire() && self.metadata() == other.metadata())
    }
}

impl fmt::Debug for NativeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wire())?;
        if !self.metadata().is_empty() {
            write!(f, " + {:?}", self.metadata())?;
        }
        Ok(())
    }
}

impl Serialize for NativeItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        if self.metadata().is_empty() {
            return self.0.wire.serialize(serializer);
        }
        let internal = serde_json::to_string(self.metadata()).map_err(S::Error::custom)?;
        let fields = self.wire().strip_suffix('}').unwrap_or_default();
        let comma = if fields.len() > 1 { "," } else { "" };
        let text = format!("{fields}{comma}\"{INTERNAL_METADATA}\":{internal}}}");
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NativeItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw(&raw).map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for NativeItem {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NativeItem".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "One item of the provider's own history, in the provider's own form.",
            "properties": { "_metadata": { "type": "object", "description": "Never sent to the provider." } }
        })
    }
}

/// Text that can be read as a value. Raw text may have what no value can: half of a surrogate
/// pair, a number beyond all doubles.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Self;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// The fields of a JSON object in order, each still as text.
pub(crate) struct RawFields(pub(crate) Vec<(String, Box<RawValue>)>);

impl Serialize for RawFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de> Deserialize<'de> for RawFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawFields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(RawFields(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_of_the_provider_stays_byte_for_byte() {
        let text = r#"{"b":1.0,"a":1e5,"s":"\u00e9é","n":123456789012345678901234567890}"#;
        let item = NativeItem::from_text(text).unwrap();
        assert_eq!(item.wire(), text);
        assert_eq!(serde_json::to_string(&item).unwrap(), text);
    }

    #[test]
    fn internal_metadata_is_split_off_and_comes_back() {
        let text = r#"{ "a": 1.0, "_metadata": {"k": [1]}, "b": "_metadata" }"#;
        let item = NativeItem::from_text(text).unwrap();
        assert_eq!(item.wire(), r#"{"a":1.0,"b":"_metadata"}"#);
        assert_eq!(
            serde_json::to_string(&item).unwrap(),
            r#"{"a":1.0,"b":"_metadata","_metadata":{"k":[1]}}"#
        );
        let again: NativeItem =
            serde_json::from_str(&serde_json::to_string_pretty(&item).unwrap()).unwrap();
        assert_eq!(again, item);
    }

    #[test]
    fn an_escaped_metadata_key_is_found_too() {
        let item =
            NativeItem::from_text(r#"{"\u005fmetadata":{"k":1},"x":"\"_metadata\""}"#).unwrap();
        assert!(!item.wire().contains("\"k\""), "{}", item.wire());
    }

    #[test]
    fn items_that_are_no_objects_are_kept() {
        for text in ["1", "\"x\"", "null", "[1]"] {
            let item = NativeItem::from_text(text).unwrap();
            assert_eq!(item.wire(), text);
            assert!(
                item.with_metadata(Map::from_iter([("k".into(), json!(1))])).metadata().is_empty()
            );
        }
    }

    #[test]
    fn nesting_beyond_the_bound_is_refused() {
        let text = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(NativeItem::from_text(&text).is_err());
    }

    #[test]
    fn an_object_with_only_metadata_serialises() {
        let item = NativeItem::from(json!({"_metadata": {"k": 1}}));
        assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"_metadata":{"k":1}}"#);
    }
}
