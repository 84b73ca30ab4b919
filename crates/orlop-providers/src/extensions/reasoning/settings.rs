//! The settings of the extension, borrowed from the configuration: they are read for every chunk.

use orlop_core::{Config, Error, Result, Value};

/// How much of the reasoning is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    Full,
    Summary,
    None,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings<'a> {
    pub(super) show: Show,
    /// What opens reasoning in the text, and what closes it.
    pub(super) tags: Option<(&'a str, &'a str)>,
}

impl<'a> Settings<'a> {
    pub(super) fn of(config: &'a Config) -> Result<Self> {
        let Some(section) = config.get("reasoning").filter(|section| section.is_object()) else {
            return Ok(Self { show: Show::Full, tags: None });
        };
        let show = match section.get("show") {
            None | Some(Value::Null) => Show::Full,
            Some(word) => match word.as_str() {
                Some("full") => Show::Full,
                Some("summary") => Show::Summary,
                Some("none") => Show::None,
                _ => {
                    return Err(Error::bad_argument(format!(
                        "reasoning.show: {word} is not known; set it to \"full\", \"summary\" or \"none\""
                    )));
                }
            },
        };
        let tags = match section.get("tags") {
            None | Some(Value::Null) => None,
            Some(tags) => Some(pair(tags).ok_or_else(|| {
                Error::bad_argument(format!(
                    "reasoning.tags: {tags} is no pair of tags; write [\"<think>\", \"</think>\"] or the like"
                ))
            })?),
        };
        Ok(Self { show, tags })
    }

    pub(super) fn do_something(&self) -> bool {
        self.show != Show::Full || self.tags.is_some()
    }
}

fn pair(tags: &Value) -> Option<(&str, &str)> {
    match tags.as_array()?.as_slice() {
        [open, close] => {
            let (open, close) = (open.as_str()?, close.as_str()?);
            (!open.is_empty() && !close.is_empty()).then_some((open, close))
        }
        _ => None,
    }
}
