//! Systems without Landlock: nothing is enforced, and that is said.

use super::Support;
use super::policy::Policy;
use orlop_core::Result;

pub(super) fn enforce(_: &Policy) -> Result<()> {
    Ok(())
}

pub(super) fn support() -> Support {
    Support { landlock: 0, network: false }
}
