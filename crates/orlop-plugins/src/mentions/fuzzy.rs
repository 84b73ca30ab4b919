//! Which of many paths a few letters mean: all letters in their order, best where they stand together,
//! at the beginning of words, and in the last part of the path.

/// The best `count` paths for what was typed, the best first.
pub(super) fn best<'a>(
    wanted: &str,
    paths: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let wanted: Vec<u8> = wanted.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut found: Vec<(i64, &str)> =
        paths.filter_map(|path| Some((-score(&wanted, path)?, path))).collect();
    let order =
        |a: &(i64, &str), b: &(i64, &str)| (a.0, a.1.len(), a.1).cmp(&(b.0, b.1.len(), b.1));
    if found.len() > count {
        found.select_nth_unstable_by(count, order);
        found.truncate(count);
    }
    found.sort_unstable_by(order);
    found.into_iter().map(|(_, path)| path).collect()
}

/// How well a path fits; `None` if a letter is missing. Without letters, what lies near the top
/// fits best.
fn score(wanted: &[u8], path: &str) -> Option<i64> {
    let bytes = path.as_bytes();
    let trimmed = bytes.strip_suffix(b"/").unwrap_or(bytes);
    let depth = trimmed.iter().filter(|byte| **byte == b'/').count();
    let deep = i64::try_from(depth).unwrap_or(i64::MAX);
    if wanted.is_empty() {
        return Some(-deep);
    }
    let name = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let in_name = matched(wanted, &bytes[name..], true).map(|score| score + 30);
    in_name.or_else(|| matched(wanted, bytes, false)).map(|score| score * 4 - deep)
}

/// The score of the shortest place that ends where the letters are first complete.
fn matched(wanted: &[u8], text: &[u8], is_start: bool) -> Option<i64> {
    let mut left = wanted.iter();
    let mut next = left.next()?;
    let mut end = None;
    for (at, byte) in text.iter().enumerate() {
        if byte.eq_ignore_ascii_case(next) {
            match left.next() {
                Some(letter) => next = letter,
                None => {
                    end = Some(at);
                    break;
                }
            }
        }
    }
    // Backwards from there, so that letters are taken as late as they can be.
    let mut score = 0;
    let mut left = wanted.iter().rev().peekable();
    let mut was_last = false;
    for at in (0..=end?).rev() {
        let Some(letter) = left.peek() else { break };
        if !text[at].eq_ignore_ascii_case(letter) {
            was_last = false;
            score -= 1;
            continue;
        }
        score += match was_last {
            true => 9,
            false if begins_word(text, at, is_start) => 8,
            false => 2,
        };
        was_last = true;
        left.next();
    }
    Some(score)
}

fn begins_word(text: &[u8], at: usize, is_start: bool) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return is_start };
    b"/_-. ".contains(&before) || (before.is_ascii_lowercase() && text[at].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[&str] = &[
        "src/",
        "src/main.rs",
        "src/commands/model.rs",
        "src/commands/mod.rs",
        "docs/main-ideas.md",
        "examples/domain.rs",
        "README.md",
        "tests/read_me.rs",
        "src/FileTree.tsx",
    ];

    #[test]
    fn the_likeliest_path_is_first() {
        let first = |wanted: &str| best(wanted, PATHS.iter().copied(), 3).first().copied();
        for (wanted, expected) in [
            ("main", "src/main.rs"),
            ("mainrs", "src/main.rs"),
            ("mod", "src/commands/mod.rs"),
            ("cmod", "src/commands/mod.rs"),
            ("readme", "README.md"),
            ("ft", "src/FileTree.tsx"),
            ("src/", "src/"),
            ("doma", "examples/domain.rs"),
            ("docs/m", "docs/main-ideas.md"),
        ] {
            assert_eq!(first(wanted), Some(expected), "{wanted}");
        }
        assert_eq!(first("zzz"), None);
        assert_eq!(first(""), Some("src/"), "near the top");
    }
}
