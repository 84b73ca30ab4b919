//! Where a value of the configuration came from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A configuration file, and the name it has in messages.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    path: PathBuf,
    shown: String,
}

impl SourceFile {
    /// The file at `path`, named relative to `working_dir` where it lies below it.
    pub fn new(path: &Path, working_dir: &Path) -> Arc<Self> {
        let short = path.strip_prefix(working_dir).unwrap_or(path);
        Arc::new(Self { path: path.to_owned(), shown: short.display().to_string() })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

impl fmt::Display for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// A place in a text; both numbers count from one, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Where a value came from.
///
/// ```
/// use orlop_app::config::Origin;
/// assert_eq!(Origin::Flag.to_string(), "--set");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A place in a file, or the file as a whole.
    File(Arc<SourceFile>, Option<Position>),
    /// The flag `--set`.
    Flag,
    /// Chosen because an environment variable of this name is there.
    Environment(&'static str),
    /// Nobody said anything.
    Default,
}

impl Origin {
    /// The file, if it came from one.
    pub fn file(&self) -> Option<&SourceFile> {
        match self {
            Self::File(file, _) => Some(file),
            _ => None,
        }
    }

    /// The place in the file, if there is one.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::File(_, position) => *position,
            _ => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file, None) => write!(f, "{file}"),
            Self::File(file, Some(Position { line, column })) => {
                write!(f, "{file}:{line}:{column}")
            }
            Self::Flag => f.write_str("--set"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Default => f.write_str("default"),
        }
    }
}
