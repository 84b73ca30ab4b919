//! A place in a folder that is held open: whatever becomes of the path, it stays that folder.

use super::{Kind, Opened, name_beside, name_of, told};
use orlop_core::Result;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Folders are opened to be walked through, not to be read.
#[cfg(target_os = "linux")]
const WALK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WALK: OFlags = OFlags::RDONLY;

/// The permissions of new files and folders, less what the umask takes.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// A name in a folder that is held open.
pub(crate) struct Place {
    parent: OwnedFd,
    name: OsString,
    path: PathBuf,
}

impl Place {
    /// The place a real path names; its folder must exist.
    pub(crate) fn of(real: &Path) -> Result<Self> {
        Self::reach(real, false).map(|(place, _)| place)
    }

    /// The same, making the folders that are missing; gives those it made, the outermost first.
    pub(crate) fn with_folders(real: &Path) -> Result<(Self, Vec<PathBuf>)> {
        Self::reach(real, true)
    }

    fn reach(real: &Path, make: bool) -> Result<(Self, Vec<PathBuf>)> {
        let name = name_of(real)?;
        let failed = |at: &Path, errno: Errno| told("reach", at, errno.into());
        let flags = WALK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut path = PathBuf::from("/");
        let mut folder = rustix::fs::openat(CWD, "/", flags, Mode::empty())
            .map_err(|errno| failed(&path, errno))?;
        let mut made = Vec::new();
        for step in real.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(step) = step else { continue };
            path.push(step);
            let mut next = rustix::fs::openat(&folder, step, flags, Mode::empty());
            if next.as_ref().err() == Some(&Errno::NOENT) && make {
                match rustix::fs::mkdirat(&folder, step, NEW_FOLDER) {
                    Ok(()) => made.push(path.clone()),
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(told("make the folder", &path, errno.into())),
                }
                next = rustix::fs::openat(&folder, step, flags, Mode::empty());
            }
            folder = next.map_err(|errno| failed(&path, errno))?;
        }
        Ok((Self { parent: folder, name: name.to_owned(), path: real.to_owned() }, made))
    }

    /// What is there; `None` if nothing is.
    fn stat(&self) -> Result<Option<Stat>> {
        match rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(told("look at", &self.path, errno.into())),
        }
    }

    /// Opens a plain file for reading; `None` if there is nothing. Anything else is refused before
    /// it is opened.
    pub(crate) fn open(&self) -> Result<Option<Opened>> {
        let Some(stat) = self.stat()? else { return Ok(None) };
        self.check_kind(&stat)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.parent, &self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(told("open", &self.path, errno.into())),
        };
        let stat =
            rustix::fs::fstat(&file).map_err(|errno| told("look at", &self.path, errno.into()))?;
        self.check_kind(&stat)?;
        Ok(Some(Opened {
            file: File::from(file),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: permissions(&stat),
            modified: modified(&stat),
        }))
    }

    fn check_kind(&self, stat: &Stat) -> Result<()> {
        kind_of(stat).check(&self.path)
    }

    /// Puts content there in one step: a reader sees the old file or the new one.
    pub(crate) fn replace(&self, content: &[u8], mode: Option<u32>) -> Result<()> {
        self.stage(content, mode)?.finish()
    }

    /// Writes content beside the place, ready to be put there.
    pub(crate) fn stage(&self, content: &[u8], mode: Option<u32>) -> Result<Staged<'_>> {
        let failed = |errno: Errno| told("write", &self.path, errno.into());
        let name = name_beside();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.parent, &name, flags, NEW_FILE).map_err(failed)?;
        let staged = Staged { place: self, name: Some(name.into()) };
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(failed)?;
        }
        let mut file = File::from(file);
        let written = file.write_all(content).and_then(|()| file.sync_all());
        written.map_err(|error| told("write", &self.path, error))?;
        Ok(staged)
    }

    /// Removes the file; whether there was one.
    pub(crate) fn remove(&self) -> Result<bool> {
        match rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(told("remove", &self.path, errno.into())),
        }
    }
}

/// Content that waits beside its place. Dropped, it goes.
pub(crate) struct Staged<'a> {
    place: &'a Place,
    name: Option<OsString>,
}

impl Staged<'_> {
    /// Puts it in its place.
    pub(crate) fn finish(mut self) -> Result<()> {
        let Some(name) = self.name.take() else { return Ok(()) };
        let parent = &self.place.parent;
        let done = rustix::fs::renameat(parent, &name, parent, &self.place.name);
        done.map_err(|errno| {
            let _ = rustix::fs::unlinkat(parent, &name, AtFlags::empty());
            told("write", &self.place.path, errno.into())
        })
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.place.parent, name, AtFlags::empty());
        }
    }
}

fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::Unknown => Kind::Other,
    }
}

// The types of these fields differ between systems.
#[allow(clippy::unnecessary_cast)]
fn permissions(stat: &Stat) -> u32 {
    stat.st_mode as u32 & 0o7777
}

#[allow(clippy::unnecessary_cast)]
fn modified(stat: &Stat) -> (i64, i64) {
    (stat.st_mtime as i64, stat.st_mtime_nsec as i64)
}
