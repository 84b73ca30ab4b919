//! The application layer of Orlop: stored sessions, durable turns, locks, events, actions, host
//! plugins and configuration, on top of the core.
//!
//! - [`Application`] is the handle: sessions, requests, actions, events, undo, assets.
//! - [`Host`] is the front door every surface uses; it runs the host plugins around a request.
//! - [`store::Store`] is where everything is kept; `orlop-store` has SQLite and PostgreSQL.
//! - [`config`] reads and checks configuration; [`ui`] holds what front ends share.

mod actions;
mod application;
pub mod assets;
mod attachments;
mod branches;
pub mod config;
pub mod confine;
mod contributions;
mod credentials;
mod events;
mod feed;
mod host;
mod hub;
mod lifecycle;
mod lock;
mod logins;
pub mod markdown;
mod outline;
mod owner;
mod pace;
mod persist;
mod plugin_state;
mod plugins;
pub mod private_file;
mod process;
mod said;
mod scope;
mod seen;
mod session_list;
mod sessions;
mod shares;
pub mod store;
mod supply;
mod time;
mod trace;
pub mod turn;
pub mod ui;
mod undo;
mod unread;
mod watch;

pub use actions::{Acted, Preview};
pub use application::{Application, Builder, Loaded, TOKENS_PER_DAY, side_request};
pub use branches::{Branch, Branches};
pub use credentials::{CREDENTIALS_FILE, Credential, Credentials};
pub use events::Follow;
pub use host::{Chat, ChatRequest, HookFailure, Host};
pub use lifecycle::tell_of_mistyped_triggers;
pub use lock::{SessionLock, Wait};
pub use plugins::Plugins;
pub use process::{Pipes, Printed, ProcessGroup, kill_process};
pub use scope::{MAX_ID, Scope, check_id};
pub use session_list::{Summaries, Summary};
pub use sessions::NewSession;
pub use shares::{NewShare, Share, Shared, SharedPage};
pub use supply::{PluginHealth, PluginInfo, Supplied, Supplier};
pub use time::{now, rfc3339, unix_seconds};
pub use trace::{Changed, Traced, TracedHook, TracedNote};
pub use turn::{
    Approval, Decision, KnownRequest, Recovery, Request, RequestHandle, RequestState,
    RequestStatus, Taken, Target, TurnInfo, Unbegun, WaitingCall, error_of,
};
pub use undo::Difference;
pub use watch::{RanIn, RanTo, UnderWay, Watcher, Watchers};

pub use orlop_core::types::app_event::{
    ContextUse, Event, EventKind, Remember, RememberOffer, SessionState,
};
