//! The words of a text, for searching: the same on every database.
//!
//! A word is a run of letters and digits, without case and accents; a Chinese or Japanese character
//! is a word of its own, since such text has no spaces. Nothing a user types is query syntax.

use orlop_app::Scope;
use std::collections::BTreeSet;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// Longer words are known by their beginning.
const MAX_WORD: usize = 64;
/// How many bytes of different words of one message are indexed; PostgreSQL takes 1 MiB at most.
const MAX_TERMS: usize = 256 * 1024;
/// How long a snippet is, in characters.
const SNIPPET: usize = 160;
/// How much of it stands before the first word found.
const LEAD: usize = 40;

/// A word, and where it stands.
struct Word {
    at: Range<usize>,
    folded: String,
}

fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, first) = rest.next()?;
            if !is_letter(first) {
                continue;
            }
            let mut end = start + first.len_utf8();
            if !stands_alone(first) {
                while let Some((at, next)) =
                    rest.next_if(|(_, next)| is_letter(*next) && !stands_alone(*next))
                {
                    end = at + next.len_utf8();
                }
            }
            let folded = fold(&text[start..end]);
            if !folded.is_empty() {
                return Some(Word { at: start..end, folded });
            }
        }
    })
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || is_accent(c)
}

fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.chars().take(MAX_WORD).map(|c| c.to_ascii_lowercase()).collect();
    }
    let plain = word.nfkd().filter(|c| c.is_alphanumeric());
    plain.flat_map(char::to_lowercase).filter(|c| !is_accent(*c)).take(MAX_WORD).collect()
}

/// The different words of what a user searches for.
pub(crate) fn query_words(text: &str) -> Vec<String> {
    let words: BTreeSet<_> = words(text).map(|word| word.folded).collect();
    words.into_iter().take(100).collect()
}

/// What is indexed for a text: its different words with spaces between them, and whose it is.
/// `None` if it has no words.
pub(crate) fn terms(scope: &Scope, text: &str) -> Option<String> {
    let mut terms = BTreeSet::new();
    let mut size = 0;
    for word in words(text) {
        size += if terms.contains(&word.folded) { 0 } else { word.folded.len() + 1 };
        if size > MAX_TERMS {
            break;
        }
        terms.insert(word.folded);
    }
    if terms.is_empty() {
        return None;
    }
    terms.insert(scope_word(scope));
    Some(Vec::from_iter(terms).join(" "))
}

/// A word that no text has and that all messages of a scope are indexed with, so that a search
/// looks at no others. Punctuation is moved to where no tokeniser takes it for the end of a word.
pub(crate) fn scope_word(scope: &Scope) -> String {
    let mut word = String::from('\u{e000}');
    let names = scope.tenant().chars().chain(std::iter::once('/')).chain(scope.user().chars());
    word.extend(names.map(|c| match c {
        c if c.is_ascii_alphanumeric() && !c.is_ascii_uppercase() => c,
        c => char::from_u32(0xe000 + u32::from(c)).unwrap_or(c),
    }));
    word
}

/// How well a text fits: often and in a short text is better.
pub(crate) fn score(text: &str, wanted: &[String]) -> f64 {
    let mut counts = vec![0_u32; wanted.len()];
    let mut length = 0_u32;
    for word in words(text) {
        length += 1;
        if let Ok(index) = wanted.binary_search(&word.folded) {
            counts[index] += 1;
        }
    }
    let weight = 1.2 * (0.25 + 0.75 * f64::from(length) / 100.0);
    counts.into_iter().map(|count| f64::from(count) / (f64::from(count) + weight)).sum()
}

/// The part of a text with the most of the wanted words, on one line.
pub(crate) fn snippet(text: &str, wanted: &[String]) -> String {
    let found: Vec<(usize, usize)> = words(text)
        .filter_map(|word| Some((word.at.start, wanted.binary_search(&word.folded).ok()?)))
        .take(2000)
        .collect();
    let different = |from: usize| {
        let start = found[from].0;
        let near = found[from..].iter().take_while(|(at, _)| at - start <= SNIPPET - LEAD);
        near.map(|(_, word)| word).collect::<BTreeSet<_>>().len()
    };
    let best = (0..found.len()).max_by_key(|from| (different(*from), std::cmp::Reverse(*from)));
    let at = best.map_or(0, |from| found[from].0);
    cut(text, at)
}

