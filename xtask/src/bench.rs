//! `cargo xtask bench`: runs the benchmarks and keeps what they print beside the machine's facts,
//! for a figure means little without them.

mod machine;

use std::{fs, process::ExitCode};

use crate::{model, process, web, workspace::Workspace};

/// The filter that means the figures of the web page, which are taken in a browser.
const PAGE: &str = "page";

/// Runs the command.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, String> {
    let filter = match arguments {
        [] => None,
        [filter] if !filter.starts_with('-') => Some(filter),
        other => return Err(crate::unknown_arguments("bench", other)),
    };
    let mut output = machine::facts();
    println!("{output}");
    let mut keep = |line: &str| {
        output.push('\n');
        output.push_str(line);
    };
    if filter != Some(&PAGE) {
        programs(workspace, filter.copied(), &mut keep)?;
    }
    if filter.is_none_or(|filter| *filter == PAGE) {
        match web::bench(workspace, &mut keep) {
            // The figures that were taken are kept all the same.
            Err(why) if filter.is_none() => println!("the web page was not measured: {why}"),
            measured => measured?,
        }
    }
    output.push('\n');

    let file = workspace.output_folder("bench")?.join("latest.txt");
    fs::write(&file, output)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("\nkept in target/bench/latest.txt");
    Ok(ExitCode::SUCCESS)
}

/// The benchmarks of the crates.
fn programs(
    workspace: &Workspace,
    filter: Option<&str>,
    keep: impl FnMut(&str),
) -> Result<(), String> {
    // Without `--bench` cargo runs the unit tests as well, which have no figures to show.
    let mut benches = workspace.cargo(["bench", "--workspace", "--locked", "--bench", "*"]);
    if let Some(weights) = model::ensure(workspace) {
        benches.env(model::VARIABLE, weights);
        if let Some(python) = model::reference(workspace) {
            benches.env(model::LLAMA_CPP, python);
        }
    }
    if let Some(filter) = filter {
        benches.args(["--", filter]);
    }
    process::stream(&mut benches, keep)
}
