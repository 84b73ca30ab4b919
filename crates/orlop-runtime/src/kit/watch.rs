//! Notices that a package was changed.

use crate::package::Package;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often files are looked at.
const PACE: Duration = Duration::from_millis(150);
/// How long files must stay as they are: programs write them in several steps.
const CALM: Duration = Duration::from_millis(40);

/// Looks at the files of a package.
pub struct Watch {
    path: PathBuf,
    last: String,
}

impl Watch {
    /// From now on.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), last: look(path) }
    }

    /// Waits until the package is another one than before, whole or broken.
    pub async fn changed(&mut self) {
        let mut clock = tokio::time::interval(PACE);
        loop {
            clock.tick().await;
            let mut now = look(&self.path);
            if now == self.last {
                continue;
            }
            loop {
                tokio::time::sleep(CALM).await;
                let later = look(&self.path);
                if later == now {
                    break;
                }
                now = later;
            }
            self.last = now;
            return;
        }
    }
}

/// What a package is made of; why it cannot be read, where that is so.
fn look(path: &Path) -> String {
    match Package::read(path) {
        Ok(package) => package.fingerprint(),
        Err(error) => error.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn a_module_beside_a_plugin_without_a_manifest_is_noticed_and_nothing_else_is() {
        let folder = std::env::temp_dir().join(format!("orlop-watch-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(folder.join("parts")).unwrap();
        std::fs::write(folder.join("sums.py"), "import helper\n").unwrap();
        let mut watch = Watch::new(&folder.join("sums.py"));
        for file in ["helper.py", "parts/more.py"] {
            std::fs::write(folder.join(file), "new = 1\n").unwrap();
            watch.changed().await;
        }
        for file in ["notes.txt", "page.js"] {
            std::fs::write(folder.join(file), "new\n").unwrap();
            assert!(watch.changed().now_or_never().is_none(), "{file} is none of its modules");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn a_change_of_any_file_is_noticed_and_nothing_else_is() {
        let folder = std::env::temp_dir().join(format!("orlop-watch-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plugin.py"), "first = 1\n").unwrap();
        let mut watch = Watch::new(&folder);
        assert!(watch.changed().now_or_never().is_none(), "nothing has changed");
        for (file, text) in [
            ("plugin.py", "first = 12\n"),
            ("plugin.toml", "what is this"),
            ("plugin.toml", "[plugin]\nname = \"p\"\n[run]\npython = \"plugin.py\"\n"),
            ("beside.py", "new = 1\n"),
        ] {
            std::fs::write(folder.join(file), text).unwrap();
            watch.changed().await;
            assert!(watch.changed().now_or_never().is_none(), "{file} was told of once");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
