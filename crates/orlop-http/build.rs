//! Takes the built web page (`web/dist`) into the program, compressed. Without one the program
//! builds all the same, and its page says how to get it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    // Asked when it runs: a build that was copied to another place must not look into the old one.
    let here = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let sources = Path::new(&here).join("../../web");
    let folder = sources.join("dist");
    println!("cargo:rerun-if-changed=build.rs");
    // A folder that is not there would count as changed, always; so the one is watched in which the
    // page will be.
    if let Some(watched) = [&folder, &sources].into_iter().find(|folder| folder.is_dir()) {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("&[\n");
    for (number, path) in files(&folder)?.iter().enumerate() {
        let name = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let Some(media_type) = media_type(&name) else { continue };
        let compressed = out.join(format!("page-{number}.gz"));
        let mut encoder = GzEncoder::new(fs::File::create(&compressed)?, Compression::best());
        encoder.write_all(&fs::read(path)?)?;
        encoder.finish()?;
        let _ = writeln!(
            table,
            "    File {{ name: {name:?}, media_type: {media_type:?}, gzip: include_bytes!({:?}) }},",
            compressed.to_string_lossy()
        );
    }
    table.push_str("]\n");
    fs::write(out.join("page_files.rs"), table)
}

/// All files below a folder, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !folder.join("index.html").is_file() {
        return Ok(found);
    }
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// What a file is; files of other kinds do not belong to a page.
fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" => "application/json",
        _ => return None,
    })
}
