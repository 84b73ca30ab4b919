//! What a request asks for, as a digest: two requests with one id are the same only if they ask for
//! the same.

use orlop_core::{Map, Value};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;

/// The digest of what is asked at a route.
pub(crate) fn asked_at(route: &str, what: &impl Serialize) -> String {
    let mut hashed = Hashed(Sha256::new());
    hashed.0.update(route);
    // What came as JSON can be written as JSON, and this takes all of it.
    let _ = serde_json::to_writer(&mut hashed, what);
    hashed.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The fields of a request, without those that say how the answer is sent.
pub(crate) fn asked_fields(fields: &Map) -> BTreeMap<&str, &Value> {
    let is_asked = |key: &str| !matches!(key, "stream" | "stream_options");
    let fields = fields.iter().filter(|(key, _)| is_asked(key));
    fields.map(|(key, value)| (key.as_str(), value)).collect()
}

struct Hashed(Sha256);

impl io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
