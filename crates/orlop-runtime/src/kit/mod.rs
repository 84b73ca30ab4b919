//! The author's kit: a new plugin from a template; the tests of one, its own examples and the checks
//! that hold for all plugins, whatever their language; what crossed the border, shown, recorded and
//! played again; and why an action ran or did not.

mod bench;
mod calls;
mod changes;
mod checks;
mod compare;
mod effect;
mod examples;
mod explain;
mod masking;
mod probe;
mod recording;
mod replay;
mod report;
mod saboteur;
mod said;
mod samples;
mod schemas;
mod talk;
mod template;
mod watch;

pub use bench::remove_folders;
pub use explain::{ActionWhy, Evidence, Explanation, Standing, ToolWhy, explain};
pub use recording::{Recorder, Recording};
pub use replay::{Replay, Replayed};
pub use report::{Check, Finding, Listener, Report, Verdict};
pub use said::CallLog;
pub use template::{Language, Made, New, new_plugin};
pub use watch::Watch;

use crate::names::Names;
use crate::neighbours::Neighbours;
use crate::package::Package;
use bench::Bench;
use examples::Examples;
use orlop_app::config::RuntimeEnv;
use orlop_core::{Error, Map, Result};

/// How a package is tested.
#[derive(Debug, Clone, Default)]
pub struct TestOptions {
    /// Write down what people see of the examples, in place of comparing it.
    pub update: bool,
    /// The names that are there without the package.
    pub names: Names,
    /// The plugins that it may want to run before or after.
    pub neighbours: Neighbours,
    /// Who hears of the checks as they are made.
    pub listener: Listener,
}

/// Tests a package: runs its examples and all checks. A defect of the package is in the report; an
/// error is that the test itself could not be made. Must be called within a Tokio runtime.
pub async fn test(package: Package, env: &RuntimeEnv, options: TestOptions) -> Result<Report> {
    let env = env.clone();
    let testing = tokio::task::spawn_blocking(move || run(package, &env, &options));
    testing.await.map_err(|error| Error::internal(format!("the test was lost: {error}")))?
}

/// What its user may want to know of the actions of a package before they wonder: a lifecycle that
/// nobody runs, an offer to models that none gets. Must be called within a Tokio runtime.
pub async fn doubts(package: Package, env: &RuntimeEnv) -> Result<Vec<String>> {
    let env = env.clone();
    let looking = tokio::task::spawn_blocking(move || -> Result<Vec<String>> {
        let mut report = Report::new(&package.name);
        let mut bench = Bench::new(package, &env, Map::new())?;
        if let Some(description) = checks::description::starts(&mut bench, &mut report) {
            let mut subjects = bench.subjects(&description);
            checks::surfaces::check(&mut bench, &mut subjects, &mut report);
        }
        let about_actions =
            ["waits for lifecycles that there are", "offers models what they can call"];
        let doubts = report.checks.into_iter().filter_map(|check| match check.verdict {
            Verdict::Warning(text) if about_actions.contains(&check.name.as_str()) => {
                Some(format!("{}: {text}", check.about))
            }
            _ => None,
        });
        Ok(doubts.collect())
    });
    looking.await.map_err(|error| Error::internal(format!("the look was lost: {error}")))?
}

fn run(package: Package, env: &RuntimeEnv, options: &TestOptions) -> Result<Report> {
    let examples = Examples::read(&package)?;
    let mut report = Report::heard_by(&package.name, options.listener.clone());
    let mut bench = Bench::new(package, env, examples.config.clone())?;
    let Some(description) = checks::description::starts(&mut bench, &mut report) else {
        return Ok(report);
    };
    checks::description::is_sound(bench.package(), &description, options, &mut report);
    let mut subjects = bench.subjects(&description);
    checks::surfaces::check(&mut bench, &mut subjects, &mut report);
    checks::surfaces::dangers(&bench.package().grants.danger, &subjects, &mut report);
    let ran = examples.run(&mut bench, &subjects, options.update, &mut report)?;
    checks::answers::check(&mut bench, &subjects);
    checks::provider::check(&mut bench, &subjects, &ran, &mut report);
    checks::stability::check(&mut bench, &subjects, &ran, &mut report);
    checks::answers::tell(&bench, &subjects, &mut report);
    checks::faults::check(&mut bench, &subjects, &ran, &mut report);
    checks::sabotage::check(&mut bench, &subjects, &mut report);
    checks::ends::check(&mut bench, &description, &mut report);
    Ok(report)
}
