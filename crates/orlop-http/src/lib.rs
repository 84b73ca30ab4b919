//! The HTTP host: routes over the front door of the application, live events, identity and limits.
//!
//! It translates and holds no rules of its own. [`Server`] is the state of all routes, [`serve`]
//! runs it on a listener until it is told to stop. `docs/http.md` is the page for people.

mod api;
mod asked;
mod begin;
mod caller;
mod connection;
mod extract;
mod guard;
mod identity;
mod limits;
mod line;
mod metrics;
mod openai;
mod page;
mod plugin_numbers;
mod problem;
mod request_id;
mod route;
mod serve;
mod server;
mod settings;
mod sse;
mod unique_keys;

pub use identity::{Identity, Right};
pub use metrics::Metrics;
pub use problem::Problem;
pub use request_id::RequestId;
pub use serve::{listen, serve};
pub use server::{Server, TurnSlot};
pub use settings::{Settings, Token};
