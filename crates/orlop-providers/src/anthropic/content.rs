//! The parts of a message as blocks of the API. What the API does not take becomes a text that
//! says so: a model that knows of a file it cannot see does better than one that does not.

use crate::wire::parts::{Media, Part, Source, is_part};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orlop_types::{Map, Message, Value};
use serde_json::json;

/// What a place in a conversation can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Takes {
    /// Text, pictures and documents: what people and tools say.
    Everything,
    /// Text only: instructions, and what the model said.
    Text,
}

/// The blocks of `content` and of what is attached to `message`. Text without any character to
/// see is left out, because the API refuses it.
pub(super) fn blocks(content: &Value, message: &Message, takes: Takes) -> Vec<Value> {
    let own = match content {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text_block(text)],
        Value::Array(items) if items.iter().all(is_part) => {
            items.iter().filter_map(Value::as_object).map(|part| block(part, takes)).collect()
        }
        // Numbers and objects as content are text to a model.
        other => vec![text_block(&other.to_string())],
    };
    let attached = message.multipart_content().iter().map(|part| block(part, takes));
    own.into_iter().chain(attached).filter(|block| !is_blank(block)).collect()
}

/// Pictures in the structured result of a tool, as MCP servers give them.
pub(super) fn pictures(result: &Map) -> Vec<Value> {
    let content = result.get("content").and_then(Value::as_array);
    let parts = content.into_iter().flatten().filter_map(Value::as_object);
    let pictures = parts.filter(|part| kind(part) == "image").map(|part| {
        let mut part = part.clone();
        if let Some(media_type) = part.shift_remove("mimeType") {
            part.insert("media_type".to_owned(), media_type);
        }
        block(&part, Takes::Everything)
    });
    pictures.collect()
}

fn kind(part: &Map) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_some_and(|text| text.trim().is_empty())
}

/// Whether a part is a block of this API already.
fn is_own(part: &Map) -> bool {
    match kind(part) {
        "image" | "document" => part.get("source").is_some_and(Value::is_object),
        kind => matches!(kind, "search_result" | "container_upload" | "tool_reference"),
    }
}

fn block(part: &Map, takes: Takes) -> Value {
    let own = || Some(Value::Object(part.clone()));
    let (known, what) = match Part::read(part) {
        Part::Text(text) if kind(part) != "document" => return text_block(&text),
        _ if is_own(part) => (own(), format!("a part of the type {:?}", kind(part))),
        Part::Text(text) => return text_block(&text),
        Part::Image(media) => (image(&media), named("an image", &media)),
        Part::File(media) => (document(&media), named("a file", &media)),
        Part::Audio(media) => (None, named("a sound", &media)),
        Part::Other(_) => (None, format!("a part of the type {:?}", kind(part))),
    };
    match known {
        Some(block) if takes == Takes::Everything => block,
        _ => text_block(&format!("[{what} was left out: it cannot be sent to this model]")),
    }
}

/// What a file is called in a sentence.
fn named(what: &str, media: &Media) -> String {
    let mut words = what.to_owned();
    if let Some(name) = &media.name {
        words.push_str(&format!(" named {name:?}"));
    }
    if let Some(media_type) = &media.media_type {
        words.push_str(&format!(" of the type {media_type}"));
    }
    if let Source::Url(url) = &media.source {
        words.push_str(&format!(" at {url}"));
    }
    words
}

fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

fn image(media: &Media) -> Option<Value> {
    const TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    let source = match &media.source {
        Source::Url(url) => is_web(url).then(|| json!({ "type": "url", "url": url })),
        Source::Data(data) => {
            let media_type = media.media_type.as_deref().unwrap_or("image/png");
            let source = json!({ "type": "base64", "media_type": media_type, "data": data });
            TYPES.contains(&media_type).then_some(source)
        }
    };
    Some(json!({ "type": "image", "source": source? }))
}

