//! The kit of those who write plugins: what crossed the border is shown, recorded and played again,
//! and why an action ran or did not is explained.

mod calls;
mod changes;
mod explain;
mod masking;
mod recording;
mod replay;
mod said;
mod talk;
mod watch;

pub use explain::{ActionWhy, Evidence, Explanation, Standing, explain};
pub use recording::{Recorder, Recording};
pub use replay::{Replay, Replayed};
pub use said::CallLog;
pub use watch::Watch;
