//! The parts of a message in one form, whichever API made them: a switch of provider must not
//! lose what people attached.

use orlop_types::{Map, Message, Value};

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// A picture.
    Image(Media),
    /// Sound.
    Audio(Media),
    /// Any other file.
    File(Media),
    /// A part of a kind that is not known here, as it came.
    Other(Map),
}

/// What a part carries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Media {
    /// Where it is, or what it is.
    pub source: Source,
    /// Its media type, where it is known.
    pub media_type: Option<String>,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// How closely to look at it, as some APIs take it.
    pub detail: Option<String>,
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// At this address.
    Url(String),
    /// Here, in base64.
    Data(String),
}

impl Default for Source {
    fn default() -> Self {
        Self::Data(String::new())
    }
}

impl Media {
    /// An address, or the bytes as a data URL.
    pub fn url(&self, default_type: &str) -> String {
        match &self.source {
            Source::Url(url) => url.clone(),
            Source::Data(data) => {
                let media_type = self.media_type.as_deref().unwrap_or(default_type);
                format!("data:{media_type};base64,{data}")
            }
        }
    }

    /// From an address that may be a data URL.
    fn at(url: &str) -> Self {
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match inline {
            Some((media_type, data)) => Self {
                source: Source::Data(data.to_owned()),
                media_type: (!media_type.is_empty()).then(|| media_type.to_owned()),
                ..Self::default()
            },
            None => Self { source: Source::Url(url.to_owned()), ..Self::default() },
        }
    }

    fn of_type(mut self, media_type: Option<&str>) -> Self {
        self.media_type = media_type.map(str::to_owned).or(self.media_type);
        self
    }

    fn named(mut self, name: Option<&str>) -> Self {
        self.name = name.map(str::to_owned);
        self
    }
}

/// The parts of a message: its content, then what was attached to it.
pub fn parts_of(message: &Message) -> Vec<Part> {
    content_parts(message.content(), message)
}

/// The same with `content` in place of the message's own.
pub fn content_parts(content: &Value, message: &Message) -> Vec<Part> {
    let mut parts = match content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Part::Text(text.clone())],
        Value::Array(items) if items.iter().all(is_part) => {
            items.iter().filter_map(Value::as_object).map(Part::read).collect()
        }
        // Numbers and objects as content are text to a model.
        other => vec![Part::Text(other.to_string())],
    };
    parts.extend(message.multipart_content().iter().map(Part::read));
    parts
}

/// Whether a value in a list of content is a part in any of the forms known here.
pub(crate) fn is_part(value: &Value) -> bool {
    value.as_object().is_some_and(|part| {
        part.get("type").is_some_and(Value::is_string)
            || ["text", "inlineData", "fileData"].iter().any(|key| part.contains_key(*key))
    })
}

impl Part {
    /// Reads a part in any of the forms that are known here.
    pub fn read(part: &Map) -> Self {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let known = match kind {
            "text" | "input_text" | "output_text" => text(part, "text").map(Self::text),
            "image" => media(part).map(Self::Image),
            "audio" => media(part).map(Self::Audio),
            "document" if plain_text(part).is_some() => plain_text(part).map(Self::text),
            "document" | "file" => file(part).map(Self::File),
            "image_url" => image_url(part).map(Self::Image),
            "input_image" => text(part, "image_url").map(|url| {
                let mut image = Media::at(url);
                image.detail = text(part, "detail").map(str::to_owned);
                Self::Image(image)
            }),
            "input_file" => input_file(part).map(Self::File),
            "input_audio" => input_audio(part).map(Self::Audio),
            "" => gemini(part),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Other(part.clone()))
    }

    fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The kind that a media type belongs to.
    fn of_media(media: Media) -> Self {
        match media.media_type.as_deref().and_then(|kind| kind.split('/').next()) {
            Some("image") => Self::Image(media),
            Some("audio") => Self::Audio(media),
            _ => Self::File(media),
        }
    }
}

fn text<'a>(part: &'a Map, key: &str) -> Option<&'a str> {
    part.get(key)?.as_str()
}

/// The text of a document that carries it as it is: `{source: {type: "text", data}}`.
fn plain_text(part: &Map) -> Option<&str> {
    let source = part.get("source")?.as_object()?;
    text(source, "data").filter(|_| text(source, "type") == Some("text"))
}

/// `{url}`, `{data, media_type}` or `{source: {type, ...}}`.
fn media(part: &Map) -> Option<Media> {
    let inner = part.get("source").and_then(Value::as_object).unwrap_or(part);
    let name = text(part, "name").or_else(|| text(part, "title"));
    let media = match (text(inner, "url"), text(inner, "data")) {
        (Some(url), _) => Media::at(url),
        (None, Some(data)) => Media { source: Source::Data(data.to_owned()), ..Media::default() },
        (None, None) => return None,
    };
    let mut media = media.of_type(text(inner, "media_type")).named(name);
    media.detail = text(part, "detail").map(str::to_owned);
    Some(media)
}

