//! Whose data it is. Every key in stores, locks, events and caches carries it.

use orlop_core::{Error, Result};
use std::fmt;

/// The tenant and the user that a call acts for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    tenant: String,
    user: String,
}

/// The longest id accepted, in bytes.
pub const MAX_ID: usize = 128;

impl Scope {
    /// A scope; both names are checked as ids are.
    pub fn new(tenant: impl Into<String>, user: impl Into<String>) -> Result<Self> {
        let (tenant, user) = (tenant.into(), user.into());
        check_id("tenant", &tenant)?;
        check_id("user", &user)?;
        Ok(Self { tenant, user })
    }

    /// The only user of a machine: tenant `local`, user `local`.
    pub fn local() -> Self {
        Self { tenant: "local".to_owned(), user: "local".to_owned() }
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The user.
    pub fn user(&self) -> &str {
        &self.user
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.user)
    }
}

/// Refuses what could not be a key everywhere: ids have 1 to 128 characters out of letters,
/// digits, `.`, `_`, `:`, `@` and `-`, and begin with a letter or a digit.
///
/// ```
/// use orlop_app::check_id;
/// assert!(check_id("session", "2026-11_notes.1").is_ok());
/// assert!(check_id("session", "../x").is_err());
/// ```
pub fn check_id(what: &str, id: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
    let begins = id.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if begins && id.len() <= MAX_ID && id.chars().all(fits) {
        return Ok(());
    }
    let shown: String = id.chars().take(40).flat_map(char::escape_debug).collect();
    let dots = if id.chars().count() > 40 { "..." } else { "" };
    Err(Error::bad_argument(format!(
        "\"{shown}{dots}\" cannot be a {what} id; use 1 to {MAX_ID} letters, digits, '.', '_', ':', '@' or '-', beginning with a letter or a digit"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // I-03
    fn ids_that_could_leave_their_place_are_refused() {
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "a b", "a\0", "é", "-x", "_x", "a\n"] {
            assert!(check_id("session", bad).is_err(), "{bad:?}");
        }
        assert!(check_id("session", &"a".repeat(MAX_ID)).is_ok());
        let long = check_id("session", &"a".repeat(10_000)).unwrap_err();
        assert!(long.message().len() < 250);
        assert!(Scope::new("acme", "ana@example").is_ok() && Scope::new("", "ana").is_err());
    }
}
