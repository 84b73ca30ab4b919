//! What a message carries of the files that came with it.

use crate::stage;

use crate::stage::{Stage, chat, chat_to_end};
use expect_test::expect;
use orlop_app::assets::Upload;
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::Attachments;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";

/// The parts of the message that files of these names, types and bytes become.
async fn parts(stage: Stage, files: &[(&str, &str, &[u8])]) -> Vec<Value> {
    let stage = stage.feature(Attachments);
    stage.model.reply(ScriptedReply::text(&["ok"]));
    let host = stage.open().await;
    let mut ids = Vec::new();
    for (name, media_type, bytes) in files {
        let upload = Upload::new(*name, Some(media_type));
        ids.push(host.app().put_asset(None, upload, bytes.to_vec()).await.unwrap().id);
    }
    chat_to_end(&host, ChatRequest { attachments: ids, ..chat("s", "look") }).await;
    let (items, _) = stage.model.requests().pop().unwrap();
    items[0].get("parts").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The text of the only part that a file becomes.
async fn text(stage: Stage, name: &str, media_type: &str, bytes: &[u8]) -> String {
    let parts = parts(stage, &[(name, media_type, bytes)]).await;
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts[0]["text"].as_str().unwrap().to_owned()
}

fn seeing() -> Stage {
    let mut stage = Stage::default();
    stage.model = ScriptedProvider::new("scripted").tags(&["vision"]);
    stage.plugins = Plugins::new().provider(Arc::new(stage.model.clone()), vec![]);
    stage
}

#[tokio::test]
async fn pictures_are_shown_to_models_that_see() {
    let parts = parts(seeing(), &[("dot.png", "image/png", PNG)]).await;
    assert_eq!(parts[0], json!({ "type": "text", "text": "Picture dot.png:" }));
    let url = parts[1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBORw0KGgo"), "{url}");
}

#[tokio::test]
async fn where_a_picture_cannot_be_shown_the_model_is_told_why() {
    expect!["File dot.png (image/png, 29 bytes) is attached, but the model in use does not take pictures."]
        .assert_eq(&text(Stage::default(), "dot.png", "image/png", PNG).await);
    let small = seeing().settings("attachments.max_picture = 20");
    expect!["File dot.png (image/png, 29 bytes) is attached, but a picture in a message may have 20 bytes at most; make it smaller."]
        .assert_eq(&text(small, "dot.png", "image/png", PNG).await);
    let bmp = b"BM\x1e\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\x01\0\x01\0\x01\0\x18\0\0\0\xff\0";
    let told = text(seeing(), "a.bmp", "image/bmp", bmp).await;
    assert!(told.ends_with("convert it to PNG or JPEG."), "{told}");
}

#[tokio::test]
async fn a_picture_in_the_history_is_not_sent_to_a_model_that_does_not_see() {
    let stage = Stage::says(&["ok"]).feature(Attachments);
    let app = stage.start().await;
    let part = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    let message =
        Message::user("look").with_multipart_content(vec![part.as_object().unwrap().clone()]);
    let request = Request { message: Some(message), ..stage::ask("s", "") };
    stage::events_of(&app, request).await;
    let (items, _) = stage.model.requests().pop().unwrap();
    let told = json!([{ "type": "text", "text": "[a picture is here that the model in use does not take]" }]);
    assert_eq!(items[0].get("parts"), Some(&told));
    // The message keeps it, for a model that does.
    let session = app.session("s").await.unwrap().session;
    assert_eq!(session.messages().get(0).unwrap().multipart_content()[0]["type"], "image_url");
}

#[tokio::test]
async fn text_goes_with_its_name_and_in_a_fence() {
    expect![[r#"
        File a.md:
        ````md
        # T
        ```
        x
        ```
        ````"#]]
    .assert_eq(&text(Stage::default(), "a.md", "text/markdown", b"# T\n```\nx\n```\n").await);
    let wide = b"\xff\xfeh\0i\0";
    let told = text(Stage::default(), "wide.txt", "text/plain", wide).await;
    assert_eq!(told, "File wide.txt:\n```txt\nhi\n```");
    let short = Stage::default().settings("attachments.max_text = 3");
    let told = text(short, "a.txt", "text/plain", "häuser".as_bytes()).await;
    assert_eq!(told, "File a.txt:\n```txt\nhä\n```\n[4 bytes more are left out]");
    let told = text(Stage::default(), "a.bin", "application/octet-stream", b"\0\x01").await;
    assert!(told.contains("neither text nor a picture nor a PDF"), "{told}");
}

/// A file with these objects, numbered from 1. Tables of positions are left out: they are often
/// wrong, and not needed.
fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut text = String::from("%PDF-1.4\n");
    for (number, object) in objects.iter().enumerate() {
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    text.push_str("trailer << /Root 1 0 R >>\n%%EOF\n");
    text.into_bytes()
}

/// A file with one page that shows this.
fn page(content: &str) -> Vec<u8> {
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>",
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
        &format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Differences [1 /fi /eacute /uni2192] >> >>",
        "<< /Subtype /Form /Length 23 >>\nstream\n/X Do /F 9 Tf BT (x) Tj\nendstream",
    ])
}

async fn read(bytes: &[u8]) -> String {
    text(Stage::default(), "a.pdf", "application/pdf", bytes).await
}

#[tokio::test]
async fn a_pdf_goes_as_its_text() {
    let shown = "BT /F 12 Tf 72 720 Td (Hello) Tj 40 0 Td (world) Tj 0 -14 Td [(ki) -20 (nd) -400 (of)] TJ \
                 0 -60 Td (\\001t: caf\\002 \\003 \\(a\\\\b\\) \\101) Tj ET \
                 BI /W 2 /H 2 ID \x01(\x02 EI BT /F 12 Tf 1 0 0 1 72 500 Tm <656E64> Tj ET";
    expect![[r#"
        Text of a.pdf (1 page):
        ```
        [page 1]
        Hello world
        kind of

        fit: café → (a\b) A

        end
        ```"#]]
    .assert_eq(&read(&page(shown)).await.replace("e\u{301}", "é"));
}

#[tokio::test]
async fn a_pdf_that_cannot_be_read_says_why() {
    let said = async |bytes: &[u8]| {
        let told = read(bytes).await;
        told.split("cannot be read: ").nth(1).unwrap_or(&told).to_owned()
    };
    assert_eq!(said(&page("")).await, "it has no text, only pictures perhaps.");
    assert_eq!(said(&pdf(&["<< /Encrypt 2 0 R >>"])).await, "it is encrypted.");
    assert_eq!(said(b"%PDF-1.7 nothing").await, "it is damaged, or has no pages.");
    assert_eq!(said(b"<html>").await, "it is not a PDF.");
    // A tree of pages that leads to itself, and a form that shows itself.
    let circle = pdf(&["<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [2 0 R 2 0 R] >>"]);
    assert_eq!(said(&circle).await, "it is damaged, or has no pages.");
    let form = read(&page("/X Do")).await;
    assert!(form.contains("[page 1]\nx"), "{form}");
    let nested = [b"%PDF-1.4\n1 0 obj\n".to_vec(), vec![b'['; 200_000]].concat();
    assert_eq!(said(&nested).await, "it is damaged, or has no pages.");
}

#[tokio::test]
async fn packed_pages_are_unpacked_and_no_more_than_fits() {
    use std::io::Write;
    let pack = |bytes: &[u8]| {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let stream = |head: &str, bytes: &[u8]| {
        let length = bytes.len();
        let head = format!("<< {head} /Filter /FlateDecode /Length {length} >>\nstream\n");
        [head.as_bytes(), bytes, b"\nendstream"].concat()
    };
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Kids [3 0 R] >>",
        "<< /Type /Page /Contents 5 0 R /Resources << /Font << /F 6 0 R >> >> >>",
        "<< /Subtype /Type0 /ToUnicode 7 0 R >>",
    ];
    let mut offsets = String::new();
    let mut at = 0;
    for (number, object) in [1, 2, 3, 6].iter().zip(objects) {
        offsets.push_str(&format!("{number} {at} "));
        at += object.len() + 1;
    }
    let packed = pack(format!("{offsets}{}", objects.join(" ")).as_bytes());
    let map = "1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0001> <0048> endbfchar \
               1 beginbfrange <0002> <0003> <0069> endbfrange";
    let file = |content: &[u8]| {
        let parts = [
            (4, stream(&format!("/Type /ObjStm /N 4 /First {}", offsets.len()), &packed)),
            (5, stream("", &pack(content))),
            (7, stream("", &pack(map.as_bytes()))),
        ];
        let mut file = b"%PDF-1.5\n".to_vec();
        for (number, part) in parts {
            file.extend(format!("{number} 0 obj\n").into_bytes());
            file.extend(part);
            file.extend(b"\nendobj\n");
        }
        file
    };
    let told = read(&file(b"BT /F 10 Tf <000100020003> Tj ET")).await;
    assert!(told.contains("[page 1]\nHij"), "{told}");
    // A stream that is made to fill the memory.
    let bomb = vec![b' '; 64 << 20];
    let told = read(&file(&bomb)).await;
    assert!(told.contains("it has no text"), "{told}");
    // More text than fits.
    let long = "BT /F 10 Tf <0001000200030002> Tj ET\n".repeat(70_000);
    let told = read(&file(long.as_bytes())).await;
    assert!(
        told.len() < 300_000
            && told.ends_with("[the rest is left out: it is longer than what fits]")
    );
}
