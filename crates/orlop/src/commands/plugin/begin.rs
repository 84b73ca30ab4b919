//! `orlop plugin new`: a plugin that works, to begin with.

use crate::cli::{PluginKind, PluginLanguage, PluginNew};
use crate::exit::Failure;
use crate::output;
use crate::workplace::Workplace;
use orlop_core::hooks::Kind;
use orlop_runtime::kit::{Language, New, new_plugin};
use std::process::ExitCode;

pub(super) fn run(workplace: &Workplace, new: PluginNew) -> Result<ExitCode, Failure> {
    let PluginNew { name, kind, lang } = new;
    if let Some(why) = workplace.names.refuse(&name) {
        return Err(Failure::usage(format!(
            "a plugin cannot be called \"{name}\", because {why}; give it another name"
        )));
    }
    let kind = match kind {
        PluginKind::Provider => Kind::Provider,
        PluginKind::Extension => Kind::Extension,
        PluginKind::Feature => Kind::Feature,
        PluginKind::Tool => Kind::Tool,
        PluginKind::Application => Kind::Application,
        PluginKind::Host => Kind::Host,
    };
    let language = match lang {
        PluginLanguage::Python => Language::Python,
        PluginLanguage::Typescript => Language::TypeScript,
        PluginLanguage::Javascript => Language::JavaScript,
        PluginLanguage::Rust => Language::Rust,
    };
    let made = new_plugin(&New { name: name.clone(), kind, language }, std::path::Path::new(""))?;
    output::line(&format!("made {name}/; the plugin is in {name}/{}", made.main))?;
    let next = match lang {
        PluginLanguage::Python | PluginLanguage::Javascript => {
            format!(
                "  cd {name}\n  orlop plugin test\n  orlop plugin dev     # shows what it does while you change it"
            )
        }
        PluginLanguage::Typescript => {
            format!(
                "  npm install --prefix {name}    # Node before 22.18 needs it to read TypeScript\n  orlop plugin test {name}\n  orlop plugin dev {name}     # shows what it does while you change it"
            )
        }
        PluginLanguage::Rust => {
            format!(
                "  cargo build --manifest-path {name}/Cargo.toml\n  orlop plugin test {name}\n  orlop plugin dev {name}     # shows what it does while you change it"
            )
        }
    };
    output::line(&format!("go on with:\n{next}"))?;
    Ok(ExitCode::SUCCESS)
}
