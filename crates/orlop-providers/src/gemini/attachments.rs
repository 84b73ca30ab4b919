//! What people attach, as parts of this API. What it cannot take becomes a text that says so.

use crate::wire::parts::{Media, Part, Source, parts_of};
use orlop_types::{Map, Message, Value};
use serde_json::json;

/// Keys of which a part of this API has at least one, beside text.
const CONTENTS: [&str; 7] = [
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "thought",
];

/// Whether a part is one of this API already, whatever else it carries.
fn is_native(part: &Map) -> bool {
    !part.contains_key("type") && CONTENTS.iter().any(|key| part.contains_key(*key))
}

/// The parts of a message: its content, then what was attached to it.
pub(super) fn parts(message: &Message) -> Vec<Value> {
    let text = message.clone().with_multipart_content(Vec::new());
    let mut parts: Vec<Value> = parts_of(&text).iter().map(part).collect();
    parts.extend(attached(message));
    parts
}

/// The parts that were attached to a message.
pub(super) fn attached(message: &Message) -> impl Iterator<Item = Value> {
    message.multipart_content().iter().map(|raw| match is_native(raw) {
        true => Value::Object(raw.clone()),
        false => part(&Part::read(raw)),
    })
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image(media) => file(media, "image/png"),
        Part::Audio(media) => file(media, "audio/wav"),
        Part::File(media) => file(media, "application/octet-stream"),
        Part::Other(fields) if is_native(fields) => Value::Object(fields.clone()),
        Part::Other(fields) => {
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or("unknown");
            json!({ "text": format!("[a part of type {kind:?} was left out: the model cannot read it]") })
        }
    }
}

fn file(media: &Media, default_type: &str) -> Value {
    let kind = media.media_type.as_deref();
    match &media.source {
        Source::Data(data) => {
            let kind = kind.unwrap_or(default_type);
            if !is_readable(kind) {
                let name = media.name.as_deref().unwrap_or("without a name");
                let text = format!(
                    "[a file {name:?} of type {kind} was left out: the model cannot read it]"
                );
                return json!({ "text": text });
            }
            json!({ "inlineData": { "mimeType": kind, "data": data } })
        }
        Source::Url(url) => match kind.or_else(|| type_by_name(url)) {
            Some(kind) => json!({ "fileData": { "mimeType": kind, "fileUri": url } }),
            None => json!({ "fileData": { "fileUri": url } }),
        },
    }
}

/// Whether models read files of this type.
fn is_readable(kind: &str) -> bool {
    let (family, name) = kind.split_once('/').unwrap_or((kind, ""));
    match family {
        "image" | "audio" | "video" | "text" => true,
        "application" => matches!(
            name,
            "pdf"
                | "json"
                | "xml"
                | "rtf"
                | "javascript"
                | "x-javascript"
                | "x-python"
                | "x-typescript"
        ),
        _ => false,
    }
}

/// The media type of a file at an address, by the end of its name.
fn type_by_name(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "pdf" => "application/pdf",
        "mp3" => "audio/mp3",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "txt" => "text/plain",
        "html" => "text/html",
        "csv" => "text/csv",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(attached: Value, expected: Expect) {
        let message = json!({ "role": "user", "content": "", "multipartContent": attached });
        let parts = parts(&Message::from_json(message).unwrap());
        expected.assert_eq(&parts.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn files_go_inline_or_by_address() {
        check(
            json!([
                { "type": "image", "data": "QUJD", "media_type": "image/jpeg" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } },
                { "type": "image", "url": "https://x/y.PNG?z=1" },
                { "type": "file", "url": "https://youtu.be/x" },
                { "type": "input_audio", "input_audio": { "data": "QQ==", "format": "mp3" } },
                { "type": "file", "data": "QUJD", "media_type": "application/pdf", "name": "a.pdf" },
                { "type": "text", "text": "see" },
            ]),
            expect![[r#"
                {"inlineData":{"mimeType":"image/jpeg","data":"QUJD"}}
                {"inlineData":{"mimeType":"image/png","data":"QUJD"}}
                {"fileData":{"mimeType":"image/png","fileUri":"https://x/y.PNG?z=1"}}
                {"fileData":{"fileUri":"https://youtu.be/x"}}
                {"inlineData":{"mimeType":"audio/mp3","data":"QQ=="}}
                {"inlineData":{"mimeType":"application/pdf","data":"QUJD"}}
                {"text":"see"}"#]],
        );
    }

    #[test]
    fn parts_of_this_api_stay_as_they_are() {
        let native = json!([
            { "inlineData": { "mimeType": "image/png", "data": "QUJD" }, "thoughtSignature": "s" },
            { "fileData": { "file_uri": "gs://x" }, "videoMetadata": { "fps": 1 } },
            { "executableCode": { "code": "1" } },
        ]);
        let lines: Vec<String> = native.as_array().unwrap().iter().map(Value::to_string).collect();
        let message = json!({ "role": "user", "content": "", "multipartContent": native });
        let parts = parts(&Message::from_json(message).unwrap());
        assert_eq!(parts.iter().map(Value::to_string).collect::<Vec<_>>(), lines);
    }

    #[test]
    fn what_the_model_cannot_read_is_named() {
        check(
            json!([
                { "type": "file", "data": "QUJD", "media_type": "application/zip", "name": "a.zip" },
                { "type": "file", "data": "QUJD" },
                { "type": "file", "file": { "file_id": "f" } },
                { "odd": 1 },
            ]),
            expect![[r#"
                {"text":"[a file \"a.zip\" of type application/zip was left out: the model cannot read it]"}
                {"text":"[a file \"without a name\" of type application/octet-stream was left out: the model cannot read it]"}
                {"text":"[a part of type \"file\" was left out: the model cannot read it]"}
                {"text":"[a part of type \"unknown\" was left out: the model cannot read it]"}"#]],
        );
    }
}
