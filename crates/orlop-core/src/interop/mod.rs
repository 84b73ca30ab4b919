//! Tool interop: reads calls and results in any known format and writes them in another, so that
//! a tool written once works with every provider's wire.
//!
//! Plugins add formats through [`Interop`]; theirs are tried before the built-in ones.

pub mod calls;
pub mod results;
pub mod schemas;

use orlop_types::{Error, InspectedCall, InspectedResult, Map, Result, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Reads a call in one format; `None` if it is in another.
pub type ReadCall = Arc<dyn Fn(&Map) -> Option<InspectedCall> + Send + Sync>;
/// Writes a call in one format; `None` if the format cannot say it.
pub type WriteCall = Arc<dyn Fn(&InspectedCall) -> Option<Map> + Send + Sync>;
/// Reads a result in one format; `None` if it is in another.
pub type ReadResult = Arc<dyn Fn(&Value) -> Option<InspectedResult> + Send + Sync>;
/// Writes a result in one format.
pub type WriteResult =
    Arc<dyn Fn(&Value, &InspectedResult, &ResultTarget) -> Option<Value> + Send + Sync>;
/// Writes a neutral tool schema in one format.
pub type WriteSchema = Arc<dyn Fn(&Map) -> Option<Value> + Send + Sync>;

/// A format of tool calls.
#[derive(Clone)]
pub struct CallFormat {
    /// Its id, for instance `openai.function`.
    pub id: String,
    /// Reads it.
    pub read: ReadCall,
    /// Writes it, if it can be written.
    pub write: Option<WriteCall>,
}

/// A format of tool results.
#[derive(Clone)]
pub struct ResultFormat {
    /// Its id, for instance `core.text`.
    pub id: String,
    /// Reads it, if it can be read.
    pub read: Option<ReadResult>,
    /// Writes it, if it can be written.
    pub write: Option<WriteResult>,
}

/// A format of tool schemas.
#[derive(Clone)]
pub struct SchemaFormat {
    /// Its id, for instance `openai.function`.
    pub id: String,
    /// Writes it.
    pub write: WriteSchema,
}

/// What one plugin adds to the registry, and what a provider wants.
#[derive(Clone, Default)]
pub struct Interop {
    /// For a provider: the format its tool schemas must have.
    pub schema_format: Option<String>,
    /// For a provider: the format its tool calls must have.
    pub call_format: Option<String>,
    /// Call formats.
    pub calls: Vec<CallFormat>,
    /// Result formats.
    pub results: Vec<ResultFormat>,
    /// Schema formats.
    pub schemas: Vec<SchemaFormat>,
}

/// Whom a result is written for.
#[derive(Debug, Clone, Default)]
pub struct ResultTarget {
    /// Who reads it, for instance `core.tool_result`.
    pub name: String,
    /// The call it answers.
    pub call_id: Option<String>,
    /// The tool.
    pub tool_name: Option<String>,
}

impl ResultTarget {
    /// A target that needs no call.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// All formats in force for one configuration.
#[derive(Clone)]
pub struct Registry {
    calls: Vec<CallFormat>,
    results: Vec<ResultFormat>,
    schemas: Vec<SchemaFormat>,
    schema_format: Option<String>,
    call_format: Option<String>,
}

impl Registry {
    /// The formats of `provider`, then of the other plugins in their order, then the built-in ones.
    pub fn new(provider: Option<Interop>, others: impl IntoIterator<Item = Interop>) -> Self {
        let (schema_format, call_format) = provider
            .as_ref()
            .map(|interop| (interop.schema_format.clone(), interop.call_format.clone()))
            .unwrap_or_default();
        let mut registry =
            Self { calls: vec![], results: vec![], schemas: vec![], schema_format, call_format };
        for interop in provider.into_iter().chain(others) {
            registry.calls.extend(interop.calls);
            registry.results.extend(interop.results);
            registry.schemas.extend(interop.schemas);
        }
        registry.calls.extend(calls::built_in());
        registry.results.extend(results::built_in());
        registry.schemas.extend(schemas::built_in());
        registry
    }

    /// Reads a call through the first format that knows it.
    pub fn inspect_call(&self, call: &Map) -> Result<InspectedCall> {
        self.calls
            .iter()
            .find_map(|format| {
                let mut read = guarded(&format.id, || (format.read)(call))?;
                read.payload_format.get_or_insert_with(|| format.id.clone());
                Some(read)
            })
            .ok_or_else(|| {
                let known: Vec<_> = self.calls.iter().map(|format| format.id.as_str()).collect();
                Error::bad_argument(format!(
                    "no tool call format fits; known: {}",
                    known.join(", ")
                ))
            })
    }

    /// Writes a call in the format `id`; a call that is in it already stays as it is.
    pub fn convert_call(&self, call: &Map, id: &str) -> Option<Map> {
        let read = self.inspect_call(call).ok()?;
        if read.payload_format.as_deref() == Some(id) {
            return Some(call.clone());
        }
        let mut known = self.calls.iter().filter(|format| format.id == id);
        known.find_map(|format| {
            let write = format.write.as_ref()?;
            guarded(id, || write(&read))
        })
    }

    /// Reads a result through the first format that knows it; what no format knows is text.
    pub fn inspect_result(&self, result: &Value) -> InspectedResult {
        self.read_result(result).unwrap_or_else(|| results::as_text(result))
    }

    fn read_result(&self, result: &Value) -> Option<InspectedResult> {
        self.results.iter().find_map(|format| {
            let known = format.read.as_ref()?;
            let mut read = guarded(&format.id, || known(result))?;
            if read.format_id.is_empty() {
                read.format_id = format.id.clone();
            }
            Some(read)
        })
    }

    /// Writes a result for `target` in the first of `formats` that can be written. A mapping that
    /// is in one of them already stays as it is.
    pub fn convert_result(
        &self,
        result: &Value,
        target: &ResultTarget,
        formats: &[&str],
    ) -> Option<Value> {
        let read = self.read_result(result);
        let is_in = |read: &InspectedResult| formats.contains(&read.format_id.as_str());
        if result.is_object() && read.as_ref().is_some_and(is_in) {
            return Some(result.clone());
        }
        let read = read.unwrap_or_else(|| results::as_text(result));
        formats.iter().find_map(|id| {
            let mut known = self.results.iter().filter(|format| format.id == *id);
            known.find_map(|format| {
                let write = format.write.as_ref()?;
                guarded(id, || write(result, &read, target))
            })
        })
    }

    /// Writes a neutral tool schema in the format `id`; a schema in a provider's own form passes.
    pub fn convert_schema(&self, schema: &Map, id: &str) -> Option<Value> {
        let mut known = self.schemas.iter().filter(|format| format.id == id);
        known.find_map(|format| guarded(id, || (format.write)(schema)))
    }

    /// The schema format the provider wants.
    pub fn schema_format(&self) -> Option<&str> {
        self.schema_format.as_deref()
    }

    /// The call format the provider wants.
    pub fn call_format(&self) -> Option<&str> {
        self.call_format.as_deref()
    }
}

/// What a format makes of its input. Formats come from plugins: one that panics knows nothing.
fn guarded<T>(id: &str, ask: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| {
        tracing::warn!(target: "orlop::core", format = id, "a tool format panicked; it is passed over");
        None
    })
}
