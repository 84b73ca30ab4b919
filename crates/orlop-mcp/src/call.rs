//! One call of a tool while it runs: signs of life on the way, one report at the end. Dropping it
//! tells the server that nobody waits any more.

use crate::connection::Connection;
use crate::handler::Listening;
use crate::report;
use crate::server::Server;
use crate::words;
use orlop_core::types::{ToolPart, ToolReport};
use orlop_core::{Map, Result};
use rmcp::model::{ProgressNotificationParam, ServerResult};
use rmcp::service::{RequestHandle, RoleClient, ServiceError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How often a person is told how far a call is, at most.
const GAP: Duration = Duration::from_millis(100);

/// A call that is under way.
pub(crate) struct Call {
    server: Arc<Server>,
    connection: Arc<Connection>,
    /// Nothing once it was answered.
    handle: Option<RequestHandle<RoleClient>>,
    listening: Listening,
    patience: Duration,
    deadline: Instant,
    /// Until then nobody wants to hear how far it is.
    quiet: Instant,
}

impl Call {
    pub(crate) async fn begin(server: Arc<Server>, tool: &str, arguments: Map) -> Result<Self> {
        let connection = server.connect().await?;
        let called = connection.call(tool, arguments).await;
        let (handle, listening) = called.map_err(|error| {
            server.failure(&format!("could not be called: {}", error.message()))
        })?;
        let (patience, now) = (server.patience(), Instant::now());
        Ok(Self {
            server,
            connection,
            handle: Some(handle),
            listening,
            patience,
            deadline: now + patience,
            quiet: now,
        })
    }

    /// The next part; nothing after the report.
    pub(crate) async fn next(mut self) -> (ToolPart, Option<Self>) {
        let name = self.server.name().to_owned();
        let failed = |why: &str| ToolReport::failed(format!("MCP server \"{name}\" failed: {why}"));
        let report = match self.event().await {
            Event::Progress(words) => return (ToolPart::Part(words.into()), Some(self)),
            Event::Answer(Ok(answer)) => {
                report::of_answer(*answer).unwrap_or_else(|error| failed(error.message()))
            }
            Event::Answer(Err(error)) => failed(self.connection.failed(error).await.message()),
            Event::Late => failed(&format!(
                "no answer and no sign of life within {} s; the call was cancelled, and whether it had an effect is not known",
                self.patience.as_secs_f32()
            )),
        };
        (ToolPart::Report(report), None)
    }

    async fn event(&mut self) -> Event {
        let Some(handle) = &mut self.handle else { return Event::Late };
        let heard = &mut self.listening.heard;
        let progress = async {
            sleep_until(self.quiet).await;
            match heard.changed().await {
                Ok(()) => heard.borrow_and_update().as_ref().map(progress_words),
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            words = progress => {
                let now = Instant::now();
                self.quiet = now + GAP;
                self.deadline = now + self.patience;
                Event::Progress(words.unwrap_or_default())
            }
            answer = &mut handle.rx => {
                self.handle = None;
                Event::Answer(answer.unwrap_or(Err(ServiceError::TransportClosed)).map(Box::new))
            }
            () = sleep_until(self.deadline) => Event::Late,
        }
    }
}

/// What happens to a call.
enum Event {
    /// It goes on.
    Progress(String),
    Answer(Result<Box<ServerResult>, ServiceError>),
    /// Nothing has happened for too long.
    Late,
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let connection = self.connection.clone();
            runtime.spawn(async move {
                let _ = handle.cancel(Some("nobody waits for it any more".to_owned())).await;
                drop(connection);
            });
        }
    }
}

/// How far a call is, for people.
fn progress_words(said: &ProgressNotificationParam) -> String {
    let message = said.message.as_deref().map(|text| words::line(text, 300)).unwrap_or_default();
    let count = match said.total {
        Some(total) => format!("{} of {total}", said.progress),
        None => said.progress.to_string(),
    };
    match message.is_empty() {
        true => count,
        false => format!("{message} ({count})"),
    }
}
