//! The bytes of attachments, in files of their own: `root/<tenant>/<user>/<id>`.
//!
//! What is known of an asset is in the store ([`AssetRecord`]); the name its user gave it never
//! becomes part of a path. A file appears under its id when it is complete and on disk, not
//! before. The plain functions block; those ending in `_async` do their work on a blocking thread.

mod folder;
mod media_type;
mod name;
#[cfg(test)]
mod tests;

pub use media_type::allows;
pub use name::clean_name;

use crate::store::AssetRecord;
use crate::time::now_ms;
use crate::{Scope, check_id};
use folder::{Partial, unavailable};
use media_type::{HEAD, media_type_of};
use orlop_core::{Error, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What assets may be.
#[derive(Debug, Clone, PartialEq)]
pub struct AssetLimits {
    /// The largest size in bytes.
    pub max_bytes: u64,
    /// The media types that are accepted, such as `application/pdf` and `image/*`; `None` accepts
    /// all.
    pub types: Option<Vec<String>>,
}

/// The largest attachment where nobody says otherwise.
pub const MAX_BYTES: u64 = 64 << 20;

impl Default for AssetLimits {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, types: None }
    }
}

/// What is said about the bytes that are to be kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Upload {
    /// The name of the file, as its user has it.
    pub name: String,
    /// The media type it is said to have; without one, or with `application/octet-stream`, the
    /// bytes tell.
    pub media_type: Option<String>,
    /// The session it belongs to.
    pub session: Option<String>,
}

impl Upload {
    /// An upload of no session.
    pub fn new(name: impl Into<String>, media_type: Option<&str>) -> Self {
        Self { name: name.into(), media_type: media_type.map(str::to_owned), session: None }
    }
}

/// A folder of assets. Clones are the same folder.
#[derive(Debug, Clone)]
pub struct AssetFiles {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    root: PathBuf,
    limits: AssetLimits,
}

impl AssetFiles {
    /// Assets below `root`, which is made when the first one is kept.
    pub fn new(root: PathBuf, limits: AssetLimits) -> Self {
        Self { held: Arc::new(Held { root, limits }) }
    }

    /// The limits that hold.
    pub fn limits(&self) -> &AssetLimits {
        &self.held.limits
    }

    /// Keeps the bytes of `from` under a new id. What is too large, or an image that is none, is a bad
    /// argument; a type that is not accepted is a wrong type; a folder that cannot be written is
    /// unavailable. After a failure nothing is left.
    pub fn put(&self, scope: &Scope, upload: &Upload, from: impl Read) -> Result<AssetRecord> {
        let name = clean_name(&upload.name);
        let declared = upload.media_type.as_deref();
        media_type::check_declared(declared, self.held.limits.types.as_deref())?;
        let id = uuid::Uuid::new_v4().to_string();
        let path = self.path(scope, &id)?;
        folder::make(&self.held.root, [scope.tenant(), scope.user()])?;

        let (partial, mut file) = Partial::create(&path, &id)?;
        let poured = self.pour(&name, from, &mut file, partial.path())?;
        let media_type = media_type_of(declared, &poured.head)
            .and_then(|found| media_type::check_allowed(found, self.held.limits.types.as_deref()))
            .map_err(|reason| {
                Error::new(reason.class(), format!("\"{name}\": {}", reason.message()))
            })?;
        partial.finish(file, &path)?;
        Ok(AssetRecord {
            id,
            session: upload.session.clone(),
            name,
            media_type,
            size: poured.size,
            sha256: poured.sha256,
            created: now_ms(),
        })
    }

    /// The bytes of an asset; an id that this scope does not have is not found.
    pub fn read(&self, scope: &Scope, id: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let path = self.path(scope, id)?;
        self.open(scope, id)?
            .read_to_end(&mut bytes)
            .map_err(|error| unavailable("read", &path, &error))?;
        Ok(bytes)
    }

