//! JSON in which no object has a key twice, at any depth. Parsers differ in which of the two they take,
//! so that what one checks and what another uses would not be the same.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Why a text is not such JSON, if it is not.
pub(crate) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Unique>(text).map(drop)
}

/// A value of which nothing is kept.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                let short: String = key.chars().take(80).collect();
                return Err(A::Error::custom(format!("the key {short:?} is there twice")));
            }
            seen.insert(key);
            map.next_value::<Unique>()?;
        }
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        while list.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E: Error>(self) -> Result<Unique, E> {
        Ok(Unique)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_found_at_any_depth() {
        let fine = [r#"{"a": 1, "b": {"a": [1, -2, 2.5, "x", null, true]}}"#, "[]", "3", "\"x\""];
        for text in fine {
            assert!(check(text).is_ok(), "{text}");
        }
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"x": {"a": 1, "b": 2, "a": 3}}"#,
            r#"[1, [{"y": [{"a": null, "a": null}]}]]"#,
            r#"{"a": 1, "\u0061": 2}"#,
        ] {
            let problem = check(text).unwrap_err().to_string();
            assert!(problem.contains(r#"the key "a" is there twice"#), "{text}: {problem}");
        }
    }
}
