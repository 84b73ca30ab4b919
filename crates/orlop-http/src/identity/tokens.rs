//! Tokens of the configuration, kept as hashes and compared in constant time.

use super::Identity;
use crate::settings::Token;
use orlop_core::{Error, Result};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What a token that is given as a hash begins with.
const HASHED: &str = "sha256:";

/// All tokens that are accepted.
pub(crate) struct Tokens(Vec<([u8; 32], Identity)>);

impl Tokens {
    pub(crate) fn new(tokens: &[Token]) -> Result<Self> {
        let held = tokens.iter().enumerate().map(|(index, token)| {
            let hash = match token.secret.strip_prefix(HASHED) {
                Some(hex) => unhex(hex).ok_or_else(|| {
                    Error::bad_argument(format!(
                        "server.tokens: the hash of a token of {} is not 64 hex digits; make one with `printf %s TOKEN | sha256sum`",
                        token.scope
                    ))
                })?,
                None => digest(token.secret.as_bytes()),
            };
            let identity = Identity::new(token.scope.clone(), &token.rights);
            Ok((hash, identity.counted_as(format!("token {index}"))))
        });
        held.collect::<Result<_>>().map(Self)
    }

    /// Whose token it is. Every token is compared, so that time tells nothing.
    pub(crate) fn find(&self, given: &[u8]) -> Option<&Identity> {
        let given = digest(given);
        let mut found = None;
        for (hash, identity) in &self.0 {
            if bool::from(hash.ct_eq(&given)) {
                found = Some(identity);
            }
        }
        found
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}
