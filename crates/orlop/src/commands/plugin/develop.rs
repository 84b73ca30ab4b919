//! `orlop plugin dev`: the plugin is started again whenever one of its files changes, and what it
//! does is shown as it happens.

use crate::cli::PluginDev;
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::{Approval, ChatRequest, EventKind, Host, error_of};
use orlop_core::{CallContext, Error};
use orlop_runtime::kit::{CallLog, Watch};
use orlop_runtime::{Package, Workbench};
use std::io::BufRead;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;

/// How long a request that was cancelled may go on.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a round is over.
enum Next {
    Changed,
    Leave,
}

/// What stays from one round to the next.
struct Bench {
    command: PluginDev,
    watch: Watch,
    interrupts: Interrupts,
    /// What is typed; nothing where a prompt was given.
    typed: Option<UnboundedReceiver<String>>,
    /// The session that typed lines belong to.
    session: String,
}

pub(crate) async fn dev(
    mut command: PluginDev,
    find: impl Fn(Workbench) -> Result<Workplace, Failure>,
) -> Result<ExitCode, Failure> {
    command.path = command.path.canonicalize().map_err(|error| {
        Error::not_found(format!("{} cannot be read: {error}", command.path.display()))
    })?;
    let session =
        format!("dev-{}-{}", std::process::id(), orlop_app::now().replace([':', '.'], "-"));
    let mut bench = Bench {
        watch: Watch::new(&command.path),
        interrupts: Interrupts::new(),
        typed: command.prompt.is_none().then(typed),
        command,
        session,
    };
    let package = Package::read(&bench.command.path)?;
    for words in package.grants.in_words() {
        say(&format!("{} may {words}, as its plugin.toml asks", package.name));
    }
    loop {
        let began = Instant::now();
        let next = match Package::read(&bench.command.path) {
            Ok(package) => bench.round(package, began, &find).await?,
            Err(error) => {
                say(&format!("cannot be used: {}", error.message()));
                bench.wait().await
            }
        };
        match next {
            Next::Leave => return Ok(ExitCode::SUCCESS),
            Next::Changed => {}
        }
    }
}

/// Shows a line. Whoever does not look is not told.
fn say(text: &str) {
    let _ = output::line(text);
}

/// Lines of standard input.
fn typed() -> UnboundedReceiver<String> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Bench {
    /// From a start of the plugin to the next change.
    async fn round(
        &mut self,
        package: Package,
        began: Instant,
        find: &impl Fn(Workbench) -> Result<Workplace, Failure>,
    ) -> Result<Next, Failure> {
        let name = package.name.clone();
        let tap = CallLog::tap(&name, say);
        let workplace = match find(Workbench { package: Some(package), tap: Some(tap) }) {
            Ok(workplace) => workplace,
            Err(failure) => return Ok(self.stuck(&failure.message).await),
        };
        if let Some(left) = workplace.left_out.iter().find(|left| left.name == name) {
            let next = self.stuck(&left.reason).await;
            workplace.close().await;
            return Ok(next);
        }
        let next = match workplace.host().await {
            Err(failure) => self.stuck(&failure.message).await,
            Ok(host) => {
                say(&format!(
                    "{} ready in {} ms",
                    holds(&workplace, &name),
                    began.elapsed().as_millis()
                ));
                let next = self.use_it(&host).await;
                host.stop().await;
                next
            }
        };
        workplace.close().await;
        Ok(next)
    }

    async fn stuck(&mut self, why: &str) -> Next {
        say(&format!("cannot be used: {why}"));
        self.wait().await
    }

    /// Waits for the next change.
    async fn wait(&mut self) -> Next {
        tokio::select! {
            () = self.watch.changed() => Next::Changed,
            () = self.interrupts.next() => Next::Leave,
        }
    }

    async fn use_it(&mut self, host: &Host) -> Next {
        if let Some(prompt) = self.command.prompt.clone() {
            return match self.ask(host, prompt, None).await {
                Some(next) => next,
                None => self.wait().await,
            };
        }
        loop {
            let Some(typed) = &mut self.typed else { return self.wait().await };
            let line = tokio::select! {
                line = typed.recv() => line,
                () = self.watch.changed() => return Next::Changed,
                () = self.interrupts.next() => return Next::Leave,
            };
            let Some(line) = line else { return Next::Leave };
            if line.trim().is_empty() {
                continue;
            }
            let session = Some(self.session.clone());
            if let Some(next) = self.ask(host, line, session).await {
                return next;
            }
        }
    }

    /// Sends a request and shows its answer. A change of the plugin ends it.
    async fn ask(&mut self, host: &Host, text: String, session: Option<String>) -> Option<Next> {
        let request = ChatRequest {
            agent_id: self.command.agent.clone(),
            content: text.into(),
            stream: true,
            // What is asked again and again is not kept.
            persist: session.is_none().then_some(false),
            session_id: session,
            approval: if self.command.yes { Approval::Allow } else { Approval::Deny },
            context: CallContext::new("command line"),
            ..ChatRequest::default()
        };
        let begun = tokio::select! {
            begun = host.chat(request) => begun,
            () = self.watch.changed() => return Some(Next::Changed),
            () = self.interrupts.next() => return Some(Next::Leave),
        };
        let mut chat = match begun {
            Ok(chat) => chat,
            Err(error) => {
                say(&format!("failed: {error}"));
                return None;
            }
        };
        let next = loop {
            let event = tokio::select! {
                event = chat.next() => event,
                () = self.watch.changed() => break Next::Changed,
                () = self.interrupts.next() => break Next::Leave,
            };
            match &event?.kind {
                EventKind::ToolCall { name, preview, .. } => {
                    say(&format!("· {}", if preview.is_empty() { name } else { preview }));
                }
                EventKind::ToolResult { message, .. }
                    if !self.command.yes && message.metadata().contains_key("tool_denied") =>
                {
                    let why = message.text();
                    let why = why.trim_start_matches("Error: ");
                    say(&format!("  {why}; --yes runs calls that would ask"));
                }
                EventKind::Final { messages, .. } => {
                    let last = messages.last().map(|message| message.text()).unwrap_or_default();
                    say(&format!("answer: {last}"));
                    chat.ended().await;
                    return None;
                }
                EventKind::RequestFailed { error } => {
                    say(&format!("failed: {}", error_of(error)));
                    chat.ended().await;
                    return None;
                }
                EventKind::RequestCancelled { reason } => {
                    say(&format!("cancelled: {reason}"));
                    chat.ended().await;
                    return None;
                }
                _ => {}
            }
        };
        let reason = "the plugin was changed";
        if host.app().cancel_request(&chat.request_id, reason).await.is_ok() {
            let _ = tokio::time::timeout(PATIENCE, chat.ended()).await;
        }
        Some(next)
    }
}

/// What a package holds, in words.
fn holds(workplace: &Workplace, name: &str) -> String {
    let held = workplace.runtime.packages().find(|(package, _)| package.name == name);
    let held = held.map(|(_, description)| super::in_words(description)).unwrap_or_default();
    format!("{name} ({held})")
}
