//! One place in the file system, reached folder by folder without following any link, so that a
//! link put there after the path was judged leads nowhere. Nothing here blocks on pipes or devices.

use orlop_core::{Error, Result};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use similar::TextDiff;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Folders are opened to be walked through, not to be read.
#[cfg(target_os = "linux")]
const WALK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WALK: OFlags = OFlags::RDONLY;

/// The permissions of new files and folders, less what the umask takes.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// In how many names of a folder a similar one is looked for.
const MAX_NAMES: usize = 2_000;

/// A name in a folder that is held open.
pub(crate) struct Place {
    parent: OwnedFd,
    name: OsString,
    path: PathBuf,
}

/// A plain file that is open, and what was known of it then.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) modified: (i64, i64),
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
        let name = real.file_name().ok_or_else(|| {
            Error::bad_argument(format!("{} names no file; give the path of one", real.display()))
        })?;
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
    pub(crate) fn stat(&self) -> Result<Option<Stat>> {
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
        let kind = FileType::from_raw_mode(stat.st_mode);
        match kind {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(Error::bad_argument(format!(
                "{} is a folder; use list_files to see what is in it",
                self.path.display()
            ))),
            FileType::Symlink => Err(Error::conflict(format!(
                "{} became a link while it was looked at; try again",
                self.path.display()
            ))),
            kind => Err(Error::bad_argument(format!(
                "{} is a {}, not a file, and is left alone",
                self.path.display(),
                kind_name(kind)
            ))),
        }
    }

    /// Puts content there in one step: a reader sees the old file or the new one.
    pub(crate) fn replace(&self, content: &[u8], mode: Option<u32>) -> Result<()> {
        self.stage(content, mode)?.finish()
    }

    /// Writes content beside the place, ready to be put there.
    pub(crate) fn stage(&self, content: &[u8], mode: Option<u32>) -> Result<Staged<'_>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let failed = |errno: Errno| told("write", &self.path, errno.into());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".orlop-{}-{count}.tmp", std::process::id());
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

impl Opened {
    /// All of it, if it is not longer than `most`.
    pub(crate) fn read_all(&mut self, path: &Path, most: u64) -> Result<Vec<u8>> {
        let too_large = |size: u64| {
            Error::bad_argument(format!(
                "{} has {} and is too large to be changed here (at most {}); use the shell for it",
                path.display(),
                bytes(size),
                bytes(most)
            ))
        };
        if self.size > most {
            return Err(too_large(self.size));
        }
        let mut content = Vec::new();
        let read = (&mut self.file).take(most + 1).read_to_end(&mut content);
        let read = read.map_err(|error| told("read", path, error))? as u64;
        if read > most { Err(too_large(read)) } else { Ok(content) }
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

/// What a refusal of the system is called.
pub(crate) const DENIED: &str = "permission denied";

/// What a failure of the system means for who asked, with what may help.
pub(crate) fn told(what: &str, path: &Path, error: io::Error) -> Error {
    let path = shown(path);
    let not_there = "check the path with list_files or find_files";
    let denied = "it is outside of what this agent may use, or its permissions forbid it";
    if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        return Error::conflict(format!(
            "cannot {what} {path}: a part of it became a link while it was looked at; try again"
        ));
    }
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!("{path} does not exist; {not_there}")),
        io::ErrorKind::PermissionDenied => {
            Error::bad_state(format!("cannot {what} {path}: {DENIED}; {denied}"))
        }
        io::ErrorKind::NotADirectory => {
            Error::bad_argument(format!("cannot {what} {path}: a part of the path is no folder"))
        }
        io::ErrorKind::InvalidFilename => {
            Error::bad_argument(format!("cannot {what} {path}: the name is too long"))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::unavailable(format!(
            "cannot {what} {path}: the disk is full; nothing was changed, make room first"
        )),
        _ => Error::unavailable(format!("cannot {what} {path}: {error}")),
    }
}

/// Says that a file is not there, and which names in its folder are like it.
pub(crate) fn missing(real: &Path) -> Error {
    let error = told("read", real, io::ErrorKind::NotFound.into());
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else { return error };
    let name = name.to_string_lossy().to_lowercase();
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_NAMES);
    let mut like: Vec<(f32, String)> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .map(|held| (TextDiff::from_chars(&*held.to_lowercase(), &*name).ratio(), held))
        .filter(|(ratio, _)| *ratio >= 0.7)
        .collect();
    like.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let like: Vec<String> =
        like.into_iter().take(3).map(|(_, name)| shown(Path::new(&name))).collect();
    match like.is_empty() {
        true => error,
        false => Error::not_found(format!(
            "{} does not exist; in that folder there is {}",
            shown(real),
            like.join(", ")
        )),
    }
}

