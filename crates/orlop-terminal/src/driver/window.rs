//! The thread that has the terminal: it takes what happens, lets the chat change, and draws it, at
//! most sixty times a second.

use super::remembered::Remembered;
use super::terminal::{self, Raw};
use super::{Asks, Pause};
use crate::model::{Command, Deed, Effect, Input, Model, Told};
use crate::screen::Screen;
use crate::view::{self, History};
use orlop_app::ui::plain_line;
use std::io::{self, Stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// The shortest time between two drawings.
const FRAME: Duration = Duration::from_micros(16_667);

/// How often something that moves by itself is drawn.
const BEAT: Duration = Duration::from_millis(100);

/// How much is taken in before the next drawing, whatever else waits.
const AT_ONCE: usize = 5_000;

/// What reaches the window.
pub(super) enum Signal {
    /// Something for the chat.
    Input(Input),
    /// The terminal has another size.
    Resized(u16, u16),
    /// A message to begin with.
    Send(String),
    /// The list of sessions to begin with.
    Choose,
    /// A line, where the chat goes line by line.
    Line(String),
    /// No line will come any more.
    Ended,
    /// Something that was asked for is done, and all of it was told.
    Done,
    /// Ctrl-C, where it is a signal and no key.
    Interrupt,
    /// Nobody is there any more.
    Closed,
}

/// The chat on a terminal.
pub(super) struct Window {
    model: Model,
    screen: Screen<Stdout>,
    raw: Raw,
    history: History,
    remembered: Remembered,
    inbox: Receiver<Signal>,
    asks: Asks,
    pauses: UnboundedSender<Pause>,
    since: Instant,
    left: bool,
}

impl Window {
    pub(super) fn open(
        model: Model,
        remembered: Remembered,
        colours: bool,
        inbox: Receiver<Signal>,
        (asks, pauses): (Asks, UnboundedSender<Pause>),
    ) -> io::Result<Self> {
        let raw = Raw::enter()?;
        let screen = Screen::new(io::stdout(), colours, terminal::size());
        let history = History::default();
        let since = Instant::now();
        let left = false;
        Ok(Self { model, screen, raw, history, remembered, inbox, asks, pauses, since, left })
    }

    /// Runs until the user leaves.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut drawn = self.draw()?;
        let mut changed = false;
        while !self.left {
            let wait = match (changed, self.model.is_moving()) {
                (true, _) => FRAME.saturating_sub(drawn.elapsed()),
                (false, true) => BEAT,
                (false, false) => Duration::from_secs(3600),
            };
            match self.inbox.recv_timeout(wait) {
                Ok(signal) => {
                    self.take(signal)?;
                    let waiting: Vec<Signal> = self.inbox.try_iter().take(AT_ONCE).collect();
                    for signal in waiting {
                        self.take(signal)?;
                    }
                    changed = true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.input(Input::Tick)?;
                    changed = true;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if changed && drawn.elapsed() >= FRAME {
                drawn = self.draw()?;
                changed = false;
            }
        }
        self.model.finish();
        self.draw()?;
        self.screen.clear()?;
        self.raw.leave();
        Ok(())
    }

    fn take(&mut self, signal: Signal) -> io::Result<()> {
        match signal {
            Signal::Input(input) => self.input(input),
            Signal::Resized(width, height) => {
                self.screen.resize((usize::from(width), usize::from(height)))
            }
            Signal::Send(text) => {
                self.model.editor.set_after_files(&text);
                let effects = self.model.send_now(self.since.elapsed());
                self.carry_out(effects)
            }
            Signal::Choose => {
                let effects = self.model.start(Command::Sessions);
                self.carry_out(effects)
            }
            // Keys come one by one here.
            Signal::Line(_) | Signal::Interrupt | Signal::Done => Ok(()),
            Signal::Closed | Signal::Ended => {
                self.left = true;
                Ok(())
            }
        }
    }

    fn input(&mut self, input: Input) -> io::Result<()> {
        let effects = self.model.update(self.since.elapsed(), input);
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        self.model.editor.history.take_added().iter().for_each(|text| self.remembered.add(text));
        for effect in effects {
            match effect {
                Effect::App(ask) => {
                    let _ = self.asks.send((ask, self.model.conversation.clone()));
                }
                Effect::Terminal(deed) => self.perform(deed)?,
            }
        }
        Ok(())
    }

    fn perform(&mut self, deed: Deed) -> io::Result<()> {
        match deed {
            Deed::Bell => self.screen.send("\x07"),
            Deed::Copy(text) => match terminal::copy(&text) {
                Some(sequence) => self.screen.send(&sequence),
                None => Ok(()),
            },
            Deed::Title(title) => self.screen.send(&format!("\x1b]2;{}\x1b\\", plain_line(&title))),
            Deed::Open(url) => {
                terminal::open(&url);
                Ok(())
            }
            Deed::Wipe => self.screen.wipe(),
            Deed::Edit(text) => {
                let edited = self.aside(|| terminal::edit(&text))?;
                let told = match edited {
                    Ok(text) => Told::Edited(text),
                    Err(error) => Told::Said(crate::model::Tone::Failure, error),
                };
                self.input(Input::Told(Box::new(told)))
            }
            Deed::Suspend => self.aside(terminal::suspend),
            Deed::Leave => {
                self.left = true;
                Ok(())
            }
        }
    }

    /// Gives the terminal to somebody else for a while.
    fn aside<T>(&mut self, during: impl FnOnce() -> T) -> io::Result<T> {
        let (paused, is_paused) = std::sync::mpsc::channel();
        let (end, over) = oneshot::channel::<()>();
        if self.pauses.send(Pause { paused, over }).is_ok() {
            let _ = is_paused.recv_timeout(Duration::from_secs(1));
        }
        self.screen.clear()?;
        self.raw.leave();
        let done = during();
        self.raw.enter_again()?;
        drop(end);
        self.screen.forget();
        self.screen.resize(terminal::size())?;
        Ok(done)
    }

    fn draw(&mut self) -> io::Result<Instant> {
        let size = self.screen.size();
        let lines = self.history.take(&mut self.model, size.0);
        let frame = view::frame(&self.model, size);
        self.screen.draw(&lines, frame)?;
        self.model.drawn();
        Ok(Instant::now())
    }
}
