//! Whoever sent a request, with what they may use. The type says which right a route needs.

use crate::identity::{Identity, Right};
use crate::openai;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::route::{Input, Operation};
use crate::server::Server;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use orlop_app::{Application, Host, Wait};
use orlop_core::{CallContext, Map, TriggerSource, Value};
use serde_json::json;
use std::convert::Infallible;
use std::marker::PhantomData;

/// Somebody with the right `R`.
pub(crate) struct Caller<R> {
    pub(crate) server: Server,
    pub(crate) identity: Identity,
    pub(crate) request_id: RequestId,
    pub(crate) host: Host,
    right: PhantomData<R>,
}

/// A right as a type.
pub(crate) trait Needs: Send {
    /// The right.
    const RIGHT: Right;
}

/// To see what there is.
pub(crate) struct Read;

/// To send requests, and to change what belongs to the user.
pub(crate) struct Chat;

/// To see how the server is doing.
pub(crate) struct Admin;

impl Needs for Read {
    const RIGHT: Right = Right::Read;
}

impl Needs for Chat {
    const RIGHT: Right = Right::Chat;
}

impl Needs for Admin {
    const RIGHT: Right = Right::Admin;
}

impl<R: Needs> FromRequestParts<Server> for Caller<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Problem> {
        let identity = Identity::from_request_parts(parts, server).await?;
        identity.need(R::RIGHT)?;
        let request_id = RequestId::from_request_parts(parts, server).await?;
        let host = server.host(&identity);
        Ok(Self { server: server.clone(), identity, request_id, host, right: PhantomData })
    }
}

impl<R: Needs> Input for Caller<R> {
    fn describe(operation: &mut Operation<'_>) {
        operation.needs(R::RIGHT.as_str());
    }
}

impl<R> Caller<R> {
    /// The application; its hooks are told where the call comes from.
    pub(crate) fn app(&self) -> Application {
        self.app_telling(Map::new())
    }

    /// The same, with data of the client.
    pub(crate) fn app_telling(&self, data: Map) -> Application {
        self.host.app().called_with(self.context(data)).waiting(Wait::Briefly)
    }

    /// What hooks are told: `server`, `request_id`, and data of the client, which cannot stand in
    /// for anything that others own.
    pub(crate) fn context(&self, mut data: Map) -> CallContext {
        let key = openai::CONTEXT;
        if data.shift_remove(key).is_some() {
            tracing::warn!(target: "orlop::http", caller = "HTTP client", key, "context key is reserved; the caller's value is ignored");
        }
        self.server.context(&self.identity, &self.request_id).with_all(data)
    }

    /// Refuses overrides that say more than how a model answers, unless everything may be done.
    pub(crate) fn may_override(&self, overrides: Option<&Map>) -> Result<(), Problem> {
        self.identity.may_override(overrides)
    }

    /// Refuses metadata with such overrides in it.
    pub(crate) fn may_keep(&self, metadata: &Map) -> Result<(), Problem> {
        self.may_override(metadata.get("overrides").and_then(Value::as_object))
    }
}

/// What is told of the headers of a request.
pub(crate) struct ToldHeaders(pub(crate) Map);

impl FromRequestParts<Server> for ToldHeaders {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, Infallible> {
        Ok(Self(told_headers(&parts.headers)))
    }
}

impl Input for ToldHeaders {
    fn describe(_: &mut Operation<'_>) {}
}

/// What interceptors see of the headers; names in lower case, without what proves who asks.
pub(crate) fn told_headers(headers: &HeaderMap) -> Map {
    let secret = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];
    let told = headers.iter().filter(|(name, _)| !secret.contains(name));
    told.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.into())))
        .collect()
}

impl Identity {
    /// Refuses overrides that change what may be done or where anything goes: those are for the
    /// configuration, and for administrators.
    pub fn may_override(&self, overrides: Option<&Map>) -> Result<(), Problem> {
        let powerful = overrides.and_then(orlop_app::config::first_powerful);
        match powerful {
            Some(setting) if !self.may(Right::Admin) => Err(Problem::forbidden(format!(
                "the setting \"{setting}\" needs the right \"admin\" here; leave it out, or have it set in the configuration"
            ))),
            _ => Ok(()),
        }
    }
}

impl Server {
    /// What hooks are told of a request: the keys `server` and `request_id`.
    pub fn context(&self, identity: &Identity, request_id: &RequestId) -> CallContext {
        let told = json!({
            "surface": "http",
            "version": env!("CARGO_PKG_VERSION"),
            "tenant_id": identity.scope().tenant(),
            "user_id": identity.scope().user(),
            "right": identity.right().map(Right::as_str),
        });
        let context = CallContext::new("HTTP client")
            .from_source(TriggerSource::Server)
            .owning("server", told)
            .owning("request_id", request_id.as_str());
        match request_id.trace_parent() {
            Some(parent) => context.owning("trace_parent", parent),
            None => context,
        }
    }
}
