//! Files that come with a request: what the model gets of them and what handlers are told.

use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";

/// A plugin of this priority that says this of files.
fn handler(name: &'static str, priority: i64, says: &'static str, log: &Log) -> ScriptedHost {
    let log = log.clone();
    ScriptedHost::with_manifest(Manifest::host(name, "1.0.0").priority(priority))
        .attachment_handler(move |input, _| {
            log.add(format!("{name} {}", input.files.len()));
            async move { Ok(says.to_owned()) }
        })
}

fn with_files(request: ChatRequest, ids: &[&String]) -> ChatRequest {
    ChatRequest { attachments: ids.iter().map(|id| (*id).clone()).collect(), ..request }
}

#[tokio::test] // L-14
async fn images_go_inline_and_text_as_text() {
    for stream in [false, true] {
        let (folder, scene) = (AssetFolder::new(), Scene::says(&["ok"]));
        let (host, _) = open_door_with(&scene, &folder).await;
        let image = folder.keep(host.app(), "dot.png", PNG).await;
        let text = folder.keep(host.app(), "notes.txt", b"remember the milk").await;
        let other = folder.keep(host.app(), "blob.bin", b"\0\x01\xff\xfe").await;
        let request = with_files(chat_with("s", "look", stream), &[&image, &text, &other]);
        chat_to_end(&host, request).await;
        let (items, _) = scene.provider.requests().pop().unwrap();
        assert_eq!(items.len(), 1);
        let mut parts = items[0].get("parts").unwrap().clone();
        let url = parts[0]["image_url"]["url"].take();
        let data = url.as_str().unwrap().strip_prefix("data:image/png;base64,").unwrap();
        use base64::Engine;
        assert_eq!(base64::engine::general_purpose::STANDARD.decode(data).unwrap(), PNG);
        expect![[r#"
            [
              {
                "type": "image_url",
                "image_url": {
                  "url": null
                }
              },
              {
                "type": "text",
                "text": "File notes.txt:\nremember the milk"
              },
              {
                "type": "text",
                "text": "File blob.bin (application/octet-stream, 4 bytes) is attached."
              }
            ]"#]]
        .assert_eq(&serde_json::to_string_pretty(&parts).unwrap());
        // The files belong to the message and are stored with it.
        let session = host.app().session("s").await.unwrap().session;
        assert_eq!(session.messages().get(0).unwrap().multipart_content().len(), 3);
        assert_eq!(session.messages().get(0).unwrap().text(), "look");
        // Whoever shows the message later knows which files came with it.
        let noted = json!([
            {"id": image, "name": "dot.png", "media_type": "image/png", "size": PNG.len(), "parts": 1},
            {"id": text, "name": "notes.txt", "media_type": "text/plain", "size": 17, "parts": 1},
            {"id": other, "name": "blob.bin", "media_type": "application/octet-stream", "size": 4, "parts": 1},
        ]);
        assert_eq!(session.messages().get(0).unwrap().metadata().get("attachments"), Some(&noted));
    }
}

#[tokio::test] // L-14
async fn a_file_alone_is_a_message() {
    let (folder, scene) = (AssetFolder::new(), Scene::says(&["ok"]));
    let (host, _) = open_door_with(&scene, &folder).await;
    let text = folder.keep(host.app(), "notes.txt", b"milk").await;
    let request = ChatRequest { content: Value::Null, ..chat_with("s", "", true) };
    chat_to_end(&host, with_files(request, &[&text])).await;
    let (items, _) = scene.provider.requests().pop().unwrap();
    let expected = json!([{"type": "text", "text": "File notes.txt:\nmilk"}]);
    assert_eq!(items[0].get("parts"), Some(&expected));
    // It belongs to the session now, and goes with it.
    assert_eq!(host.app().list_assets("s").await.unwrap()[0].id, text);
    host.app().delete_session("s", None).await.unwrap();
    assert!(host.app().read_asset(&text).await.is_err());
}

#[tokio::test] // L-14
async fn a_drawing_made_of_text_goes_as_text() {
    let (folder, scene) = (AssetFolder::new(), Scene::says(&["ok"]));
    let (host, _) = open_door_with(&scene, &folder).await;
    let upload = orlop_app::assets::Upload::new("a.svg", Some("image/svg+xml"));
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec();
    let id = host.app().put_asset(None, upload, svg).await.unwrap().id;
    chat_to_end(&host, with_files(chat_with("s", "look", true), &[&id])).await;
    let (items, _) = scene.provider.requests().pop().unwrap();
    let part = items[0].get("parts").unwrap()[0].clone();
    assert!(part["text"].as_str().unwrap().starts_with("File a.svg:\n<svg"), "{part}");
}

#[tokio::test] // L-14
async fn a_large_text_is_only_named() {
    let (folder, scene) = (AssetFolder::new(), Scene::says(&["ok"]));
    let (host, _) = open_door_with(&scene, &folder).await;
    let long = vec![b'x'; 256 * 1024 + 1];
    let id = folder.keep(host.app(), "long.txt", &long).await;
    chat_to_end(&host, with_files(chat_with("s", "look", true), &[&id])).await;
    let (items, _) = scene.provider.requests().pop().unwrap();
    let parts = items[0].get("parts").unwrap();
    assert_eq!(parts[0]["text"], "File long.txt (text/plain, 262145 bytes) is attached.");
}

#[tokio::test] // L-07, L-14, L-19
async fn handlers_and_interceptors_see_what_came() {
    for stream in [false, true] {
        let (folder, log) = (AssetFolder::new(), Log::new());
        let (heard, intercepted) = (log.clone(), log.clone());
        let plugin = ScriptedHost::new("files")
            .intercept_chat_request(move |input, _| {
                intercepted.add(format!("{} files", input.files.len()));
                async { Ok(None) }
            })
            .attachment_handler(move |input, _| {
                assert_eq!(input.request.session_id, "s");
                for file in &input.files {
                    let bytes = std::fs::read(&file.location).unwrap();
                    assert_eq!(bytes.len() as u64, file.size);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    heard.add(format!("{} {} {} {text}", file.name, file.media_type, file.size));
                }
                async { Ok(String::new()) }
            });
        let scene = Scene::says(&["ok"]).host(plugin);
        let (host, failures) = open_door_with(&scene, &folder).await;
        let ids = [
            folder.keep(host.app(), "a.txt", b"one").await,
            folder.keep(host.app(), "b.md", b"# two").await,
        ];
        chat_to_end(&host, with_files(chat_with("s", "hi", stream), &[&ids[0], &ids[1]])).await;
        expect![[r#"
            2 files
            a.txt text/plain 3 one
            b.md text/plain 5 # two"#]]
        .assert_eq(&log.lines().join("\n"));
        assert_eq!(failures.text(), "");
    }
}

#[tokio::test] // L-13, L-15
async fn what_handlers_say_goes_before_the_message_and_is_not_stored() {
    for stream in [false, true] {
        let (folder, log) = (AssetFolder::new(), Log::new());
        let scene = Scene::says(&["one", "two"])
            .host(handler("late", 0, "It is short.", &log))
            .host(handler("none", 1, "  ", &log))
            .host(handler("early", 5, "A file came.", &log))
            .host(
                ScriptedHost::new("clock")
                    .context_providers(|_, _| async { Ok(vec!["It is noon.".to_owned()]) }),
            );
        let (host, _) = open_door_with(&scene, &folder).await;
        let id = folder.keep(host.app(), "a.txt", b"x").await;
        chat_to_end(&host, with_files(chat_with("s", "hi", stream), &[&id])).await;
        assert_eq!(log.take(), ["early 1", "none 1", "late 1"]);
        let before = "A file came.\n\nIt is short.\n\nIt is noon.|hi";
        assert_eq!(scene.provider.last_request(), before);
        assert_eq!(said(host.app(), "s").await, "hi|one");
        // Without files they are not asked, and nothing of the turn before is said again.
        chat_to_end(&host, chat_with("s", "more", stream)).await;
        assert_eq!(log.text(), "");
        assert_eq!(scene.provider.last_request(), "hi|one|It is noon.|more");
        let exported = host.app().export_session("s", "json").await.unwrap();
        assert!(!exported.contains("A file came."));
    }
}

#[tokio::test] // L-15
async fn what_handlers_say_holds_for_every_model_call_of_the_request() {
    let (folder, log) = (AssetFolder::new(), Log::new());
    let scene = Scene::default().tool(echo("read")).host(handler("files", 0, "A file came.", &log));
    scene
        .provider
        .reply(ScriptedReply::calls(&[("c1", "read", json!({}))]))
        .reply(ScriptedReply::text(&["ok"]));
    let (host, _) = open_door_with(&scene, &folder).await;
    let id = folder.keep(host.app(), "a.txt", b"x").await;
    chat_to_end(&host, with_files(chat_with("s", "hi", true), &[&id])).await;
    assert_eq!(log.lines(), ["files 1"]);
    assert_eq!(scene.provider.requests().len(), 2);
    assert_eq!(scene.provider.last_request(), "A file came.|hi||{}");
}

#[tokio::test] // L-14, L-17
async fn files_of_nobody_and_of_others_are_not_found() {
    let (folder, log) = (AssetFolder::new(), Log::new());
    let count = |name: &'static str| {
        let log = log.clone();
        move |_, _: Context| {
            log.add(name);
            async { Ok(()) }
        }
    };
    let plugin =
        ScriptedHost::new("count").on_request_start(count("start")).on_request_end(count("end"));
    let scene = Scene::says(&["ok"]).host(plugin);
    let (host, _) = open_door_with(&scene, &folder).await;
    let id = folder.keep(host.app(), "a.txt", b"secret").await;
    let missing = "7e0d0d6c-0000-4000-8000-000000000000".to_owned();
    let tenant = host.for_scope(Scope::new("acme", "local").unwrap());
    let user = host.for_scope(Scope::new("local", "ana").unwrap());
    for (host, id) in [(&host, &missing), (&tenant, &id), (&user, &id)] {
        let request = with_files(chat_with("s", "hi", true), &[id]);
        let error = host.chat(request).await.err().unwrap();
        assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
        assert!(host.app().load_session("s").await.unwrap().is_none());
        assert_eq!(log.take(), ["start", "end"]);
    }
    let odd = "../a".to_owned();
    let error = host.chat(with_files(chat_with("s", "hi", true), &[&odd])).await.err().unwrap();
    assert_eq!(error.class(), ErrorClass::BadArgument);
    assert!(scene.provider.requests().is_empty());
}

#[tokio::test] // L-14
async fn an_application_without_assets_says_so() {
    let (host, _) = open_door(&Scene::says(&["ok"])).await;
    let upload = orlop_app::assets::Upload::new("a.txt", None);
    let error = host.app().put_asset(None, upload, b"x".to_vec()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
}
