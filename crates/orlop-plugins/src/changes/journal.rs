//! What each turn of a session did to files: content before in files named by their digest, and
//! one line a change in `changes.jsonl`. Both lie under the data folder, readable by their owner.

use crate::files::place::told;
use crate::files::plan::Planned;
use orlop_app::Application;
use orlop_app::config::RuntimeEnv;
use orlop_core::{Context, Error, Result, Value};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The largest content that is kept of one file, and of all files of a session.
const MAX_CONTENT: usize = 16 * 1024 * 1024;
const MAX_SESSION: u64 = 256 * 1024 * 1024;

/// A content: its digest, its size, and the permissions of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) sha256: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<u32>,
    /// Whether it can be put back.
    #[serde(default)]
    pub(super) kept: bool,
}

/// One change of one file; `None` is a file that is not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) request: String,
    pub(super) path: PathText,
    pub(super) before: Option<Content>,
    pub(super) after: Option<Content>,
    /// The tool that made it.
    pub(super) by: String,
    /// How many folders above a new file were not there, the nearest first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) new_folders: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    Change(Record),
    Undone { undone: String },
}

/// A path in JSON, also where it is no Unicode.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_encoded_bytes().to_vec()),
        }
    }
}

impl PathText {
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => path_of(bytes),
        }
    }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes.to_vec()).into()
}

/// Half a surrogate pair is lost here; such a file is then not found, and said to be missing.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The journal of one session, and the request whose changes are written to it.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    folder: PathBuf,
    request: String,
}

