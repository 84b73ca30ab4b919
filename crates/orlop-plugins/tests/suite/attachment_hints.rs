//! What an agent is told of files that came with a message.

use crate::stage::{Stage, chat, chat_to_end};
use expect_test::expect;
use orlop_app::assets::Upload;
use orlop_app::*;
use orlop_plugins::AttachmentHints;

async fn keep(app: &Application, name: &str, media_type: &str, bytes: &[u8]) -> String {
    let upload = Upload::new(name, Some(media_type));
    app.put_asset(None, upload, bytes.to_vec()).await.unwrap().id
}

#[tokio::test] // M-21
async fn each_file_has_a_line_with_a_hint_for_its_type() {
    let stage = Stage::says(&["ok", "ok"]).host(AttachmentHints);
    let host = stage.open().await;
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";
    let files = [
        keep(host.app(), "plan.pdf", "application/pdf", b"%PDF-1.4 ...").await,
        keep(host.app(), "dot.png", "image/png", png).await,
        keep(host.app(), "all.zip", "application/zip", b"PK\x03\x04").await,
    ];
    let request = ChatRequest { attachments: files.to_vec(), ..chat("s", "look") };
    chat_to_end(&host, request).await;
    let sent = stage.model.last_request();
    let told = sent.split('|').next().unwrap();
    let told = told.replace(&stage.home().display().to_string(), "HOME").replace(&files[2], "ID");
    expect![[r#"
        Files that came with the message:
        - plan.pdf (application/pdf, 12 bytes): a document; the message has its text, without layout and pictures
        - dot.png (image/png, 29 bytes): a picture; if you cannot see it, say so and do not guess
        - all.zip (application/zip, 4 bytes): an archive; it is not in the message; with a tool that can, read it at HOME/assets/local/local/ID"#]]
    .assert_eq(&told);
    // It is part of that request, and of no other.
    chat_to_end(&host, chat("s", "and now")).await;
    assert!(!stage.model.last_request().contains("Files that came"));
}

#[tokio::test] // M-21
async fn a_message_without_files_has_no_hints() {
    let stage = Stage::says(&["ok"]).host(AttachmentHints);
    let host = stage.open().await;
    chat_to_end(&host, chat("s", "hello")).await;
    assert_eq!(stage.model.last_request(), "hello");
}
