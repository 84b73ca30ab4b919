//! `orlop model pull`: brings models here and shows how far it is.

use crate::cli::{Pull, PullFor};
use crate::exit::{Failure, INTERRUPTED};
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_core::{Config, Error};
use orlop_providers::pull::{self, KNOWN, Known, Order, Progress, Pulled, Sources};
use orlop_providers::{HttpClient, HttpSettings, ollama};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

pub(super) async fn run(workplace: &Workplace, pull: Pull) -> Result<ExitCode, Failure> {
    let mut interrupts = Interrupts::new();
    let work = async {
        match pull.provider {
            PullFor::Local => for_orlop(workplace, &pull).await,
            PullFor::Ollama => for_ollama(workplace, &pull).await,
        }
    };
    tokio::select! {
        done = work => done,
        () = interrupts.next() => Err(Failure {
            code: INTERRUPTED,
            message: "stopped; run the command again to go on from here".to_owned(),
        }),
    }
}

/// Offers to bring the embedded model of an agent that has none yet, if somebody is there to ask.
pub(super) async fn offer(
    workplace: &Workplace,
    agent: Option<&str>,
    model: Option<&str>,
    yes: bool,
) -> Result<(), Failure> {
    let Some(known) = missing(workplace, agent, model).filter(|_| yes || somebody()) else {
        return Ok(());
    };
    let what = described(known);
    match yes {
        // Who said so beforehand still reads what comes, and from where.
        true => output::tell(&format!("bringing {what}")),
        false => {
            let question = format!("{what} is not here yet. Bring it now? [Y/n] ");
            if !matches!(output::ask(question).await.as_str(), "" | "y" | "yes") {
                return Ok(());
            }
        }
    }
    let order = Order { name: known.name.to_owned(), from: None, force: false };
    bring(workplace, &order, false).await.map(drop)
}

/// Whether [`offer`] would ask.
pub(super) fn is_offered(workplace: &Workplace, agent: Option<&str>, model: Option<&str>) -> bool {
    somebody() && missing(workplace, agent, model).is_some()
}

fn somebody() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// What a model is: how large, under which licence, and where it comes from.
fn described(known: &Known) -> String {
    let host = |url: &&'static str| url.split('/').nth(2);
    let hosts: Vec<&str> = known.urls.iter().filter_map(host).collect();
    let megabytes = known.bytes / 1_000_000;
    format!(
        "{} ({megabytes} MB, {}, with pip or from {})",
        known.about,
        known.licence,
        hosts.join(", ")
    )
}

/// The model an agent would run inside Orlop, if it can be brought and is not there.
pub(super) fn missing(
    workplace: &Workplace,
    agent: Option<&str>,
    model: Option<&str>,
) -> Option<&'static Known> {
    let agent = match agent {
        Some(agent) => agent.to_owned(),
        None => workplace.config.default_agent().ok()?,
    };
    let config = workplace.config.build_agent_config(&agent).ok()?;
    let name = model.or_else(|| config.text("model"))?;
    let known = KNOWN.iter().find(|known| known.name == name)?;
    let file = workplace.locations.home().join("models").join(format!("{name}.gguf"));
    (config.text("provider") == Some("local") && !file.exists()).then_some(known)
}