impl Journal {
    /// The journal of the session and the request a tool was called in.
    pub(crate) fn of(cx: &Context) -> Result<Self> {
        let told = |key: &str| cx.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(session), Some(request)) = (told("session_id"), told("request_id")) else {
            return Err(Error::bad_state("it does not belong to a request"));
        };
        let app = Application::of(cx)?;
        let mut journal = Self::of_session(cx, &app, session)?;
        request.clone_into(&mut journal.request);
        Ok(journal)
    }

    /// The journal of a session, to read it.
    pub(super) fn of_session(cx: &Context, app: &Application, session: &str) -> Result<Self> {
        orlop_app::check_id("session", session)?;
        let env = cx.handle::<RuntimeEnv>("env");
        let data = env.as_ref().and_then(|env| env.data_dir()).ok_or_else(|| {
            Error::bad_state("no data folder is known, so nothing is kept of file changes")
        })?;
        let (tenant, user) = (app.scope().tenant(), app.scope().user());
        let folder = data.join("file_changes").join(tenant).join(user).join(session);
        Ok(Self { folder, request: String::new() })
    }

    /// Keeps what files are before a change. It is durable before the change is made.
    pub(crate) async fn record(&self, files: &[Planned], by: &str) -> Result<()> {
        let (journal, files, by) = (self.clone(), files.to_vec(), by.to_owned());
        let work = move || journal.write(&files, &by);
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Error::internal("keeping a file change ended with a panic"))?
    }

    fn write(&self, files: &[Planned], by: &str) -> Result<()> {
        self.make_folder()?;
        let mut lines = String::new();
        for file in files {
            let before = file.before.as_deref().map(|content| {
                let kept = content.len() <= MAX_CONTENT && self.keep(content).is_ok();
                Content { mode: file.mode, kept, ..digest(content) }
            });
            let after = file.after.as_deref().map(digest);
            let record = Record {
                request: self.request.clone(),
                path: file.path.as_path().into(),
                before,
                after,
                by: by.to_owned(),
                new_folders: missing_folders(&file.path),
            };
            lines.push_str(&line_of(&Entry::Change(record))?);
        }
        self.append(&lines)?;
        self.prune()
    }

    /// Writes down that a turn was undone.
    pub(super) fn undone(&self, request: &str) -> Result<()> {
        self.append(&line_of(&Entry::Undone { undone: request.to_owned() })?)
    }

    fn make_folder(&self) -> Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let made = builder.recursive(true).create(&self.folder);
        made.map_err(|error| told("make", &self.folder, error))
    }

    fn append(&self, lines: &str) -> Result<()> {
        let path = self.lines_path();
        let file = for_owner_only().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| {
            file.write_all(lines.as_bytes())?;
            file.sync_data()
        });
        written.map_err(|error| told("write", &path, error))
    }

    fn keep(&self, content: &[u8]) -> Result<()> {
        let path = self.content_path(&digest(content).sha256);
        if path.exists() {
            return Ok(());
        }
        let part = path.with_extension("part");
        let file = for_owner_only().create(true).write(true).truncate(true).open(&part);
        let written = file.and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()?;
            std::fs::rename(&part, &path)
        });
        written.map_err(|error| told("write", &path, error))
    }

    /// What was kept of a content.
    pub(super) fn content(&self, content: &Content) -> Result<Vec<u8>> {
        let path = self.content_path(&content.sha256);
        let bytes = std::fs::read(&path).map_err(|error| told("read", &path, error))?;
        if digest(&bytes).sha256 == content.sha256 {
            return Ok(bytes);
        }
        Err(Error::bad_state(format!("{} is not what was kept", path.display())))
    }

    fn lines_path(&self) -> PathBuf {
        self.folder.join("changes.jsonl")
    }

    fn content_path(&self, sha256: &str) -> PathBuf {
        self.folder.join(sha256)
    }

    /// All lines, the oldest first. One that was torn by a crash is left out.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        let path = self.lines_path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(told("read", &path, error)),
        };
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Forgets the oldest turns while more is kept than a session may have.
    fn prune(&self) -> Result<()> {
        let size = || -> io::Result<u64> {
            let files = std::fs::read_dir(&self.folder)?;
            files.map(|file| Ok(file?.metadata()?.len())).sum()
        };
        if size().unwrap_or(0) <= MAX_SESSION {
            return Ok(());
        }
        let mut entries = self.entries()?;
        let oldest = entries.iter().find_map(|entry| match entry {
            Entry::Change(record) if record.request != self.request => Some(record.request.clone()),
            _ => None,
        });
        // What the present turn needs stays, however much it is.
        let Some(oldest) = oldest else { return Ok(()) };
        entries.retain(|entry| match entry {
            Entry::Change(record) => record.request != oldest,
            Entry::Undone { undone } => *undone != oldest,
        });
        let needed: HashSet<&str> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Change(record) => record.before.as_ref().map(|content| &*content.sha256),
                Entry::Undone { .. } => None,
            })
            .collect();
        let mut lines = String::new();
        for entry in &entries {
            lines.push_str(&line_of(entry)?);
        }
        let path = self.lines_path();
        let part = path.with_extension("part");
        let replaced = std::fs::write(&part, lines).and_then(|()| std::fs::rename(&part, &path));
        replaced.map_err(|error| told("write", &path, error))?;
        for file in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let is_content = name.len() == 64;
            if is_content && !name.to_str().is_some_and(|name| needed.contains(name)) {
                let _ = std::fs::remove_file(file.path());
            }
        }
        self.prune()
    }

    /// Removes everything that was kept of the session.
    pub(super) fn forget(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(told("remove", &self.folder, error))
            }
            _ => Ok(()),
        }
    }
}

/// How files are opened that nobody else should read.
fn for_owner_only() -> OpenOptions {
    #[allow(unused_mut)] // Elsewhere nothing is set.
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn line_of(entry: &Entry) -> Result<String> {
    let line = serde_json::to_string(entry)
        .map_err(|error| Error::internal(format!("a file change is no JSON: {error}")))?;
    Ok(format!("{line}\n"))
}

/// How many folders have to be made before a file can be.
fn missing_folders(path: &Path) -> usize {
    let folders = path.ancestors().skip(1);
    folders.take_while(|folder| folder.symlink_metadata().is_err()).count()
}

/// What a content is known by.
pub(super) fn digest(content: &[u8]) -> Content {
    let sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    Content { sha256, size: content.len() as u64, mode: None, kept: false }
}
