//! The chat line by line: nothing is redrawn, nothing is coloured, and what is finished is written
//! once. For screen readers, simple terminals and scripts.

use super::asking::Asking;
use super::window::Signal;
use super::{Asks, Options, begin, carry_out, describe, follow_plugins};
use crate::model::{Ask, Block, Command, Deed, Effect, Model, Tone};
use crate::text::Reader;
use crate::view::History;
use orlop_app::Host;
use orlop_app::ui::plain_text;
use orlop_core::{Error, Result};
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;
use tokio::sync::mpsc::unbounded_channel;

/// Chats line by line until the input ends or the user leaves. Gives whether no request failed.
pub async fn plain(host: &Host, options: Options) -> Result<bool> {
    let asking = Asking::plain(host.clone(), &options);
    let conversation = match &options.session {
        Some(id) => describe::stored(&asking, id).await?,
        None => describe::new(&asking, options.agent.clone(), options.overrides.clone())?,
    };
    let (signals, inbox) = std::sync::mpsc::channel();
    let (outbox, asks) = unbounded_channel();
    for signal in begin(&asking, &options, &conversation).await? {
        let _ = signals.send(signal);
    }
    let chat = Lines {
        model: Model::new(options.keys, conversation),
        history: History::new(Reader::Ears),
        inbox,
        asks: outbox,
        since: Instant::now(),
        question: String::new(),
        lines: VecDeque::new(),
        pending: 0,
        ended: false,
        left: false,
    };
    let writing = tokio::task::spawn_blocking(move || chat.run(&mut io::stdout().lock()));
    let (reader, interrupts) = (signals.clone(), signals.clone());
    // A thread of its own: it may wait for a line for ever, and nobody waits for it.
    std::thread::spawn(move || read_lines(&reader));
    let listening = tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if interrupts.send(Signal::Interrupt).is_err() {
                return;
            }
        }
    });
    let following = tokio::spawn(follow_plugins(asking.app.clone(), signals.clone()));
    carry_out(asking, asks, &signals).await;
    listening.abort();
    following.abort();
    let written = writing.await;
    let written =
        written.map_err(|error| Error::internal(format!("the chat broke off: {error}")))?;
    match written {
        // Nobody reads any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        written => written
            .map_err(|error| Error::internal(format!("the output cannot be written: {error}"))),
    }
}

fn read_lines(signals: &Sender<Signal>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if signals.send(Signal::Line(line)).is_err() {
            return;
        }
    }
    let _ = signals.send(Signal::Ended);
}

/// The chat on lines.
struct Lines {
    model: Model,
    history: History,
    inbox: Receiver<Signal>,
    asks: Asks,
    since: Instant,
    /// What was last asked.
    question: String,
    /// Lines that came before they were asked for.
    lines: VecDeque<String>,
    /// How much is asked of the application beside requests.
    pending: usize,
    /// Whether no line will come any more.
    ended: bool,
    left: bool,
}

impl Lines {
    fn run(mut self, out: &mut impl Write) -> io::Result<bool> {
        self.write(out)?;
        while !self.left {
            let Ok(signal) = self.inbox.recv() else { break };
            self.take(signal);
            self.write(out)?;
            while self.asks()
                && !self.left
                && let Some(line) = self.lines.pop_front()
            {
                self.question.clear();
                let effects = self.model.line(self.since.elapsed(), &line);
                self.carry_out(effects);
                self.write(out)?;
            }
            if self.ended && self.asks() {
                self.end();
            }
        }
        self.model.finish();
        self.write_history(out)?;
        Ok(!self.model.failed)
    }

    /// Whether a line is wanted now.
    fn asks(&self) -> bool {
        self.pending == 0 && self.model.question().is_some()
    }

    /// Nobody can answer what is asked: what is under way is stopped, else the chat is over.
    fn end(&mut self) {
        match self.model.is_moving() {
            true => {
                let effects = self.model.interrupt_now(self.since.elapsed());
                self.carry_out(effects);
            }
            false => self.left = true,
        }
    }

    fn take(&mut self, signal: Signal) {
        let now = self.since.elapsed();
        let effects = match signal {
            Signal::Input(input) => self.model.update(now, input),
            Signal::Line(line) => {
                self.lines.push_back(line);
                Vec::new()
            }
            Signal::Done => {
                self.pending = self.pending.saturating_sub(1);
                Vec::new()
            }
            Signal::Send(text) => self.model.line(now, &text),
            Signal::Choose => self.model.start(Command::Sessions),
            Signal::Interrupt => self.model.interrupt_now(now),
            Signal::Ended => {
                self.ended = true;
                Vec::new()
            }
            Signal::Closed => {
                self.left = true;
                Vec::new()
            }
            Signal::Resized(..) => Vec::new(),
        };
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                // Whoever types a whole line does not want offers for each letter of it.
                Effect::App(Ask::Complete(_)) => {}
                Effect::App(ask) => {
                    self.pending += usize::from(!matches!(ask, Ask::Send { .. }));
                    let _ = self.asks.send((ask, self.model.conversation.clone()));
                }
                Effect::Terminal(deed) => self.perform(deed),
            }
        }
    }

    /// Does what can be done with lines, and says what cannot.
    fn perform(&mut self, deed: Deed) {
        match deed {
            Deed::Leave => self.left = true,
            Deed::Copy(text) => {
                let title = "Nothing can be copied from here. The text is:".to_owned();
                self.model.say(Block::Whole { title, text });
                self.model.hint = None;
            }
            Deed::Edit(_) => {
                let text = "Line by line there is no other editor; write it here";
                self.model.notice(Tone::Info, text);
            }
            // Addresses of pages are written in any case; the rest is of screens.
            Deed::Open(_) | Deed::Bell | Deed::Wipe | Deed::Suspend | Deed::Title(_) => {}
        }
    }

    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.write_history(out)?;
        if let Some(hint) = self.model.hint.take() {
            writeln!(out, "{}", plain_text(&hint))?;
            self.question.clear();
        }
        let question = self.model.question().unwrap_or_default();
        if question != self.question && !self.left {
            self.show_displays(out)?;
            write!(out, "{}", plain_text(&question))?;
            out.flush()?;
            self.question = question;
        }
        Ok(())
    }

    fn write_history(&mut self, out: &mut impl Write) -> io::Result<()> {
        let width = super::terminal::size().0;
        let lines = self.history.take(&mut self.model, width);
        for line in &lines {
            writeln!(out, "{}", line.text().trim_end())?;
        }
        if !lines.is_empty() {
            self.question.clear();
        }
        out.flush()
    }

    /// Displays, written once with what can be done about them.
    fn show_displays(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.model.overlay.is_none() {
            self.model.print_displays();
            self.write_history(out)?;
        }
        Ok(())
    }
}
