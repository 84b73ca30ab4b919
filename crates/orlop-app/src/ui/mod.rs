//! What every front end does alike with the elements, results and displays of actions.
//!
//! Pure values without input or output: an element becomes the parameters of its action
//! ([`ActionElement::params`]), what the action answered becomes an [`Outcome`], and its display
//! goes where the [`Surface`] says. Text in these types has no control sequences any more.

mod dialog;
mod display;
mod elements;
mod outcome;
mod params;
mod safe;
mod surface;
#[cfg(test)]
mod tests;

pub use dialog::{Dialog, DialogInput, InputKind};
pub use display::{Display, DisplayAction, DisplayActionKind, Format, Presentation, Variant};
pub use elements::{ActionElement, elements_of, merge_elements};
pub use outcome::{Mutations, Outcome};
pub use params::Sources;
pub use safe::{plain_line, plain_text, web_url};
pub use surface::{Displays, Placement, Shown, Surface};

use orlop_core::{Map, Value};

/// The text under `key`, if there is one that is not empty.
fn filled<'a>(fields: &'a Map, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}
