//! Where an agent works: its working folder and the folders its configuration adds.

use orlop_app::config::RuntimeEnv;
use orlop_core::{Context, Error, Result, Value};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// How many links are followed on the way to one file.
const MAX_LINKS: usize = 40;

/// The folders an agent works in. All of them are real paths, without links.
///
/// The first is the working folder, which relative paths start from. The setting `folders` of the
/// agent adds others.
#[derive(Debug, Clone, PartialEq)]
pub struct Workspace {
    folders: Vec<PathBuf>,
}

impl Workspace {
    /// The workspace of the agent a hook was called for.
    pub fn of(cx: &Context) -> Result<Self> {
        let env = cx.handle::<RuntimeEnv>("env");
        let root = env.as_ref().and_then(|env| env.get("WORKING_DIR")).ok_or_else(|| {
            Error::bad_state("no working folder is known; start the application with one")
        })?;
        let more = cx.config().get("folders").and_then(Value::as_array);
        let more = more.into_iter().flatten().filter_map(Value::as_str);
        Self::new(Path::new(root), more.map(Path::new))
    }

    /// A working folder, which must exist, and further ones, which need not.
    pub fn new<'a>(root: &Path, more: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        let gone = |error: io::Error| {
            let folder = root.display();
            Error::unavailable(format!(
                "the working folder {folder} cannot be used ({error}); create it, or start elsewhere"
            ))
        };
        let root = root.canonicalize().map_err(gone)?;
        if !root.is_dir() {
            return Err(gone(ErrorKind::NotADirectory.into()));
        }
        let mut folders = vec![root];
        for folder in more {
            let real = real_path(&folders[0].join(folder)).map_err(|error| {
                Error::bad_argument(format!("folder {} cannot be used: {error}", folder.display()))
            })?;
            folders.push(real);
        }
        Ok(Self { folders })
    }

    /// The working folder.
    pub fn root(&self) -> &Path {
        &self.folders[0]
    }

    /// All folders, the working folder first.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// What a path means, taken from the working folder, once all links are followed. The file
    /// need not exist.
    pub fn resolve(&self, path: &str) -> Result<PathBuf> {
        if path.is_empty() || path.contains('\0') {
            return Err(Error::bad_argument("a path is empty or has a zero byte in it"));
        }
        real_path(&self.root().join(path)).map_err(|error| {
            Error::bad_argument(format!("the path {path:?} cannot be followed: {error}"))
        })
    }

    /// Whether a real path lies in one of the folders.
    pub fn contains(&self, real: &Path) -> bool {
        self.folders.iter().any(|folder| real.starts_with(folder))
    }

    /// A real path as people write it: from the working folder where it lies in there.
    pub fn display(&self, real: &Path) -> String {
        match real.strip_prefix(self.root()) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => real.display().to_string(),
        }
    }
}

/// An absolute path without links, `.` and `..`, whether or not its end exists.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut rest: VecDeque<OsString> = steps(path);
    let mut links = 0;
    while let Some(step) = rest.pop_front() {
        if step == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&step);
        // One look at each step: what is no link is refused as one, what is not there is taken as
        // it is written.
        let target = match next.read_link() {
            Ok(target) => target,
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                real = next;
                continue;
            }
            Err(error) => return Err(error),
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("there are too many links on the way"));
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for step in steps(&target).into_iter().rev() {
            rest.push_front(step);
        }
    }
    Ok(real)
}

/// The steps of a path from its start, `..` among them.
fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().filter_map(step).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("orlop-workspace-{name}-{}", std::process::id());
            let path = std::env::temp_dir().canonicalize().unwrap().join(name);
            std::fs::create_dir_all(path.join("work/inner")).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn paths_are_followed_to_where_they_lead() {
        let folder = Folder::new("follow");
        let work = folder.0.join("work");
        symlink("/etc", work.join("out")).unwrap();
        symlink("../elsewhere/new", work.join("dangling")).unwrap();
        symlink("inner", work.join("in")).unwrap();
        let workspace = Workspace::new(&work, []).unwrap();
        for (path, leads_to, inside) in [
            ("a.txt", work.join("a.txt"), true),
            ("inner/../b", work.join("b"), true),
            ("in/x/y", work.join("inner/x/y"), true),
            ("out/passwd", PathBuf::from("/etc/passwd"), false),
            ("dangling", folder.0.join("elsewhere/new"), false),
            ("missing/../../c", folder.0.join("c"), false),
            ("../work/d", work.join("d"), true),
            ("../work2", folder.0.join("work2"), false),
            ("/proc/self/root/etc/passwd", PathBuf::from("/etc/passwd"), false),
        ] {
            let real = workspace.resolve(path).unwrap();
            assert_eq!((real.as_path(), workspace.contains(&real)), (leads_to.as_path(), inside));
        }
        assert!(workspace.resolve("").is_err());
        assert!(workspace.resolve("a\0b").is_err());
    }

    #[test]
    fn links_in_a_circle_are_refused() {
        let folder = Folder::new("circle");
        let work = folder.0.join("work");
        symlink("b", work.join("a")).unwrap();
        symlink("a", work.join("b")).unwrap();
        let error = Workspace::new(&work, []).unwrap().resolve("a/x").unwrap_err();
        assert!(error.message().contains("too many links"), "{}", error.message());
    }

    #[test]
    fn further_folders_count_and_names_are_short() {
        let folder = Folder::new("more");
        let work = folder.0.join("work");
        let workspace = Workspace::new(&work, [Path::new("../beside")]).unwrap();
        assert!(workspace.contains(&folder.0.join("beside/x")));
        assert!(!workspace.contains(&folder.0.join("besides")));
        assert_eq!(workspace.display(&work.join("inner/f")), "inner/f");
        assert_eq!(workspace.display(&work), ".");
        assert_eq!(workspace.display(Path::new("/etc")), "/etc");
        assert!(Workspace::new(&folder.0.join("none"), []).is_err());
    }
}
