//! Pictures of servers in a message of a person: parts that stand beside its text.

use crate::words;
use orlop_core::{Map, Value};
use serde_json::json;

/// Pictures that model servers take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The largest picture, as base64, and how many of them a message gets.
const MAX_DATA: usize = 8 << 20;
const MAX_PICTURES: usize = 10;

/// Puts a picture beside a text and gives the word that stands for it there. What is no picture, or
/// too large, is named only.
pub(crate) fn beside(name: &str, media_type: &str, data: String, parts: &mut Vec<Map>) -> String {
    let name = words::line(name, 300);
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let what = format!("{}, {}", words::line(media_type, 100), words::size(data.len() / 4 * 3));
    if !PICTURES.contains(&kind.as_str()) {
        return format!("[{name}: {what}; its content is not in the message]");
    }
    let pictures = parts.iter().filter(|part| part.contains_key("image_url")).count();
    if data.len() > MAX_DATA || pictures >= MAX_PICTURES {
        return format!("[{name}: {what}; left out: it is too large, or one too many]");
    }
    let url = format!("data:{kind};base64,{data}");
    if let Value::Object(part) = json!({ "type": "image_url", "image_url": { "url": url } }) {
        parts.push(part);
    }
    format!("[{name}: {what}]")
}

/// A part that is text.
pub(crate) fn text(text: String) -> Map {
    Map::from_iter([("type".to_owned(), "text".into()), ("text".to_owned(), text.into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_stand_beside_the_text_and_the_rest_is_named() {
        let mut parts = Vec::new();
        assert_eq!(
            beside("a", "image/png", "QUJD".to_owned(), &mut parts),
            "[a: image/png, 3 bytes]"
        );
        let zip = beside("b", "application/zip", "QUJD".to_owned(), &mut parts);
        assert_eq!(zip, "[b: application/zip, 3 bytes; its content is not in the message]");
        assert_eq!(
            Value::from(parts),
            json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } }])
        );
    }
}
