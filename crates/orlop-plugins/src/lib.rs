//! The plugins that ship with Orlop: tools, features, application and host plugins. All of them
//! use the contracts that every other plugin has, and nothing else.

mod sandbox;
mod system_message;
mod workspace;

pub use sandbox::{Sandbox, Support};
pub use system_message::SystemMessage;
pub use workspace::{Workspace, real_path};
