//! Signatures of what a model thought: made from the text, so that a changed text is noticed.

use serde_json::Value;

/// The signature of a text under an API.
pub(super) fn of(api: &str, text: &str) -> String {
    // FNV-1a: short, and the same in every run and on every machine.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = api.bytes().chain([0]).chain(text.bytes()).fold(0xcbf2_9ce4_8422_2325, mix);
    format!("mockSignature+{hash:016x}==")
}

/// The signature of a tool call.
pub(super) fn of_call(api: &str, name: &str, arguments: &Value) -> String {
    of(api, &format!("{name} {arguments}"))
}

/// Whether this server can have made the signature, whatever it signs.
pub(super) fn is_one(signature: &str) -> bool {
    signature.starts_with("mockSignature+")
}
