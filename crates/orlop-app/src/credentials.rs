//! Stored logins: tokens by name in one file that only its owner can read.
//!
//! A configuration uses one as `${credential:NAME}`; login plugins write them. The file is read
//! when a value is needed, so a login holds from the next request on.

use crate::private_file;
use orlop_core::{Error, Map, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The name of the file in the data folder.
pub const CREDENTIALS_FILE: &str = "credentials.json";
/// How long before its end a token is renewed.
const RENEWED_AHEAD_MS: i64 = 2 * 60 * 1000;
/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// One login.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Credential {
    /// What requests carry.
    pub access_token: String,
    /// What a new one is asked for with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When it ends, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// How it is sent, for instance `Bearer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<String>,
    /// The application plugin that gets a new one before it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewed_by: Option<String>,
    /// Whatever else the login keeps with it.
    #[serde(flatten)]
    pub other: Map,
}

/// Shows which fields there are: all of them may be secrets.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other: Vec<&String> = self.other.keys().collect();
        f.debug_struct("Credential")
            .field("refresh_token", &self.refresh_token.is_some())
            .field("expires_at", &self.expires_at)
            .field("renewed_by", &self.renewed_by)
            .field("other", &other)
            .finish_non_exhaustive()
    }
}

impl Credential {
    /// A token that does not end.
    pub fn new(access_token: impl Into<String>) -> Self {
        Self { access_token: access_token.into(), ..Self::default() }
    }

    /// Whether it has ended. One whose end cannot be read has not.
    pub fn is_expired(&self) -> bool {
        self.ends_within(0)
    }

    /// Whether it has ended or is so near its end that a new one should be got.
    pub fn ends_soon(&self) -> bool {
        self.ends_within(RENEWED_AHEAD_MS)
    }

    /// Whether somebody can get a new one without the person.
    pub fn can_be_renewed(&self) -> bool {
        self.refresh_token.is_some() && self.renewed_by.is_some()
    }

    fn ends_within(&self, ms: i64) -> bool {
        let end = self.expires_at.as_deref().and_then(|end| end.parse::<jiff::Timestamp>().ok());
        end.is_some_and(|end| end.as_millisecond() <= crate::time::now_ms().saturating_add(ms))
    }
}

/// The file of the stored logins. Holds no tokens itself.
///
/// ```
/// use orlop_app::{Credential, Credentials};
/// let folder = std::env::temp_dir().join(format!("orlop-doc-{}", std::process::id()));
/// let credentials = Credentials::in_folder(&folder);
/// credentials.store("acme", Credential::new("token"))?;
/// assert_eq!(credentials.get("acme")?.map(|login| login.access_token).as_deref(), Some("token"));
/// credentials.remove("acme")?;
/// assert_eq!(credentials.get("acme")?, None);
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), orlop_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    file: PathBuf,
}

type Logins = BTreeMap<String, Credential>;

impl Credentials {
    /// The logins of this data folder.
    pub fn in_folder(home: &Path) -> Self {
        Self { file: home.join(CREDENTIALS_FILE) }
    }

    /// Where they are.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// All logins. There are none where there is no file; a file that others can read is refused.
    pub fn load(&self) -> Result<BTreeMap<String, Credential>> {
        let file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Logins::new()),
            Err(error) => return Err(self.failed("cannot be read", &error)),
        };
        self.check_private(&file)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| self.failed("cannot be read", &error))?;
        // The message of the parser may show what stands there.
        let broken = |_| {
            let file = self.file.display();
            Error::bad_state(format!("{file} is damaged; delete it and log in again"))
        };
        match text.len() as u64 > MAX_BYTES {
            true => Err(self.failed("cannot be read", &"it is too large")),
            false => serde_json::from_str(&text).map_err(broken),
        }
    }

    /// One login, if there is one of this name.
    pub fn get(&self, name: &str) -> Result<Option<Credential>> {
        Ok(self.load()?.remove(name))
    }

    /// Stores a login under a name, in the place of an older one.
    pub fn store(&self, name: &str, credential: Credential) -> Result<()> {
        crate::check_id("credential", name)?;
        self.change(|logins| {
            logins.insert(name.to_owned(), credential);
            true
        })
        .map(drop)
    }

    /// Removes a login. Says whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool> {
        match self.file.exists() {
            true => self.change(|logins| logins.remove(name).is_some()),
            false => Ok(false),
        }
    }

    /// Reads, changes and writes while no other process does. Who reads sees the old file or the
    /// new one, never a part of it.
    fn change(&self, change: impl FnOnce(&mut Logins) -> bool) -> Result<bool> {
        let failed = |error: std::io::Error| self.failed("cannot be written", &error);
        let folder = private_file::lock_folder_of(&self.file).map_err(failed)?;
        let mut logins = self.load()?;
        if !change(&mut logins) {
            return Ok(false);
        }
        let text = serde_json::to_string_pretty(&logins)
            .map_err(|error| Error::internal(format!("credentials do not serialise: {error}")))?;
        private_file::replace(&self.file, text.as_bytes(), &folder).map_err(failed)?;
        Ok(true)
    }

    fn failed(&self, what: &str, error: &dyn fmt::Display) -> Error {
        let file = self.file.display();
        Error::bad_state(format!("{file} {what}: {error}; check the file and its folder"))
    }

    #[cfg(unix)]
    fn check_private(&self, file: &File) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let about = file.metadata().map_err(|error| self.failed("cannot be read", &error))?;
        match about.permissions().mode() & 0o077 {
            0 => Ok(()),
            _ => {
                let file = self.file.display();
                Err(Error::bad_state(format!(
                    "{file} is not used, because others on this machine can read your tokens in it; run: chmod 600 '{file}' (and log in again if somebody may have)"
                )))
            }
        }
    }

    #[cfg(not(unix))]
    fn check_private(&self, _: &File) -> Result<()> {
        Ok(())
    }
}
