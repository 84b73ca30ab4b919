//! What an operator sets: who may use the server, and how much of it.

use crate::identity::Right;
use crate::metrics::Metrics;
use orlop_app::Scope;
use orlop_app::config::{AppConfig, ServerJwt, ServerLimits};
use orlop_core::{Error, Result};
use std::fmt;
use std::net::SocketAddr;

/// The settings of a server.
#[derive(Clone)]
pub struct Settings {
    /// Who may use it. Without any, and without `jwt`, everybody who reaches it is the local user.
    pub tokens: Vec<Token>,
    /// Whose signed tokens are accepted.
    pub jwt: Option<ServerJwt>,
    /// Further names that it is reached by where nobody has to say who they are.
    pub hosts: Vec<String>,
    /// Pages elsewhere that may use it.
    pub origins: Vec<String>,
    /// Whether users may make links by which others read a session.
    pub share_links: bool,
    /// How much of it may be used.
    pub limits: ServerLimits,
    /// The largest attachment.
    pub max_asset_bytes: u64,
    /// The media types of attachments; all if there is none.
    pub asset_types: Option<Vec<String>>,
    /// What counts; the same one watches the application.
    pub metrics: Metrics,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            jwt: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            share_links: false,
            limits: ServerLimits::default(),
            max_asset_bytes: orlop_app::assets::MAX_BYTES,
            asset_types: None,
            metrics: Metrics::default(),
        }
    }
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
    /// What `[server]` and `[assets]` say.
    pub fn of(config: &AppConfig) -> Result<Self> {
        let (section, assets) = (config.server()?, config.assets()?);
        let tokens = section.tokens.into_iter().map(|token| {
            let rights = token.scopes.iter().map(|name| right_named(name));
            Ok(Token {
                secret: token.token,
                scope: token.scope,
                rights: rights.collect::<Result<_>>()?,
            })
        });
        Ok(Self {
            tokens: tokens.collect::<Result<_>>()?,
            jwt: section.jwt,
            hosts: section.hosts,
            origins: section.origins,
            share_links: section.share_links,
            limits: section.limits,
            max_asset_bytes: assets.max_bytes,
            asset_types: assets.types,
            metrics: Metrics::default(),
        })
    }

    /// Whether nobody has to say who they are.
    pub fn is_open(&self) -> bool {
        self.tokens.is_empty() && self.jwt.is_none()
    }

    /// Refuses an address that others reach where nobody has to say who they are.
    pub fn check_address(&self, address: SocketAddr) -> Result<()> {
        if address.ip().to_canonical().is_loopback() || !self.is_open() {
            return Ok(());
        }
        Err(Error::bad_argument(format!(
            "{address} can be reached by others, and nobody would need a token; add [[server.tokens]] to the configuration, or listen on 127.0.0.1"
        )))
    }
}

fn right_named(name: &str) -> Result<Right> {
    Right::named(name).ok_or_else(|| {
        Error::bad_argument(format!(
            "server.tokens: there is no scope \"{name}\"; use read, chat or admin"
        ))
    })
}
