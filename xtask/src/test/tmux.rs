//! tmux, in which the chat is tested: installed if it is missing and that is possible.
//!
//! Without it that test counts as skipped, so nothing here is a failure.

use crate::packages;
use std::process::Command;

/// Installs tmux from the packages of the system, unless it is there.
pub(super) fn ensure() {
    if Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    println!("tmux is missing; installing it for the test of the chat in it");
    if let Err(why) = packages::install("tmux") {
        println!(
            "tmux could not be installed ({why}); its test is skipped. Install the package `tmux`."
        );
    }
}
