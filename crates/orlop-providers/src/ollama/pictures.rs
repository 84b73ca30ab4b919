//! What people attach, as this API takes it: pictures inline, everything else as a short text that
//! says what it was. Nothing is lost: what could not be sent is remembered beside the item.

use crate::wire::parts::{Media, Part, Source, content_parts};
use orlop_types::{Map, Message, NativeItem, Value};
use serde_json::json;

/// The internal metadata that holds what could not be sent: `{"at": position, "part": {...}}`.
const UNSENT: &str = "unsent";

/// The content of a message: its text, its pictures in base64, and what could not be sent.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) text: String,
    pub(super) images: Vec<Value>,
    unsent: Vec<Value>,
}

/// Sorts `content` and what is attached to `message`.
pub(super) fn sorted(content: &Value, message: &Message) -> Sorted {
    let mut sorted = Sorted::default();
    let mut notes = Vec::new();
    let attached = message.multipart_content();
    let parts = content_parts(content, message);
    let own = parts.len() - attached.len();
    for (position, part) in parts.into_iter().enumerate() {
        match part {
            Part::Text(text) => push_line(&mut sorted.text, &text),
            Part::Image(Media { source: Source::Data(data), .. }) => {
                sorted.images.push(data.into());
            }
            part => {
                notes.push(note(&part));
                if let Some(at) = position.checked_sub(own) {
                    sorted.unsent.push(json!({ "at": at, "part": attached[at] }));
                }
            }
        }
    }
    for note in notes {
        push_line(&mut sorted.text, &note);
    }
    sorted
}

impl Sorted {
    /// Puts the pictures into a message object.
    pub(super) fn put_images(&mut self, fields: &mut Map) {
        if !self.images.is_empty() {
            fields.insert("images".to_owned(), std::mem::take(&mut self.images).into());
        }
    }

    /// Remembers beside `item` what could not be sent.
    pub(super) fn remember(self, item: NativeItem) -> NativeItem {
        if self.unsent.is_empty() {
            return item;
        }
        let mut metadata = item.metadata().clone();
        metadata.insert(UNSENT.to_owned(), self.unsent.into());
        item.with_metadata(metadata)
    }
}

/// The text of an item and what was attached to it.
pub(super) fn read(item: &NativeItem) -> (String, Vec<Map>) {
    let text = match item.get("content") {
        None | Some(Value::Null) => "",
        Some(content) => content.as_str().unwrap_or_default(),
    };
    let images = item.get("images").and_then(Value::as_array);
    let mut parts: Vec<Map> =
        images.into_iter().flatten().filter_map(Value::as_str).map(image).collect();
    match restored(item, text, &mut parts) {
        Some(text) => (text.to_owned(), parts),
        None => (text.to_owned(), parts),
    }
}

/// Puts what could not be sent back among the parts; gives the text without the notes on it.
/// `None` if the notes are not there, because somebody changed the text.
fn restored<'a>(item: &NativeItem, text: &'a str, parts: &mut Vec<Map>) -> Option<&'a str> {
    let unsent = item.metadata().get(UNSENT)?.as_array()?;
    let mut text = text;
    for entry in unsent.iter().rev() {
        let note = note(&Part::read(entry.get("part")?.as_object()?));
        let before = text.strip_suffix(&note)?;
        text = before.strip_suffix('\n').unwrap_or(before);
    }
    for entry in unsent {
        let at = entry.get("at").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let at = at.unwrap_or_default().min(parts.len());
        parts.insert(at, entry.get("part")?.as_object()?.clone());
    }
    Some(text)
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// What stands in the text in place of a part that cannot be sent.
fn note(part: &Part) -> String {
    let (kind, media) = match part {
        Part::Image(media) => ("picture", Some(media)),
        Part::Audio(media) => ("sound", Some(media)),
        Part::File(media) => ("file", Some(media)),
        Part::Text(_) | Part::Other(_) => ("part", None),
    };
    let name = media.and_then(|media| match (&media.name, &media.source) {
        (Some(name), _) => Some(name.as_str()),
        (None, Source::Url(url)) => Some(url.as_str()),
        (None, Source::Data(_)) => media.media_type.as_deref(),
    });
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    format!("[{kind}{name} not sent: this model server takes text and inline pictures only]")
}

/// A picture in the neutral form. The API does not tell its type; its first bytes do.
fn image(data: &str) -> Map {
    let starts = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    let known = starts.iter().find(|(start, _)| data.starts_with(start));
    let mut part = Map::from_iter([
        ("type".to_owned(), Value::from("image")),
        ("data".to_owned(), data.into()),
    ]);
    if let Some((_, media_type)) = known {
        part.insert("media_type".to_owned(), (*media_type).into());
    }
    part
}
