//! One test a route: what it answers with.

use crate::common::doubles::map;
use crate::common::*;
use crate::site::*;
use expect_test::expect;
use orlop_core::hooks::CompletionsInput;
use orlop_core::{ActionDefinition, ActionResult, Change, Map};
use orlop_testkit::scripted::*;
use reqwest::Method;
use serde_json::{Value, json};

fn ids(answer: &Value) -> Vec<&str> {
    let sessions = answer["sessions"].as_array().unwrap();
    sessions.iter().map(|it| it["session_id"].as_str().unwrap()).collect()
}

#[tokio::test] // K-09
async fn sessions_are_created_listed_loaded_changed_and_deleted() {
    let site = Site::open(&Scene::says(&["hello"])).await;
    let new = json!({ "session_id": "s", "agent_id": "other", "metadata": { "colour": "red" } });
    let (status, made) = site.post("/sessions", new.clone()).await;
    assert_eq!(
        (status, &made["agent_id"], &made["message_count"]),
        (201, &json!("other"), &json!(0))
    );
    assert_eq!(site.post("/sessions", new).await.0, 409);
    let (status, fresh) = site.post("/sessions", json!({})).await;
    assert_eq!((status, &fresh["agent_id"]), (201, &json!("default")));
    assert_eq!(site.say("s", "hi").await.0, 200);

    let (_, page) = site.get("/sessions?limit=1").await;
    assert_eq!(ids(&page), ["s"]);
    let next = page["next"].as_str().unwrap();
    let (_, page) = site.get(&format!("/sessions?limit=1&cursor={next}")).await;
    assert_eq!(ids(&page), [fresh["session_id"].as_str().unwrap()]);
    assert_eq!(ids(&site.get("/sessions?agent_id=other").await.1), ["s"]);

    let (status, session) = site.get("/sessions/s").await;
    assert_eq!((status, session["messages"].as_array().unwrap().len()), (200, 2));
    assert_eq!(session["metadata"]["colour"], "red");
    assert_eq!(session["metadata"].get("native_messages"), None);
    let (_, tail) = site.get("/sessions/s?last=1").await;
    assert_eq!(
        (&tail["first_index"], &tail["messages"][0]["content"]),
        (&json!(1), &json!("hello"))
    );

    let patch = json!({ "title": "Greeting", "metadata": { "colour": "blue" }, "overrides": { "model": "x" } });
    let (status, patched) = site.patch("/sessions/s", patch).await;
    assert_eq!((status, &patched["title"]), (200, &json!("Greeting")));
    let (_, session) = site.get("/sessions/s").await;
    assert_eq!(session["metadata"]["overrides"], json!({ "model": "x" }));
    assert_eq!(ids(&site.get("/sessions?query=greet").await.1), ["s"]);
    let (_, found) = site.get("/search?query=hello").await;
    assert_eq!(found["items"][0]["session_id"], "s");

    assert_eq!(site.delete("/sessions/s").await.0, 204);
    assert_eq!(site.get("/sessions/s").await.0, 404);
    assert_eq!(site.delete("/sessions/s").await.0, 404);
}

#[tokio::test] // K-09
async fn sessions_are_forked_sliced_joined_and_switched() {
    let site = Site::open(&Scene::says(&["one", "two"])).await;
    site.session("s").await;
    site.say("s", "a").await;
    site.say("s", "b").await;
    let fork = json!({ "upto_index": 1, "session_id": "f" });
    let (status, made) = site.post("/sessions/s/fork", fork).await;
    assert_eq!(
        (status, &made["session_id"], &made["message_count"]),
        (201, &json!("f"), &json!(2))
    );
    let (_, whole) = site.post("/sessions/s/fork", json!({})).await;
    assert_eq!(whole["message_count"], 4);
    let (status, sliced) = site.post("/sessions/s/slice", json!({ "start": 1, "end": -1 })).await;
    assert_eq!((status, &sliced["message_count"]), (200, &json!(2)));
    let (_, sliced) = site.post("/sessions/s/slice", json!({ "remove_indices": [0] })).await;
    assert_eq!(sliced["message_count"], 1);
    let (_, joined) = site.post("/sessions/s/join", json!({ "session_id": "f" })).await;
    assert_eq!(joined["message_count"], 3);
    let (status, switched) = site.post("/sessions/s/agent", json!({ "agent_id": "other" })).await;
    assert_eq!((status, &switched["agent_id"]), (200, &json!("other")));
    assert_eq!(site.post("/sessions/s/agent", json!({ "agent_id": "nobody" })).await.0, 404);
}

