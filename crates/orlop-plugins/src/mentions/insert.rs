//! What an accepted mention becomes: the content of a file, or the list of a folder.

use crate::workspace::Workspace;
use orlop_core::{Error, Result};
use std::io::Read;
use std::path::Path;

/// How much of a file is inserted, in bytes.
const MAX_TEXT: u64 = 64 * 1024;
/// How many entries of a folder are listed.
const MAX_ENTRIES: usize = 200;

/// The text for a path of the workspace.
pub(super) fn snippet(workspace: &Workspace, path: &str) -> Result<String> {
    let real = workspace.resolve(path)?;
    if !workspace.contains(&real) {
        return Err(Error::bad_argument(format!("{path} lies outside of the folders in use")));
    }
    let failed = |error: std::io::Error| Error::not_found(format!("{path}: {error}"));
    let known = real.metadata().map_err(failed)?;
    if known.is_dir() {
        return folder(path, &real).map_err(failed);
    }
    if !known.is_file() {
        return Err(Error::bad_argument(format!("{path} is neither a file nor a folder")));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&real).map_err(failed)?;
    file.take(MAX_TEXT).read_to_end(&mut bytes).map_err(failed)?;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // Only the last character may be cut.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "\0",
    };
    if text.contains('\0') {
        return Ok(format!("File {path} ({} bytes, not text)\n", known.len()));
    }
    let fence = fence_for(text);
    let language = real.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let text = text.strip_suffix('\n').unwrap_or(text);
    let rest = known.len().saturating_sub(MAX_TEXT);
    let cut = match rest {
        0 => String::new(),
        rest => format!("[{rest} bytes more are in the file]\n"),
    };
    Ok(format!("File {path}:\n{fence}{language}\n{text}\n{fence}\n{cut}"))
}

/// A fence that no line of the text closes.
fn fence_for(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}

fn folder(path: &str, real: &Path) -> std::io::Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(real)?.filter_map(std::result::Result::ok) {
        let name = entry.file_name().to_string_lossy().replace(char::is_control, "?");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        names.push(if is_folder { format!("{name}/") } else { name });
    }
    names.sort();
    let count = names.len();
    names.truncate(MAX_ENTRIES);
    if count > MAX_ENTRIES {
        names.push(format!("[and {} more]", count - MAX_ENTRIES));
    }
    Ok(format!("Folder {path}:\n{}\n", names.join("\n")))
}
