//! What a call would do to files, all of it or nothing: planned, shown, then done.

use super::call::Call;
use super::difference::Difference;
use super::place::{Place, Staged};
use super::read::MAX_WHOLE;
use super::seen::Stamp;
use orlop_core::types::ToolReport;
use orlop_core::{Error, Result};
use serde_json::json;
use std::path::PathBuf;

/// One file, before and after; `None` is a file that is not there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    /// A real path.
    pub(crate) path: PathBuf,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
    /// The permissions it has.
    pub(crate) mode: Option<u32>,
}

/// The files a call changes, each of them once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) files: Vec<Planned>,
}

impl Plan {
    pub(super) fn of(file: Planned) -> Self {
        Self { files: vec![file] }
    }

    /// One line of what it does to each file, and the diff of all.
    pub(super) fn described(&self, call: &Call) -> (String, String, Vec<serde_json::Value>) {
        let mut lines = Vec::new();
        let mut diff = String::new();
        let mut files = Vec::new();
        for file in &self.files {
            let path = call.shown(&file.path);
            let change = Difference::between(&path, file.before.as_deref(), file.after.as_deref());
            let what = match (&file.before, &file.after) {
                (None, _) => "new file",
                (_, None) => "removed",
                _ => "changed",
            };
            lines.push(format!("{path}: {what} ({})", change.counts()));
            files.push(json!({ "path": path, "change": what, "added": change.added, "removed": change.removed }));
            diff.push_str(&change.text);
        }
        (lines.join("\n"), diff, files)
    }

    /// Does it. If one file cannot be changed, none is.
    pub(super) fn carry_out(&self, call: &Call) -> Result<ToolReport> {
        let mut made = Vec::new();
        let done = self.write_all(&mut made);
        if let Err(error) = done {
            for folder in made.iter().rev() {
                let _ = std::fs::remove_dir(folder);
            }
            return Err(error);
        }
        for file in &self.files {
            let stamp = file.after.as_deref().map(Stamp::of_content);
            call.seen.set(&call.session, &file.path, stamp);
        }
        let (summary, diff, files) = self.described(call);
        let mut report = ToolReport::ok(summary);
        let path = files.first().and_then(|file| file.get("path")).cloned().unwrap_or_default();
        let display = json!({ "type": "diff", "path": path, "diff": diff, "files": files });
        report.data.insert("display".to_owned(), display);
        Ok(report)
    }

    fn write_all(&self, made: &mut Vec<PathBuf>) -> Result<()> {
        let mut places = Vec::new();
        for file in &self.files {
            let (place, folders) = Place::with_folders(&file.path)?;
            made.extend(folders);
            places.push(place);
        }
        // Everything that may fail for want of room or rights is done before the first change.
        let mut staged: Vec<Option<Staged<'_>>> = Vec::new();
        for (file, place) in self.files.iter().zip(&places) {
            file.check_unchanged(place)?;
            let content = file.after.as_deref();
            staged.push(content.map(|content| place.stage(content, file.mode)).transpose()?);
        }
        for (index, content) in staged.into_iter().enumerate() {
            let done = match content {
                Some(content) => content.finish(),
                None => places[index].remove().map(drop),
            };
            if let Err(error) = done {
                let undone = self.files.iter().zip(&places).take(index);
                return Err(undone.fold(error, |error, (file, place)| file.put_back(place, error)));
            }
        }
        Ok(())
    }
}

impl Planned {
    fn check_unchanged(&self, place: &Place) -> Result<()> {
        let now = match place.open()? {
            Some(mut opened) => Some(opened.read_all(&self.path, MAX_WHOLE)?),
            None => None,
        };
        if now == self.before {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "{} was changed by someone else just now; read it again, then change it",
            self.path.display()
        )))
    }

    /// Undoes one change of several after another failed.
    fn put_back(&self, place: &Place, error: Error) -> Error {
        let put = match &self.before {
            Some(content) => place.replace(content, self.mode),
            None => place.remove().map(drop),
        };
        match put {
            Ok(()) => error,
            Err(second) => Error::unavailable(format!(
                "{}; and {} could not be put back: {}",
                error.message(),
                self.path.display(),
                second.message()
            )),
        }
    }
}
