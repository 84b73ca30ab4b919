//! Where a text stands in the text it was read from, to keep that instead of a copy.

use memchr::{memchr, memchr2};
use std::ops::Range;

/// The place of `part` in `whole`, if it is a part of it in memory.
pub(crate) fn place(part: &str, whole: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    whole.get(start..end).map(|_| start..end)
}

/// The place between its quotes of the string in `json` that says `text`, if only one does. It finds
/// strings with escapes, too.
pub(crate) fn place_of_string(text: &str, json: &str) -> Option<Range<usize>> {
    let bytes = json.as_bytes();
    let (mut at, mut found) = (0, None);
    while let Some(open) = memchr(b'"', bytes.get(at..)?) {
        let start = at + open + 1;
        let mut end = start;
        loop {
            end += memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes.get(end) == Some(&b'"') {
                break;
            }
            end += 2;
        }
        let says = serde_json::from_str::<String>(json.get(start - 1..=end)?).ok()?;
        if says == text && found.replace(start..end).is_some() {
            return None;
        }
        at = end + 1;
    }
    found
}

/// A text that was read from another: its place, or itself where it stands nowhere, because it has
/// escapes there for instance.
#[derive(Debug)]
pub(crate) enum Kept {
    At(u32, u32),
    Itself(Box<str>),
}

impl Kept {
    /// Keeps `part` of `whole`.
    pub(crate) fn of(part: &str, whole: &str) -> Self {
        let short = |place: Range<usize>| {
            Some(Self::At(place.start.try_into().ok()?, place.end.try_into().ok()?))
        };
        place(part, whole).and_then(short).unwrap_or_else(|| Self::Itself(part.into()))
    }

    /// The text, given what it was read from.
    #[inline]
    pub(crate) fn read<'a>(&'a self, whole: &'a str) -> &'a str {
        match self {
            Self::At(start, end) => whole.get(*start as usize..*end as usize).unwrap_or_default(),
            Self::Itself(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_kept_as_its_place_and_anything_else_as_itself() {
        let whole = "é and ü".to_owned();
        assert_eq!(place(&whole[3..6], &whole), Some(3..6));
        assert_eq!(place("and", &whole), None);
        assert!(matches!(Kept::of(&whole[3..6], &whole), Kept::At(3, 6)));
        assert!(matches!(Kept::of("and", &whole), Kept::Itself(_)));
        for part in [&whole[3..6], &whole[..0], &whole[..], "and", ""] {
            assert_eq!(Kept::of(part, &whole).read(&whole), part);
        }
    }

    #[test]
    fn a_string_is_found_by_what_it_says() {
        for (text, json, expected) in [
            ("\n", r#"{"a":"x\"\\","b":"\n"}"#, Some(r"\n")),
            ("b", r#"{"a":"\u0062"}"#, Some(r"\u0062")),
            ("", r#"["x",""]"#, Some("")),
            ("\n", r#"["\n","\u000a"]"#, None),
            ("\n", r#"["\\n"]"#, None),
            ("a", r#"["a"#, None),
            ("a", r#"["a\"#, None),
        ] {
            assert_eq!(place_of_string(text, json).map(|place| &json[place]), expected, "{json}");
        }
    }

    #[test]
    fn a_place_takes_two_words() {
        assert_eq!(size_of::<Kept>(), 16);
    }
}