/// A path as one line of text, whatever is in it: in quotes with escapes where it has line ends or
/// other control characters, or is no Unicode.
pub(crate) fn shown(path: &Path) -> String {
    shown_name(path.as_os_str())
}

pub(crate) fn shown_name(name: &OsStr) -> String {
    match name.to_str() {
        Some(name) if !name.contains(char::is_control) => name.to_owned(),
        Some(name) => format!("{name:?}"),
        None => format!("{name:?} (not Unicode; only the shell can use it)"),
    }
}

/// A number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// What a file is that is no plain one.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        FileType::Symlink => "link",
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "special file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::AtomicBool;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("orlop-place-{name}-{}", std::process::id());
            let path = std::env::temp_dir().canonicalize().unwrap().join(name);
            std::fs::create_dir_all(path.join("work/dir")).unwrap();
            std::fs::create_dir_all(path.join("outside")).unwrap();
            std::fs::write(path.join("work/dir/f"), "inside").unwrap();
            std::fs::write(path.join("outside/f"), "secret").unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Says that it is over, also where a test fails: nobody waits for a thread that does not end.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_link_put_in_the_way_after_the_judgement_leads_nowhere() {
        let folder = Folder::new("swap");
        let (work, outside) = (folder.0.join("work"), folder.0.join("outside"));
        let workspace = Workspace::new(&work, []).unwrap();
        let folder_swapped = workspace.resolve("dir/f").unwrap();
        std::fs::rename(work.join("dir"), work.join("moved")).unwrap();
        symlink(&outside, work.join("dir")).unwrap();
        let error = Place::of(&folder_swapped).err().unwrap();
        assert!(error.message().contains("no folder"), "{}", error.message());
        let made = Place::with_folders(&work.join("dir/new/f")).err().unwrap();
        assert!(made.message().contains("no folder"), "{}", made.message());

        let file_swapped = workspace.resolve("moved/f").unwrap();
        let place = Place::of(&file_swapped).unwrap();
        std::fs::remove_file(&file_swapped).unwrap();
        symlink(outside.join("f"), &file_swapped).unwrap();
        assert!(place.open().err().unwrap().message().contains("became a link"));
        // Writing takes the place of the link and leaves what it leads to alone.
        place.replace(b"new", None).unwrap();
        assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"secret");
        assert_eq!(std::fs::read(&file_swapped).unwrap(), b"new");
    }

    #[test]
    fn a_race_for_the_folder_is_never_won() {
        let folder = Folder::new("race");
        let (work, outside) = (folder.0.join("work"), folder.0.join("outside"));
        symlink(&outside, work.join("link")).unwrap();
        let workspace = Workspace::new(&work, []).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Both are there all the time; their names change places.
                let (dir, link, free) = (work.join("dir"), work.join("link"), work.join("free"));
                while !over.load(Ordering::Relaxed) {
                    for (from, to) in [(&dir, &free), (&link, &dir), (&free, &link)] {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            });
            let _over = Over(&over);
            let (mut read, mut leaked) = (0, false);
            for _ in 0..2_000 {
                let real = workspace.resolve("dir/f").unwrap();
                if !workspace.contains(&real) {
                    continue;
                }
                let opened = Place::of(&real).and_then(|place| place.open());
                if let Ok(Some(mut opened)) = opened {
                    leaked |= opened.read_all(&real, 100).unwrap() != b"inside";
                    read += 1;
                }
            }
            assert!(read > 0 && !leaked);
        });
    }

    #[test]
    fn content_is_there_as_a_whole_or_not_at_all() {
        let folder = Folder::new("whole");
        let path = folder.0.join("work/dir/f");
        let place = Place::of(&path).unwrap();
        drop(place.stage(b"half", None).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"inside");
        assert_eq!(std::fs::read_dir(folder.0.join("work/dir")).unwrap().count(), 1);
        let staged = place.stage(b"other", Some(0o600)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"inside");
        staged.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"other");
    }

    #[test]
    fn sizes_are_for_people() {
        let shown = [0, 1023, 1024, 1_572_864, 10 << 30].map(bytes);
        assert_eq!(shown, ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 MiB", "10.0 GiB"]);
    }
}
