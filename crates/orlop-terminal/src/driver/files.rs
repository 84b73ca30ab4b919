//! Files that the chat writes for its user. None that is there is replaced unless they say so.

use orlop_app::ui::plain_line;
use orlop_core::{Error, Result};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;

/// How many names are tried for a file whose name is taken.
const MOST_NAMES: usize = 1_000;

/// Writes a file; one that is there is an error unless it may be replaced.
pub(super) async fn write(path: &Path, bytes: Vec<u8>, replace: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    match replace {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = options.open(path).await?;
    file.write_all(&bytes).await?;
    file.flush().await
}

/// Writes a file into a folder, under its name or the next one that is free, and gives its path. Of a
/// name that is a path only the end counts: it is not for others to say where files go.
pub(super) async fn write_beside(folder: &Path, name: &str, bytes: Vec<u8>) -> Result<PathBuf> {
    let name = plain_line(name.rsplit(['/', '\\']).next().unwrap_or_default());
    let name = if matches!(&*name, "" | "." | "..") { "download".to_owned() } else { name };
    let (stem, end) = match name.rfind('.').filter(|place| *place > 0) {
        Some(place) => name.split_at(place),
        None => (name.as_str(), ""),
    };
    for number in 1..=MOST_NAMES {
        let path = match number {
            1 => folder.join(&name),
            number => folder.join(format!("{stem}-{number}{end}")),
        };
        match write(&path, bytes.clone(), false).await {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot_write(&path, &error)),
        }
    }
    Err(Error::bad_state(format!("{} has too many files called {name}", folder.display())))
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let path = path.display();
    Error::bad_argument(format!("{path} cannot be written: {error}; name another file"))
}
