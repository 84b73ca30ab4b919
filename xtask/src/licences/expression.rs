//! Licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND ISC)`.
//!
//! `WITH` binds tightest, then `AND`, then `OR`; the old form `MIT/Apache-2.0` means `OR`.

/// Whether someone who accepts the licences in `allowed` may use code under this expression.
///
/// `MPL-2.0+` (that version or later) is satisfied by accepting `MPL-2.0`. A licence with an
/// exception has to be allowed with that exception.
pub(super) fn is_satisfied_by(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let mut reader = Reader { words: words(expression).into_iter().peekable(), allowed };
    let satisfied = reader.any()?;
    match reader.words.next() {
        None => Ok(satisfied),
        Some(word) => Err(format!("`{word}` stands where AND, OR or the end should be")),
    }
}

/// Splits at spaces, and around `/`, `(` and `)`.
fn words(expression: &str) -> Vec<&str> {
    expression
        .split_whitespace()
        .flat_map(|part| part.split_inclusive(['/', '(', ')']))
        .flat_map(|part| match part.char_indices().next_back() {
            Some((last, '/' | '(' | ')')) => [&part[..last], &part[last..]],
            _ => [part, ""],
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// Reads the words of an expression, deciding as it goes.
struct Reader<'a, W: Iterator<Item = &'a str>> {
    words: std::iter::Peekable<W>,
    allowed: &'a [String],
}

impl<'a, W: Iterator<Item = &'a str>> Reader<'a, W> {
    fn any(&mut self) -> Result<bool, String> {
        let mut satisfied = self.all()?;
        while self.words.next_if(|word| matches!(*word, "OR" | "or" | "/")).is_some() {
            satisfied |= self.all()?;
        }
        Ok(satisfied)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut satisfied = self.one()?;
        while self.words.next_if(|word| matches!(*word, "AND" | "and")).is_some() {
            satisfied &= self.one()?;
        }
        Ok(satisfied)
    }

    fn one(&mut self) -> Result<bool, String> {
        let word = self.name()?;
        if word == "(" {
            let satisfied = self.any()?;
            return match self.words.next() {
                Some(")") => Ok(satisfied),
                _ => Err("a `(` is not closed".into()),
            };
        }
        if self.words.next_if(|word| matches!(*word, "WITH" | "with")).is_some() {
            let exception = self.name()?;
            return Ok(self.is_allowed(&format!("{word} WITH {exception}")));
        }
        Ok(self.is_allowed(word) || word.strip_suffix('+').is_some_and(|it| self.is_allowed(it)))
    }

    /// The next word, which must be a name or an opening parenthesis.
    fn name(&mut self) -> Result<&'a str, String> {
        match self.words.next() {
            None => Err("it ends too early".into()),
            Some(word @ ("OR" | "or" | "AND" | "and" | "WITH" | "with" | "/" | ")")) => {
                Err(format!("`{word}` stands where a licence should be"))
            }
            Some(word) => Ok(word),
        }
    }

    fn is_allowed(&self, licence: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == licence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: [&str; 5] =
        ["MIT", "Apache-2.0", "MPL-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];

    fn check(expression: &str, expected: bool) {
        let allowed = ALLOWED.map(String::from);
        assert_eq!(is_satisfied_by(expression, &allowed), Ok(expected), "{expression}");
    }

    fn check_unreadable(expression: &str) {
        assert!(is_satisfied_by(expression, &[]).is_err(), "{expression}");
    }

    #[test]
    fn a_single_licence_must_be_allowed() {
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("mit", false);
    }

    #[test]
    fn one_side_of_or_is_enough() {
        check("GPL-2.0-only OR MIT", true);
        check("GPL-2.0-only/MIT", true);
        check("MIT / GPL-2.0-only", true);
        check("GPL-2.0-only OR AGPL-3.0-only", false);
    }

    #[test]
    fn and_needs_both_sides_and_binds_tighter() {
        check("MIT AND Unicode-3.0", true);
        check("MIT AND GPL-2.0-only", false);
        check("MIT OR Apache-2.0 AND GPL-2.0-only", true);
        check("(MIT OR Apache-2.0) AND GPL-2.0-only", false);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("((MIT)AND(Apache-2.0 OR (GPL-2.0-only)))", true);
    }

    #[test]
    fn an_exception_is_allowed_by_name() {
        check("Apache-2.0 WITH LLVM-exception", true);
        check("Apache-2.0 WITH Other-exception", false);
        check("MIT WITH LLVM-exception", false);
        check("GPL-2.0-only OR Apache-2.0 WITH LLVM-exception", true);
    }

    #[test]
    fn or_later_is_satisfied_by_the_version_itself() {
        check("MPL-2.0+", true);
        check("GPL-2.0+", false);
    }

    #[test]
    fn broken_expressions_are_errors_and_not_verdicts() {
        for expression in [
            "",
            "OR",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "MIT WITH",
            "MIT AND OR MIT",
            "()",
        ] {
            check_unreadable(expression);
        }
    }
}
