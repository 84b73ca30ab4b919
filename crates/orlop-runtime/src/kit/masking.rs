//! What is recorded is shown to others: secrets that a plugin may see, those of its own settings,
//! are masked wherever they occur.

use orlop_app::config::{MASK, without_secrets};
use orlop_core::Value;

/// Shorter texts occur by chance.
const SHORTEST: usize = 6;

/// Masks secrets in values by the names of their keys, and elsewhere by what it saw there.
#[derive(Default)]
pub(super) struct Masking {
    seen: Vec<String>,
}

impl Masking {
    /// Takes note of the secrets in a value.
    pub(super) fn learn(&mut self, value: &Value) {
        let mut masked = value.clone();
        without_secrets(&mut masked);
        self.compare(value, &masked);
    }

    fn compare(&mut self, open: &Value, masked: &Value) {
        match (open, masked) {
            (Value::Object(open), Value::Object(masked)) => {
                for (open, masked) in open.values().zip(masked.values()) {
                    self.compare(open, masked);
                }
            }
            (Value::Array(open), Value::Array(masked)) => {
                open.iter().zip(masked).for_each(|(open, masked)| self.compare(open, masked));
            }
            (Value::String(open), Value::String(masked))
                if masked == MASK && open.len() >= SHORTEST && !self.seen.contains(open) =>
            {
                self.seen.push(open.clone());
            }
            _ => {}
        }
    }

    /// Puts masks in the place of secrets.
    pub(super) fn mask(&self, value: &mut Value) {
        without_secrets(value);
        if !self.seen.is_empty() {
            self.replace(value);
        }
    }

    fn replace(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|value| self.replace(value)),
            Value::Array(items) => items.iter_mut().for_each(|value| self.replace(value)),
            Value::String(text) => {
                for secret in &self.seen {
                    if text.contains(secret) {
                        *text = text.replace(secret, MASK);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_is_masked_where_it_is_kept_and_where_it_is_said() {
        let line = json!({"state": {"config": {"api_key": "sk-12345678"}}, "max_tokens": 5});
        let mut said = json!({"message": "the key is sk-12345678", "token": "t"});
        let mut masking = Masking::default();
        masking.learn(&line);
        masking.mask(&mut said);
        assert_eq!(said, json!({"message": "the key is ***", "token": "***"}));
        let mut line = line;
        masking.mask(&mut line);
        assert_eq!(line, json!({"state": {"config": {"api_key": "***"}}, "max_tokens": 5}));
    }
}
