//! One place in the file system, reached folder by folder without following any link, so that a
//! link put there after the path was judged leads nowhere. Nothing here blocks on pipes or devices.
//! How a place is held is a matter of the system: `held.rs` where folders can be held open,
//! `named.rs` elsewhere.

#[cfg(unix)]
mod held;
#[cfg(any(not(unix), test))]
mod named;

#[cfg(unix)]
pub(crate) use held::{Place, Staged};
#[cfg(not(unix))]
pub(crate) use named::{Place, Staged};

use orlop_core::{Error, Result};
use similar::TextDiff;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// In how many names of a folder a similar one is looked for.
const MAX_NAMES: usize = 2_000;

/// A plain file that is open, and what was known of it then.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) modified: (i64, i64),
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Pipe,
    Socket,
    Device,
    Other,
}

impl Kind {
    pub(crate) fn of(kind: std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::special(kind)
        }
    }

    #[cfg(unix)]
    fn special(kind: std::fs::FileType) -> Self {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            Self::Pipe
        } else if kind.is_socket() {
            Self::Socket
        } else if kind.is_char_device() || kind.is_block_device() {
            Self::Device
        } else {
            Self::Other
        }
    }

    #[cfg(not(unix))]
    fn special(_: std::fs::FileType) -> Self {
        Self::Other
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Pipe => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Other => "special file",
        }
    }

    /// Refuses everything but a plain file.
    fn check(self, path: &Path) -> Result<()> {
        let path = path.display();
        match self {
            Self::File => Ok(()),
            Self::Folder => Err(Error::bad_argument(format!(
                "{path} is a folder; use list_files to see what is in it"
            ))),
            Self::Link => Err(Error::conflict(format!(
                "{path} became a link while it was looked at; try again"
            ))),
            kind => Err(Error::bad_argument(format!(
                "{path} is a {}, not a file, and is left alone",
                kind.name()
            ))),
        }
    }
}

/// A name beside a file for what is not yet whole, which nobody else uses.
fn name_beside() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(".orlop-{}-{count}.tmp", std::process::id())
}

/// The last part of a path, which has to be there.
fn name_of(real: &Path) -> Result<&OsStr> {
    real.file_name().ok_or_else(|| {
        Error::bad_argument(format!("{} names no file; give the path of one", real.display()))
    })
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

/// What a refusal of the system is called.
pub(crate) const DENIED: &str = "permission denied";

/// What a failure of the system means for who asked, with what may help.
pub(crate) fn told(what: &str, path: &Path, error: io::Error) -> Error {
    let path = shown(path);
    let not_there = "check the path with list_files or find_files";
    let denied = "it is outside of what this agent may use, or its permissions forbid it";
    if is_link_in_the_way(&error) {
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

#[cfg(unix)]
fn is_link_in_the_way(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link_in_the_way(_: &io::Error) -> bool {
    false
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
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
