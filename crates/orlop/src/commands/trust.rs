//! `orlop trust`, and the question of `orlop run` about a project that is not trusted.

use super::question;
use crate::cli::Trust;
use crate::exit::{Failure, NOT_FOUND};
use crate::output;
use crate::workplace::{Workplace, working_dir};
use orlop_app::config::{
    AppConfig, Locations, PROJECT_FILE, ProjectTrust, RuntimeEnv, TrustState, TrustedFolders, Vars,
};
use orlop_app::ui::plain_line;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(command: &Trust) -> Result<ExitCode, Failure> {
    let folder = folder_of(command.path.as_deref())?;
    let vars = RuntimeEnv::process_vars();
    let locations =
        Locations::find(&vars, &folder, None).map_err(|error| Failure::config(&error))?;
    let remembered = TrustedFolders::in_folder(locations.home());
    if command.list {
        return list(&remembered, command.json);
    }
    let file = locations.project_file();
    if command.remove {
        let of_file = file.and_then(Path::parent).map(Path::to_owned);
        return forget(&remembered, [Some(folder), of_file], command.json);
    }
    let Some(file) = file else {
        return Err(not_found(format!(
            "there is no {PROJECT_FILE} in {} or above it; name a folder of a project",
            folder.display()
        )));
    };
    let trust = given(&locations, vars)?;
    if command.json {
        return Ok(output::json(&trust.as_ref().map(ProjectTrust::to_json))?);
    }
    match &trust {
        Some(trust) => {
            output::line(&format!(
                "trusted {}: from now on its {PROJECT_FILE} may",
                folder_in(trust)
            ))?;
            output::line(effects(trust).trim_end())?;
        }
        None => output::line(&format!("{} says nothing that needs trust", file.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Trusts the file of the project, and says with what; none where nothing of it needs trust.
fn given(locations: &Locations, vars: Vars) -> Result<Option<ProjectTrust>, Failure> {
    let env = RuntimeEnv::new(vars, locations, &locations.home().join("plugins"));
    let config = AppConfig::load(locations, &[], env)?;
    let Some(trust) = config.project_trust() else { return Ok(None) };
    let remembered = TrustedFolders::in_folder(locations.home());
    remembered.remember(&trust.folder, &trust.digest, true)?;
    Ok(Some(ProjectTrust { state: TrustState::Trusted, ..trust.clone() }))
}

/// Trusts a file that was written for the user just now.
pub(super) fn trust_own(file: &Path) -> Result<(), Failure> {
    let (folder, vars) = (folder_of(Some(file))?, RuntimeEnv::process_vars());
    let locations =
        Locations::find(&vars, &folder, None).map_err(|error| Failure::config(&error))?;
    given(&locations, vars).map(drop)
}

/// Finds the configuration. Where the project's file says what nobody was asked about yet, asks
/// whoever is at the terminal; where nobody is, or the answer is no, tells what is not used.
pub(super) async fn settled(
    find: impl Fn() -> Result<Workplace, Failure>,
) -> Result<Workplace, Failure> {
    let mut workplace = find()?;
    if let Some(untrusted) = workplace.config.untrusted()
        && untrusted.state != TrustState::Refused
        && question::is_attended()
    {
        let trusted = is_wanted(untrusted).await;
        let remembered = TrustedFolders::in_folder(workplace.locations.home());
        remembered.remember(&untrusted.folder, &untrusted.digest, trusted)?;
        // Read again: what is used is what was shown, also if the file changed meanwhile.
        workplace = find()?;
    }
    workplace.tell_untrusted();
    Ok(workplace)
}

async fn is_wanted(untrusted: &ProjectTrust) -> bool {
    let again = match untrusted.state {
        TrustState::Changed => " has changed and",
        _ => "",
    };
    let question = format!(
        "The {PROJECT_FILE} of {}{again} asks for more than you allow so far. It would\n{}\
         Only trust it if you trust whoever wrote it. Trust it? [y/N] ",
        folder_in(untrusted),
        effects(untrusted),
    );
    matches!(output::ask(question).await.as_str(), "y" | "yes")
}

/// What the settings would do, a line each. The texts are those of the file.
fn effects(trust: &ProjectTrust) -> String {
    let lines = trust.settings.iter().map(|setting| {
        let effect = plain_line(&setting.effect);
        format!(
            "  {effect} ({}, {})\n",
            plain_line(&setting.key),
            plain_line(&setting.origin.to_string())
        )
    });
    lines.collect()
}

fn folder_in(trust: &ProjectTrust) -> String {
    plain_line(&trust.folder.display().to_string())
}

fn list(remembered: &TrustedFolders, as_json: bool) -> Result<ExitCode, Failure> {
    let answers = remembered.load()?;
    if as_json {
        let rows = answers
            .iter()
            .map(|(folder, answer)| json!({ "folder": folder, "trusted": answer.trusted }));
        return Ok(output::json(&rows.collect::<Vec<_>>())?);
    }
    let rows: Vec<Vec<String>> = answers
        .into_iter()
        .map(|(folder, answer)| {
            vec![folder, if answer.trusted { "trusted" } else { "refused" }.to_owned()]
        })
        .collect();
    Ok(output::table(&["FOLDER", "STATE"], &rows)?)
}

/// Forgets the answer about the first of these folders that there is one for.
fn forget(
    remembered: &TrustedFolders,
    folders: [Option<PathBuf>; 2],
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let answers = remembered.load()?;
    let known = |folder: &&PathBuf| folder.to_str().is_some_and(|it| answers.contains_key(it));
    let Some(folder) = folders.iter().flatten().find(known) else {
        let folder = folders[0].as_deref().unwrap_or(Path::new("this folder"));
        return Err(not_found(format!(
            "nothing was answered about {}; `orlop trust --list` shows what was",
            folder.display()
        )));
    };
    remembered.forget(folder)?;
    if as_json {
        return Ok(output::json(&json!({ "folder": folder, "forgotten": true }))?);
    }
    output::line(&format!("forgot what was answered about {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The folder that is meant: that of a file, if one is named.
fn folder_of(path: Option<&Path>) -> Result<PathBuf, Failure> {
    let working_dir = working_dir()?;
    let path = path.map_or_else(|| working_dir.clone(), |path| working_dir.join(path));
    let folder = match (path.is_file(), path.parent()) {
        (true, Some(folder)) => folder.to_owned(),
        _ => path,
    };
    Ok(folder.canonicalize().unwrap_or(folder))
}

fn not_found(message: String) -> Failure {
    Failure { code: NOT_FOUND, message }
}
