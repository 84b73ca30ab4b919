//! Traces for OpenTelemetry. What ran in a request is known from its own trace; here it becomes
//! spans with the names of the GenAI conventions, and is sent to a collector (OTLP over HTTP,
//! protobuf).
//!
//! Nothing that people or models said is sent. A collector that is slow or gone costs spans and
//! never holds a turn up: they wait in a bounded queue, and what does not fit is dropped.

mod export;
mod spans;

use export::Exporter;
use orlop_app::config::TelemetrySection;
use orlop_app::{Application, Event, RanIn, Traced, Watcher};
use orlop_core::{Error, Result};

/// Sends what runs in this process to a collector.
pub struct Telemetry {
    exporter: Exporter,
    hooks: bool,
}

impl Telemetry {
    /// As a configuration says; `None` if it names no collector. Must be called within a Tokio
    /// runtime.
    pub fn of(section: &TelemetrySection) -> Result<Option<Self>> {
        let Some(endpoint) = &section.otlp_endpoint else { return Ok(None) };
        let exporter = Exporter::new(endpoint, &section.headers, &section.service_name)?;
        Ok(Some(Self { exporter, hooks: section.hooks }))
    }

    /// Sends what still waits, but not for ever.
    pub async fn close(&self) {
        self.exporter.close().await;
    }

    /// How many spans did not reach the collector.
    pub fn lost(&self) -> u64 {
        self.exporter.lost()
    }
}

impl Watcher for Telemetry {
    fn happened(&self, _: &Application, _: &Event) {}

    fn hook_failed(&self, _: &str, _: &str, _: &Error) {}

    fn ran(&self, request: &RanIn<'_>, trace: &[Traced]) {
        self.exporter.send(spans::of(request, trace, self.hooks));
    }
}
