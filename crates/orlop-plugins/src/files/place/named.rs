//! A place known by its path, where folders cannot be held open. Links on the way are refused when
//! they are seen. One that is put there between the look and the use is not; only a system with
//! `held.rs` keeps that promise.

use super::{Kind, Opened, name_beside, name_of, told};
use orlop_core::Result;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A path whose folder is there.
pub(crate) struct Place {
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
        name_of(real)?;
        let mut made = Vec::new();
        let mut folders: Vec<&Path> = real.ancestors().skip(1).collect();
        folders.reverse();
        for folder in folders.into_iter().filter(|folder| folder.file_name().is_some()) {
            match fs::symlink_metadata(folder) {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => return Err(told("reach", folder, io::ErrorKind::NotADirectory.into())),
                Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
                    fs::create_dir(folder)
                        .map_err(|error| told("make the folder", folder, error))?;
                    made.push(folder.to_owned());
                }
                Err(error) => return Err(told("reach", folder, error)),
            }
        }
        Ok((Self { path: real.to_owned() }, made))
    }

    /// Opens a plain file for reading; `None` if there is nothing. Anything else is refused before
    /// it is opened.
    pub(crate) fn open(&self) -> Result<Option<Opened>> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            _ => Err(told("open", &self.path, error)),
        };
        let seen = match fs::symlink_metadata(&self.path) {
            Ok(seen) => seen,
            Err(error) => return failed(error),
        };
        Kind::of(seen.file_type()).check(&self.path)?;
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) => return failed(error),
        };
        let meta = file.metadata().map_err(|error| told("look at", &self.path, error))?;
        Kind::of(meta.file_type()).check(&self.path)?;
        Ok(Some(Opened { file, size: meta.len(), mode: 0, modified: modified(&meta) }))
    }

    /// Puts content there in one step: a reader sees the old file or the new one.
    pub(crate) fn replace(&self, content: &[u8], mode: Option<u32>) -> Result<()> {
        self.stage(content, mode)?.finish()
    }

    /// Writes content beside the place, ready to be put there. There are no permissions to set.
    pub(crate) fn stage(&self, content: &[u8], _: Option<u32>) -> Result<Staged<'_>> {
        let beside = self.path.with_file_name(name_beside());
        let file = OpenOptions::new().write(true).create_new(true).open(&beside);
        let mut file = file.map_err(|error| told("write", &self.path, error))?;
        let staged = Staged { place: self, beside: Some(beside) };
        let written = file.write_all(content).and_then(|()| file.sync_all());
        written.map_err(|error| told("write", &self.path, error))?;
        Ok(staged)
    }

    /// Removes the file; whether there was one.
    pub(crate) fn remove(&self) -> Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(told("remove", &self.path, error)),
        }
    }
}

/// Content that waits beside its place. Dropped, it goes.
pub(crate) struct Staged<'a> {
    place: &'a Place,
    beside: Option<PathBuf>,
}

impl Staged<'_> {
    /// Puts it in its place.
    pub(crate) fn finish(mut self) -> Result<()> {
        let Some(beside) = self.beside.take() else { return Ok(()) };
        fs::rename(&beside, &self.place.path).map_err(|error| {
            let _ = fs::remove_file(&beside);
            told("write", &self.place.path, error)
        })
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

fn modified(meta: &Metadata) -> (i64, i64) {
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or((0, 0), |since| (since.as_secs() as i64, i64::from(since.subsec_nanos())))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("orlop-named-{name}-{}", std::process::id());
            let path = std::env::temp_dir().canonicalize().unwrap().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn content_is_there_as_a_whole_or_not_at_all() {
        let folder = Folder::new("whole");
        let path = folder.0.join("a/b/f");
        assert!(Place::of(&path).err().unwrap().message().contains("does not exist"));
        let (place, made) = Place::with_folders(&path).unwrap();
        assert_eq!(made, [folder.0.join("a"), folder.0.join("a/b")]);
        assert!(place.open().unwrap().is_none() && !place.remove().unwrap());
        drop(place.stage(b"half", None).unwrap());
        assert_eq!(fs::read_dir(folder.0.join("a/b")).unwrap().count(), 0);
        place.replace(b"whole", Some(0o600)).unwrap();
        let mut opened = place.open().unwrap().unwrap();
        assert_eq!((opened.size, opened.read_all(&path, 10).unwrap()), (5, b"whole".to_vec()));
        assert!(opened.modified.0 > 0);
        place.replace(b"other", None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert!(place.remove().unwrap() && !path.exists());
    }

    #[test]
    fn what_is_no_plain_file_is_refused() {
        let folder = Folder::new("refused");
        let error = Place::of(&folder.0).unwrap().open().err().unwrap();
        assert!(error.message().contains("is a folder"), "{}", error.message());
        fs::write(folder.0.join("f"), "").unwrap();
        let error = Place::of(&folder.0.join("f/g")).err().unwrap();
        assert!(error.message().contains("no folder"), "{}", error.message());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("links");
        fs::create_dir(folder.0.join("real")).unwrap();
        fs::write(folder.0.join("real/f"), "secret").unwrap();
        symlink(folder.0.join("real"), folder.0.join("dir")).unwrap();
        symlink(folder.0.join("real/f"), folder.0.join("file")).unwrap();
        assert!(Place::of(&folder.0.join("dir/f")).is_err());
        assert!(Place::with_folders(&folder.0.join("dir/new/f")).is_err());
        let place = Place::of(&folder.0.join("file")).unwrap();
        assert!(place.open().err().unwrap().message().contains("became a link"));
    }
}
