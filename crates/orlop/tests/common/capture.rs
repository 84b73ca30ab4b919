//! Screens in the documentation, as tests take them, so that they cannot go stale.

use std::path::Path;
use std::sync::Mutex;

/// One test at a time writes.
static WRITING: Mutex<()> = Mutex::new(());

/// Compares a screen with the one that stands in a file of the repository between
/// `<!-- screen: NAME -->` and `<!-- end of screen -->`. With `UPDATE_EXPECT` it is written there.
#[track_caller]
pub fn check(file: &str, name: &str, screen: &str) {
    let _writing = WRITING.lock().unwrap_or_else(|broken| broken.into_inner());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- screen: {name} -->\n````text\n");
    let end = "````\n<!-- end of screen -->";
    let (before, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{file} has no place for the screen \"{name}\""));
    let (shown, after) = rest.split_once(end).unwrap();
    let screen = format!("{}\n", screen.trim_matches('\n'));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, format!("{before}{begin}{screen}{end}{after}")).unwrap();
    } else {
        assert_eq!(shown, screen, "UPDATE_EXPECT=1 writes it anew into {file}");
    }
}
