//! `orlop plugin test`: the examples of a plugin, and what every plugin has to do.

use super::unknown;
use crate::cli::PluginTest;
use crate::exit::{FAILED, Failure};
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_runtime::kit::{self, Listener, TestOptions};
use orlop_runtime::{Installed, Neighbours, Package, Run};
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
    let testing = TestOptions {
        update: options.update,
        names: workplace.names.clone(),
        neighbours: Neighbours::of(&workplace.plugins),
        // Whoever does not look is not told.
        listener: match options.json {
            true => Listener::default(),
            false => Listener::new(|check| drop(output::line(&check.to_string()))),
        },
    };
    let mut interrupts = Interrupts::new();
    let report = tokio::select! {
        report = kit::test(package, env, testing) => report?,
        () = interrupts.next() => leave(),
    };
    match options.json {
        true => output::json(&report.to_json()).map(drop)?,
        false => output::line(&format!("\n{}", report.summary()))?,
    }
    Ok(if report.is_green() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Ends with everything that the test made.
fn leave() -> ! {
    orlop_app::ProcessGroup::kill_all();
    kit::remove_folders();
    Interrupts::leave()
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
        None => {
            let unknown = unknown(named, &installed);
            let text = format!("there is no folder or file {named}, and {}", unknown.message());
            Err(orlop_core::Error::not_found(text).into())
        }
    }
}
