//! Running other programs: for their verdict, for their text, or line by line.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

/// Runs the program with its output going straight to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(failed(command)) }
}

/// Runs the program and returns what it printed to standard output.
pub(crate) fn text_of(command: &mut Command) -> Result<String, String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        return Err(failed(command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the program, passing its standard output on and showing each line to `look` as it comes.
pub(crate) fn stream(command: &mut Command, mut look: impl FnMut(&str)) -> Result<(), String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| not_started(command, &error))?;
    let broken = |error| format!("lost the output of {}: {error}", line_of(command));
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).map_err(broken)? > 0 {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            look(text.trim_end());
            line.clear();
        }
    }
    let status = child.wait().map_err(broken)?;
    if status.success() { Ok(()) } else { Err(failed(command)) }
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}; is it installed?", line_of(command))
}

fn failed(command: &Command) -> String {
    format!("{} failed; what it printed says why", line_of(command))
}

/// The call as one would type it, without the folder of the program.
fn line_of(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words: Vec<_> = std::iter::once(program).chain(command.get_args()).collect();
    format!("`{}`", words.join(" ".as_ref()).to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_call_without_the_folder_of_the_program() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["fmt", "--check"]);
        assert_eq!(failed(&command), "`cargo fmt --check` failed; what it printed says why");
    }

    #[test]
    fn streaming_shows_each_line_and_the_last_without_a_line_end() {
        let mut lines = Vec::new();
        let mut command = Command::new("printf");
        command.arg("one\\ntwo");
        stream(&mut command, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["one", "two"]);
    }
}
