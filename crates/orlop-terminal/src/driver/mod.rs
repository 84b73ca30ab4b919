//! Between the chat, the terminal and the application: keys and events go in, effects are carried
//! out. The chat and its drawing have a thread of their own, so that a slow terminal never holds up
//! a turn.

mod asking;
mod describe;
mod files;
mod listing;
mod operating;
mod plain;
mod remembered;
mod terminal;
mod window;

pub use plain::plain;

use crate::editor::{History, Keys};
use crate::model::{Ask, Conversation, Input, Model, Told};
use asking::Asking;
use crossterm::event::{Event, EventStream};
use futures::StreamExt;
use orlop_app::{Application, EventKind, Follow, Host};
use orlop_core::{Error, Map, Result};
use remembered::Remembered;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{mpsc, oneshot};
use window::{Signal, Window};

/// How to chat.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whose keys the editor has.
    pub keys: Keys,
    /// Whether there are colours.
    pub colours: bool,
    /// The session to go on with.
    pub session: Option<String>,
    /// Whether to begin with the list of sessions.
    pub choose_session: bool,
    /// The agent of a new session.
    pub agent: Option<String>,
    /// Settings of a new session.
    pub overrides: Map,
    /// What to send first.
    pub prompt: Option<String>,
    /// Files that go with it, or with what is written first.
    pub files: Vec<String>,
    /// What to tell at the beginning.
    pub notices: Vec<String>,
    /// The working folder.
    pub folder: String,
    /// The file in which what was sent is remembered for later chats; without one it is not.
    pub history: Option<PathBuf>,
    /// The home folder of the user, which is shown as `~`.
    pub home: Option<String>,
}

/// What the chat asks for, each with what was known of its session at that moment: another session
/// may be in front before it is carried out.
pub(crate) type Asks = mpsc::UnboundedSender<(Ask, Conversation)>;

/// Asks whoever reads keys to stop for a while: answered when nobody reads any more, and over when
/// the other end is dropped.
pub(crate) struct Pause {
    pub(crate) paused: std::sync::mpsc::Sender<()>,
    pub(crate) over: oneshot::Receiver<()>,
}

/// Chats until the user leaves. The terminal is as it was afterwards.
pub async fn chat(host: &Host, options: Options) -> Result<()> {
    let asking = Asking::new(host.clone(), &options);
    let conversation = match &options.session {
        Some(id) => describe::stored(&asking, id).await?,
        None => describe::new(&asking, options.agent.clone(), options.overrides.clone())?,
    };
    let (signals, inbox) = std::sync::mpsc::channel();
    let (outbox, asks) = mpsc::unbounded_channel();
    let (pause, pauses) = mpsc::unbounded_channel();
    let begun = begin(&asking, &options, &conversation).await?;
    let mut model = Model::new(options.keys, conversation);
    let (remembered, before) = Remembered::open(options.history);
    model.editor.history = History::new(before);
    let window = Window::open(model, remembered, options.colours, inbox, (outbox, pause))
        .map_err(|error| Error::internal(format!("the terminal cannot be used: {error}")))?;
    begun.into_iter().for_each(|signal| drop(signals.send(signal)));
    let drawing = tokio::task::spawn_blocking(move || window.run());
    let reading = tokio::spawn(read_keys(signals.clone(), pauses));
    let listening = tokio::spawn(listen(signals.clone()));
    let following = tokio::spawn(follow_plugins(asking.app.clone(), signals.clone()));
    carry_out(asking, asks, &signals).await;
    reading.abort();
    following.abort();
    listening.abort();
    let drawn = drawing.await;
    let drawn = drawn.map_err(|error| Error::internal(format!("the chat broke off: {error}")))?;
    drawn.map_err(|error| Error::internal(format!("the terminal cannot be used: {error}")))
}

/// What happens before anybody touches a key.
async fn begin(
    asking: &Asking,
    options: &Options,
    conversation: &Conversation,
) -> Result<Vec<Signal>> {
    let mut signals = Vec::new();
    let tell = |told: Told| Signal::Input(Input::Told(Box::new(told)));
    for notice in &options.notices {
        signals.push(tell(Told::Said(crate::model::Tone::Info, notice.clone())));
    }
    if let Some(id) = &options.session {
        let history = describe::history(asking, id).await?;
        let conversation = Box::new(conversation.clone());
        signals.push(tell(Told::Opened { conversation, history }));
    }
    if options.choose_session {
        signals.push(Signal::Choose);
    }
    if !options.files.is_empty() {
        let (text, files) = (options.files.join(" "), options.files.clone());
        signals.push(tell(Told::Pasted { text, files }));
    }
    if let Some(prompt) = &options.prompt {
        signals.push(Signal::Send(prompt.clone()));
    }
    Ok(signals)
}

/// Carries out what the chat asks for until it leaves.
async fn carry_out(
    asking: Asking,
    mut asks: UnboundedReceiver<(Ask, Conversation)>,
    signals: &Sender<Signal>,
) {
    while let Some((ask, conversation)) = asks.recv().await {
        let (asking, signals) = (asking.about(conversation), signals.clone());
        tokio::spawn(async move {
            let say = |input: Input| drop(signals.send(Signal::Input(input)));
            let is_request = matches!(ask, Ask::Send { .. });
            asking.carry_out(ask, &say).await;
            if !is_request {
                let _ = signals.send(Signal::Done);
            }
        });
    }
}

/// Passes on what plugins publish beside requests.
async fn follow_plugins(app: Application, signals: Sender<Signal>) {
    let Ok(mut events) = app.follow_events(Follow::default()).await else { return };
    while let Some(event) = events.next().await {
        let is_published = matches!(event.kind, EventKind::Other(_));
        if is_published && signals.send(Signal::Input(Input::Event(event))).is_err() {
            return;
        }
    }
}

/// Passes keys on, except while somebody else has the terminal.
async fn read_keys(signals: Sender<Signal>, mut pauses: UnboundedReceiver<Pause>) {
    loop {
        let mut events = EventStream::new();
        let pause = loop {
            let event = tokio::select! {
                event = events.next() => event,
                pause = pauses.recv() => break pause,
            };
            let signal = match event {
                Some(Ok(Event::Key(key))) => Signal::Input(Input::Key(key)),
                Some(Ok(Event::Paste(text))) => Signal::Input(Input::Paste(text)),
                Some(Ok(Event::Resize(width, height))) => Signal::Resized(width, height),
                Some(Ok(_)) => continue,
                // Nobody is there any more.
                Some(Err(_)) | None => Signal::Closed,
            };
            let closed = matches!(signal, Signal::Closed);
            if signals.send(signal).is_err() || closed {
                return;
            }
        };
        drop(events);
        let Some(pause) = pause else { return };
        let _ = pause.paused.send(());
        let _ = pause.over.await;
    }
}

/// Leaves when the system says so.
#[cfg(unix)]
async fn listen(signals: Sender<Signal>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    let _ = signals.send(Signal::Closed);
}

/// Leaves when the system says so, which it does by closing the console.
#[cfg(not(unix))]
async fn listen(_: Sender<Signal>) {}
