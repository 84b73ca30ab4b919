//! `orlop config`: the configuration itself.

use crate::cli::Config;
use crate::exit::{CONFIGURATION, FAILED, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::config::{PROJECT_FILE, starter};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(
    command: Config,
    find: impl Fn(bool) -> Result<Workplace, Failure>,
) -> Result<ExitCode, Failure> {
    match command {
        Config::Show { json } => {
            let workplace = find(true)?;
            let shown = workplace.config.show(&workplace.plugins.schema());
            if json {
                return Ok(output::json(&shown.to_json())?);
            }
            if let Some(notice) = &workplace.notice {
                output::line(&format!("# {notice}"))?;
            }
            output::line(shown.to_string().trim_end())?;
            Ok(ExitCode::SUCCESS)
        }
        Config::Check { json } => {
            let workplace = find(false)?;
            let problems = workplace.config.check(&workplace.plugins.schema());
            if json {
                output::json(&problems)?;
            } else {
                problems.iter().try_for_each(|problem| output::line(&problem.to_string()))?;
            }
            match problems.len() {
                0 => Ok(ExitCode::SUCCESS),
                1 => Err(Failure { code: CONFIGURATION, message: "1 problem".to_owned() }),
                n => Err(Failure { code: CONFIGURATION, message: format!("{n} problems") }),
            }
        }
        Config::Schema => {
            let workplace = find(false)?;
            Ok(output::json(&workplace.plugins.schema().to_json())?)
        }
        Config::Path { json } => {
            let workplace = find(false)?;
            let places = &workplace.locations;
            let files: Vec<String> =
                places.files().iter().map(|path| path.display().to_string()).collect();
            if json {
                return Ok(output::json(&json!({
                    "home": places.home(), "files": files, "user_file": places.user_file(),
                    "database": workplace.database(),
                }))?);
            }
            let mut rows = vec![vec!["home".to_owned(), places.home().display().to_string()]];
            rows.extend(files.into_iter().map(|file| vec!["configuration".to_owned(), file]));
            if rows.len() == 1 {
                let none = format!("none (a user's would be {})", places.user_file().display());
                rows.push(vec!["configuration".to_owned(), none]);
            }
            rows.push(vec!["database".to_owned(), workplace.database().display().to_string()]);
            Ok(output::table(&["WHAT", "WHERE"], &rows)?)
        }
        Config::Init { path } => {
            let path = path.unwrap_or_else(|| PROJECT_FILE.into());
            let workplace = find(false)?;
            let providers = workplace.plugins.provider_names();
            let providers: Vec<&str> = providers.iter().map(String::as_str).collect();
            let text = starter(&workplace.config, &providers);
            let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
            let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|error| Failure {
                code: FAILED,
                message: match error.kind() {
                    std::io::ErrorKind::AlreadyExists => {
                        format!("{} exists already; edit it, or name another file", path.display())
                    }
                    _ => {
                        format!("{} cannot be written: {error}; name another file", path.display())
                    }
                },
            })?;
            if path.file_name().is_some_and(|name| name == PROJECT_FILE) {
                super::trust::trust_own(&path)?;
            }
            output::line(&format!("wrote {}", path.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
