//! Extensions of the providers: what works beside a wire, for a session or on the stream.

mod prompt_cache;
pub(crate) mod reasoning;

pub use prompt_cache::PromptCache;
pub use reasoning::Reasoning;
