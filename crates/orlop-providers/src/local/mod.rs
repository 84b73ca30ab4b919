//! The provider `local`: the embedded model, which needs no server, no key and no network.
//!
//! Native items are the message objects of chat completions. `items` translates them for the
//! engine, `shelf` opens each model file once, and the plugin runs an answer on a thread of its
//! own that ends within a token when nobody wants it any more.

mod answer;
mod items;
mod provider;
mod request;
mod shelf;

pub use provider::{LocalModel, NAME};
