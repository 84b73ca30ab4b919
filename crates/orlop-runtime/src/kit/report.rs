//! What a test found, for people and for programs.

use orlop_core::Value;
use serde_json::json;
use std::fmt;
use std::sync::Arc;

/// Everything a test found, in the order in which it was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The package.
    pub package: String,
    /// One entry a check.
    pub checks: Vec<Check>,
    listener: Listener,
}

/// Hears of every check as it is made.
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<Hear>>);

type Hear = dyn Fn(&Check) + Send + Sync;

impl Listener {
    /// Calls this with every check.
    pub fn new(hear: impl Fn(&Check) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "somebody" } else { "nobody" })
    }
}

/// Who listens makes no other report.
impl PartialEq for Listener {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What was looked at: a plugin by kind and name, or the package.
    pub about: String,
    /// What was checked, as a sentence that is true if it went well.
    pub name: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It holds.
    Ok,
    /// It does not.
    Failed(Box<Finding>),
    /// It holds, and something about it may not be meant.
    Warning(String),
    /// It was not looked at, and this is why.
    Skipped(String),
}

/// What a failed check saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What was seen.
    pub seen: String,
    /// What was expected instead.
    pub expected: String,
    /// What to do.
    pub fix: String,
}

impl Finding {
    pub(super) fn new(
        seen: impl Into<String>,
        expected: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { seen: seen.into(), expected: expected.into(), fix: fix.into() }
    }
}

impl From<Finding> for Verdict {
    fn from(finding: Finding) -> Self {
        Self::Failed(Box::new(finding))
    }
}

impl Verdict {
    pub(super) fn warning(text: impl Into<String>) -> Self {
        Self::Warning(text.into())
    }

    pub(super) fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped(why.into())
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(_) => "FAIL",
            Self::Warning(_) => "warn",
            Self::Skipped(_) => "skip",
        }
    }
}

impl Report {
    pub(super) fn new(package: &str) -> Self {
        Self::heard_by(package, Listener::default())
    }

    pub(super) fn heard_by(package: &str, listener: Listener) -> Self {
        Self { package: package.to_owned(), checks: Vec::new(), listener }
    }

    pub(super) fn add(&mut self, about: &str, name: impl Into<String>, verdict: Verdict) {
        let check = Check { about: about.to_owned(), name: name.into(), verdict };
        if let Some(hear) = &self.listener.0 {
            hear(&check);
        }
        self.checks.push(check);
    }

    /// Whether nothing failed.
    pub fn is_green(&self) -> bool {
        !self.checks.iter().any(|check| matches!(check.verdict, Verdict::Failed(_)))
    }

    /// How many checks passed, failed and were skipped, and how many of those that passed warn.
    pub fn counts(&self) -> (usize, usize, usize, usize) {
        let count = |fits: fn(&Verdict) -> bool| {
            self.checks.iter().filter(|check| fits(&check.verdict)).count()
        };
        (
            count(|verdict| matches!(verdict, Verdict::Ok | Verdict::Warning(_))),
            count(|verdict| matches!(verdict, Verdict::Failed(_))),
            count(|verdict| matches!(verdict, Verdict::Skipped(_))),
            count(|verdict| matches!(verdict, Verdict::Warning(_))),
        )
    }

    /// The last line of the report.
    pub fn summary(&self) -> String {
        let (passed, failed, skipped, warnings) = self.counts();
        let warnings = match warnings {
            0 => String::new(),
            1 => " (1 warning)".to_owned(),
            many => format!(" ({many} warnings)"),
        };
        format!("{passed} passed, {failed} failed, {skipped} skipped{warnings}")
    }

    /// The report for programs.
    pub fn to_json(&self) -> Value {
        let checks: Vec<Value> = self.checks.iter().map(Check::to_json).collect();
        let (passed, failed, skipped, warnings) = self.counts();
        json!({
            "package": self.package, "passed": passed, "failed": failed, "skipped": skipped,
            "warnings": warnings, "checks": checks,
        })
    }
}

impl Check {
    fn to_json(&self) -> Value {
        let mut value = json!({"about": self.about, "check": self.name});
        match &self.verdict {
            Verdict::Ok => value["verdict"] = "ok".into(),
            Verdict::Failed(finding) => {
                value["verdict"] = "failed".into();
                value["seen"] = finding.seen.clone().into();
                value["expected"] = finding.expected.clone().into();
                value["fix"] = finding.fix.clone().into();
            }
            Verdict::Warning(text) => {
                value["verdict"] = "warning".into();
                value["why"] = text.clone().into();
            }
            Verdict::Skipped(why) => {
                value["verdict"] = "skipped".into();
                value["why"] = why.clone().into();
            }
        }
        value
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            writeln!(out, "{check}")?;
        }
        write!(out, "\n{}", self.summary())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { about, name, verdict } = self;
        write!(out, "{:<4}  {about}: {name}", verdict.word())?;
        match verdict {
            Verdict::Ok => Ok(()),
            Verdict::Skipped(why) => write!(out, " ({why})"),
            Verdict::Warning(text) => write!(out, "\n        {}", indented(text)),
            Verdict::Failed(finding) => {
                writeln!(out)?;
                writeln!(out, "        seen:     {}", indented(&finding.seen))?;
                writeln!(out, "        expected: {}", indented(&finding.expected))?;
                write!(out, "        fix:      {}", indented(&finding.fix))
            }
        }
    }
}

/// Further lines stand under the first one.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n                  ")
}

/// A value in one line, cut where it is long.
pub(super) fn short(value: &Value) -> String {
    const LONGEST: usize = 400;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} ... ({} bytes)", &text[..at], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_report_says_what_to_do() {
        let mut report = Report::new("sums");
        report.add("package", "answers initialize", Verdict::Ok);
        let finding = Finding::new("4\nand more", "5", "add one");
        report.add("tool sums", "adds", finding.into());
        report.add("tool sums", "is quick", Verdict::warning("it is slow"));
        report.add("tool sums", "streams", Verdict::skipped("it has no stream_tool"));
        assert!(!report.is_green());
        expect![[r#"
            ok    package: answers initialize
            FAIL  tool sums: adds
                    seen:     4
                              and more
                    expected: 5
                    fix:      add one
            warn  tool sums: is quick
                    it is slow
            skip  tool sums: streams (it has no stream_tool)

            2 passed, 1 failed, 1 skipped (1 warning)"#]]
        .assert_eq(&report.to_string());
    }
}
