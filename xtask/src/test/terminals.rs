//! What people use Orlop in, and the tests do, too: tmux and the shells. Each is installed if it is
//! missing and that is possible.
//!
//! Without one its tests count as skipped, so nothing here is a failure.

use crate::packages;
use std::process::Command;

/// A program, and how it is asked whether it is there; its package has the same name.
const PROGRAMS: [(&str, &str); 3] = [("tmux", "-V"), ("zsh", "--version"), ("fish", "--version")];

/// Installs those that are missing from the packages of the system.
pub(super) fn ensure() {
    for (program, version) in PROGRAMS {
        let asked = Command::new(program).arg(version).output();
        if asked.is_ok_and(|output| output.status.success()) {
            continue;
        }
        println!("{program} is missing; installing it for the tests that use it");
        if let Err(why) = packages::install(program) {
            println!(
                "{program} could not be installed ({why}); its tests are skipped. Install the package `{program}`."
            );
        }
    }
}
