//! Host plugins around a request: which hooks run, when, in what order, and what they are told.

use crate::common::recorders::*;
use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::hooks::{RequestInfo, RequestKind};
use orlop_core::*;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends a request, and says how it ended: its last event, or the class of its error.
async fn end_of(scene: &Scene, log: &Log, request: ChatRequest) -> String {
    let (host, failures) = open_door(scene).await;
    log.take();
    let end = match host.chat(request).await {
        Ok(mut chat) => {
            let mut last = String::new();
            while let Some(event) = chat.next().await {
                last = event.kind.name().to_owned();
            }
            chat.ended().await;
            last
        }
        Err(error) => error.class().as_str().to_owned(),
    };
    assert_eq!(failures.text(), "");
    end
}

#[tokio::test] // L-01, L-07, L-08, L-09, L-16, L-17, L-18, L-23, L-26
async fn each_request_has_its_hooks_blocking_and_streaming_stored_and_not() {
    for row in table() {
        for (stream, stored) in [(false, true), (true, true), (false, false), (true, false)] {
            let log = Log::new();
            let request = chat_with("s", row.says, stream);
            let request = ChatRequest { persist: (!stored).then_some(false), ..request };
            let end = end_of(&row.scene(&log), &log, request).await;
            row.check("the front door", &log, &end, stored);
        }
    }
}