fn document(media: &Media) -> Option<Value> {
    const PDF: &str = "application/pdf";
    let address = match &media.source {
        Source::Url(url) => Some(url.as_str()),
        Source::Data(_) => media.name.as_deref(),
    };
    let ends_so = address.is_some_and(|name| name.to_lowercase().ends_with(".pdf"));
    let is_pdf = media.media_type.as_deref().map_or(ends_so, |media_type| media_type == PDF);
    let source = match &media.source {
        Source::Url(url) if is_pdf && is_web(url) => json!({ "type": "url", "url": url }),
        Source::Data(data) if is_pdf => {
            json!({ "type": "base64", "media_type": PDF, "data": data })
        }
        Source::Data(data) => {
            let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
            json!({ "type": "text", "media_type": "text/plain", "data": text })
        }
        Source::Url(_) => return None,
    };
    let mut block = json!({ "type": "document", "source": source });
    if let Some(name) = &media.name {
        block["title"] = name.as_str().into();
    }
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(parts: Value, takes: Takes, expected: Expect) {
        let message = json!({"role": "user", "content": "see", "multipartContent": parts});
        let message = Message::from_json(message).unwrap();
        let blocks = blocks(message.content(), &message, takes);
        let lines: Vec<String> = blocks.iter().map(Value::to_string).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn pictures_and_documents_become_blocks() {
        check(
            json!([
                {"type": "image", "url": "https://x/y.png", "detail": "low"},
                {"type": "image_url", "image_url": {"url": "data:image/webp;base64,QUJD"}},
                {"type": "file", "data": "QUJD", "media_type": "application/pdf", "name": "a.pdf"},
                {"type": "file", "url": "https://x/b.PDF"},
                {"type": "file", "data": "aGVsbG8=", "media_type": "text/csv", "name": "c.csv"},
            ]),
            Takes::Everything,
            expect![[r#"
                {"type":"text","text":"see"}
                {"type":"image","source":{"type":"url","url":"https://x/y.png"}}
                {"type":"image","source":{"type":"base64","media_type":"image/webp","data":"QUJD"}}
                {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QUJD"},"title":"a.pdf"}
                {"type":"document","source":{"type":"url","url":"https://x/b.PDF"}}
                {"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"},"title":"c.csv"}"#]],
        );
    }

    #[test]
    fn blocks_of_the_api_pass_as_they_are() {
        check(
            json!([
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}, "citations": {"enabled": true}},
                {"type": "image", "source": {"type": "file", "file_id": "f"}, "cache_control": {"type": "ephemeral"}},
                {"type": "container_upload", "file_id": "f"},
                {"type": "text", "text": " "},
            ]),
            Takes::Everything,
            expect![[r#"
                {"type":"text","text":"see"}
                {"type":"document","source":{"type":"text","media_type":"text/plain","data":"a"},"citations":{"enabled":true}}
                {"type":"image","source":{"type":"file","file_id":"f"},"cache_control":{"type":"ephemeral"}}
                {"type":"container_upload","file_id":"f"}"#]],
        );
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        check(
            json!([
                {"type": "audio", "data": "QQ==", "media_type": "audio/wav", "name": "a.wav"},
                {"type": "image", "data": "QQ==", "media_type": "image/bmp"},
                {"type": "file", "data": "/w==", "media_type": "application/zip"},
                {"type": "file", "url": "https://x/y.zip"},
                {"type": "odd", "z": 1},
            ]),
            Takes::Everything,
            expect![[r#"
                {"type":"text","text":"see"}
                {"type":"text","text":"[a sound named \"a.wav\" of the type audio/wav was left out: it cannot be sent to this model]"}
                {"type":"text","text":"[an image of the type image/bmp was left out: it cannot be sent to this model]"}
                {"type":"text","text":"[a file of the type application/zip was left out: it cannot be sent to this model]"}
                {"type":"text","text":"[a file at https://x/y.zip was left out: it cannot be sent to this model]"}
                {"type":"text","text":"[a part of the type \"odd\" was left out: it cannot be sent to this model]"}"#]],
        );
        check(
            json!([{"type": "image", "url": "https://x/y.png"}]),
            Takes::Text,
            expect![[r#"
                {"type":"text","text":"see"}
                {"type":"text","text":"[an image at https://x/y.png was left out: it cannot be sent to this model]"}"#]],
        );
    }
}
