//! The known names that are nearest to a mistyped one, for errors that say what to write instead.

/// Longer names are not compared: nobody mistypes them, and it takes the square of their length.
const LONGEST: usize = 64;

/// The nearest of `known`, if it is near enough to be what was meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let allowed = (length / 3).max(1);
    let ranked = known.into_iter().map(|candidate| {
        let lengths_apart = candidate.chars().count().abs_diff(length);
        (distance(name, candidate), lengths_apart, candidate)
    });
    let begun = |candidate: &str| length >= 3 && candidate.starts_with(name);
    let near = ranked.filter(|(distance, _, candidate)| *distance <= allowed || begun(candidate));
    near.min().map(|(.., candidate)| candidate)
}

/// All of `known`, the nearest first.
///
/// ```
/// use orlop_types::nearest::nearest_first;
/// assert_eq!(nearest_first("quen3", ["llama3", "qwen3"]), ["qwen3", "llama3"]);
/// ```
pub fn nearest_first<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = known.into_iter().collect();
    if name.chars().count() <= LONGEST {
        known.sort_by_cached_key(|candidate| distance(name, candidate));
    }
    known
}

/// A hint to write instead of `name`: the nearest known name, else all of them if they are few.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(nearest) = nearest(name, known.clone()) {
        return format!("did you mean \"{nearest}\"?");
    }
    let mut all: Vec<&str> = known.into_iter().collect();
    all.sort_unstable();
    match all.len() {
        0 => "remove it".to_owned(),
        1..=12 => format!("known: {}", all.join(", ")),
        _ => "remove it or correct its name".to_owned(),
    }
}

/// How many letters have to be changed, added, removed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            let mut cost = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let known = ["model", "mode", "base_url", "api_key", "tools"];
        let cases = [
            ("modle", Some("model")),
            ("Model", Some("model")),
            ("baseurl", Some("base_url")),
            ("apikey", Some("api_key")),
            ("tool", Some("tools")),
            ("base", Some("base_url")),
            ("temperature", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
        assert_eq!(hint("zzz", ["b", "a"]), "known: a, b");
    }

    #[test]
    fn all_are_ordered_by_nearness() {
        let known = ["phi", "smollm3", "smollm2", "llama"];
        assert_eq!(nearest_first("smolm2", known), ["smollm2", "smollm3", "llama", "phi"]);
        assert_eq!(nearest_first(&"x".repeat(100_000), known), known);
    }
}
