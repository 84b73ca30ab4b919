//! `orlop plugin test`: the examples of a plugin, and what every plugin has to do.

use super::unknown;
use crate::cli::PluginTest;
use crate::exit::{FAILED, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_runtime::kit::{self, TestOptions};
use orlop_runtime::{Installed, Package, Run};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) async fn run(workplace: &Workplace, options: PluginTest) -> Result<ExitCode, Failure> {
    let path = place_of(workplace, &options.path)?;
    let package = Package::read(&path)?;
    if let Run::Bundle(bundle) = &package.run {
        let text = format!("it has no program of its own to test; it brings {}", bundle.in_words());
        return Err(Failure::usage(text));
    }
    let env = workplace.config.env();
    let testing = TestOptions { update: options.update, names: workplace.names.clone() };
    let report = kit::test(package, env, testing).await?;
    match options.json {
        true => output::json(&report.to_json()).map(drop)?,
        false => output::line(&report.to_string())?,
    }
    Ok(if report.is_green() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// A path that is there, else the place of an added or configured plugin.
fn place_of(workplace: &Workplace, named: &str) -> Result<PathBuf, Failure> {
    if Path::new(named).exists() {
        return Ok(PathBuf::from(named));
    }
    let installed = Installed::read(workplace.locations.home())?;
    let configured = workplace.config.plugin(named).ok().and_then(|entry| entry.path);
    let place = configured.or_else(|| installed.get(named).map(|entry| entry.path.clone()));
    match place {
        Some(place) => Ok(place),
        None if named.contains('/') => {
            let text = format!("there is no {named}; name the folder or the file of a plugin");
            Err(orlop_core::Error::not_found(text).into())
        }
        None => Err(unknown(named, &installed).into()),
    }
}
