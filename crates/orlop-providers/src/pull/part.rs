//! A file on its way: written under another name, hashed as it grows, and given its own name only
//! when it is complete and right.

use super::{CHUNK, Known, Pulled};
use orlop_types::{Error, Result};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What every model file begins with.
const MAGIC: &[u8; 4] = b"GGUF";

pub(super) struct Part {
    path: PathBuf,
    file: File,
    hash: Sha256,
    written: u64,
    resumed: bool,
}

impl Part {
    /// Begins anew, whatever is there.
    pub(super) fn begin(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| failed(path, &error))?;
        let _ = std::fs::remove_file(note_of(path));
        let hash = Sha256::new();
        Ok(Self { path: path.to_owned(), file, hash, written: 0, resumed: false })
    }

    /// Goes on behind what is there.
    pub(super) async fn resume(path: &Path) -> Result<Self> {
        let (written, hash) = match path.exists() {
            true => hashed(path).await?,
            false => (0, Sha256::new()),
        };
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), file, hash, written, resumed: written > 0 })
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether bytes of an earlier run are in it.
    pub(super) fn was_resumed(&self) -> bool {
        self.resumed
    }

    /// Forgets everything that was written.
    pub(super) fn restart(&mut self) -> Result<()> {
        *self = Self::begin(&self.path)?;
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8], known: Option<&Known>) -> Result<()> {
        let written = self.written + bytes.len() as u64;
        if let Some(known) = known.filter(|known| written > known.bytes) {
            self.discard();
            return Err(wrong(known, &format!("it has more than {} bytes", known.bytes)));
        }
        self.file.write_all(bytes).map_err(|error| failed(&self.path, &error))?;
        self.hash.update(bytes);
        self.written = written;
        Ok(())
    }

    /// Checks everything and gives the file its name.
    pub(super) fn finish(self, known: Option<&Known>, target: &Path) -> Result<Pulled> {
        let sha256 = hex(self.hash.clone());
        let problem = match known {
            Some(known) if self.written != known.bytes => {
                let (has, wants) = (self.written, known.bytes);
                Some(wrong(known, &format!("it has {has} bytes, not {wants}")))
            }
            Some(known) if sha256 != known.sha256 => {
                Some(wrong(known, &format!("its SHA-256 is {sha256}, not {}", known.sha256)))
            }
            _ => ensure_magic(&self.path).err(),
        };
        if let Some(problem) = problem {
            self.discard();
            return Err(problem);
        }
        self.file.sync_all().map_err(|error| failed(&self.path, &error))?;
        std::fs::rename(&self.path, target).map_err(|error| failed(target, &error))?;
        // The name has to last, too; a system that cannot promise that is no reason to fail.
        let _ = target.parent().map(File::open).and_then(|folder| folder.ok()?.sync_all().ok());
        let _ = std::fs::remove_file(note_of(&self.path));
        Ok(Pulled { path: target.to_owned(), bytes: self.written, sha256, already: false })
    }

    /// Wrong bytes are of no use to a later run.
    fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(note_of(&self.path));
    }
}

/// Where is kept what a `.part` file is a part of.
pub(super) fn note_of(part: &Path) -> PathBuf {
    part.with_extension("part.json")
}

/// Size and hash of a file.
pub(super) async fn hash_of(path: &Path) -> Result<(u64, String)> {
    let (bytes, hash) = hashed(path).await?;
    Ok((bytes, hex(hash)))
}

async fn hashed(path: &Path) -> Result<(u64, Sha256)> {
    let mut file = File::open(path).map_err(|error| failed(path, &error))?;
    let (mut bytes, mut hash, mut buffer) = (0, Sha256::new(), vec![0; CHUNK]);
    loop {
        let count = file.read(&mut buffer).map_err(|error| failed(path, &error))?;
        if count == 0 {
            return Ok((bytes, hash));
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
        tokio::task::yield_now().await;
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a file is a model file at all.
pub(super) fn ensure_magic(path: &Path) -> Result<()> {
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && start == *MAGIC {
        return Ok(());
    }
    Err(Error::bad_argument(format!(
        "{} is no model file: it does not begin with GGUF; give another one",
        path.display()
    )))
}

fn wrong(known: &Known, why: &str) -> Error {
    Error::bad_state(format!(
        "what came is not the model {:?}: {why}; nothing was kept, try another source with --from",
        known.name
    ))
}

/// A file that cannot be read or written.
pub(super) fn failed(path: &Path, error: &std::io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::unavailable(format!(
            "there is no room left for {shown}; free some space and run the command again, \
             it goes on where it stopped"
        )),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::bad_state(format!(
            "{shown} may not be written ({error}); check who owns the folder, or set ORLOP_HOME \
             to another one"
        )),
        _ => Error::bad_state(format!("cannot use {shown}: {error}; check the disk")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_kindly() {
        let error = failed(Path::new("m.part"), &ErrorKind::StorageFull.into());
        assert_eq!(
            error.message(),
            "there is no room left for m.part; free some space and run the command again, \
             it goes on where it stopped"
        );
        let error = failed(Path::new("m.part"), &ErrorKind::PermissionDenied.into());
        assert!(error.message().contains("set ORLOP_HOME"), "{error}");
    }

    #[test]
    fn hashes_are_those_everybody_knows() {
        let mut hash = Sha256::new();
        hash.update(b"abc");
        assert_eq!(hex(hash), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
