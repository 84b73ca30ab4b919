//! Models of the llama family: their measures, their weights, and the way of a token through them.

mod cache;
mod forward;
mod measures;
mod weights;

pub(crate) use cache::{Cache, Caches};
pub(crate) use forward::BATCH;
pub(crate) use measures::Measures;
pub(crate) use weights::Llama;
