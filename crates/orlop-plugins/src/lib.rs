//! The plugins that ship with Orlop: tools, features, application and host plugins. All of them
//! use the contracts that every other plugin has, and nothing else.

mod arguments;
mod ask_user;
mod sandbox;
mod system_message;
mod todo;
mod workspace;

pub use ask_user::AskUser;
pub use sandbox::{Sandbox, Support};
pub use system_message::SystemMessage;
pub use todo::{Todo, TodoReminder};
pub use workspace::{Workspace, real_path};
