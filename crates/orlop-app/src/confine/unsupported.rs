//! Systems without Landlock: nothing is enforced, and that is said.

use super::{Reach, Support};
use orlop_core::Result;

pub(super) fn enforce(_: &Reach) -> Result<()> {
    Ok(())
}

pub(super) fn support() -> Support {
    Support { landlock: 0, network: false }
}
