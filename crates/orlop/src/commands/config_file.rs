//! A configuration file that a command changes. Everything else in it, comments included, stays as it is.

use crate::exit::{CONFIGURATION, FAILED, Failure};
use crate::workplace::Workplace;
use orlop_app::config::AppConfig;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// A configuration file that is about to change.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    text: String,
    pub(super) document: DocumentMut,
}

impl ConfigFile {
    /// The user's file, or with `project` the one of the project.
    pub(super) fn open(workplace: &Workplace, project: bool) -> Result<Self, Failure> {
        let locations = &workplace.locations;
        let path = match project {
            false => locations.user_file().to_owned(),
            true => {
                let last = locations.files().last().filter(|file| *file != locations.user_file());
                last.cloned().unwrap_or_else(|| locations.working_dir().join("orlop.toml"))
            }
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        let document = text.parse::<DocumentMut>().map_err(|error| Failure {
            code: CONFIGURATION,
            message: format!(
                "{} is no TOML: {}; correct it first",
                path.display(),
                error.message()
            ),
        })?;
        Ok(Self { path, text, document })
    }

    /// A section of the document, made if it is not there.
    pub(super) fn section<'a>(
        &self,
        inside: &'a mut dyn TableLike,
        name: &str,
    ) -> Result<&'a mut dyn TableLike, Failure> {
        let section = inside.entry(name).or_insert_with(|| {
            let mut section = Table::new();
            section.set_implicit(true);
            Item::Table(section)
        });
        section.as_table_like_mut().ok_or_else(|| Failure {
            code: CONFIGURATION,
            message: format!("{}: {name} is no table; correct it first", self.path.display()),
        })
    }

    /// Puts another text in place of the file's, all of it or nothing, unless the change would break
    /// a file that was right.
    pub(super) fn replace(
        &self,
        workplace: &Workplace,
        document: &DocumentMut,
    ) -> Result<(), Failure> {
        let text = document.to_string();
        let checked = |text: &str| -> Result<(), orlop_app::config::ConfigError> {
            let env = workplace.config.env().clone();
            AppConfig::from_text(&self.path, text, env)?.verify(&workplace.plugins.schema())
        };
        if checked(&self.text).is_ok() {
            checked(&text)?;
        }
        let failed = |error: std::io::Error| cannot("write", &self.path, &error);
        // A file that is a link elsewhere stays one.
        let real = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let folder = real.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let new = real.with_extension(format!("new-{}", std::process::id()));
        std::fs::write(&new, text).map_err(failed)?;
        let placed = || {
            if let Ok(held) = std::fs::metadata(&real) {
                std::fs::set_permissions(&new, held.permissions())?;
            }
            std::fs::rename(&new, &real)
        };
        placed().map_err(|error| {
            let _ = std::fs::remove_file(&new);
            failed(error)
        })
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure {
        code: FAILED,
        message: format!("cannot {what} {}: {error}; check who may {what} it", path.display()),
    }
}
