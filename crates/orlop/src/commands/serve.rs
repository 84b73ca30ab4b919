//! `orlop serve`: the HTTP host, until it is told to end.

use crate::cli::Serve;
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::ui::plain_line;
use orlop_app::{Recovery, Watcher, Watchers};
use orlop_core::Error;
use orlop_http::{Server, Settings};
use orlop_telemetry::Telemetry;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::lookup_host;

pub(super) async fn run(workplace: Workplace, serve: Serve) -> Result<ExitCode, Failure> {
    let settings = Settings::of(&workplace.config).map_err(|error| Failure::config(&error))?;
    let section = workplace.config.server().map_err(|error| Failure::config(&error))?;
    let address = serve.listen.unwrap_or(section.listen);
    let cannot = |error: std::io::Error| {
        Error::unavailable(format!(
            "cannot listen on {}: {error}; choose another address with --listen",
            plain_line(&address)
        ))
    };
    // An address that must not be listened on is not, not even for a moment.
    let found: Vec<SocketAddr> = lookup_host(&address).await.map_err(cannot)?.collect();
    for address in &found {
        settings.check_address(*address).map_err(|error| Failure::config(&error))?;
    }
    let listener = orlop_http::listen(&found).map_err(cannot)?;
    let local = listener.local_addr()?;
    for left in &workplace.left_out {
        let (name, reason) = (plain_line(&left.name), plain_line(&left.reason));
        output::tell(&format!("orlop: plugin \"{name}\" is left out: {reason}"));
    }
    let mut interrupts = Interrupts::new();
    let section = workplace.config.telemetry().map_err(|error| Failure::config(&error))?;
    let telemetry = Telemetry::of(&section).map_err(|error| Failure::config(&error))?.map(Arc::new);
    let mut watchers: Vec<Arc<dyn Watcher>> = vec![Arc::new(settings.metrics.clone())];
    watchers.extend(telemetry.clone().map(|telemetry| telemetry as Arc<dyn Watcher>));
    let host = workplace.watched_host(Arc::new(Watchers(watchers))).await?;
    let recovered = host.app().recover(Recovery::Resume).await?;
    if recovered > 0 {
        output::tell(&format!("orlop: {recovered} requests that were cut off go on"));
    }
    let server = Server::new(host, settings)?;
    output::tell(&format!("orlop: listening on http://{local}; {}", server.admission()));
    let served = orlop_http::serve(server, listener, async move { interrupts.next().await }).await;
    workplace.close().await;
    if let Some(telemetry) = telemetry {
        telemetry.close().await;
    }
    served?;
    Ok(ExitCode::SUCCESS)
}