#[tokio::test] // K-09
async fn a_position_counts_for_the_revision_that_was_looked_at() {
    let site = Site::open(&Scene::says(&["one", "two"])).await;
    site.session("s").await;
    site.say("s", "a").await;
    let seen = site.get("/sessions/s").await.1["revision"].clone();
    site.say("s", "b").await;
    let old: [(Method, &str, Value); 5] = [
        (Method::POST, "/sessions/s/slice", json!({ "remove_indices": [1] })),
        (Method::POST, "/sessions/s/branches", json!({ "index": 0 })),
        (Method::POST, "/sessions/s/fork", json!({ "upto_index": 0 })),
        (Method::POST, "/sessions/s/messages", json!({ "role": "user", "content": "c" })),
        (Method::PATCH, "/sessions/s/messages/0", json!({ "content": "c" })),
    ];
    let before = site.get("/sessions/s").await.1;
    for (method, path, mut body) in old.clone() {
        body["revision"] = seen.clone();
        let (status, problem) = answer(site.send(method, path, body).await).await;
        assert_eq!((status, &problem["error_type"]), (409, &json!("conflict")), "{path}");
        // Trying the same again does not help.
        assert_eq!(problem["retry_after_seconds"], Value::Null, "{path}");
    }
    assert_eq!(site.get("/sessions/s").await.1, before);
    assert_eq!(ids(&site.get("/sessions").await.1), ["s"]);

    for (method, path, mut body) in old {
        let now = site.get("/sessions/s").await.1;
        body["revision"] = now["revision"].clone();
        // A name moves no message.
        let (_, named) = site.patch("/sessions/s", json!({ "title": path })).await;
        assert!(named["revision"].as_u64() > now["revision"].as_u64(), "{path}");
        let again = site.get("/sessions/s").await.1;
        assert_eq!(again["messages_revision"], now["messages_revision"], "{path}");
        let (status, done) = answer(site.send(method, path, body).await).await;
        assert!(matches!(status, 200 | 201), "{path}: {done}");
    }
}

#[tokio::test] // K-09
async fn a_message_is_tried_again_on_a_branch_and_sessions_are_put_away() {
    let site = Site::open(&Scene::says(&["one", "two"])).await;
    site.session("s").await;
    site.say("s", "a").await;
    let (status, made) =
        site.post("/sessions/s/branches", json!({ "index": -1, "session_id": "b" })).await;
    assert_eq!((status, &made["session"]["message_count"]), (201, &json!(0)));
    assert_eq!(made["message"]["content"], "a");
    site.say("b", "a, in other words").await;
    let (_, tries) = site.get("/sessions/b/branches?index=0").await;
    assert_eq!((ids(&tries), &tries["current"]), (vec!["s", "b"], &json!(1)));
    assert_eq!(site.post("/sessions/s/branches", json!({ "index": 9 })).await.0, 400);
    // It may have been there a moment ago.
    let (status, none) = site.get("/sessions/s/branches?index=9").await;
    assert_eq!((status, ids(&none), &none["current"]), (200, vec![], &Value::Null));
    assert_eq!(site.get("/sessions/nobody/branches?index=0").await.0, 404);
    assert_eq!(site.get("/sessions/no%20id/branches?index=0").await.0, 400);

    let (_, away) = site.patch("/sessions/s", json!({ "metadata": { "archived": true } })).await;
    assert_eq!(away["archived"], true);
    assert_eq!(ids(&site.get("/sessions").await.1), ["b"]);
    assert_eq!(ids(&site.get("/sessions?archived=only").await.1), ["s"]);
    assert_eq!(site.get("/sessions?archived=perhaps").await.0, 400);
}

#[tokio::test] // K-09
async fn messages_are_added_and_changed() {
    let site = Site::open(&Scene::default()).await;
    site.session("s").await;
    let add = |content: &str, after: Value| json!({ "role": "user", "content": content, "after_index": after });
    assert_eq!(site.post("/sessions/s/messages", add("b", Value::Null)).await.0, 201);
    assert_eq!(site.post("/sessions/s/messages", add("a", json!(-1))).await.0, 201);
    let (status, _) = site.patch("/sessions/s/messages/-1", json!({ "content": "c" })).await;
    assert_eq!(status, 200);
    assert_eq!(said(site.host.app(), "s").await, "a|c");
    assert_eq!(site.patch("/sessions/s/messages/7", json!({ "content": "c" })).await.0, 400);
    assert_eq!(site.post("/sessions/s/messages", json!({ "content": "no role" })).await.0, 400);
}

