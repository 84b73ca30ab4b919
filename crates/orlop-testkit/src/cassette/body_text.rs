//! How a response body stands in a file: as text, so that people can read it, and as hex when it
//! is not UTF-8, so that no byte is lost.

use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<T> {
    Text(T),
    Hex { hex: String },
}

pub(super) fn serialize<S: Serializer>(body: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    let written = match std::str::from_utf8(body) {
        Ok(text) => Written::Text(text),
        Err(_) => Written::Hex { hex: body.iter().map(|byte| format!("{byte:02x}")).collect() },
    };
    written.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    match Written::<String>::deserialize(deserializer)? {
        Written::Text(text) => Ok(text.into()),
        Written::Hex { hex } => hex
            .as_bytes()
            .chunks(2)
            .map(|pair| {
                let digits = std::str::from_utf8(pair).ok().filter(|digits| digits.len() == 2);
                digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())
            })
            .collect::<Option<Vec<u8>>>()
            .map(Bytes::from)
            .ok_or_else(|| D::Error::custom("a body in hex is not hex")),
    }
}
