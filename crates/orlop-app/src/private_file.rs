//! Small files that only their owner can read, and that others see whole: the old one or the new
//! one, never a part.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::Path;

/// Makes the folder of a file, and keeps other processes from changing what is in it as long as
/// the handle lives.
pub fn lock_folder_of(file: &Path) -> Result<File> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let handle = handle_of(folder)?;
    handle.lock()?;
    Ok(handle)
}

#[cfg(unix)]
fn handle_of(folder: &Path) -> Result<File> {
    File::open(folder)
}

/// A file in it, because folders cannot be opened.
#[cfg(not(unix))]
fn handle_of(folder: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(".lock"))
}

/// Puts a file in the place of the old one. `folder` is the locked folder it is in.
pub fn replace(file: &Path, bytes: &[u8], folder: &File) -> Result<()> {
    let new = file.with_extension(format!("{}.new", uuid::Uuid::new_v4()));
    let written = write_new(&new, bytes)
        .and_then(|()| std::fs::rename(&new, file))
        .and_then(|()| folder.sync_all());
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
