//! `orlop run`: one turn. The answer goes to stdout; progress goes to stderr if people look at it.

use super::question;
use crate::cli::{Output, Run};
use crate::exit::{FAILED, Failure, INTERRUPTED};
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::assets::Upload;
use orlop_app::config::resolve_request_config;
use orlop_app::store::ListQuery;
use orlop_app::ui::{plain_line, plain_text};
use orlop_app::{
    Application, Approval, Chat, ChatRequest, Event, EventKind, Host, Recovery, error_of,
};
use orlop_core::{
    CallContext, Config, Error, Map, Message, OUTPUT, OutputSchema, Role, Session, Value, is_paused,
};
use serde_json::json;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// The longest input read from a pipe.
const MAX_INPUT: u64 = 16 * 1024 * 1024;

pub(super) async fn run(workplace: Workplace, run: Run) -> Result<ExitCode, Failure> {
    let text = prompt(&run)?;
    let mut interrupts = Interrupts::new();
    for left in &workplace.left_out {
        let (name, reason) = (plain_line(&left.name), plain_line(&left.reason));
        output::tell(&format!("orlop: plugin \"{name}\" is left out: {reason}"));
    }
    let host = workplace.host().await?;
    if let (Some(notice), true) = (&workplace.notice, std::io::stderr().is_terminal()) {
        output::tell(&plain_line(notice));
    }
    let (agent, model) = (run.agent.as_deref(), run.model.as_deref());
    let offer = super::model::offer(&workplace, agent, model, run.yes);
    tokio::select! {
        offered = offer => offered?,
        () = interrupts.next() => Interrupts::leave(),
    }
    let ended = ask(&host, &run, text, &mut interrupts).await;
    let stopped = async {
        host.stop().await;
        workplace.close().await;
    };
    tokio::select! {
        () = stopped => ended,
        () = interrupts.next() => Interrupts::leave(),
    }
}

async fn ask(
    host: &Host,
    run: &Run,
    text: String,
    interrupts: &mut Interrupts,
) -> Result<ExitCode, Failure> {
    let app = host.app();
    let begin = async {
        app.recover_own(Recovery::Settle).await?;
        let request = request(app, run, text).await?;
        let files = request.attachments.clone();
        Ok::<_, Failure>((host.chat(request).await?, files))
    };
    // It may take a while, for instance while another process is busy with the session.
    let (chat, files) = tokio::select! {
        begun = begin => begun?,
        () = interrupts.next() => Interrupts::leave(),
    };
    let ended = follow(app, chat, &mut Printer::new(run.output), interrupts).await;
    if run.ephemeral || run.flags.dry_run {
        for file in &files {
            app.delete_asset(file).await?;
        }
    }
    ended
}

async fn request(app: &Application, run: &Run, text: String) -> Result<ChatRequest, Failure> {
    // In a script the text may come from anywhere.
    if text.starts_with('!') && !run.yes && !question::is_attended() {
        return Err(Failure::usage(
            "a text that begins with ! is a command, and runs at a terminal or with --yes; a space in front sends it to the model",
        ));
    }
    let folder = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default();
    let mut session_id = match (&run.session, run.continue_last) {
        (Some(id), _) => Some(id.clone()),
        (None, true) => Some(last_session(app, &folder).await?),
        (None, false) => None,
    };
    if session_id.is_none() && (run.fork || run.branch_at.is_some()) {
        return Err(Failure::usage(
            "--fork and --branch-at need a session; name it with --session, or use --continue",
        ));
    }
    let config = settings(app, session_id.as_deref(), run.agent.as_deref()).await?;
    let mut overrides = run.flags.overrides(&config)?;
    if run.flags.dangerously_skip_permissions {
        output::tell("orlop: permissions are skipped: every tool call runs without a question");
    }
    if let (Some(id), true) = (&session_id, run.fork) {
        session_id = Some(app.fork_stored(id, None, None).await?);
    }
    let mut metadata = Map::from_iter([("working_dir".to_owned(), folder.into())]);
    if let Some(title) = &run.title {
        let title = Map::from_iter([("title".to_owned(), title.clone().into())]);
        match &session_id {
            Some(id) if app.store().head(app.scope(), id).await?.is_some() => {
                app.patch_session(id, title).await?;
            }
            _ => metadata.extend(title),
        }
    }
    if let Some(model) = &run.model {
        overrides.insert("model".to_owned(), model.clone().into());
    }
    if let Some(schema) = &run.output_schema {
        overrides.insert("output_schema".to_owned(), output_schema(schema)?);
    }
    let mut attachments = Vec::with_capacity(run.attach.len());
    for path in &run.attach {
        attachments.push(attach(app, path).await?);
    }
    Ok(ChatRequest {
        session_id,
        branch_at: run.branch_at,
        agent_id: run.agent.clone(),
        metadata,
        content: text.into(),
        attachments,
        overrides,
        request_id: run.request_id.clone(),
        stream: true,
        persist: (run.ephemeral || run.flags.dry_run).then_some(false),
        approval: run.flags.approval().unwrap_or(match (run.yes, run.deny) {
            (true, _) => Approval::Allow,
            (false, true) => Approval::Deny,
            (false, false) => Approval::Wait,
        }),
        context: CallContext::new("command line"),
        ..ChatRequest::default()
    })
}