#[tokio::test] // L-17, L-18
async fn a_request_for_an_agent_that_is_not_there_ends_too() {
    let log = Log::new();
    let request = ChatRequest { agent_id: Some("nobody".to_owned()), ..chat_with("s", "hi", true) };
    assert_eq!(end_of(&three(&log), &log, request).await, "not_found");
    expect![[r#"
        on_request_start c a b
        intercept c a b
        on_request_end c a b"#]]
    .assert_eq(&told(&log));
}

#[tokio::test] // L-03, L-04, L-23, L-26
async fn start_goes_by_priority_then_registration_and_stop_goes_back() {
    let log = Log::new();
    let (host, _) = open_door(&three(&log)).await;
    expect!["start c a b"].assert_eq(&told(&log));
    let again = host.clone();
    host.stop().await;
    expect!["stop b a c"].assert_eq(&told(&log));
    again.stop().await;
    assert_eq!(told(&log), "");
}

#[tokio::test] // L-26
async fn the_configuration_says_which_plugins_and_in_which_order() {
    let log = Log::new();
    let config = format!("{CONFIG}\n[hosts]\nplugins = [\"b\", \"a\"]\n");
    let (host, _) = open_door(&three(&log).config(&config)).await;
    host.stop().await;
    expect![[r#"
        start b a
        stop a b"#]]
    .assert_eq(&told(&log));
    let wrong = format!("{CONFIG}\n[hosts]\nplugins = [\"nope\"]\n");
    let error = three(&log).config(&wrong).try_start().await.err().unwrap();
    assert!(error.message().contains("nope"), "{error}");
}

#[tokio::test] // L-03, L-04
async fn a_background_task_lives_from_start_to_stop() {
    let task = Arc::new(std::sync::Mutex::new(None));
    let alive = Arc::new(());
    let (begun, ended, held) = (task.clone(), task.clone(), alive.clone());
    let scene = Scene::says(&["ok"]).host(
        ScriptedHost::new("worker")
            .start(move |_, _| {
                let held = held.clone();
                let handle = tokio::spawn(async move {
                    let _held = held;
                    std::future::pending::<()>().await;
                });
                *begun.lock().unwrap() = Some(handle);
                async { Ok(()) }
            })
            .stop(move |_, _| {
                let handle = ended.lock().unwrap().take().unwrap();
                handle.abort();
                async move {
                    let _ = handle.await;
                    Ok(())
                }
            }),
    );
    let (host, _) = open_door(&scene).await;
    chat_to_end(&host, chat_with("s", "hi", false)).await;
    assert!(!task.lock().unwrap().as_ref().unwrap().is_finished());
    host.stop().await;
    assert!(task.lock().unwrap().is_none());
    // The scene's plugin still holds one; the task holds none any more.
    assert_eq!(Arc::strong_count(&alive), 2);
}

#[tokio::test] // L-03, I-37
async fn start_and_stop_have_the_whole_configuration() {
    let log = Log::new();
    let noted = |log: &Log| {
        let log = log.clone();
        move |input: orlop_core::hooks::HostInput, cx: Context| {
            let section = input.config.get("audit").unwrap();
            let same = Application::of(&cx).unwrap().config().section("audit").unwrap();
            assert_eq!(Some(section), same.as_ref());
            log.add(format!("{} {}", section["file"], input.config.get("agents").is_some()));
            async { Ok(()) }
        }
    };
    let manifest = manifest("audit", 0).config("audit.file", json!({"type": "string"}));
    let plugin = ScriptedHost::with_manifest(manifest).start(noted(&log)).stop(noted(&log));
    let config = format!("{CONFIG}\n[audit]\nfile = \"${{env:NOWHERE:-/var}}/log\"\n");
    let (host, failures) = open_door(&Scene::default().host(plugin).config(&config)).await;
    host.stop().await;
    assert_eq!(log.lines(), [r#""/var/log" true"#; 2]);
    assert_eq!(failures.text(), "");
}

#[tokio::test] // L-17
async fn a_request_nobody_listens_to_ends_even_so() {
    let (ended, mut end) = tokio::sync::mpsc::unbounded_channel();
    let plugin = ScriptedHost::new("a").on_request_end(move |_, _| {
        let _ = ended.send(());
        async { Ok(()) }
    });
    let scene = Scene::says(&["ok", "ok"]).host(plugin);
    let (host, _) = open_door(&scene).await;
    drop(host.chat(chat_with("s", "hi", true)).await.unwrap());
    end.recv().await.unwrap();
    drop(host.chat(chat_with("s", "hi", false)).await.unwrap().into_events());
    end.recv().await.unwrap();
    assert_eq!(said(host.app(), "s").await, "hi|ok|hi|ok");
}

#[tokio::test] // L-17
async fn the_same_request_twice_runs_once() {
    let log = Log::new();
    let scene = three(&log);
    scene.provider.reply(ScriptedReply::text(&["ok"]));
    let (host, _) = open_door(&scene).await;
    let request = ChatRequest { request_id: Some("r".to_owned()), ..chat_with("s", "hi", true) };
    let first = chat_to_end(&host, request.clone()).await;
    let second = chat_to_end(&host, request).await;
    assert_eq!(first.last().unwrap().seq, second.last().unwrap().seq);
    assert_eq!(said(host.app(), "s").await, "hi|ok");
    assert_eq!(log.count("on_turn_persisted a"), 1);
    assert_eq!(log.count("on_request_start a"), log.count("on_request_end a"));
}

#[tokio::test] // L-04
async fn stopping_takes_no_more_and_waits_for_what_is_under_way() {
    let (log, gate) = (Log::new(), Gate::new());
    let scene = three(&log);
    scene.provider.reply(ScriptedReply::text(&["ok"]).waiting_for(&gate));
    let (host, _) = open_door(&scene).await;
    let chat = host.chat(chat_with("s", "hi", true)).await.unwrap();
    gate.reached().await;
    log.take();
    let stopping = tokio::spawn(host.clone().stop());
    // The door closes at once; what is inside goes on.
    let refused = loop {
        match host.chat(chat_with("t", "/a", true)).await {
            Err(error) => break error,
            Ok(chat) => chat.ended().await,
        }
    };
    assert_eq!(refused.class(), ErrorClass::Unavailable);
    log.take();
    assert!(!stopping.is_finished());
    gate.open();
    stopping.await.unwrap();
    chat.ended().await;
    expect![[r#"
        lifecycle request_complete
        on_turn_persisted c a b
        on_request_end c a b
        stop b a c"#]]
    .assert_eq(&told(&log));
}

#[tokio::test] // L-03
async fn a_host_starts_once() {
    let log = Log::new();
    let (host, _) = open_door(&three(&log)).await;
    let again = Host::start(host.app().clone(), None).await.err().unwrap();
    assert_eq!(again.class(), ErrorClass::Conflict);
    expect!["start c a b"].assert_eq(&told(&log));
}

#[tokio::test] // L-04
async fn stopping_does_not_wait_for_ever() {
    let (log, gate) = (Log::new(), Gate::new());
    let scene = three(&log);
    scene.provider.reply(ScriptedReply::text(&["ok"]).waiting_for(&gate));
    let (host, _) = open_door(&scene).await;
    let chat = host.chat(chat_with("s", "hi", true)).await.unwrap();
    gate.reached().await;
    let stopping = tokio::spawn(host.clone().stop());
    while let Ok(chat) = host.chat(chat_with("t", "/a", true)).await {
        chat.ended().await;
    }
    assert_eq!(log.count("stop a"), 0);
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    tokio::time::resume();
    stopping.await.unwrap();
    assert_eq!(log.count("stop a"), 1);
    let ends = log.count("on_request_end a");
    gate.open();
    // The request keeps its end even so.
    chat.ended().await;
    assert_eq!(log.count("on_request_end a"), ends + 1);
}

#[tokio::test] // L-07
async fn a_command_in_a_further_part_is_a_command_too() {
    let log = Log::new();
    let (host, _) = open_door(&three(&log)).await;
    let part = json!({"type": "text", "text": "/a"}).as_object().unwrap().clone();
    let request = ChatRequest {
        content: Value::Null,
        multipart_content: vec![part],
        ..chat_with("s", "", true)
    };
    let chat = host.chat(request).await.unwrap();
    assert_eq!(chat.handled.unwrap().text, "handled");
}

/// A plugin that gives these context texts.
fn knowing(name: &str, priority: i64, texts: &[&str]) -> ScriptedHost {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    ScriptedHost::with_manifest(manifest(name, priority)).context_providers(move |_, _| {
        let texts = texts.clone();
        async { Ok(texts) }
    })
}

#[tokio::test] // L-11, L-12, L-13
async fn context_goes_before_the_message_and_is_not_kept() {
    for stream in [false, true] {
        let scene = Scene::says(&["one", "two"])
            .host(knowing("late", 0, &["it rains", ""]))
            .host(knowing("none", 0, &["", "  "]))
            .host(knowing("early", 5, &["it is noon", "in May"]));
        let (host, _) = open_door(&scene).await;
        chat_to_end(&host, chat_with("s", "hi", stream)).await;
        assert_eq!(scene.provider.last_request(), "it is noon\n\nin May\n\nit rains|hi");
        assert_eq!(said(host.app(), "s").await, "hi|one");
        chat_to_end(&host, chat_with("s", "more", stream)).await;
        expect![[r#"
            hi|one|it is noon

            in May

            it rains|more"#]]
        .assert_eq(&scene.provider.last_request());
        assert_eq!(said(host.app(), "s").await, "hi|one|more|two");
        let exported = host.app().export_session("s", "json").await.unwrap();
        assert!(!exported.contains("noon"), "{exported}");
    }
}

#[tokio::test] // L-12
async fn nothing_to_say_adds_nothing() {
    let scene = Scene::says(&["one"]).host(knowing("none", 0, &["", " \n"]));
    let (host, _) = open_door(&scene).await;
    chat_to_end(&host, chat_with("s", "hi", true)).await;
    assert_eq!(scene.provider.last_request(), "hi");
}

#[tokio::test] // L-11
async fn context_providers_know_what_is_asked_and_how_far_it_is() {
    let log = Log::new();
    let heard = log.clone();
    let scene = Scene::default().tool(echo("read")).host(
        ScriptedHost::new("clock").context_providers(move |input, _| {
            heard.add(format!("{} {} {}", input.request.session_id, input.text, input.step));
            let text = format!("step {}", input.step);
            async { Ok(vec![text]) }
        }),
    );
    scene
        .provider
        .reply(ScriptedReply::calls(&[("c1", "read", json!({}))]))
        .reply(ScriptedReply::text(&["ok"]));
    let (host, _) = open_door(&scene).await;
    chat_to_end(&host, chat_with("s", "go", true)).await;
    assert_eq!(log.lines(), ["s go 0", "s go 1"]);
    let asked: Vec<String> = scene
        .provider
        .requests()
        .iter()
        .map(|(items, _)| items.iter().map(|item| item.get("say").unwrap().to_string()).collect())
        .collect();
    expect![[r#"
        "step 0""go"
        "step 1""go""""{}""#]]
    .assert_eq(&asked.join("\n"));
}

#[tokio::test] // L-18
async fn the_turn_is_stored_when_it_is_told_as_stored() {
    for stream in [false, true] {
        let log = Log::new();
        let heard = log.clone();
        let scene = Scene::says(&["answer"]).host(ScriptedHost::new("mirror").on_turn_persisted(
            move |info, cx| {
                let heard = heard.clone();
                async move {
                    let app = Application::of(&cx)?;
                    heard.add(texts(&app.session(&info.session_id).await?.session));
                    let turn = app.store().turn(app.scope(), &info.request_id).await?;
                    heard.add(format!("settled: {}", turn.unwrap().settled));
                    Ok(())
                }
            },
        ));
        let (host, failures) = open_door(&scene).await;
        chat_to_end(&host, chat_with("s", "hi", stream)).await;
        assert_eq!(log.lines(), ["hi|answer", "settled: true"]);
        assert_eq!(failures.text(), "");
    }
}

#[tokio::test] // L-19, L-20, L-21, L-22
async fn hooks_are_told_of_the_request_and_not_of_its_content() {
    let log = Log::new();
    let noted = |log: &Log| {
        let log = log.clone();
        move |info: RequestInfo, _: Context| {
            log.add(serde_json::to_string(&info).unwrap());
            async { Ok(()) }
        }
    };
    let scene = Scene::says(&["1", "2", "3"]).host(
        ScriptedHost::new("audit")
            .on_request_start(noted(&log))
            .on_turn_persisted(noted(&log))
            .on_request_end(noted(&log)),
    );
    let (host, _) = open_door(&scene).await;
    let named =
        |request: ChatRequest, id: &str| ChatRequest { request_id: Some(id.to_owned()), ..request };
    chat_to_end(&host, named(chat_with("s", "hi", false), "r1")).await;
    let acme = host.for_scope(Scope::new("acme", "ana").unwrap());
    let other = ChatRequest { agent_id: Some("other".to_owned()), ..chat_with("s", "hi", true) };
    chat_to_end(&acme, named(other, "r2")).await;
    // The agent of a stored session is its own.
    chat_to_end(&acme, named(chat_with("s", "hi", true), "r3")).await;
    let mut lines = log.lines();
    assert_eq!(lines.len(), 9);
    lines.dedup();
    expect![[r#"
        {"kind":"chat","tenant_id":"local","user_id":"local","session_id":"s","agent_id":"default","request_id":"r1"}
        {"kind":"stream","tenant_id":"acme","user_id":"ana","session_id":"s","agent_id":"other","request_id":"r2"}
        {"kind":"stream","tenant_id":"acme","user_id":"ana","session_id":"s","agent_id":"other","request_id":"r3"}"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test] // L-24
async fn the_next_hook_waits_for_the_one_before() {
    let (log, running) = (Log::new(), Arc::new(AtomicUsize::new(0)));
    let slow = |name: &'static str| {
        let (log, running) = (log.clone(), running.clone());
        ScriptedHost::new(name).on_request_start(move |_, _| {
            let (log, running) = (log.clone(), running.clone());
            async move {
                assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "alone");
                log.add(format!("{name} begins"));
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                log.add(format!("{name} ends"));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        })
    };
    let scene = Scene::says(&["ok"]).host(slow("first")).host(slow("second"));
    let (host, failures) = open_door(&scene).await;
    chat_to_end(&host, chat_with("s", "hi", true)).await;
    assert_eq!(log.lines(), ["first begins", "first ends", "second begins", "second ends"]);
    assert_eq!(failures.text(), "");
}

#[tokio::test] // L-17
async fn a_request_whose_sender_left_ends_even_so() {
    let (log, gate) = (Log::new(), Gate::new());
    let (standing, held) =
        (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (reached, open) = (standing.clone(), held.clone());
    let (ended, mut end) = tokio::sync::mpsc::unbounded_channel();
    let slow = recording(ScriptedHost::new("a"), "a", &log)
        .intercept_chat_request(move |_, _| {
            let (reached, open) = (reached.clone(), open.clone());
            async move {
                reached.notify_one();
                open.notified().await;
                Ok(None)
            }
        })
        .on_request_end(move |_, _| {
            let _ = ended.send(());
            async { Ok(()) }
        });
    let scene = Scene::default().host(slow);
    scene.provider.reply(ScriptedReply::text(&["ok"]).waiting_for(&gate));
    let (host, _) = open_door(&scene).await;
    let sender = host.clone();
    let sending =
        tokio::spawn(async move { sender.chat(chat_with("s", "hi", true)).await.map(drop) });
    standing.notified().await;
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled());
    held.notify_one();
    gate.reached().await;
    gate.open();
    end.recv().await.unwrap();
    assert_eq!(log.count("on_request_start a"), 1);
    assert_eq!(said(host.app(), "s").await, "hi|ok");
}

#[tokio::test] // C-65
async fn a_plugin_with_only_a_name_loads() {
    struct Named;
    impl HostPlugin for Named {
        fn manifest(&self) -> Manifest {
            Manifest::host("named", "0.1.0")
        }
    }
    let mut scene = Scene::says(&["ok"]);
    scene.plugins = scene.plugins.host(Arc::new(Named));
    let (host, failures) = open_door(&scene).await;
    chat_to_end(&host, chat_with("s", "hi", true)).await;
    host.stop().await;
    assert_eq!((failures.text().as_str(), RequestKind::default()), ("", RequestKind::Stream));
    let mut twice = scene;
    twice.plugins = twice.plugins.host(Arc::new(Named));
    assert_eq!(twice.try_start().await.err().unwrap().class(), ErrorClass::Conflict);
}
