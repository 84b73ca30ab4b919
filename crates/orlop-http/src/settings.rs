//! What an operator sets: who may use the server, and how much of it.

use crate::identity::Right;
use orlop_app::Scope;
use orlop_app::config::AppConfig;
use orlop_core::{Error, Result};
use std::fmt;
use std::net::SocketAddr;

/// The settings of a server.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Who may use it. Without any, everybody who reaches it is the local user.
    pub tokens: Vec<Token>,
}

/// A bearer token: whom it stands for, and what that user may do. Debugging does not show it.
#[derive(Clone)]
pub struct Token {
    /// The token, or `sha256:` and the hash of it in hex.
    pub secret: String,
    /// Whom it stands for.
    pub scope: Scope,
    /// What may be done with it.
    pub rights: Vec<Right>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.scope)
    }
}

impl Settings {
    /// What `[server]` says.
    pub fn of(config: &AppConfig) -> Result<Self> {
        let section = config.server()?;
        let tokens = section.tokens.into_iter().map(|token| Token {
            secret: token.token,
            scope: token.scope,
            rights: vec![Right::Chat],
        });
        Ok(Self { tokens: tokens.collect() })
    }

    /// Refuses an address that others reach where nobody has to say who they are.
    pub fn check_address(&self, address: SocketAddr) -> Result<()> {
        if address.ip().to_canonical().is_loopback() || !self.tokens.is_empty() {
            return Ok(());
        }
        Err(Error::bad_argument(format!(
            "{address} can be reached by others, and there are no tokens; add [[server.tokens]] to the configuration, or listen on 127.0.0.1"
        )))
    }
}
