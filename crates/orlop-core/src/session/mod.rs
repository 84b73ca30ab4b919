//! Sessions as values: messages, metadata, and the provider's own history sealed to them.
//!
//! Every operation gives a new session and leaves the old one alone; what did not change is
//! shared. Operations that need plugins (conversion to and from native form) are methods of
//! [`Core`](crate::Core) in the sub-modules; this module holds what needs none.

mod add;
pub(crate) mod convert;
mod join;
mod modify;
mod rebuild;
mod slice;
mod transcript;
mod unread;

pub use add::{NewMessage, Place};
pub use slice::{Cut, Slice};
pub use transcript::Transcript;
pub use unread::{Added, NativeEnd};

use crate::digest::{self, Digest};
use orlop_types::json::merge_session_metadata;
use orlop_types::{
    Error, Map, Message, NativeIndices, NativeItem, Result, Seq, SessionJson, Value,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A conversation. Cloning is cheap; a clone never changes under its holder.
///
/// ```
/// use orlop_core::Session;
/// let session = Session::new("a");
/// assert_eq!(session.export("json")?, "{\n  \"session_id\": \"a\",\n  \"messages\": [],\n  \"metadata\": {}\n}");
/// # Ok::<(), orlop_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    id: Arc<str>,
    messages: Transcript,
    metadata: Arc<Map>,
    native: Option<NativeHistory>,
}

/// The complete history as the provider knows it, and the seal that ties it to the messages.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeHistory {
    items: Seq<NativeItem>,
    seal: Option<Seal>,
    format: Option<Arc<str>>,
}

/// The stored integrity value: the digest of the messages the items belong to.
#[derive(Debug, Clone, PartialEq)]
enum Seal {
    Digest(Digest),
    /// Something this version did not write; it matches nothing.
    Unknown(Arc<str>),
}

const SEAL_PREFIX: &str = "sha256:";

impl Seal {
    fn from_text(text: String) -> Self {
        match text.strip_prefix(SEAL_PREFIX).and_then(digest::from_hex) {
            Some(digest) => Self::Digest(digest),
            None => Self::Unknown(text.into()),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Digest(digest) => format!("{SEAL_PREFIX}{}", digest::hex(digest)),
            Self::Unknown(text) => text.to_string(),
        }
    }
}

impl NativeHistory {
    /// The items in order.
    pub fn items(&self) -> &Seq<NativeItem> {
        &self.items
    }

    /// The integrity value, as it is written in JSON.
    pub fn seal(&self) -> Option<String> {
        self.seal.as_ref().map(Seal::to_text)
    }

    /// The format the items are in, usually the provider's name; unknown for older data.
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }
}

