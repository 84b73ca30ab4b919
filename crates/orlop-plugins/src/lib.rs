//! The plugins that ship with Orlop.

mod system_message;

pub use system_message::SystemMessage;