async fn for_orlop(workplace: &Workplace, order: &Pull) -> Result<ExitCode, Failure> {
    let Pull { name, from, force, json, .. } = order;
    let order = Order { name: name.clone(), from: from.clone(), force: *force };
    let pulled = bring(workplace, &order, *json).await?;
    let path = pulled.path.display().to_string();
    if *json {
        event(&json!({ "event": "done", "path": path, "bytes": pulled.bytes,
            "sha256": pulled.sha256, "already": pulled.already }))?;
    } else {
        let there = if pulled.already { "is there already" } else { "is here" };
        output::line(&format!("{name} {there}: {path}"))?;
        output::line(&format!("{} bytes, SHA-256 {}", pulled.bytes, pulled.sha256))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings a model to the folder of Orlop, and shows how far it is.
async fn bring(workplace: &Workplace, order: &Order, json: bool) -> Result<Pulled, Failure> {
    let folder = workplace.locations.home().join("models");
    let mut shown = Shown::new(json);
    let sources = Sources::default();
    let pulled = pull::pull(&sources, &folder, order, &mut |step| shown.show(step)).await;
    shown.end();
    Ok(pulled?)
}

async fn for_ollama(workplace: &Workplace, pull: &Pull) -> Result<ExitCode, Failure> {
    if pull.from.is_some() {
        return Err(Failure::usage("--from is not for Ollama, which brings its models itself"));
    }
    let config = ollama_config(workplace)?;
    let http = HttpClient::new(HttpSettings::default());
    let mut shown = Shown::new(pull.json);
    let done = ollama::pull(&http, &config, &pull.name, &mut |step| shown.show(step)).await;
    shown.end();
    done?;
    match pull.json {
        true => event(&json!({ "event": "done", "model": pull.name }))?,
        false => output::line(&format!("{} is here", pull.name))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The settings of the first agent that uses Ollama; else none, which means the usual address.
fn ollama_config(workplace: &Workplace) -> Result<Config, Error> {
    for agent in workplace.config.agents() {
        let config = workplace.config.build_agent_config(agent)?;
        if config.text("provider") == Some(ollama::NAME) {
            return Ok(config);
        }
    }
    Ok(Config::empty())
}

fn event(event: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{event}")?;
    out.flush()
}

/// Progress as it is looked at: a bar on a terminal, a line for every tenth elsewhere, or JSON.
struct Shown {
    how: How,
    /// What was shown last, in percent; JSON and bars are spared what nobody would see.
    percent: Option<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Bar,
    Lines,
    Json,
}

/// How wide a bar is.
const WIDTH: u64 = 30;

impl Shown {
    fn new(json: bool) -> Self {
        let how = match json {
            true => How::Json,
            false if std::io::stderr().is_terminal() => How::Bar,
            false => How::Lines,
        };
        Self { how, percent: None }
    }

    fn show(&mut self, step: Progress<'_>) {
        match step {
            Progress::Note(words) => {
                self.end();
                match self.how {
                    How::Json => {
                        let _ = event(&json!({ "event": "note", "text": words }));
                    }
                    _ => output::tell(&orlop_app::ui::plain_line(words)),
                }
            }
            Progress::Bytes { done, total } => self.show_bytes(done, total),
        }
    }

    fn show_bytes(&mut self, done: u64, total: Option<u64>) {
        let percent = match total {
            Some(total) => done.saturating_mul(100) / total.max(1),
            // Without an end in sight, one step is a megabyte.
            None => done / 1_000_000,
        };
        let step = if self.how == How::Lines { percent / 10 * 10 } else { percent };
        if self.percent.is_some_and(|last| step <= last) {
            return;
        }
        self.percent = Some(step);
        match self.how {
            How::Json => {
                let _ = event(&json!({ "event": "progress", "done": done, "total": total }));
            }
            How::Lines => output::tell(&said(done, total)),
            How::Bar => {
                let filled = (percent.min(100) * WIDTH / 100) as usize;
                let rest = WIDTH as usize - filled;
                let bar =
                    format!("[{}{}] {}", "=".repeat(filled), " ".repeat(rest), said(done, total));
                let _ = write!(std::io::stderr().lock(), "\r{bar}");
            }
        }
    }

    /// Ends the line of a bar.
    fn end(&mut self) {
        if self.how == How::Bar && self.percent.is_some() {
            output::tell("");
        }
        self.percent = None;
    }
}

fn said(done: u64, total: Option<u64>) -> String {
    let megabytes = |bytes: u64| format!("{}.{}", bytes / 1_000_000, bytes / 100_000 % 10);
    match total {
        Some(total) => {
            let percent = done.saturating_mul(100) / total.max(1);
            format!("{percent:3} %  {} of {} MB", megabytes(done), megabytes(total))
        }
        None => format!("{} MB", megabytes(done)),
    }
}