#[tokio::test] // K-09
async fn sessions_are_exported_and_imported() {
    let site = Site::open(&Scene::says(&["hello"])).await;
    site.session("s").await;
    site.say("s", "hi").await;
    let (status, exported) = site.get("/sessions/s/export").await;
    assert_eq!((status, &exported["session_id"]), (200, &json!("s")));
    assert!(exported["metadata"]["native_messages"].is_array());
    assert_eq!(site.post("/sessions/import", exported.clone()).await.0, 409);
    let (status, made) = site.post("/sessions/import?session_id=t", exported.clone()).await;
    assert_eq!((status, &made["session_id"]), (201, &json!("t")));
    let (_, again) = site.get("/sessions/t/export").await;
    assert_eq!(again["messages"], exported["messages"]);
    assert_eq!(site.post("/sessions/import", json!({ "session_id": 1 })).await.0, 400);
}

#[tokio::test] // K-09
async fn agents_show_what_they_are_made_of() {
    let feature = ScriptedFeature::new("helper")
        .get_template(|_, _| Ok("Dear ...".to_owned()))
        .get_completions(|input: &CompletionsInput, _| {
            Ok(vec![json!({ "text": format!("{}!", input.text) })])
        })
        .apply_completion(|_, _| Ok("done".to_owned()));
    let site = Site::open(&Scene::default().feature(feature).tool(echo("read"))).await;
    let (_, agents) = site.get("/agents").await;
    expect![[r#"[{"agent_id":"default","description":null,"provider":"scripted","model":"m","default":true,"usable":true},{"agent_id":"other","description":null,"provider":"scripted","model":"o","default":false,"usable":true}]"#]]
        .assert_eq(&agents["items"].to_string());
    let (_, tools) = site.get("/agents/default/tools").await;
    assert_eq!(tools["items"][0]["plugin"], "read");
    let (_, plugins) = site.get("/agents/default/plugins").await;
    assert_eq!(plugins["features"], json!(["helper"]));
    assert_eq!(site.get("/agents/default/models").await.0, 200);
    assert_eq!(site.get("/agents/default/config-schema").await.0, 200);
    assert_eq!(site.get("/agents/default/ui-schema").await.0, 200);
    site.session("s").await;
    assert_eq!(site.get("/agents/default/ui-schema?session_id=s").await.0, 200);
    assert_eq!(site.get("/agents/default/ui-schema?session_id=t").await.0, 404);
    let (_, templates) = site.get("/agents/default/templates").await;
    assert_eq!(templates["items"], json!([{ "plugin": "helper", "text": "Dear ..." }]));
    let (_, found) =
        site.post("/completions", json!({ "agent_id": "default", "text": "hi" })).await;
    assert_eq!(found["items"][0]["text"], "hi!");
    let accepted = json!({ "agent_id": "default", "text": "hi!", "completion": found["items"][0] });
    assert_eq!(site.post("/completions/apply", accepted).await.1, json!({ "text": "done" }));
    for path in ["tools", "models", "plugins", "config-schema", "ui-schema", "templates"] {
        assert_eq!(site.get(&format!("/agents/nobody/{path}")).await.0, 404, "{path}");
    }
}

#[tokio::test] // K-09, K-23
async fn actions_are_listed_run_previewed_and_undone() {
    let feature = ScriptedFeature::new("tidy")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("clear", "Clear")]))
        .execute_action(|_, _| {
            let native_messages = Change::Replace(vec![item("user", "cleared")]);
            Ok(ActionResult { native_messages, ..ActionResult::default() })
        });
    let plugin = ScriptedApplication::new("report")
        .actions(vec![ActionDefinition::new("show", "Show")])
        .execute_action(|_, _| async {
            Ok(ActionResult { public: map(json!({ "message": "shown" })), ..Default::default() })
        });
    let scene = Scene::says(&["hello"]).feature(feature).application(plugin);
    let site = Site::open(&scene).await;
    site.session("s").await;
    site.say("s", "hi").await;
    let owners = |list: &Value| {
        let all = list["items"].as_array().unwrap().iter();
        all.map(|it| format!("{} {}", it["id"], it["action_owner"])).collect::<Vec<_>>().join(", ")
    };
    expect![[r#""show" "application""#]].assert_eq(&owners(&site.get("/actions").await.1));
    expect![[r#""show" "application", "clear" "feature""#]]
        .assert_eq(&owners(&site.get("/actions?session_id=s").await.1));
    let (status, shown) = site.post("/actions/report/show", json!({})).await;
    assert_eq!((status, &shown["result"]["message"]), (200, &json!("shown")));
    let of_session = json!({ "session_id": "s", "params": {} });
    let (status, preview) = site.post("/actions/tidy/clear/preview", of_session.clone()).await;
    assert_eq!((status, &preview["change"]["removed"][1]["content"]), (200, &json!("hello")));
    assert_eq!(said(site.host.app(), "s").await, "hi|hello");
    let (status, ran) = site.post("/actions/tidy/clear", of_session).await;
    assert_eq!((status, &ran["action_id"]), (200, &json!("clear")));
    assert_eq!(said(site.host.app(), "s").await, "cleared");
    let (_, changes) = site.get("/sessions/s/changes").await;
    assert_eq!(changes["items"][0]["id"], ran["change_id"]);
    let undo = format!("/sessions/s/changes/{}/undo", ran["change_id"].as_str().unwrap());
    assert_eq!(site.post(&undo, json!({})).await.0, 200);
    assert_eq!(said(site.host.app(), "s").await, "hi|hello");
    assert_eq!(site.post("/actions/tidy/nope", json!({ "session_id": "s" })).await.0, 404);
    assert_eq!(site.post("/actions/tidy/clear", json!({})).await.0, 404);
}

#[tokio::test] // K-09
async fn a_lifecycle_runs_by_name_and_what_it_changes_is_stored() {
    let plugin = ScriptedApplication::new("marker").actions(vec![at("my_moment")]).execute_action(
        |_, cx| async move {
            Ok(patch(json!({ "mark": cx.get("colour").cloned().unwrap_or_default() })))
        },
    );
    let site = Site::open(&Scene::default().application(plugin)).await;
    site.session("s").await;
    let body = json!({ "context": { "colour": "red" } });
    let (status, run) = site.post("/sessions/s/lifecycle/my_moment", body).await;
    assert_eq!((status, &run["results"][0]["plugin"]), (200, &json!("marker")));
    assert_eq!(kept(site.host.app(), "s", "mark").await, "red");
    assert_eq!(site.post("/sessions/t/lifecycle/my_moment", json!({})).await.0, 404);
    let long = format!("/sessions/s/lifecycle/{}", "x".repeat(orlop_app::MAX_ID + 1));
    assert_eq!(site.post(&long, json!({})).await.0, 400);
}

fn form(name: &str, media_type: &str, bytes: &str) -> (String, String) {
    let body = format!(
        "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {media_type}\r\n\r\n{bytes}\r\n--X--\r\n"
    );
    ("multipart/form-data; boundary=X".to_owned(), body)
}

#[tokio::test] // K-09
async fn files_are_kept_and_given_back_to_be_saved() {
    let site = Site::open(&Scene::says(&["read it"])).await;
    site.session("s").await;
    let put = async |path: &str, (kind, body): (String, String)| {
        let request = site.request(Method::POST, path).header("content-type", kind);
        answer(request.body(body).send().await.unwrap()).await
    };
    let (status, kept) = put("/assets", form("ünï.html", "text/html", "<b>hi</b>")).await;
    assert_eq!((status, &kept["size"], &kept["media_type"]), (201, &json!(9), &json!("text/html")));
    let path = format!("/assets/{}", kept["id"].as_str().unwrap());
    let got = site.request(Method::GET, &path).send().await.unwrap();
    let header = |name: &str| got.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-disposition"), "attachment; filename*=UTF-8''%C3%BCn%C3%AF.html");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert!(header("content-security-policy").contains("sandbox"));
    assert_eq!(got.text().await.unwrap(), "<b>hi</b>");

    let body = json!({ "content": "look", "attachments": [kept["id"]], "stream": false });
    assert_eq!(site.post("/sessions/s/requests", body).await.0, 200);
    let (_, session) = site.get("/sessions/s").await;
    assert!(session["messages"][0].to_string().contains("<b>hi</b>"), "{session}");

    assert_eq!(put("/assets?session_id=t", form("a", "text/plain", "a")).await.0, 404);
    assert_eq!(put("/assets", ("text/plain".to_owned(), "x".to_owned())).await.0, 415);
    let cut = ("multipart/form-data; boundary=X".to_owned(), "--X\r\nContent-Di".to_owned());
    assert_eq!(put("/assets", cut).await.0, 400);
    assert_eq!(site.delete(&path).await.0, 204);
    assert_eq!(site.get(&path).await.0, 404);
}

#[tokio::test]
async fn large_files_come_in_pieces_whole_or_in_part() {
    let site = Site::open(&Scene::default()).await;
    let bytes: String = (0..60_000).map(|number| format!("{number:05}")).collect();
    let (kind, body) = form("a.txt", "text/plain", &bytes);
    let request = site.request(Method::POST, "/assets").header("content-type", kind);
    let (_, kept) = answer(request.body(body).send().await.unwrap()).await;
    let path = format!("/assets/{}", kept["id"].as_str().unwrap());
    let get = async |range: Option<&str>| {
        let request = site.request(Method::GET, &path);
        let request = range.map_or(request.try_clone().unwrap(), |it| request.header("range", it));
        let got = request.send().await.unwrap();
        let header = |name: &str| got.headers().get(name).map(|it| it.to_str().unwrap().to_owned());
        let told = (got.status().as_u16(), header("content-range"), header("content-length"));
        (told, got.text().await.unwrap())
    };
    let length = |count: usize| Some(count.to_string());
    assert_eq!(get(None).await, ((200, None, length(300_000)), bytes.clone()));
    for (asked, first, last) in [
        ("bytes=0-9", 0, 9),
        ("bytes=65530-200000", 65_530, 200_000),
        ("bytes=299990-", 299_990, 299_999),
        ("bytes=-5", 299_995, 299_999),
    ] {
        let told = Some(format!("bytes {first}-{last}/300000"));
        let part = bytes[first..=last].to_owned();
        assert_eq!(get(Some(asked)).await, ((206, told, length(part.len())), part), "{asked}");
    }
    assert_eq!(get(Some("bytes=0-1,5-6")).await.0.0, 200);
    assert_eq!(get(Some("bytes=300000-")).await.0.0, 416);
}

#[tokio::test] // K-12, H-39
async fn the_list_of_sessions_has_what_plugins_add_and_survives_those_that_fail() {
    let badge = ScriptedApplication::new("badge").actions(vec![at("session_list")]).execute_action(
        |input, cx| async move {
            assert_eq!(cx.trigger_source(), orlop_core::TriggerSource::Server);
            let ids = input.params["session_ids"].as_array().unwrap().clone();
            let badges =
                ids.iter().map(|id| (id.as_str().unwrap().to_owned(), json!({ "badge": "new" })));
            let badges: Map = badges.collect();
            let public = map(json!({ "session_summaries": badges }));
            Ok(ActionResult { public, ..ActionResult::default() })
        },
    );
    let broken = ScriptedApplication::new("broken")
        .actions(vec![at("session_list")])
        .execute_action(|_, _| async { Err(orlop_core::Error::bad_state("oh")) });
    let scene = Scene::default().application(badge).application(broken);
    let site = Site::open(&scene).await;
    site.session("s").await;
    let (status, page) = site.get("/sessions").await;
    assert_eq!((status, &page["sessions"][0]["badge"]), (200, &json!({ "badge": "new" })));
}

#[tokio::test] // K-09
async fn probes_and_the_document_are_there_twice() {
    let site = Site::open(&Scene::default()).await;
    for prefix in ["//", "/api/v1/"] {
        let get = async |path: &str| site.get(&format!("{prefix}{path}")).await;
        assert_eq!(get("healthz").await, (200, json!({ "status": "ok" })));
        assert_eq!(get("readyz").await, (200, json!({ "status": "ready" })));
        assert_eq!(get("openapi.json").await.1["openapi"], "3.1.0");
        assert!(get("metrics").await.1.as_str().unwrap().contains("orlop_turns_running 0"));
    }
    let (status, page) = site.get("//").await;
    assert!(status == 200 && page.as_str().unwrap().contains("Orlop"));
}

#[tokio::test] // K-09
async fn the_document_says_what_a_session_id_may_be_wherever_one_is_asked_for() {
    let site = Site::open(&Scene::default()).await;
    let (_, document) = site.get("//openapi.json").await;
    let of_path = document["paths"]["/api/v1/sessions/{id}"]["get"]["parameters"][0].clone();
    let mut asked_for = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            for parameter in operation["parameters"].as_array().unwrap() {
                if parameter["name"] == "session_id" {
                    assert_eq!(parameter["schema"], of_path["schema"], "{method} {path}");
                    asked_for.push(format!("{method} {}", path.replace("{agent}", "default")));
                }
            }
        }
    }
    assert!(asked_for.len() >= 5, "{asked_for:?}");
    // And it holds.
    for get in asked_for.iter().filter_map(|it| it.strip_prefix("get ")) {
        assert_eq!(site.get(&format!("/{get}?session_id=a%20b")).await.0, 400, "{get}");
    }
}
