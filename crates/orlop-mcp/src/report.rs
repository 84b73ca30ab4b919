//! What a tool answered, as Orlop reports it: text for the model, pictures and sound beside it, and
//! everything structured as it came.

use crate::words;
use orlop_core::types::ToolReport;
use orlop_core::{Error, Map, Result, Value};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, ServerResult};
use serde_json::json;

/// The longest text that a model reads, in bytes.
const MAX_TEXT: usize = 100_000;
/// The largest picture or sound, as base64, and how many of them are taken.
const MAX_MEDIA: usize = 8 << 20;
const MAX_PARTS: usize = 10;
/// The largest structured content that is kept, in bytes.
const MAX_STRUCTURED: usize = 1 << 20;

/// The report of an answer to a call.
pub(crate) fn of_answer(answer: ServerResult) -> Result<ToolReport> {
    match answer {
        ServerResult::CallToolResult(result) => Ok(of_result(result)),
        ServerResult::InputRequiredResult(_) => Err(Error::provider(
            "it wants to ask the user something in the middle of a call, which Orlop does not do",
        )),
        _ => Err(Error::provider("its answer makes no sense")),
    }
}

fn of_result(result: CallToolResult) -> ToolReport {
    let mut taken = Taken::default();
    result.content.into_iter().for_each(|block| taken.add(block));
    let structured = result.structured_content.filter(|value| {
        let fits = value.to_string().len() <= MAX_STRUCTURED;
        if !fits {
            taken.text("[structured content left out: it is too large]");
        }
        fits
    });
    let mut text = words::text(&taken.texts.join("\n"), MAX_TEXT);
    if text.is_empty() {
        text = structured
            .as_ref()
            .map(|it| words::text(&it.to_string(), MAX_TEXT))
            .unwrap_or_default();
    }
    if text.is_empty() {
        text = "(the tool answered nothing)".to_owned();
    }
    let failed = result.is_error == Some(true);
    let mut report = if failed { ToolReport::failed(text) } else { ToolReport::ok(text) };
    if let Some(structured) = structured {
        report.data.insert("structured_content".to_owned(), structured);
    }
    if !taken.parts.is_empty() {
        report.data.insert("multipart_content".to_owned(), taken.parts.into());
    }
    report
}

/// What the model gets in the place of a report: MCP's own form, so that nothing of it is lost.
/// Pictures are beside it.
pub(crate) fn formatted(report: &ToolReport) -> Option<Value> {
    let structured = report.data.get("structured_content")?;
    let key = if report.success { "output" } else { "error" };
    let text = report.data.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut result =
        json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured });
    if !report.success {
        result["isError"] = true.into();
    }
    Some(result)
}

/// What is taken of a content.
#[derive(Default)]
struct Taken {
    texts: Vec<String>,
    parts: Vec<Value>,
}

impl Taken {
    fn text(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(text.text),
            ContentBlock::Image(image) => self.media("image", image.data, &image.mime_type, None),
            ContentBlock::Audio(audio) => self.media("audio", audio.data, &audio.mime_type, None),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let about = link.description.or(link.title).unwrap_or(link.name);
                self.text(format!(
                    "[resource {}: {}]",
                    words::line(&link.uri, 300),
                    words::line(&about, 300)
                ));
            }
            _ => self.text("[content of a kind that is not known]"),
        }
    }

    fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.text(format!("[resource {}]\n{text}", words::line(&uri, 300)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let media_type = mime_type.unwrap_or_default();
                let uri = words::line(&uri, 300);
                match media_type.split('/').next() {
                    Some("image") => self.media("image", blob, &media_type, Some(&uri)),
                    Some("audio") => self.media("audio", blob, &media_type, Some(&uri)),
                    _ => self.text(format!("[resource {uri}: {}]", about(&media_type, &blob))),
                }
            }
            _ => self.text("[a resource of a kind that is not known]"),
        }
    }

    fn media(&mut self, kind: &str, data: String, media_type: &str, name: Option<&str>) {
        let what = about(media_type, &data);
        if data.len() > MAX_MEDIA || self.parts.len() >= MAX_PARTS {
            return self.text(format!("[{what}, left out: it is too large, or one too many]"));
        }
        self.text(format!("[{what}]"));
        let mut part = Map::from_iter([
            ("type".to_owned(), kind.into()),
            ("data".to_owned(), data.into()),
            ("media_type".to_owned(), words::line(media_type, 100).into()),
        ]);
        if let Some(name) = name {
            part.insert("name".to_owned(), name.into());
        }
        self.parts.push(part.into());
    }
}

/// Kind and size of something in base64.
fn about(media_type: &str, data: &str) -> String {
    format!("{}, {}", words::line(media_type, 100), words::size(data.len() / 4 * 3))
}

/// The texts of resources that were read, and a word on those that are none.
pub(crate) fn resource_text(contents: Vec<ResourceContents>, most: usize) -> String {
    let texts = contents.into_iter().map(|content| match content {
        ResourceContents::TextResourceContents { text, .. } => text,
        ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
            format!("[{}; not shown]", about(&mime_type.unwrap_or_default(), &blob))
        }
        _ => "[content of a kind that is not known]".to_owned(),
    });
    words::text(&texts.collect::<Vec<_>>().join("\n"), most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(result: Value, expected: Expect) {
        let report = of_result(serde_json::from_value(result).unwrap());
        expected.assert_eq(&report.to_json().to_string());
    }

    #[test]
    fn texts_pictures_and_structure_are_kept() {
        check(
            json!({ "content": [
                { "type": "text", "text": "one" },
                { "type": "image", "data": "QUJD", "mimeType": "image/png" },
                { "type": "resource_link", "uri": "demo://a", "name": "a" },
                { "type": "resource", "resource": { "uri": "demo://b", "text": "two" } },
                { "type": "resource", "resource": { "uri": "demo://c", "blob": "QUJD", "mimeType": "application/zip" } },
              ], "structuredContent": { "sum": 3 } }),
            expect![[
                r#"{"success":true,"output":"one\n[image/png, 3 bytes]\n[resource demo://a: a]\n[resource demo://b]\ntwo\n[resource demo://c: application/zip, 3 bytes]","structured_content":{"sum":3},"multipart_content":[{"type":"image","data":"QUJD","media_type":"image/png"}]}"#
            ]],
        );
    }

    #[test]
    fn structure_alone_is_text_too_and_an_error_is_one() {
        check(
            json!({ "content": [], "structuredContent": [1] }),
            expect![[r#"{"success":true,"output":"[1]","structured_content":[1]}"#]],
        );
        check(
            json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),
            expect![[r#"{"success":false,"error":"no"}"#]],
        );
        check(
            json!({ "content": [] }),
            expect![[r#"{"success":true,"output":"(the tool answered nothing)"}"#]],
        );
    }

    #[test]
    fn a_flood_is_cut() {
        let long = json!({ "content": [{ "type": "text", "text": "x".repeat(1_000_000) }] });
        let report = of_result(serde_json::from_value(long).unwrap());
        let text = report.data["output"].as_str().unwrap();
        assert!(text.ends_with("x [900000 bytes left out]"));
    }
}
