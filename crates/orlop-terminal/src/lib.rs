//! The chat in the terminal: [`chat`] with live rows at the bottom of the terminal's own scrollback,
//! [`plain`] line by line, for screen readers.
//!
//! [`model`] is the chat as a value, [`view`] what it looks like, [`screen`] how that gets to a
//! terminal, and the driver between them and the [`Host`](orlop_app::Host) is thin. It holds no
//! rules of its own: what may be done, and what comes of it, is for the application to say.

mod driver;
pub mod editor;
mod highlight;
pub mod markdown;
pub mod model;
pub mod screen;
pub mod text;
pub mod view;

pub use driver::{Options, chat, plain};
