//! One process at a time brings a model. The lock is the system's: it ends with the process that
//! holds it, however that ends.

use super::part::failed;
use super::{Progress, Tell};
use orlop_types::Result;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

/// How often it is tried again.
const EVERY: Duration = Duration::from_millis(100);

/// Waits for the lock and holds it until the file is dropped.
pub(super) async fn acquire(path: &Path, tell: &mut Tell<'_>) -> Result<File> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.map_err(|error| failed(path, &error))?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                if !std::mem::replace(&mut told, true) {
                    tell(Progress::Note("another process is bringing this model; waiting for it"));
                }
                tokio::time::sleep(EVERY).await;
            }
            Err(TryLockError::Error(error)) => return Err(failed(path, &error)),
        }
    }
}
