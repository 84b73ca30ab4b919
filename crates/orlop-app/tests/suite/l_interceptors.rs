//! Interceptors: what they see of a request, and what becomes of what they answer.

use crate::common;

use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::hooks::{Handled, Interception, Rewrite};
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

#[tokio::test] // L-07, L-09, L-10
async fn an_interceptor_sees_the_request_and_answers_with_any_status() {
    for stream in [false, true] {
        let log = Log::new();
        let heard = log.clone();
        let scene = Scene::says(&["from the model"]).host(
            ScriptedHost::new("commands").intercept_chat_request(move |input, _| {
                let who = format!("{}/{}", input.request.tenant_id, input.request.user_id);
                let key = input.headers.get("x-key").cloned().unwrap_or_default();
                heard.add(format!(
                    "{:?} by {who} with {key} in {}",
                    input.text, input.request.session_id
                ));
                let handled = match &*input.text {
                    "/admin" if key != "secret" => Some(Handled::text("no").status(403).into()),
                    text if text.starts_with('/') => Some(Handled::text("done").into()),
                    _ => None,
                };
                async { Ok(handled) }
            }),
        );
        let (host, _) = open_door(&scene).await;
        let host = host.for_scope(Scope::new("acme", "ana").unwrap());
        let mut chat = host.chat(chat_with("s", "/admin", stream)).await.unwrap();
        let handled = chat.handled.clone().unwrap();
        assert_eq!((handled.status, &*handled.text), (403, "no"));
        // The answer is also the one event of the request, the final one.
        let event = chat.next().await.unwrap();
        let EventKind::Final { messages, .. } = &event.kind else { panic!("{event:?}") };
        assert_eq!(messages[0].text(), "no");
        assert_eq!(event.session_id.as_deref(), Some("s"));
        assert!(chat.next().await.is_none());
        let mut request = chat_with("s", "/admin", stream);
        request.headers.insert("x-key".to_owned(), "secret".into());
        assert_eq!(host.chat(request).await.unwrap().handled.unwrap().status, 200);
        // Nothing was stored, and no model was asked.
        assert!(host.app().load_session("s").await.unwrap().is_none());
        assert!(scene.provider.requests().is_empty());
        chat_to_end(&host, chat_with("s", "hi", stream)).await;
        assert_eq!(scene.provider.last_request(), "hi");
        assert_eq!(said(host.app(), "s").await, "hi|from the model");
        expect![[r#"
            "/admin" by acme/ana with null in s
            "/admin" by acme/ana with "secret" in s
            "hi" by acme/ana with null in s"#]]
        .assert_eq(&log.lines().join("\n"));
    }
}

#[tokio::test] // L-07, L-08
async fn an_interceptor_rewrites_what_the_agent_is_asked() {
    let log = Log::new();
    let heard = log.clone();
    let expanding = ScriptedHost::new("expanding").intercept_chat_request(|input, _| {
        let rest = input.text.strip_prefix("/twice ").map(str::to_owned);
        async {
            let Some(rest) = rest else { return Ok(None) };
            let metadata = json!({ "command": "/twice" });
            let overrides = json!({ "model": "small" });
            Ok(Some(Interception::Rewrite(Rewrite {
                metadata: metadata.as_object().cloned().unwrap(),
                overrides: overrides.as_object().cloned().unwrap(),
                ..Rewrite::text(format!("{rest} {rest}"))
            })))
        }
    });
    let shouting = ScriptedHost::new("shouting").intercept_chat_request(move |input, _| {
        heard.add(input.text.clone());
        async move {
            match input.text.contains("hey") {
                true => Ok(Some(Rewrite::text(input.text.to_uppercase()).into())),
                false => Ok(None),
            }
        }
    });
    let scene = Scene::says(&["one", "two", "three"]).host(expanding).host(shouting);
    let (host, _) = open_door(&scene).await;
    let text = json!({ "type": "text", "text": "hey" }).as_object().unwrap().clone();
    let image = json!({ "type": "image_url", "image_url": { "url": "data:," } });
    let request = ChatRequest {
        content: "/twice".into(),
        multipart_content: vec![text, image.as_object().unwrap().clone()],
        ..chat_with("s", "", true)
    };
    chat_to_end(&host, request).await;
    // The text came in two parts, of which the second is not the beginning of a line.
    assert_eq!(log.lines(), ["/twice\n\nhey"]);
    assert_eq!(model_of(&chat_to_end(&host, chat_with("s", "/twice hey", true)).await), "small");
    assert_eq!(log.lines()[1], "hey hey");
    let session = host.app().session("s").await.unwrap().session;
    let asked: Vec<&Message> =
        session.messages().iter().filter(|message| message.role() == Role::User).collect();
    assert_eq!(asked[0].text(), "/TWICE\n\nHEY");
    assert_eq!(asked[0].multipart_content().len(), 1);
    assert_eq!(asked[1].text(), "HEY HEY");
    assert_eq!(asked[1].metadata()["command"], "/twice");
    // What the surface asked for counts more than what a plugin did.
    let mut request = chat_with("s", "/twice hey", true);
    request.overrides.insert("model".to_owned(), "large".into());
    assert_eq!(model_of(&chat_to_end(&host, request).await), "large");
}

/// The model that answered.
fn model_of(events: &[Arc<Event>]) -> String {
    match events.last().map(|event| &event.kind) {
        Some(EventKind::Final { model: Some(name), .. }) => name.model.clone().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test] // L-07
async fn a_request_that_comes_again_gets_the_answer_it_got() {
    for (stream, stored) in [(false, false), (true, false), (false, true), (true, true)] {
        let log = Log::new();
        let heard = log.clone();
        let scene = Scene::default().host(ScriptedHost::new("commands").intercept_chat_request(
            move |input, _| {
                heard.add(&*input.text);
                let answer = Handled::text(format!("answer {}", heard.count(&input.text)));
                let data = json!({ "n": 1 }).as_object().cloned().unwrap();
                async { Ok(Some(answer.data(data).into())) }
            },
        ));
        let (host, _) = open_door(&scene).await;
        if stored {
            host.app().create_session(new("s")).await.unwrap();
        }
        let send = async |host: &Host, id: &str, session: &str| {
            let request = chat_with(session, "/do", stream);
            let request = ChatRequest { request_id: Some(id.to_owned()), ..request };
            let chat = host.chat(request).await.unwrap();
            let handled = chat.handled.clone().unwrap();
            assert_eq!((handled.status, &handled.data["n"]), (200, &json!(1)));
            chat.ended().await;
            handled.text
        };
        assert_eq!(send(&host, "r1", "s").await, "answer 1");
        assert_eq!(send(&host, "r1", "s").await, "answer 1");
        assert_eq!(send(&host, "r2", "s").await, "answer 2");
        // Another user, and another session, are not meant.
        let other = host.for_scope(Scope::new("acme", "ana").unwrap());
        assert_eq!(send(&other, "r1", "s").await, "answer 3");
        assert_eq!(send(&host, "r1", "t").await, "answer 4");
        // It is kept with what is stored, and not only by this process.
        host.stop().await;
        let (host, _) = open_door(&scene).await;
        assert_eq!(send(&host, "r1", "s").await, "answer 1");
        assert_eq!(log.count("/do"), 4);
    }
}

#[tokio::test]
async fn an_answer_is_kept_for_those_who_ask_for_the_same() {
    let scene =
        Scene::default().host(ScriptedHost::new("commands").intercept_chat_request(|input, _| {
            let answer = Handled::text(format!("to {}", input.text));
            async { Ok(Some(answer.into())) }
        }));
    let (host, _) = open_door(&scene).await;
    for (asked, text, said) in [
        (Some("1"), "/a", "to /a"),
        (Some("2"), "/b", "to /b"),
        (Some("1"), "/a again", "to /a"),
        (Some("2"), "/b again", "to /b"),
        (None, "/c", "to /b"),
    ] {
        let request = ChatRequest {
            request_id: Some("r".to_owned()),
            asked: asked.map(str::to_owned),
            ..chat_with("s", text, false)
        };
        let chat = host.chat(request).await.unwrap();
        assert_eq!(chat.handled.as_ref().unwrap().text, said);
        chat.ended().await;
    }
}

#[tokio::test]
async fn only_the_latest_answers_are_kept() {
    let log = Log::new();
    let heard = log.clone();
    let scene = Scene::default().host(ScriptedHost::new("commands").intercept_chat_request(
        move |input, _| {
            heard.add(&*input.text);
            let text = if input.text == "/long" { "x".repeat(300_000) } else { "ok".to_owned() };
            async { Ok(Some(Handled::text(text).into())) }
        },
    ));
    let (host, _) = open_door(&scene).await;
    let send = async |id: String, text: &str| {
        let request = ChatRequest { request_id: Some(id), ..chat_with("s", text, false) };
        chat_to_end(&host, request).await;
    };
    for n in 0..65 {
        send(format!("r{n}"), "/short").await;
    }
    send("r64".to_owned(), "/short").await;
    send("r1".to_owned(), "/short").await;
    assert_eq!(log.count("/short"), 65);
    send("r0".to_owned(), "/short").await;
    assert_eq!(log.count("/short"), 66);
    // One that is too long to keep does not drive out the others.
    send("long".to_owned(), "/long").await;
    send("long".to_owned(), "/long").await;
    send("r64".to_owned(), "/short").await;
    assert_eq!((log.count("/long"), log.count("/short")), (2, 66));
}

#[tokio::test] // L-07
async fn two_that_are_the_same_run_a_command_once_also_side_by_side() {
    let (stop, log) = (common::doubles::Stop::default(), Log::new());
    let (standing, ran) = (stop.clone(), log.clone());
    let scene = Scene::says(&["from the model"]).host(
        ScriptedHost::new("commands").intercept_chat_request(move |input, _| {
            ran.add(input.text.clone());
            let (standing, is_command) = (standing.clone(), input.text.starts_with('/'));
            async move {
                standing.here().await;
                Ok(is_command.then(|| Handled::text("done").into()))
            }
        }),
    );
    let (host, _) = open_door(&scene).await;
    for (text, said) in [("/pay", "done"), ("hi", "from the model")] {
        let id = text.trim_start_matches('/').to_owned();
        let request = ChatRequest { request_id: Some(id), ..chat_with("s", text, true) };
        let meanwhile = async {
            stop.reached_by(1).await;
            // Whoever would run it a second time is let go as well.
            stop.let_go(2);
        };
        let both = async || chat_to_end(&host, request.clone()).await;
        let (first, second, ()) = tokio::join!(both(), both(), meanwhile);
        for events in [first, second] {
            let EventKind::Final { messages, .. } = &events.last().unwrap().kind else {
                panic!("{events:?}")
            };
            assert_eq!(messages[0].text(), said);
        }
        assert_eq!(log.count(text), 1);
    }
    assert_eq!(scene.provider.requests().len(), 1);
}
