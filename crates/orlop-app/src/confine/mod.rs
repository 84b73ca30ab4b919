//! Keeps a thread, and every process it starts, within what it may reach: the kernel (Landlock and
//! seccomp on Linux) refuses the rest.
//!
//! `places.rs` knows where systems keep programs and secrets, `landlock.rs` tells the kernel,
//! `network.rs` takes sockets away. Where the kernel cannot, nothing is refused; [`support`] says so.

#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod network;
pub mod places;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
use landlock as kernel;
#[cfg(not(target_os = "linux"))]
use unsupported as kernel;

use orlop_core::Result;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What work may reach. All paths are real ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// May be read, and programs in there run.
    pub read: Vec<PathBuf>,
    /// May be read and written.
    pub write: Vec<PathBuf>,
    /// Cannot be reached through a folder around them that may.
    pub hidden: Vec<PathBuf>,
    /// The sockets it may open.
    pub network: Network,
}

/// Which sockets may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// All.
    Open,
    /// Those between processes of this machine that have a path.
    Local,
    /// None but pairs that are connected to each other, which lead nowhere else.
    Closed,
}

impl Reach {
    /// Restricts the calling thread, and whatever it starts, for good: call it on a thread of its
    /// own. Where the kernel cannot do all of it, it does what it can.
    pub fn enforce_here(&self) -> Result<()> {
        kernel::enforce(self)
    }

    /// Whether a real path may be read: what lies nearest around it decides.
    pub fn may_read(&self, real: &Path) -> bool {
        let nearest = |places: &[PathBuf]| {
            let around = places.iter().filter(|place| real.starts_with(place));
            around.map(|place| place.components().count()).max().unwrap_or(0)
        };
        let open = nearest(&self.read).max(nearest(&self.write));
        // What is named itself is shown, also where it would be hidden.
        open > 0 && open >= nearest(&self.hidden)
    }

    /// Whether a real path may be written.
    pub fn may_write(&self, real: &Path) -> bool {
        self.write.iter().any(|folder| real.starts_with(folder)) && self.may_read(real)
    }

    /// Something hidden that lies below a folder and is there. The kernel then permits no new files
    /// directly in that folder.
    pub fn hidden_below(&self, folder: &Path) -> Option<&Path> {
        let mut below =
            self.hidden.iter().filter(|hidden| *hidden != folder && hidden.starts_with(folder));
        below.find(|hidden| hidden.exists()).map(PathBuf::as_path)
    }

    /// Whether something hidden lies below a folder.
    #[cfg(target_os = "linux")]
    fn hides_below(&self, folder: &Path) -> bool {
        self.hidden.iter().any(|hidden| hidden != folder && hidden.starts_with(folder))
    }
}

/// What the kernel of this machine can do.
pub fn support() -> Support {
    // A kernel does not change while it runs.
    static FOUND: OnceLock<Support> = OnceLock::new();
    FOUND.get_or_init(kernel::support).clone()
}

/// What a kernel can do to keep work within its reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Support {
    /// The version of Landlock's interface; 0 where there is none.
    pub landlock: u32,
    /// Whether the network can be taken away from what is started.
    pub network: bool,
}

impl Support {
    /// Whether files are protected at all.
    pub fn is_there(&self) -> bool {
        self.landlock > 0
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            0 => write!(
                f,
                "this system has no Landlock: only the permissions decide what tools do, and plugins that are processes reach whatever files you do"
            )?,
            abi => write!(f, "Landlock {abi}: files")?,
        }
        match self.landlock {
            1..3 => write!(f, " (they can be cut to length anywhere; Linux 6.2 prevents it)")?,
            6.. => write!(f, ", signals, abstract sockets")?,
            _ => {}
        }
        match (self.network, self.landlock) {
            (true, 0) => write!(f, "; the network can be taken away"),
            (true, _) => write!(f, ", network"),
            (false, _) => write!(f, "; the network cannot be taken away from tools and plugins"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_nearest_around_a_path_decides() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let reach = Reach {
            read: paths(&["/usr", "/home", "/home/ana/.ssh"]),
            write: paths(&["/home/ana/work", "/home/ana/data/tmp"]),
            hidden: paths(&["/home/ana/.ssh", "/home/ana/.aws", "/home/ana/data"]),
            network: Network::Open,
        };
        for (path, reads, writes) in [
            ("/home/ana/work/a", true, true),
            ("/home/ana/notes", true, false),
            ("/home/ana/.aws/key", false, false),
            ("/home/ana/.ssh/id", true, false),
            ("/home/ana/data/credentials.json", false, false),
            ("/home/ana/data/tmp/x", true, true),
            ("/srv/x", false, false),
        ] {
            let path = Path::new(path);
            assert_eq!((reach.may_read(path), reach.may_write(path)), (reads, writes), "{path:?}");
        }
    }
}
