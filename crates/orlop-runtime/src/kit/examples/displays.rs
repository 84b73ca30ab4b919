//! What people see of the examples: previews, results and displays, written down in a file so that a
//! change of them is noticed.

use super::Example;
use super::run::Ran;
use crate::kit::report::{Finding, Report, Verdict};
use orlop_core::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

const HEAD: &str = "# What people see of the examples. `orlop plugin test --update` writes this file: look at what changed.\n\n";

/// Example to what is shown of it.
#[derive(Debug, Default)]
pub(super) struct Displays {
    written: BTreeMap<String, BTreeMap<String, String>>,
    seen: BTreeMap<String, BTreeMap<String, String>>,
}

impl Displays {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let written = match std::fs::read_to_string(file) {
            Ok(text) => toml::from_str(&text).map_err(|error| {
                Error::bad_argument(format!(
                    "{}: {}; remove it and run `orlop plugin test --update`",
                    file.display(),
                    error.to_string().trim_end()
                ))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => {
                let text = format!("{} cannot be read: {error}", file.display());
                return Err(Error::unavailable(text));
            }
        };
        Ok(Self { written, seen: BTreeMap::new() })
    }

    /// Compares what an example shows with what is written.
    pub(super) fn compare(
        &mut self,
        example: &Example,
        ran: &Ran,
        update: bool,
        report: &mut Report,
    ) {
        let shown = &ran.shown;
        if !shown.is_empty() {
            self.seen.insert(example.name.clone(), shown.clone());
        }
        let none = BTreeMap::new();
        let written = self.written.get(&example.name);
        if update || (shown.is_empty() && written.is_none()) {
            return;
        }
        let name = format!("what people see of \"{}\"", example.name);
        let Some(written) = written.or((!self.written.is_empty()).then_some(&none)) else {
            let why = "`orlop plugin test --update` writes it down, so that a change is noticed";
            report.add(&ran.label, name, Verdict::skipped(why));
            return;
        };
        let differs =
            shown.keys().chain(written.keys()).find(|key| shown.get(*key) != written.get(*key));
        let verdict = match differs {
            None => Verdict::Ok,
            Some(key) => {
                let told = |texts: &BTreeMap<String, String>| {
                    texts
                        .get(key)
                        .map_or_else(|| format!("no {key}"), |text| format!("{key}: {text}"))
                };
                let fix = "if this is what people should see, `orlop plugin test --update` writes it down";
                Finding::new(told(shown), told(written), fix).into()
            }
        };
        report.add(&ran.label, name, verdict);
    }

    /// Writes what was seen; no file if that is nothing.
    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let failed = |error: String| {
            Error::unavailable(format!("{} cannot be written: {error}", file.display()))
        };
        if self.seen.is_empty() {
            let _ = std::fs::remove_file(file);
            return Ok(());
        }
        let text = toml::to_string_pretty(&self.seen).map_err(|error| failed(error.to_string()))?;
        std::fs::write(file, format!("{HEAD}{text}")).map_err(|error| failed(error.to_string()))
    }
}