/// The settings in force. An agent that cannot be used is found out before anything is stored for it.
async fn settings(
    app: &Application,
    session_id: Option<&str>,
    given: Option<&str>,
) -> Result<Config, Failure> {
    let mut head = None;
    if let Some(id) = session_id {
        orlop_app::check_id("session", id)?;
        head = app.store().head(app.scope(), id).await?;
    }
    let stored = head.as_ref().and_then(|head| head.agent.clone());
    let agent = match stored.or_else(|| given.map(str::to_owned)) {
        Some(agent) => agent,
        None => app.config().default_agent()?,
    };
    super::agent::usable(app, &agent)?;
    let (_, config) = app.agent(&agent)?;
    let session = match &head {
        Some(head) => Some(app.stored_session(&head.id).await?),
        None => None,
    };
    let own: Vec<&Map> = session.iter().filter_map(Session::overrides).collect();
    Ok(resolve_request_config(&config, &own))
}

/// The session last used in this folder.
pub(super) async fn last_session(app: &Application, folder: &str) -> Result<String, Failure> {
    let query = ListQuery {
        metadata: Some(("working_dir".to_owned(), folder.to_owned())),
        limit: 1,
        ..ListQuery::default()
    };
    let page = app.store().list(app.scope(), &query).await?;
    page.heads.into_iter().next().map(|head| head.id).ok_or_else(|| Failure {
        code: crate::exit::NOT_FOUND,
        message: "there is no session of this folder to continue; leave --continue out".to_owned(),
    })
}

