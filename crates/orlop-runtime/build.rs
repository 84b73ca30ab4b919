//! Lists the files of the SDKs, so that the program carries them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    // Asked when it runs: a build that was copied to another place must not look into the old one.
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let sdk = Path::new(&here).join("../../sdk");
    let mut code = String::new();
    for (name, folder, ends) in [
        ("PYTHON", "python", &["py", "typed"][..]),
        ("NODE", "typescript", &["mjs", "js", "ts", "json"][..]),
        ("RUST", "rust", &["rs", "md"][..]),
    ] {
        let root = sdk.join(folder);
        println!("cargo::rerun-if-changed={}", root.display());
        let mut files = Vec::new();
        collect(&root, &mut files);
        files.sort();
        let _ = writeln!(code, "pub(crate) const {name}: &[(&str, &str)] = &[");
        for file in files {
            let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
            let Ok(inside) = file.strip_prefix(&root) else { continue };
            if ends.contains(&end) {
                let _ = writeln!(
                    code,
                    "    ({:?}, include_str!({:?})),",
                    inside.display().to_string(),
                    file.display().to_string()
                );
            }
        }
        let _ = writeln!(code, "];");
    }
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("sdk_files.rs"), code)
}

/// The files an SDK is made of, without its tests and what tools leave there.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy().into_owned();
        let left_out = [
            "tests",
            "test",
            "node_modules",
            "__pycache__",
            "build",
            "dist",
            "package-lock.json",
            "tsconfig.json",
        ];
        if name.starts_with('.') || name.ends_with(".egg-info") || left_out.contains(&name.as_str())
        {
            continue;
        }
        let path = entry.path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
