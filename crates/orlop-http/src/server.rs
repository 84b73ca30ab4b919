//! The state of all routes, and the router made of them.

use crate::identity::{Identity, Jwt, Tokens, bearer};
use crate::limits::{Counts, Rates, Slot};
use crate::line::Line;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::route::{Routes, without_security};
use crate::settings::Settings;
use crate::{api, guard, openai, page, request_id};
use axum::Router;
use axum::http::{HeaderValue, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use futures::future::{BoxFuture, FutureExt};
use orlop_app::config::ServerLimits;
use orlop_app::{Application, Host};
use orlop_core::{Error, Result};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

/// The host behind HTTP. Cloning is cheap.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    host: Host,
    tokens: Tokens,
    jwt: Option<Jwt>,
    settings: Settings,
    document: Value,
    metrics: Metrics,
    turns: Counts,
    streams: Counts,
    rates: Rates,
    line: Line,
    connections: AtomicUsize,
    phase: watch::Sender<Phase>,
}

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It takes requests.
    Open,
    /// It takes no new turns, and those that run come to a checkpoint.
    Draining,
    /// Streams end, too.
    Closing,
}

impl Server {
    /// A server over an open front door.
    pub fn new(host: Host, settings: Settings) -> Result<Self> {
        Ok(Self(Arc::new(Inner {
            tokens: Tokens::new(&settings.tokens)?,
            jwt: settings.jwt.as_ref().map(Jwt::new).transpose()?,
            document: match settings.is_open() {
                true => without_security(routes().finish().1),
                false => routes().finish().1,
            },
            metrics: settings.metrics.clone(),
            turns: Counts::default(),
            streams: Counts::default(),
            rates: Rates::new(settings.limits.requests_per_minute),
            line: Line::default(),
            connections: AtomicUsize::new(0),
            phase: watch::Sender::new(Phase::Open),
            settings,
            host,
        })))
    }

    /// The front door, for whoever sent a request.
    pub fn host(&self, identity: &Identity) -> Host {
        self.0.host.for_scope(identity.scope().clone())
    }

    /// Every route.
    pub fn router(&self) -> Router {
        routes()
            .finish()
            .0
            .merge(page::routes())
            .fallback(|uri: Uri| async move {
                let path: String = uri.path().chars().take(80).collect();
                Problem::from(Error::not_found(format!(
                    "there is nothing at {path}; /openapi.json lists every route"
                )))
            })
            .method_not_allowed_fallback(|| async {
                Problem::new(
                    axum::http::StatusCode::METHOD_NOT_ALLOWED,
                    "method_not_allowed",
                    "this route does not take this method; /openapi.json says which it takes",
                )
            })
            .layer(from_fn_with_state(self.clone(), guard::check))
            .layer(from_fn_with_state(self.clone(), guard::log))
            .layer(from_fn(request_id::assign))
            .layer(from_fn(openai::in_its_shape))
            .with_state(self.clone())
    }

    /// Whose request it is, by its `Authorization` header.
    pub(crate) fn identify(&self, header: Option<&[u8]>) -> Result<Identity, Problem> {
        if self.is_open() {
            return Ok(Identity::local());
        }
        let Some(header) = header else {
            return Err(Problem::unauthorized(
                "this server needs a token; send it as `Authorization: Bearer TOKEN`",
            ));
        };
        let unknown = "the token is not known here; check it, or ask who runs the server";
        let token = bearer(header).ok_or_else(|| Problem::unauthorized(unknown))?;
        let found = match (self.0.tokens.find(token), &self.0.jwt) {
            (Some(identity), _) => Ok(identity.clone()),
            (None, Some(jwt)) => jwt.identify(token),
            (None, None) => Err(Problem::unauthorized(unknown)),
        };
        let identity = found?;
        if let Some(who) = identity.rate() {
            self.0.rates.count(who)?;
        }
        Ok(identity)
    }

    /// Whether nobody has to say who they are.
    pub(crate) fn is_open(&self) -> bool {
        self.0.settings.is_open()
    }