async fn attach(app: &Application, path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| not_attached(path, error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let record = app.put_asset(None, Upload::new(name, None), bytes).await?;
    Ok(record.id)
}

/// Says why a file does not go with a message.
pub(super) fn not_attached(path: &Path, why: impl std::fmt::Display) -> Failure {
    let path = path.display();
    Failure::usage(format!("{path} cannot be attached: {why}; name a file that can be read"))
}

/// The schema of a flag: JSON, or a file that holds it.
fn output_schema(given: &str) -> Result<Value, Failure> {
    let bad = |message: String| Failure::usage(format!("--output-schema: {message}"));
    let (text, place) = match given.trim_start().starts_with('{') {
        true => (given.to_owned(), "the schema"),
        false => {
            let text = std::fs::read_to_string(given).map_err(|error| {
                bad(format!("{given} cannot be read: {error}; name a file, or write JSON"))
            })?;
            (text, given)
        }
    };
    let schema: Value = serde_json::from_str(&text)
        .map_err(|error| bad(format!("{place} is no JSON: {error}; correct it")))?;
    OutputSchema::new(&schema).map_err(|error| Failure::usage(Error::from(error).to_string()))?;
    Ok(schema)
}

/// The prompt, with what is piped in behind it.
fn prompt(run: &Run) -> Result<String, Failure> {
    let given = run.prompt.as_deref().filter(|prompt| *prompt != "-");
    let mut stdin = std::io::stdin().lock();
    let piped = if stdin.is_terminal() && run.prompt.as_deref() != Some("-") {
        String::new()
    } else {
        let mut bytes = Vec::new();
        (&mut stdin).take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_INPUT {
            return Err(Failure::usage(format!(
                "the input is larger than {} MiB; attach it as a file",
                MAX_INPUT / 1024 / 1024
            )));
        }
        String::from_utf8(bytes)
            .map_err(|_| Failure::usage("the input is no UTF-8 text; attach it as a file"))?
    };
    let parts: Vec<&str> = [given.unwrap_or_default(), piped.trim_end()]
        .into_iter()
        .filter(|p| !p.is_empty())
        .collect();
    if parts.is_empty() && run.attach.is_empty() && run.branch_at.is_none() {
        return Err(Failure::usage(
            "there is nothing to ask; write a prompt, for instance: orlop run \"hello\"",
        ));
    }
    Ok(parts.join("\n\n"))
}

/// Prints events until the request ends. Ctrl-C once cancels, twice leaves.
async fn follow(
    app: &Application,
    mut chat: Chat,
    printer: &mut Printer,
    interrupts: &mut Interrupts,
) -> Result<ExitCode, Failure> {
    let mut cancelled = false;
    let code = loop {
        let event = tokio::select! {
            biased;
            event = chat.next() => event,
            () = interrupts.next() => {
                if cancelled {
                    let _ = printer.close_line();
                    Interrupts::leave();
                }
                cancelled = true;
                cancel(app, &chat.request_id, printer).await?;
                continue;
            }
        };
        let Some(event) = event else {
            break Err(Failure {
                code: FAILED,
                message: "the request ended without an outcome".to_owned(),
            });
        };
        printer.print(&event)?;
        if let Some(asked) = question::in_event(&event)
            && !cancelled
            && !is_settled(app, &chat.request_id).await?
        {
            tokio::select! {
                put = question::put(app, &asked) => put?,
                () = interrupts.next() => {
                    cancelled = true;
                    cancel(app, &chat.request_id, printer).await?;
                }
            }
        }
        match &event.kind {
            EventKind::Final { .. } => {
                let status = chat.handled.as_ref().map_or(200, |handled| handled.status);
                break match status {
                    200..400 => Ok(ExitCode::SUCCESS),
                    _ => Ok(ExitCode::from(FAILED)),
                };
            }
            EventKind::RequestFailed { error } => {
                let failure = Failure::from(error_of(error));
                let code = if failure.code == INTERRUPTED { INTERRUPTED } else { FAILED };
                break Err(Failure { code, message: failure.message });
            }
            EventKind::RequestCancelled { reason } => {
                let code = if cancelled { INTERRUPTED } else { FAILED };
                break Err(Failure { code, message: format!("cancelled: {reason}") });
            }
            _ => {}
        }
    };
    chat.ended().await;
    match code {
        // In JSON the failure is in the output.
        Err(failure) if printer.output != Output::Text => Err(Failure::silent(failure.code)),
        code => code,
    }
}

async fn cancel(app: &Application, request_id: &str, printer: &Printer) -> Result<(), Failure> {
    printer.note("cancelling; once more to leave at once");
    Ok(app.cancel_request(request_id, "the user interrupted it").await?)
}

/// Whether a request is over, and its events are those of before.
async fn is_settled(app: &Application, request_id: &str) -> Result<bool, Failure> {
    let turn = app.store().turn(app.scope(), request_id).await?;
    Ok(turn.is_some_and(|turn| turn.settled))
}

/// Puts events on the screen, or into a pipe.
struct Printer {
    output: Output,
    /// Whether the answer is shown as it comes.
    live: bool,
    /// Whether progress is shown.
    progress: bool,
    /// Whether the last thing on stdout was a fragment without a line end.
    open_line: bool,
    /// What has been shown of the message under way.
    shown: String,
}

impl Printer {
    fn new(output: Output) -> Self {
        Self {
            output,
            live: output == Output::Text && std::io::stdout().is_terminal(),
            progress: output == Output::Text && std::io::stderr().is_terminal(),
            open_line: false,
            shown: String::new(),
        }
    }

    fn print(&mut self, event: &Event) -> Result<(), Failure> {
        if let (EventKind::ModelFallback { from, to, error }, false) =
            (&event.kind, self.output == Output::StreamJson)
        {
            let reason = error.get("message").and_then(Value::as_str).unwrap_or_default();
            let line = format!("{from} failed, asking {to} instead: {reason}");
            output::tell(&format!("orlop: {}", plain_line(&line)));
        }
        match self.output {
            Output::StreamJson => {
                let mut out = std::io::stdout().lock();
                serde_json::to_writer(&mut out, event).map_err(std::io::Error::from)?;
                writeln!(out)?;
                out.flush()?;
                Ok(())
            }
            Output::Json => self.json(event),
            Output::Text => self.text(event),
        }
    }

    fn json(&self, event: &Event) -> Result<(), Failure> {
        let about = |fields: Value| {
            let mut all = json!({
                "request_id": event.request_id, "session_id": event.session_id,
            });
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            all
        };
        let value = match &event.kind {
            EventKind::Final { messages, usage, model, .. } => {
                let mut fields = json!({ "messages": messages, "usage": usage, "model": model });
                if let Some(output) = output_of(messages) {
                    fields["output"] = output.clone();
                }
                about(fields)
            }
            EventKind::RequestFailed { error } => about(json!({ "error": error })),
            EventKind::RequestCancelled { reason } => about(
                json!({ "error": { "type": "cancelled", "message": reason, "retryable": false } }),
            ),
            _ => return Ok(()),
        };
        output::json(&value)?;
        Ok(())
    }

    fn text(&mut self, event: &Event) -> Result<(), Failure> {
        match &event.kind {
            EventKind::Partial { message } if self.live && !message.content.is_empty() => {
                let mut out = std::io::stdout().lock();
                write!(out, "{}", plain_text(&message.content))?;
                out.flush()?;
                self.shown.push_str(&message.content);
                self.open_line = !self.shown.ends_with('\n');
            }
            EventKind::Partial { message } => {
                let retry = message.metadata.as_ref().and_then(|metadata| metadata.get("retry"));
                if let Some(retry) = retry {
                    self.close_line()?;
                    self.note(&waiting(retry));
                }
            }
            EventKind::ToolCall { name, preview, .. } => {
                self.close_line()?;
                let text = if preview.is_empty() { name } else { preview };
                self.note(&preview_of("· ", text));
            }
            EventKind::ToolPartial { .. } => {
                if let Some(EventKind::ToolCall { name, preview, .. }) =
                    event.passed_on().map(|inner| inner.kind)
                {
                    let text = if preview.is_empty() { name } else { preview };
                    self.note(&preview_of("  · ", &text));
                }
            }
            EventKind::ToolResult { message, .. }
                if message.metadata().contains_key("tool_error") =>
            {
                self.note(&format!("  {}", plain_line(message.text())));
            }
            EventKind::OutputRejected { problems } => {
                self.close_line()?;
                let line =
                    format!("the answer does not fit, asking again: {}", problems.join("; "));
                self.note(&plain_line(&line));
            }
            EventKind::AnswerRestarted {} => {
                self.close_line()?;
                self.note("the answer was cut off and is asked for again");
            }
            EventKind::Final { messages, .. } => self.answer(messages)?,
            EventKind::RequestFailed { .. } | EventKind::RequestCancelled { .. } => {
                self.close_line()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The answer, as far as it has not been shown.
    fn answer(&mut self, messages: &[Message]) -> Result<(), Failure> {
        let text = match output_of(messages) {
            // Who reads it in a program wants the value without a fence around it.
            Some(output) if !self.live => output.to_string(),
            _ => answer_text(messages),
        };
        if !(self.live && self.shown.ends_with(&text)) {
            self.close_line()?;
            let shown =
                if std::io::stdout().is_terminal() { plain_text(&text) } else { text.clone() };
            let mut out = std::io::stdout().lock();
            write!(out, "{shown}")?;
            out.flush()?;
            self.open_line = !text.ends_with('\n');
        }
        self.close_line()
    }

    fn close_line(&mut self) -> Result<(), Failure> {
        self.shown.clear();
        if std::mem::take(&mut self.open_line) {
            let mut out = std::io::stdout().lock();
            writeln!(out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        if self.progress {
            match output::is_coloured() {
                true => output::tell(&format!("\x1b[2m{text}\x1b[0m")),
                false => output::tell(text),
            }
        }
    }
}

/// One line about a request that is sent again.
fn waiting(retry: &Value) -> String {
    let seconds = retry["wait_ms"].as_u64().unwrap_or_default().div_ceil(1000);
    let why = plain_line(retry["why"].as_str().unwrap_or_default());
    format!("· {why}; trying again in {seconds} s ({} of {})", retry["attempt"], retry["of"])
}

/// The value of an answer that had to fit a schema.
fn output_of(messages: &[Message]) -> Option<&Value> {
    messages.last()?.metadata().get(OUTPUT)
}

/// The last thing the model said, with the parts before it that it only paused after.
fn answer_text(messages: &[Message]) -> String {
    let mut said = messages.iter().rev().skip_while(|message| message.role() != Role::Assistant);
    let last = said.next().map(Message::text).unwrap_or_default();
    let before = said.take_while(|message| is_paused(message));
    let mut parts: Vec<&str> = before.map(Message::text).collect();
    parts.reverse();
    parts.push(last);
    parts.concat()
}
/// What a call is about to do, as people read it: the first line behind the mark, the others below.
fn preview_of(mark: &str, preview: &str) -> String {
    const MOST: usize = 40;
    let mut lines: Vec<String> = preview.lines().take(MOST).map(plain_line).collect();
    match preview.lines().count() {
        count if count > MOST => lines.push(format!("… and {} more lines", count - MOST)),
        _ => {}
    }
    let indent = " ".repeat(mark.chars().count());
    format!("{mark}{}", lines.join(&format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_preview_is_shown_line_by_line_and_cut() {
        assert_eq!(preview_of("· ", "Read a.txt"), "· Read a.txt");
        assert_eq!(
            preview_of("· ", "a: changed\n-old\n+new\u{1b}[2J"),
            "· a: changed\n  -old\n  +new"
        );
        let long = preview_of("  · ", &"x\n".repeat(50));
        assert_eq!(long.lines().count(), 41);
        assert!(long.ends_with("\n    … and 10 more lines"), "{long}");
    }
}