fn image_url(part: &Map) -> Option<Media> {
    let inner = part.get("image_url")?;
    let url = inner.as_str().or_else(|| inner.get("url")?.as_str())?;
    let mut image = Media::at(url);
    image.detail = inner.get("detail").and_then(Value::as_str).map(str::to_owned);
    Some(image)
}

/// A file in the neutral form, in that of chat completions (`{file: {...}}`), or a document.
fn file(part: &Map) -> Option<Media> {
    match part.get("file").and_then(Value::as_object) {
        Some(inner) => input_file(inner),
        None => media(part),
    }
}

fn input_file(part: &Map) -> Option<Media> {
    let address = text(part, "file_data").or_else(|| text(part, "file_url"))?;
    Some(Media::at(address).named(text(part, "filename")))
}

fn input_audio(part: &Map) -> Option<Media> {
    let inner = part.get("input_audio").and_then(Value::as_object)?;
    let kind = text(inner, "format").map(|format| format!("audio/{format}"));
    let data = text(inner, "data")?.to_owned();
    Some(Media { source: Source::Data(data), media_type: kind, ..Media::default() })
}

fn gemini(part: &Map) -> Option<Part> {
    if let Some(inner) = part.get("inlineData").and_then(Value::as_object) {
        let data = text(inner, "data")?.to_owned();
        let media = Media { source: Source::Data(data), ..Media::default() };
        return Some(Part::of_media(media.of_type(text(inner, "mimeType"))));
    }
    if let Some(inner) = part.get("fileData").and_then(Value::as_object) {
        let media = Media::at(text(inner, "fileUri")?).of_type(text(inner, "mimeType"));
        return Some(Part::of_media(media));
    }
    let plain = part.get("thought").is_none_or(|thought| thought == false);
    text(part, "text").filter(|_| plain).map(Part::text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(part: Value) -> Part {
        Part::read(part.as_object().unwrap())
    }

    #[test]
    fn an_image_is_the_same_in_every_form() {
        let png = Part::Image(Media {
            source: Source::Data("QUJD".into()),
            media_type: Some("image/png".into()),
            ..Media::default()
        });
        for form in [
            json!({"type": "image", "data": "QUJD", "media_type": "image/png"}),
            json!({"type": "image", "url": "data:image/png;base64,QUJD"}),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}),
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
            json!({"type": "input_image", "image_url": "data:image/png;base64,QUJD"}),
            json!({"inlineData": {"mimeType": "image/png", "data": "QUJD"}}),
        ] {
            assert_eq!(read(form.clone()), png, "{form}");
        }
        let linked = Part::Image(Media::at("https://x/y.png"));
        for form in [
            json!({"type": "image", "url": "https://x/y.png"}),
            json!({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}),
            json!({"type": "image_url", "image_url": {"url": "https://x/y.png"}}),
            json!({"type": "image_url", "image_url": "https://x/y.png"}),
            json!({"type": "input_image", "image_url": "https://x/y.png"}),
        ] {
            assert_eq!(read(form.clone()), linked, "{form}");
        }
    }

    #[test]
    fn a_file_is_the_same_in_every_form() {
        let pdf = Part::File(Media {
            source: Source::Data("QUJD".into()),
            media_type: Some("application/pdf".into()),
            name: Some("a.pdf".into()),
            detail: None,
        });
        for form in [
            json!({"type": "file", "data": "QUJD", "media_type": "application/pdf", "name": "a.pdf"}),
            json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}}),
            json!({"type": "input_file", "file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}),
            json!({"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}}),
        ] {
            assert_eq!(read(form.clone()), pdf, "{form}");
        }
    }

    #[test]
    fn what_is_not_known_stays_as_it_is() {
        for form in [
            json!({"type": "odd", "z": 1}),
            json!({"type": "image"}),
            json!({"type": "file", "file": {"file_id": "f"}}),
            json!({"text": "hm", "thought": true}),
        ] {
            assert_eq!(read(form.clone()), Part::Other(form.as_object().unwrap().clone()));
        }
        assert_eq!(read(json!({"text": "a"})), Part::Text("a".into()));
        let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}});
        assert_eq!(read(document), Part::Text("a".into()));
        assert_eq!(
            read(json!({"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}})),
            Part::Audio(Media {
                source: Source::Data("QQ==".into()),
                media_type: Some("audio/wav".into()),
                ..Media::default()
            })
        );
    }
}
