//! Plugins to learn from: each is small, whole, and run by the tests.

mod background_job;
mod bookkeeping;
mod session_defaults;
mod session_list;
mod summarize_range;

pub use background_job::BackgroundJob;
pub use bookkeeping::Bookkeeping;
pub use session_defaults::SessionDefaults;
pub use session_list::LastWords;
pub use summarize_range::SummarizeRange;
