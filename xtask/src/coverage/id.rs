//! Names of requirement rows (`B-03`) and of the sections that hold them (`C.1`).

use std::{fmt, str::FromStr};

/// The id of a requirement row: a group letter from A to M, and a number of two digits or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) group: char,
    pub(super) number: u32,
}

/// A section of a group, as in the heading `### C.1 Common to all plugins`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Section {
    group: char,
    number: u32,
}

/// The letter, if the text is the letter of a requirement group.
pub(super) fn group(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let letter = letters.next().filter(|letter| ('A'..='M').contains(letter))?;
    letters.next().is_none().then_some(letter)
}

impl Id {
    /// Whether the text begins like an id, so that the writer most likely meant one.
    pub(super) fn is_meant_by(text: &str) -> bool {
        let mut characters = text.chars();
        characters.next().is_some_and(|letter| letter.is_ascii_uppercase())
            && characters.next() == Some('-')
            && characters.next().is_some_and(|digit| digit.is_ascii_digit())
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = text.split_once('-').and_then(|(letter, digits)| {
            let group = group(letter)?;
            let plain = digits.len() >= 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
            let number = plain.then(|| digits.parse().ok())??;
            Some(Self { group, number })
        });
        id.ok_or_else(|| {
            format!("`{text}` is not a requirement id (a letter from A to M and a number: B-03)")
        })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02}", self.group, self.number)
    }
}

impl FromStr for Section {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let section = text.split_once('.').and_then(|(letter, digits)| {
            Some(Self { group: group(letter)?, number: digits.parse().ok()? })
        });
        section.ok_or_else(|| format!("`{text}` is not the name of a section such as C.1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_and_written() {
        for text in ["A-01", "B-67", "M-100"] {
            assert_eq!(text.parse::<Id>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_not_ids() {
        for text in ["", "A", "A-", "A-1", "a-01", "N-01", "AB-01", "A-01x", "A-+1", "A 01", "-01"]
        {
            assert!(text.parse::<Id>().is_err(), "{text}");
        }
    }

    #[test]
    fn ids_are_ordered_by_group_and_number() {
        let mut ids: Vec<Id> =
            ["B-01", "A-100", "A-20"].iter().map(|id| id.parse().unwrap()).collect();
        ids.sort();
        assert_eq!(ids.iter().map(Id::to_string).collect::<Vec<_>>(), ["A-20", "A-100", "B-01"]);
    }

    #[test]
    fn a_mistyped_id_is_still_meant_as_one() {
        assert!(Id::is_meant_by("B-3"));
        assert!(Id::is_meant_by("Z-03: text"));
        for prose in ["slow", "UTF-8 text", "B", "a-01", "see B-03"] {
            assert!(!Id::is_meant_by(prose), "{prose}");
        }
    }

    #[test]
    fn a_section_is_a_group_and_a_number() {
        assert_eq!("C.1".parse::<Section>().unwrap(), Section { group: 'C', number: 1 });
        for text in ["C", "C.", "C.x", "N.1", "A-01", "C.1.2"] {
            assert!(text.parse::<Section>().is_err(), "{text}");
        }
    }
}
