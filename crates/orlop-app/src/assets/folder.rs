//! Files and folders below the root of assets: made for their owner only, never reached through
//! a link, and complete before they have their name.

use orlop_core::{Error, Result};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Makes the root and the folders below it, each of them a real one.
pub(super) fn make(root: &Path, below: [&str; 2]) -> Result<()> {
    let mut builder = DirBuilder::new();
    for_owner_only(&mut builder);
    if !root.is_dir() {
        let made = builder.recursive(true).create(root);
        made.map_err(|error| unavailable("make", root, &error))?;
    }
    builder.recursive(false);
    let mut path = root.to_owned();
    for name in below {
        let parent = path.clone();
        path.push(name);
        match builder.create(&path) {
            Ok(()) => sync_folder(&parent)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unavailable("make", &path, &error)),
        }
    }
    match check(root, below)? {
        true => Ok(()),
        false => Err(unavailable("make", &path, &io::ErrorKind::NotFound.into())),
    }
}

/// Whether the folders below `root` are there. Anything else in their place, such as a link that
/// leads out of the root, is refused.
pub(super) fn check(root: &Path, below: [&str; 2]) -> Result<bool> {
    let mut path = root.to_owned();
    for name in below {
        path.push(name);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(foreign(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(unavailable("read", &path, &error)),
        }
    }
    Ok(true)
}

/// Opens a plain file for reading; `None` if there is none.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    let seen = match std::fs::symlink_metadata(path) {
        Ok(seen) if seen.is_file() => seen,
        Ok(_) => return Err(foreign(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unavailable("read", path, &error)),
    };
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        // A link put there between the two looks leads to another file than the one seen.
        Ok((found, file)) if same_file(&seen, &found) => Ok(Some(file)),
        Ok(_) => Err(foreign(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable("read", path, &error)),
    }
}

/// A file that is being written. Unless it is finished, it goes when this does.
pub(super) struct Partial {
    path: Option<PathBuf>,
    shown: PathBuf,
}

impl Partial {
    /// A new file beside `target`. Its name begins with a dot, so no id can mean it.
    pub(super) fn create(target: &Path, id: &str) -> Result<(Self, File)> {
        let path = target.with_file_name(format!(".{id}.part"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| unavailable("write", &path, &error))?;
        Ok((Self { path: Some(path.clone()), shown: path }, file))
    }

    /// Where it is written.
    pub(super) fn path(&self) -> &Path {
        &self.shown
    }

    /// Makes it durable and gives it its name.
    pub(super) fn finish(mut self, file: File, target: &Path) -> Result<()> {
        file.sync_all().map_err(|error| unavailable("write", &self.shown, &error))?;
        drop(file);
        std::fs::rename(&self.shown, target)
            .map_err(|error| unavailable("write", target, &error))?;
        // From here on, a failure has to take the finished file away.
        self.path = Some(target.to_owned());
        if let Some(parent) = target.parent() {
            sync_folder(parent)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(path) = &self.path
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::warn!(target: "orlop::assets", path = %path.display(), %error, "a file that is not needed stays");
        }
    }
}

/// Says which file cannot be used, and what may help.
pub(super) fn unavailable(what: &str, path: &Path, error: &io::Error) -> Error {
    let help = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on the disk",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "give Orlop the right to use it"
        }
        _ => "see that it is a folder of Orlop's own, or set assets.url to another one",
    };
    Error::unavailable(format!("cannot {what} {}: {error}; {help}", path.display()))
}

fn foreign(path: &Path) -> Error {
    Error::bad_state(format!(
        "{} is not a file or folder that Orlop made; it is not used until it is removed",
        path.display()
    ))
}

/// Makes the names in a folder durable, where folders can be opened.
fn sync_folder(path: &Path) -> Result<()> {
    if cfg!(unix) {
        let synced = File::open(path).and_then(|folder| folder.sync_all());
        synced.map_err(|error| unavailable("write", path, &error))?;
    }
    Ok(())
}

#[cfg(unix)]
fn for_owner_only(builder: &mut DirBuilder) {
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
}

#[cfg(not(unix))]
fn for_owner_only(_: &mut DirBuilder) {}

#[cfg(unix)]
fn same_file(seen: &std::fs::Metadata, found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (seen.dev(), seen.ino()) == (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn same_file(_: &std::fs::Metadata, found: &std::fs::Metadata) -> bool {
    found.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use orlop_core::ErrorClass;

    #[test] // I-32
    fn a_full_disk_is_told_with_what_helps() {
        let error = unavailable("write", Path::new("/data/x"), &io::ErrorKind::StorageFull.into());
        assert_eq!(error.class(), ErrorClass::Unavailable);
        expect!["cannot write /data/x: no storage space; make room on the disk"]
            .assert_eq(error.message());
        let error =
            unavailable("make", Path::new("/data"), &io::ErrorKind::PermissionDenied.into());
        expect!["cannot make /data: permission denied; give Orlop the right to use it"]
            .assert_eq(error.message());
    }
}