impl Session {
    /// An empty session.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            messages: Transcript::default(),
            metadata: Arc::default(),
            native: None,
        }
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The visible messages.
    pub fn messages(&self) -> &Transcript {
        &self.messages
    }

    /// Metadata without native history.
    pub fn metadata(&self) -> &Map {
        &self.metadata
    }

    /// Native history, if the session carries it.
    pub fn native(&self) -> Option<&NativeHistory> {
        self.native.as_ref()
    }

    /// Session-owned settings that take part in configuration resolution.
    pub fn overrides(&self) -> Option<&Map> {
        self.metadata.get("overrides").and_then(Value::as_object)
    }

    /// The agent the session belongs to.
    pub fn agent_id(&self) -> Option<&str> {
        self.metadata.get("agent_id").and_then(Value::as_str)
    }

    /// The same session, laid out so that `shared_len` of its lists tells it from what is added to
    /// it later. For those who write sessions down.
    pub fn settled(&self) -> Self {
        let native = self
            .native
            .as_ref()
            .map(|native| NativeHistory { items: native.items.settled(), ..native.clone() });
        Self { messages: self.messages.settled(), native, ..self.clone() }
    }

    /// The same session under another id.
    pub fn with_id(&self, id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), ..self.clone() }
    }

    /// The same session with this metadata. Native history stays as it is.
    pub fn with_metadata(&self, mut metadata: Map) -> Self {
        use orlop_types::session::{NATIVE_FORMAT, NATIVE_INTEGRITY, NATIVE_MESSAGES};
        for owned in [NATIVE_MESSAGES, NATIVE_INTEGRITY, NATIVE_FORMAT] {
            metadata.shift_remove(owned);
        }
        Self { metadata: Arc::new(metadata), ..self.clone() }
    }

    /// The same session with `patch` laid over its metadata: keys are replaced, `overrides`
    /// merges key by key. Keys of native history belong to the core and are ignored.
    pub fn with_metadata_patch(&self, patch: &Map) -> Self {
        use orlop_types::session::{NATIVE_FORMAT, NATIVE_INTEGRITY, NATIVE_MESSAGES};
        let mut patch = patch.clone();
        for owned in [NATIVE_MESSAGES, NATIVE_INTEGRITY, NATIVE_FORMAT] {
            patch.shift_remove(owned);
        }
        if patch.is_empty() {
            return self.clone();
        }
        let mut metadata = (*self.metadata).clone();
        merge_session_metadata(&mut metadata, &patch);
        Self { metadata: Arc::new(metadata), ..self.clone() }
    }

    /// Fails if native history and messages have come apart: the seal is missing or does not
    /// match. A session without native history is fine.
    pub fn verify(&self) -> Result<()> {
        match &self.native {
            None => Ok(()),
            Some(native) if native.seal == Some(Seal::Digest(self.messages.digest())) => Ok(()),
            Some(native) => Err(Error::bad_state(match native.seal {
                None => "native history has no integrity value; rebuild it from the messages",
                Some(_) => {
                    "native history does not belong to these messages; rebuild it from the messages"
                }
            })),
        }
    }

    /// Native history that may be built upon: present, sealed to these messages, and in `format`
    /// where both sides name one.
    pub(crate) fn usable_native(&self, format: &str) -> Option<&NativeHistory> {
        let native = self.native.as_ref()?;
        let same_format = native.format.as_deref().is_none_or(|held| held == format);
        (same_format && self.verify().is_ok()).then_some(native)
    }

    /// Where the native items of the first `len` messages end, if messages and native items lie
    /// side by side in order and native history has all of them.
    pub(crate) fn aligned_end(&self, len: usize) -> Option<usize> {
        let whole = self.messages.aligned_end(self.messages.len())?;
        let there = self.native.as_ref().is_some_and(|native| whole <= native.items.len());
        there.then(|| self.messages.aligned_end(len))?
    }

    /// These messages with native history sealed to them.
    pub(crate) fn with_native(
        &self,
        messages: Transcript,
        items: Seq<NativeItem>,
        format: &str,
    ) -> Self {
        let seal = Some(Seal::Digest(messages.digest()));
        let native = Some(NativeHistory { items, seal, format: Some(format.into()) });
        Self { messages, native, ..self.clone() }
    }

    /// These messages and no native history; mappings that would point nowhere go, too.
    pub(crate) fn core_only(&self, messages: Transcript) -> Self {
        let mapped =
            messages.iter().position(|message| *message.native_indices() != NativeIndices::Absent);
        let messages = match mapped {
            None => messages,
            Some(first) => messages.remapped_from(first, |message| {
                message.clone().with_native_indices(NativeIndices::Absent)
            }),
        };
        Self { messages, native: None, ..self.clone() }
    }

    /// These messages beside whatever native history there is.
    pub(crate) fn with_messages(&self, messages: Transcript) -> Self {
        Self { messages, ..self.clone() }
    }

    /// The JSON form as a typed value.
    pub fn to_wire(&self) -> SessionJson {
        SessionJson {
            session_id: self.id.to_string(),
            messages: self.messages.iter().cloned().collect(),
            metadata: (*self.metadata).clone(),
            native_messages: self
                .native
                .as_ref()
                .map(|native| native.items.iter().cloned().collect()),
            native_integrity: self.native.as_ref().and_then(|n| n.seal.as_ref()).map(Seal::to_text),
            native_format: self
                .native
                .as_ref()
                .and_then(|n| n.format.as_deref().map(str::to_owned)),
        }
    }

    /// A session from its JSON form.
    pub fn from_wire(wire: SessionJson) -> Self {
        Self {
            id: wire.session_id.into(),
            messages: wire.messages.into_iter().collect(),
            metadata: Arc::new(wire.metadata),
            native: wire.native_messages.map(|items| NativeHistory {
                items: items.into(),
                seal: wire.native_integrity.map(Seal::from_text),
                format: wire.native_format.map(Into::into),
            }),
        }
    }

    /// The JSON form: exactly `session_id`, `messages` and `metadata`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self.to_wire()).unwrap_or_default()
    }

    /// Reads the JSON form.
    pub fn from_json(value: Value) -> Result<Self> {
        SessionJson::from_json(value).map(Self::from_wire)
    }

    /// The session as text; `json` is the only format.
    pub fn export(&self, format: &str) -> Result<String> {
        check_format(format)?;
        serde_json::to_string(&self.to_wire())
            .map(|text| orlop_types::json::indent(&text))
            .map_err(|error| Error::internal(format!("the session does not serialise: {error}")))
    }

    /// Reads what [`export`](Self::export) wrote.
    pub fn import(text: &str, format: &str) -> Result<Self> {
        check_format(format)?;
        SessionJson::from_text(text).map(Self::from_wire)
    }
}

fn check_format(format: &str) -> Result<()> {
    match format {
        "json" => Ok(()),
        other => Err(Error::bad_argument(format!("unsupported format {other:?}; use \"json\""))),
    }
}

/// Tool calls of assistant messages, in order.
pub fn extract_tool_calls<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Map> {
    messages.into_iter().flat_map(|message| message.tool_calls().cloned()).collect()
}

/// Merges `patch` into the `_metadata` of the native items at `indices`. Each position counts
/// once; positions outside the list and items that are no objects are skipped. If nothing
/// changes, the very same list comes back.
pub fn patch_native_metadata(
    native: &Seq<NativeItem>,
    indices: &[i64],
    patch: &Map,
) -> Seq<NativeItem> {
    use orlop_types::change::Patchable;
    let mut out = native.clone();
    if patch.is_empty() {
        return out;
    }
    let positions: std::collections::BTreeSet<usize> =
        indices.iter().filter_map(|&index| usize::try_from(index).ok()).collect();
    for position in positions {
        let Some(item) = native.get(position) else { continue };
        let patched = item.patched(patch);
        if !patched.ptr_eq(item) {
            out.set(position, patched);
        }
    }
    out
}

impl Serialize for Session {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SessionJson::deserialize(deserializer).map(Self::from_wire)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Session {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        SessionJson::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        SessionJson::json_schema(generator)
    }
}
