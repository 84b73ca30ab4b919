//! The SDKs, which come with the program and are unpacked when a plugin needs them.

use orlop_core::{Error, Result};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

/// One text that changes with any file of the SDKs.
pub(crate) fn fingerprint() -> &'static str {
    static FINGERPRINT: OnceLock<String> = OnceLock::new();
    FINGERPRINT.get_or_init(|| {
        let mut hash = Sha256::new();
        for (name, content) in PYTHON.iter().chain(NODE) {
            hash.update(name);
            hash.update(content);
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    })
}

/// The folder with the Python SDK.
pub(crate) fn python(home: &Path) -> Result<PathBuf> {
    unpack(home, "python", PYTHON)
}

/// The folder with the SDK for JavaScript and TypeScript.
pub(crate) fn node(home: &Path) -> Result<PathBuf> {
    unpack(home, "typescript", NODE)
}

/// Unpacks files once for each version of them. Several programs may do so at the same time.
fn unpack(home: &Path, language: &str, files: &[(&str, &str)]) -> Result<PathBuf> {
    let folder = home.join("cache").join("sdk").join(format!("{language}-{}", fingerprint()));
    if folder.join(".complete").is_file() {
        return Ok(folder);
    }
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the SDK cannot be unpacked to {}: {error}", folder.display()))
    };
    for (name, content) in files {
        let file = folder.join(name);
        let parent = file.parent().unwrap_or(&folder);
        let beside = parent.join(format!(".{}.tmp", std::process::id()));
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&beside, content))
            .and_then(|()| std::fs::rename(&beside, &file))
            .map_err(failed)?;
    }
    std::fs::write(folder.join(".complete"), "").map_err(failed)?;
    Ok(folder)
}
