//! A file mapped into memory, read only.
//!
//! The pages are the page cache of the system: a model that two processes have open is in memory
//! once, and what is not used is not read.

use std::fs::File;
use std::path::Path;

use orlop_types::{Error, Result};

/// The bytes of a file, for as long as this lives.
pub(crate) struct Mapped(memmap2::Mmap);

impl Mapped {
    /// Maps the whole file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot read the model file {}: {error}", path.display());
            match error.kind() {
                std::io::ErrorKind::NotFound => Error::not_found(message),
                _ => Error::unavailable(message).with_retryable(false),
            }
        };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            let message = format!("{} is not a file; name a GGUF file", path.display());
            return Err(Error::bad_argument(message));
        }
        Self::map(&file).map_err(failed)
    }

    #[allow(unsafe_code)]
    fn map(file: &File) -> std::io::Result<Self> {
        // SAFETY: the map is private and read only, and every read of it goes through slices whose
        // bounds were checked against its length. What remains is that another program changes the
        // file while it is mapped: bytes that change give wrong numbers, never a wrong address,
        // because addresses are taken from the header once, when the file is opened. A file that
        // is cut short under the map ends the process with SIGBUS, as it does for every program
        // that maps files; model files are replaced by renaming, which does not touch the map.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
