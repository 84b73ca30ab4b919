//! `orlop plugin record` and `orlop plugin replay`: a turn is kept, and played again with a changed
//! plugin.

use crate::cli::{PluginRecord, PluginReplay};
use crate::commands::run;
use crate::exit::{FAILED, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::ui::plain_text;
use orlop_core::Error;
use orlop_runtime::kit::{Recorder, Recording, Replay};
use orlop_runtime::{Package, Workbench};
use std::process::ExitCode;

pub(crate) async fn record(
    command: PluginRecord,
    find: impl Fn(Workbench) -> Result<Workplace, Failure>,
) -> Result<ExitCode, Failure> {
    let PluginRecord { file, run } = command;
    let recorder = Recorder::new();
    let workplace = find(Workbench { tap: Some(recorder.tap()), ..Workbench::default() })?;
    let runtime = workplace.runtime.clone();
    let prompt = run.prompt.clone().unwrap_or_default();
    let ended = run::run(workplace, *run).await;
    let recording = recorder.finish(&prompt, &runtime);
    let (calls, packages) = recording.summary();
    // A turn that failed is worth keeping, too; one that never began is not.
    if calls == 0 && ended.is_err() {
        return ended;
    }
    recording.write(&file)?;
    let packages = if packages.is_empty() { "no plugin".to_owned() } else { packages.join(", ") };
    output::tell(&format!("recorded {calls} hook calls of {packages} in {}", file.display()));
    ended
}

pub(super) async fn replay(
    workplace: &Workplace,
    command: PluginReplay,
) -> Result<ExitCode, Failure> {
    let PluginReplay { file, path, update } = command;
    let recording = Recording::read(&file)?;
    let package = match path {
        Some(path) => Package::read(&path)?,
        None => {
            let name = recording.package_name(None)?;
            let mut held = workplace.runtime.packages().map(|(package, _)| package);
            held.find(|package| package.name == name).cloned().ok_or_else(|| {
                let why = super::not_in_use(workplace).into_iter().find(|left| left.name == name);
                Error::not_found(match why {
                    Some(left) => format!(
                        "the plugin \"{name}\" of the recording is not in use here: {}",
                        left.reason
                    ),
                    None => format!(
                        "the plugin \"{name}\" of the recording is not in use here; name its folder"
                    ),
                })
            })?
        }
    };
    let (env, home) = (workplace.config.env(), workplace.locations.home());
    let replay = Replay::new(recording, package, env, home)?;
    let done = tokio::task::spawn_blocking(move || replay.run())
        .await
        .map_err(|error| Error::internal(format!("the replay ended: {error}")))??;
    for difference in &done.differences {
        output::line(&plain_text(difference))?;
    }
    for note in &done.notes {
        output::line(&plain_text(note))?;
    }
    let (count, calls) = (done.differences.len(), done.calls);
    if update {
        let updated = done.updated.ok_or_else(|| {
            Error::bad_state(
                "the recording was left as it is: the plugin asked for what it does not have, or ended; record the turn again",
            )
        })?;
        updated.write(&file)?;
        output::line(&format!("{calls} calls, {count} differences, all taken over"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let next = match done.updated.is_some() {
        true if count == 1 => "--update takes it over",
        true => "--update takes them over",
        false => "the recording cannot be updated, record the turn again",
    };
    output::line(&match count {
        0 => format!("{calls} calls, no difference"),
        1 => format!("{calls} calls, 1 difference; {next}"),
        _ => format!("{calls} calls, {count} differences; {next}"),
    })?;
    // What the recording cannot answer is a difference as well.
    match count == 0 && done.updated.is_some() {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::from(FAILED)),
    }
}
