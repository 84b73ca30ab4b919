//! What commands print: tables for people, JSON for programs, logs on stderr.

use crate::cli::LogFormat;
use crate::server_log::ServerLog;
use serde::Serialize;
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::registry::LookupSpan;

/// Logs of a server, on stderr; whoever calls keeps what this gives to the end.
pub(crate) fn start_server_log(verbose: u8, format: LogFormat) -> ServerLog {
    let log = ServerLog::to(std::io::stderr());
    let lines = log.lines();
    let writer = BoxMakeWriter::new(move || lines.clone());
    log_to(writer, named_level().unwrap_or(level(verbose + 1)), format);
    log
}

/// Logs on stderr: errors of Orlop itself by default, more with each `-v`; `ORLOP_LOG` sets the
/// level by name.
///
/// While a chat has the screen, the log goes to `file` instead, or nowhere if there is none.
pub(crate) fn start_logging(verbose: u8, file: Option<Option<std::fs::File>>) {
    let named = named_level();
    let level = named.unwrap_or(level(verbose));
    if verbose == 0 && named.is_none() && file.is_none() {
        let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(false);
        let log = log.with_writer(std::io::stderr).event_format(Told).finish();
        let _ = tracing::subscriber::set_global_default(log);
        return;
    }
    let writer = match file {
        None => BoxMakeWriter::new(std::io::stderr),
        Some(Some(file)) => BoxMakeWriter::new(std::sync::Mutex::new(file)),
        Some(None) => BoxMakeWriter::new(std::io::sink),
    };
    log_to(writer, level, LogFormat::Text);
}

fn named_level() -> Option<tracing::Level> {
    std::env::var("ORLOP_LOG").ok().and_then(|level| level.parse().ok())
}

fn level(verbose: u8) -> tracing::Level {
    match verbose {
        0 => tracing::Level::ERROR,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    }
}

fn log_to(writer: BoxMakeWriter, level: tracing::Level, format: LogFormat) {
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(writer).with_ansi(false);
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(log.finish()),
        LogFormat::Json => {
            let log = log.json().flatten_event(true).with_span_list(false);
            tracing::subscriber::set_global_default(log.finish())
        }
    };
}

/// A line of the log as people are told things who did not ask for a log.
struct Told;

impl<S, N> FormatEvent<S, N> for Told
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> std::fmt::Result {
        write!(writer, "orlop: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Whether people look at stderr in colour.
pub(crate) fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}

/// Tells people something on stderr. That nobody can be told is no reason to fail.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Asks the person at the terminal, and gives the answer in lower case.
pub(crate) async fn ask(question: String) -> String {
    ask_line(question).await.to_lowercase()
}

/// Asks on stderr and gives the line that was typed, without the space around it.
pub(crate) async fn ask_line(question: String) -> String {
    let answer = tokio::task::spawn_blocking(move || {
        let mut screen = std::io::stderr().lock();
        let _ = write!(screen, "{question}");
        let _ = screen.flush();
        drop(screen);
        let mut line = String::new();
        let _ = std::io::stdin().lock().read_line(&mut line);
        line
    });
    answer.await.unwrap_or_default().trim().to_owned()
}

/// Prints a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a line. Control characters of outside texts are made harmless before.
pub(crate) fn line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", orlop_app::ui::plain_text(text))?;
    out.flush()
}

/// Prints rows in columns, with a header.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> std::io::Result<ExitCode> {
    let clean: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| orlop_app::ui::plain_line(cell)).collect())
        .collect();
    let width = |column: usize| {
        let cells = clean.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(header[column].chars().count())
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut out = std::io::stdout().lock();
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    for row in std::iter::once(&header).chain(&clean) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let pad = width.saturating_sub(cell.chars().count()) + 2;
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', pad));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
