//! `[server]`: where the HTTP host listens, who may use it, and how much of it.

use super::app_config::AppConfig;
use super::sections::texts;
use crate::Scope;
use orlop_core::{Error, Map, Result, Value};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// `[server]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Host and port.
    pub listen: String,
    /// Who may use it.
    pub tokens: Vec<ServerToken>,
    /// Whose signed tokens are accepted.
    pub jwt: Option<ServerJwt>,
    /// Further names it is reached by.
    pub hosts: Vec<String>,
    /// Pages elsewhere that may use it.
    pub origins: Vec<String>,
    /// Whether users may make links by which others read a session.
    pub share_links: bool,
    /// How much of it may be used.
    pub limits: ServerLimits,
}

/// A bearer token and whom it stands for. Debugging does not show the token.
#[derive(Clone, PartialEq)]
pub struct ServerToken {
    /// The token, or `sha256:` and the hash of it in hex.
    pub token: String,
    /// Whom it stands for.
    pub scope: Scope,
    /// What may be done with it: `read`, `chat`, `admin`.
    pub scopes: Vec<String>,
}

/// `[server.jwt]`: tokens that somebody else signs. Debugging does not show the secret.
#[derive(Clone, PartialEq)]
pub struct ServerJwt {
    /// The secret that signer and server share.
    pub secret: Option<String>,
    /// A file with the public keys of the signer, a JSON Web Key Set.
    pub jwks: Option<PathBuf>,
    /// Who has to have signed them.
    pub issuer: Option<String>,
    /// Whom they have to be meant for.
    pub audience: Option<String>,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// The claim that names the user.
    pub user_claim: String,
    /// The claim that names what may be done.
    pub scope_claim: String,
}

/// `[server.limits]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLimits {
    /// The largest body of a request, in bytes; attachments have a limit of their own.
    pub body_bytes: usize,
    /// Turns that run at once for one tenant.
    pub turns_per_tenant: usize,
    /// Requests a minute with one token.
    pub requests_per_minute: u32,
    /// Event streams open at once for one tenant.
    pub streams_per_tenant: usize,
    /// Connections open at once.
    pub connections: usize,
    /// How long a client may take to send what it has begun.
    pub client_timeout: Duration,
    /// How long a request with `queue` waits for a busy session.
    pub queue_timeout: Duration,
    /// How long turns have to reach a checkpoint when the server ends.
    pub shutdown_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self::of(&Map::new())
    }
}

impl ServerLimits {
    fn of(said: &Map) -> Self {
        let number = |key: &str| {
            let default = super::known::server_limit(key);
            said.get(key).and_then(Value::as_u64).unwrap_or(default)
        };
        let size = |key: &str| usize::try_from(number(key)).unwrap_or(usize::MAX);
        let seconds = |key: &str| Duration::from_secs(number(key));
        Self {
            body_bytes: size("body_bytes"),
            turns_per_tenant: size("turns_per_tenant"),
            requests_per_minute: u32::try_from(number("requests_per_minute")).unwrap_or(u32::MAX),
            streams_per_tenant: size("streams_per_tenant"),
            connections: size("connections"),
            client_timeout: seconds("client_timeout_s"),
            queue_timeout: seconds("queue_timeout_s"),
            shutdown_timeout: seconds("shutdown_timeout_s"),
        }
    }
}

impl AppConfig {
    /// `[server]`.
    pub fn server(&self) -> Result<Server> {
        let list = |key: &str| {
            Ok::<_, Error>(self.setting("server", key)?.as_ref().map(texts).unwrap_or_default())
        };
        let tokens = self.setting("server", "tokens")?.unwrap_or_default();
        let tokens = tokens.as_array().into_iter().flatten().enumerate();
        let tokens = tokens.map(|(index, token)| token_of(index, token));
        let limits = self.setting("server", "limits")?;
        let limits = limits.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Server {
            listen: self.text_setting("server", "listen")?,
            tokens: tokens.collect::<Result<_>>()?,
            jwt: self.setting("server", "jwt")?.map(|jwt| self.jwt_of(&jwt)).transpose()?,
            hosts: list("hosts")?,
            origins: list("origins")?,
            share_links: self.setting("server", "share_links")?.is_some_and(|on| on == true),
            limits: ServerLimits::of(&limits),
        })
    }

    fn jwt_of(&self, jwt: &Value) -> Result<ServerJwt> {
        let text = |key: &str| {
            let text = jwt.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let node = self.tree.get("server").and_then(super::tree::Node::table);
        let node = node.and_then(|server| server.get("jwt")).and_then(super::tree::Node::table);
        let node = node.and_then(|jwt| jwt.get("jwks"));
        let jwks = node.zip(text("jwks")).map(|(node, text)| self.path_of(node, &text));
        let secret = text("secret");
        if secret.is_some() == jwks.is_some() {
            return Err(Error::bad_argument(
                "server.jwt has to have either a secret or jwks, a file with keys; keep one of them",
            ));
        }
        let named = |key: &str, default: &str| text(key).unwrap_or_else(|| default.to_owned());
        Ok(ServerJwt {
            secret,
            jwks,
            issuer: text("issuer"),
            audience: text("audience"),
            tenant_claim: named("tenant_claim", "tenant"),
            user_claim: named("user_claim", "sub"),
            scope_claim: named("scope_claim", "scope"),
        })
    }
}

fn token_of(index: usize, token: &Value) -> Result<ServerToken> {
    let text = |key: &str| {
        let text = token.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| {
            Error::bad_argument(format!("server.tokens[{index}].{key} is missing; add it"))
        })
    };
    let scopes = token.get("scopes").map(texts);
    Ok(ServerToken {
        token: text("token")?.to_owned(),
        scope: Scope::new(text("tenant")?, text("user")?)?,
        scopes: scopes.unwrap_or_else(|| vec!["read".to_owned(), "chat".to_owned()]),
    })
}

impl fmt::Debug for ServerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerToken({})", self.scope)
    }
}

impl fmt::Debug for ServerJwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let issuer = self.issuer.as_deref().unwrap_or("anybody");
        write!(f, "ServerJwt(signed by {issuer})")
    }
}
