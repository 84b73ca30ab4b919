//! Facts about the machine that explain its figures. What cannot be found out reads `unknown`.

use std::{fs, process::Command, thread};

/// One fact a line.
pub(super) fn facts() -> String {
    let unknown = || "unknown".to_owned();
    let cores = thread::available_parallelism().map(|cores| cores.to_string());
    let facts = [
        ("cpu", value_in("/proc/cpuinfo", "model name", ':').unwrap_or_else(unknown)),
        ("cores", cores.unwrap_or_else(|_| unknown())),
        ("memory", memory().unwrap_or_else(unknown)),
        ("rustc", rustc_version().unwrap_or_else(unknown)),
        ("os", operating_system()),
    ];
    facts.map(|(name, value)| format!("{name:<7} {value}\n")).concat()
}

fn memory() -> Option<String> {
    let total = value_in("/proc/meminfo", "MemTotal", ':')?;
    let kibibytes: u64 = total.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{} MiB", kibibytes / 1024))
}

fn rustc_version() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn operating_system() -> String {
    let name = value_in("/etc/os-release", "PRETTY_NAME", '=');
    let name = name.unwrap_or_else(|| std::env::consts::OS.to_owned());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {} {}", name.trim_matches('"'), kernel.trim(), std::env::consts::ARCH)
}

fn value_in(file: &str, key: &str, separator: char) -> Option<String> {
    value(&fs::read_to_string(file).ok()?, key, separator)
}

/// The first value that stands beside the key.
fn value(text: &str, key: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_beside_the_key_is_taken() {
        let text = "processor\t: 0\nmodel name\t: Fast: 9\nmodel name\t: Slow\n";
        assert_eq!(value(text, "model name", ':').as_deref(), Some("Fast: 9"));
        assert_eq!(value(text, "model", ':'), None);
    }

    #[test]
    fn every_fact_has_a_line() {
        assert_eq!(facts().lines().count(), 5);
    }
}
