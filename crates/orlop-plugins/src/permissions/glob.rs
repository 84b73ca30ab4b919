//! Patterns with `*` and `?`, in texts and in paths. The cost grows with the product of both
//! lengths at most.

/// Whether a pattern matches a whole text. `*` stands for any characters, `?` for one.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    star_match(&pattern, &text, |c| *c == '*', |wanted, c| *wanted == '?' || wanted == c)
}

/// Whether a pattern of steps matches a path, or a folder above it. `**` stands for any steps.
pub(crate) fn matches_path(pattern: &[String], steps: &[&str]) -> bool {
    let below = "**".to_owned();
    let pattern: Vec<&String> = pattern.iter().chain([&below]).collect();
    star_match(&pattern, steps, |step| *step == "**", |wanted, step| matches(wanted, step))
}

/// The usual walk: at a mismatch, the last star takes one more.
fn star_match<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && is_star(&pattern[p]) {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && fits(&pattern[p], &text[t]) {
            p += 1;
            t += 1;
        } else if let Some((star_p, star_t)) = star {
            p = star_p + 1;
            t = star_t + 1;
            star = Some((star_p, star_t + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_paths_are_matched_as_a_whole() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbbc", true),
            ("a*c", "abcd", false),
            ("*a*b*", "xxaxxbxx", true),
            ("?b", "ab", true),
            ("mcp__*", "mcp__x__y", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        for (pattern, path, expected) in [
            ("src/**", "src/a/b", true),
            ("src", "src/a/b", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("**/.env", ".env", true),
            ("**/.env", "a/b/.env", true),
            ("src", "srcs", false),
        ] {
            let pattern: Vec<String> = pattern.split('/').map(str::to_owned).collect();
            let steps: Vec<&str> = path.split('/').collect();
            assert_eq!(matches_path(&pattern, &steps), expected, "{pattern:?} {path}");
        }
    }

    #[test]
    fn many_stars_cost_little() {
        let text = "a".repeat(20_000);
        assert!(!matches(&"*a".repeat(50).replace("**", "*"), &format!("{text}b")));
    }
}
