//! Host plugin: tells the agent which files came with a message, and how to use each.

use orlop_core::hooks::{AttachmentInput, FileInfo};
use orlop_core::{Answer, Context, HostPlugin, Manifest};

/// How many files are told of one by one.
const MAX_FILES: usize = 50;

/// One line for each file of a request.
pub struct AttachmentHints;

impl HostPlugin for AttachmentHints {
    fn manifest(&self) -> Manifest {
        Manifest::host("attachment_hints", "1.0.0")
    }

    fn attachment_handler<'a>(
        &'a self,
        input: &'a AttachmentInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        let mut lines = vec!["Files that came with the message:".to_owned()];
        lines.extend(input.files.iter().take(MAX_FILES).map(line));
        if let Some(more) = input.files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
            lines.push(format!("- and {more} more"));
        }
        Answer::ok(lines.join("\n"))
    }
}

fn line(file: &FileInfo) -> String {
    let name: String = file.name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("- {name} ({}, {}): {}", file.media_type, size(file.size), hint(file))
}

/// What to do with a file of its type.
fn hint(file: &FileInfo) -> String {
    let kind = file.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let at =
        format!("it is not in the message; with a tool that can, read it at {}", file.location);
    match kind.as_str() {
        "application/pdf" => {
            "a document; the message has its text, without layout and pictures".to_owned()
        }
        "image/svg+xml" => "a drawing; the message has it as text".to_owned(),
        "text/csv" | "text/tab-separated-values" => {
            "a table; the message has it as text, and a tool computes better than you do".to_owned()
        }
        "application/json" | "application/xml" | "application/yaml" | "application/toml" => {
            "data; the message has it as text".to_owned()
        }
        "application/zip"
        | "application/gzip"
        | "application/x-tar"
        | "application/x-7z-compressed" => {
            format!("an archive; {at}")
        }
        kind if kind.starts_with("image/") => {
            "a picture; if you cannot see it, say so and do not guess".to_owned()
        }
        kind if kind.starts_with("text/") => "text; the message has it".to_owned(),
        kind if kind.starts_with("audio/") || kind.starts_with("video/") => {
            format!("a recording; {at}")
        }
        _ => at,
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