/// [`SNIPPET`] characters around `at`, cut at spaces where there are some.
fn cut(text: &str, at: usize) -> String {
    let back = text[..at].char_indices().rev().take(LEAD).map(|(start, _)| start);
    let earliest = back.last().unwrap_or(at);
    let start = match text[earliest..at].find(char::is_whitespace) {
        Some(space) if earliest > 0 => earliest + space,
        _ => earliest,
    };
    let mut end =
        text[start..].char_indices().nth(SNIPPET).map_or(text.len(), |(end, _)| start + end);
    if end < text.len()
        && let Some(space) = text[at..end].rfind(char::is_whitespace)
        && space > 0
    {
        end = at + space;
    }
    let line =
        Vec::from_iter(text[start..end].split(|c: char| c.is_whitespace() || c.is_control()));
    let line = line.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    format!("{before}{line}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_neither_case_nor_accents_nor_punctuation() {
        assert_eq!(query_words("Café, CAFE\u{301}! x-ray*"), ["cafe", "ray", "x"]);
        assert_eq!(query_words("ﬁne Ⅷ ÅNGSTRÖM"), ["angstrom", "fine", "viii"]);
        assert_eq!(query_words("\"*\" -- ()"), Vec::<String>::new());
        assert_eq!(query_words("東京へ go"), ["go", "へ", "京", "東"]);
        assert_eq!(query_words(&"x".repeat(1000))[0].len(), MAX_WORD);
    }

    #[test]
    fn terms_carry_their_scope_in_one_word() {
        let scope = Scope::new("acme.Org", "ana@x").unwrap();
        let terms = terms(&scope, "b a b").unwrap();
        assert_eq!(Vec::from_iter(terms.split(' ')), ["a", "b", &scope_word(&scope)]);
        assert!(!scope_word(&scope).contains(|c: char| c.is_ascii_punctuation()));
        assert_eq!(super::terms(&scope, "!"), None);
    }

    #[test]
    fn different_scopes_have_different_words() {
        let word = |tenant, user| scope_word(&Scope::new(tenant, user).unwrap());
        let all =
            [word("a", "b"), word("ab", "c"), word("a", "bc"), word("A", "b"), word("b", "a")];
        assert_eq!(BTreeSet::from_iter(&all).len(), all.len());
    }

    #[test]
    fn a_great_many_words_are_cut() {
        let text: String = (0..200_000).map(|number| format!("w{number} ")).collect();
        assert!(terms(&Scope::local(), &text).unwrap().len() <= MAX_TERMS + 64);
    }

    #[test]
    fn a_snippet_is_one_line_around_the_words() {
        let wanted = query_words("needle haystack");
        let text =
            format!("{} needle\n\tin the   haystack {}", "far away ".repeat(50), "x ".repeat(500));
        let snippet = snippet(&text, &wanted);
        assert!(snippet.contains("needle in the haystack"), "{snippet}");
        assert!(snippet.starts_with('…') && snippet.ends_with('…'), "{snippet}");
        assert!(snippet.chars().count() <= SNIPPET + 2);
        assert_eq!(super::snippet("the Needle", &wanted), "the Needle");
        assert_eq!(super::snippet("é".repeat(500).as_str(), &wanted).chars().count(), SNIPPET + 1);
    }

    #[test]
    fn the_place_with_all_words_is_better_than_the_first_place() {
        let text = format!("needle {} needle in a haystack", "- ".repeat(300));
        assert!(snippet(&text, &query_words("haystack needle")).contains("needle in a haystack"));
    }

    #[test]
    fn often_and_short_is_better() {
        let wanted = query_words("cat");
        assert!(score("cat cat", &wanted) > score("cat dog", &wanted));
        assert!(score("cat", &wanted) > score(&format!("cat {}", "dog ".repeat(200)), &wanted));
    }
}
