//! How much memory a process takes, with all it started.

/// The resident memory of a process and its descendants, in megabytes; nothing where that is not told
/// (Linux only) or the process is gone. Pages they share count for each of them.
#[cfg(target_os = "linux")]
pub(crate) fn resident_mb(leader: u32) -> Option<u64> {
    let mut pages = resident_pages(leader)?;
    let mut known = std::collections::BTreeSet::from([leader]);
    let mut next = children(leader);
    while let Some(child) = next.pop() {
        if known.insert(child) {
            pages += resident_pages(child).unwrap_or_default();
            next.extend(children(child));
        }
    }
    Some(pages * rustix::param::page_size() as u64 / (1 << 20))
}

#[cfg(target_os = "linux")]
fn resident_pages(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

/// Those that a process started, by any of its threads.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let texts = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let texts: Vec<String> = texts.collect();
    texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn resident_mb(_: u32) -> Option<u64> {
    None
}
