//! What a server may say without being asked: how far a call is, and that its lists have changed.
//! It may not ask for anything: Orlop declares no capabilities.

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{NotificationContext, RoleClient};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tokio::sync::watch;

/// How many words about calls that nobody has asked after yet are kept.
const EARLY: usize = 16;

/// Hears what a server says.
#[derive(Clone, Default)]
pub(crate) struct Ears {
    pub(crate) progress: Arc<Progress>,
    pub(crate) changed: Arc<Notify>,
}

/// How far calls are. Only the newest word counts, so that a server cannot flood anybody.
#[derive(Default)]
pub(crate) struct Progress(Mutex<Board>);

#[derive(Default)]
struct Board {
    listeners: HashMap<ProgressToken, watch::Sender<Option<ProgressNotificationParam>>>,
    /// The server may be quicker than the caller.
    early: VecDeque<ProgressNotificationParam>,
}

/// Listens for one call until it is dropped.
pub(crate) struct Listening {
    board: Arc<Progress>,
    token: ProgressToken,
    pub(crate) heard: watch::Receiver<Option<ProgressNotificationParam>>,
}

impl Progress {
    pub(crate) fn listen(self: &Arc<Self>, token: ProgressToken) -> Listening {
        let (sender, mut heard) = watch::channel(None);
        let mut board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = board.early.iter().rposition(|said| said.progress_token == token) {
            sender.send_replace(board.early.remove(at));
            heard.mark_changed();
        }
        board.listeners.insert(token.clone(), sender);
        Listening { board: self.clone(), token, heard }
    }

    fn hear(&self, said: ProgressNotificationParam) {
        let mut board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match board.listeners.get(&said.progress_token) {
            Some(listener) => drop(listener.send_replace(Some(said))),
            None => {
                board.early.push_back(said);
                if board.early.len() > EARLY {
                    board.early.pop_front();
                }
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut board = self.board.0.lock().unwrap_or_else(PoisonError::into_inner);
        board.listeners.remove(&self.token);
    }
}

impl ClientHandler for Ears {
    async fn on_progress(
        &self,
        said: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.hear(said);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("orlop", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }
}