    /// The file of an asset, open for reading. A link in its place, or on the way to it, is
    /// refused.
    pub fn open(&self, scope: &Scope, id: &str) -> Result<File> {
        let path = self.path(scope, id)?;
        let file = match folder::check(&self.held.root, [scope.tenant(), scope.user()])? {
            true => folder::open(&path)?,
            false => None,
        };
        file.ok_or_else(|| Error::not_found(format!("there is no asset \"{id}\"; its session may have been deleted, or it belongs to somebody else")))
    }

    /// Where the bytes of an asset are, whether or not there are any.
    pub fn path(&self, scope: &Scope, id: &str) -> Result<PathBuf> {
        check_id("asset", id)?;
        Ok(self.held.root.join(scope.tenant()).join(scope.user()).join(id))
    }

    /// Deletes the bytes of an asset; there need not be any.
    pub fn delete(&self, scope: &Scope, id: &str) -> Result<()> {
        let path = self.path(scope, id)?;
        if !folder::check(&self.held.root, [scope.tenant(), scope.user()])? {
            return Ok(());
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(unavailable("delete", &path, &error))
            }
            _ => Ok(()),
        }
    }

    /// Deletes the bytes of several assets. A failure does not keep it from the others; the first
    /// one is told.
    pub fn delete_all<I: AsRef<str>>(
        &self,
        scope: &Scope,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<()> {
        let mut told = Ok(());
        for id in ids {
            told = told.and(self.delete(scope, id.as_ref()));
        }
        told
    }

    /// [`AssetFiles::put`] on a blocking thread.
    pub async fn put_async(
        &self,
        scope: &Scope,
        upload: Upload,
        from: impl Read + Send + 'static,
    ) -> Result<AssetRecord> {
        let (files, scope) = (self.clone(), scope.clone());
        blocking(move || files.put(&scope, &upload, from)).await
    }

    /// [`AssetFiles::read`] on a blocking thread.
    pub async fn read_async(&self, scope: &Scope, id: &str) -> Result<Vec<u8>> {
        let (files, scope, id) = (self.clone(), scope.clone(), id.to_owned());
        blocking(move || files.read(&scope, &id)).await
    }

    /// [`AssetFiles::open`] on a blocking thread.
    pub async fn open_async(&self, scope: &Scope, id: &str) -> Result<File> {
        let (files, scope, id) = (self.clone(), scope.clone(), id.to_owned());
        blocking(move || files.open(&scope, &id)).await
    }

    /// [`AssetFiles::delete_all`] on a blocking thread.
    pub async fn delete_async(&self, scope: &Scope, ids: Vec<String>) -> Result<()> {
        let (files, scope) = (self.clone(), scope.clone());
        blocking(move || files.delete_all(&scope, &ids)).await
    }

    /// Copies the bytes, counts and digests them on the way, and stops at the limit.
    fn pour(
        &self,
        name: &str,
        mut from: impl Read,
        into: &mut impl Write,
        path: &Path,
    ) -> Result<Poured> {
        let most = self.held.limits.max_bytes;
        let mut poured = Poured::default();
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Error::unavailable(format!(
                        "\"{name}\" broke off after {} bytes ({error}); send it again",
                        poured.size
                    )));
                }
            };
            let bytes = buffer.get(..count).unwrap_or_default();
            poured.size += count as u64;
            if poured.size > most {
                return Err(Error::bad_argument(format!(
                    "\"{name}\" is larger than {most} bytes; send a smaller file or raise assets.max_bytes"
                )));
            }
            let wanted = HEAD.saturating_sub(poured.head.len()).min(count);
            poured.head.extend(bytes.iter().take(wanted));
            digest.update(bytes);
            into.write_all(bytes).map_err(|error| unavailable("write", path, &error))?;
        }
        poured.sha256 = digest.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(poured)
    }
}

/// What is known of bytes that went by.
#[derive(Debug, Default)]
struct Poured {
    size: u64,
    sha256: String,
    head: Vec<u8>,
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Error::internal(format!("work on an asset ended: {error}"))))
}
