//! Who asks, and what they may do. Identity comes from the request's token, never from its body.

mod jwt;
mod tokens;

pub(crate) use jwt::Jwt;
pub(crate) use tokens::Tokens;

use crate::problem::Problem;
use crate::server::Server;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use orlop_app::Scope;
use std::sync::Arc;

/// What a token allows. Each right includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// To see what there is.
    Read,
    /// To send requests, and to change what belongs to the user.
    Chat,
    /// To see how the server is doing.
    Admin,
}

impl Right {
    /// The right as tokens and configuration name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Chat => "chat",
            Self::Admin => "admin",
        }
    }

    /// The right of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Read, Self::Chat, Self::Admin].into_iter().find(|right| right.as_str() == name)
    }
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    scope: Scope,
    right: Option<Right>,
    /// What its requests are counted as.
    rate: Option<Arc<str>>,
}

impl Identity {
    pub(crate) fn new(scope: Scope, rights: &[Right]) -> Self {
        Self { scope, right: rights.iter().copied().max(), rate: None }
    }

    /// The same, with its requests counted.
    pub(crate) fn counted_as(mut self, rate: String) -> Self {
        self.rate = Some(rate.into());
        self
    }

    pub(crate) fn rate(&self) -> Option<&Arc<str>> {
        self.rate.as_ref()
    }

    /// The greatest right it has.
    pub fn right(&self) -> Option<Right> {
        self.right
    }

    /// The only user of a machine, who may do everything.
    pub(crate) fn local() -> Self {
        Self::new(Scope::local(), &[Right::Admin])
    }

    /// Whom the request acts for.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether this may be done.
    pub fn may(&self, right: Right) -> bool {
        self.right.is_some_and(|held| held >= right)
    }

    /// Refuses what may not be done.
    pub fn need(&self, right: Right) -> Result<(), Problem> {
        match self.may(right) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!(
                "this needs the right \"{}\", which the token does not have; use another token",
                right.as_str()
            ))),
        }
    }
}

impl FromRequestParts<Server> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Problem> {
        if let Some(known) = parts.extensions.get::<Identity>() {
            return Ok(known.clone());
        }
        let given = parts.headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let identity = server.identify(given)?;
        parts.extensions.insert(identity.clone());
        Ok(identity)
    }
}

/// The token of an `Authorization` header.
pub(crate) fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}