    /// Whether a `Host` header names this machine, or a name of the configuration.
    pub(crate) fn is_named(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let is_loopback = name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let named = |other: &String| other.eq_ignore_ascii_case(name);
        is_loopback
            || name.eq_ignore_ascii_case("localhost")
            || self.0.settings.hosts.iter().any(named)
    }

    /// Whether a page of this origin may use the server.
    pub(crate) fn is_welcome(&self, origin: &HeaderValue) -> bool {
        self.0.settings.origins.iter().any(|known| known.as_bytes() == origin.as_bytes())
    }

    /// Who may use it, in a sentence for whoever started it.
    pub fn admission(&self) -> String {
        match self.is_open() {
            true => "programs of this machine need no token; [[server.tokens]] in the configuration asks for one".to_owned(),
            false => "send a token of [[server.tokens]] or [server.jwt] as `Authorization: Bearer TOKEN`".to_owned(),
        }
    }

    /// Whether users may make links by which others read a session.
    pub(crate) fn shares(&self) -> bool {
        self.0.settings.share_links
    }

    /// Counts a request of somebody who has no token; refused if there were too many.
    pub(crate) fn count(&self, who: &Arc<str>) -> Result<(), Problem> {
        self.0.rates.count(who)
    }

    pub(crate) fn limits(&self) -> &ServerLimits {
        &self.0.settings.limits
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn document(&self) -> &Value {
        &self.0.document
    }

    pub(crate) fn max_asset_bytes(&self) -> u64 {
        self.0.settings.max_asset_bytes
    }

    pub(crate) fn asset_types(&self) -> Option<&[String]> {
        self.0.settings.asset_types.as_deref()
    }

    /// The application, for nobody in particular.
    pub(crate) fn app(&self) -> &Application {
        self.0.host.app()
    }

    /// Room for one more turn of a tenant, until it is dropped.
    pub fn take_turn(&self, identity: &Identity) -> Result<TurnSlot, Problem> {
        if self.phase() != Phase::Open {
            return Err(ending());
        }
        let (tenant, most) = (identity.scope().tenant(), self.limits().turns_per_tenant);
        self.0.turns.take(tenant, most).map(TurnSlot).ok_or_else(|| {
            Problem::too_many(
                format!("{most} turns run already; wait for one to end, or raise server.limits.turns_per_tenant"),
                1,
            )
        })
    }

    /// The line of those that want to begin a turn.
    pub(crate) fn line(&self) -> &Line {
        &self.0.line
    }

    /// Room for one more event stream of a tenant, until it is dropped.
    pub(crate) fn take_stream(&self, identity: &Identity) -> Result<Slot, Problem> {
        let (tenant, most) = (identity.scope().tenant(), self.limits().streams_per_tenant);
        self.0.streams.take(tenant, most).ok_or_else(|| {
            Problem::too_many(
                format!("{most} event streams are open already; close one, or raise server.limits.streams_per_tenant"),
                5,
            )
        })
    }

    /// All numbers in the text format of Prometheus.
    pub(crate) fn metrics_text(&self) -> String {
        let (streams, connections) = (self.0.streams.total(), &self.0.connections);
        let connections = connections.load(Ordering::Relaxed);
        self.0.metrics.text(self.app().under_way(), streams, connections)
    }

    /// How many connections are open, to be counted by whoever opens them.
    pub(crate) fn connections(&self) -> &AtomicUsize {
        &self.0.connections
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.0.phase.borrow()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.0.phase.send_replace(phase);
    }

    /// Ends when streams have to end.
    pub(crate) fn closing(&self) -> BoxFuture<'static, ()> {
        let mut phase = self.0.phase.subscribe();
        async move {
            let _ = phase.wait_for(|phase| *phase == Phase::Closing).await;
        }
        .boxed()
    }

    pub(crate) async fn stop(&self) {
        self.0.host.clone().stop().await;
    }
}

/// Room for a turn, until it is dropped.
pub struct TurnSlot(#[expect(dead_code, reason = "held for its drop")] Slot);

/// Every route that is documented.
fn routes() -> Routes {
    openai::routes(api::routes())
}

/// The answer to those who come too late.
pub(crate) fn ending() -> Problem {
    Error::unavailable("the server is ending and takes no more requests; try again in a while")
        .into()
}
