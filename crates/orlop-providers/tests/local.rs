//! The provider `local` with a tiny model on disk: streams, calls, schemas, cancels, and says what
//! is missing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use expect_test::expect;
use futures::StreamExt;
use futures::executor::block_on;
use orlop_core::*;
use orlop_providers::local::{LocalModel, NAME};
use orlop_testkit::scripted::{ScriptedTool, config, plain_session};
use orlop_testkit::tiny_model::TinyModel;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A models folder with the tiny model as `smollm2`, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = Self::empty();
        folder.write("smollm2.gguf");
        folder
    }

    fn empty() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("orlop-models-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str) -> PathBuf {
        self.write_model(name, TinyModel::default())
    }

    fn write_model(&self, name: &str, model: TinyModel) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, model.bytes().0).unwrap();
        path
    }

    fn core(&self) -> Core {
        let mut core = Core::new();
        core.register_provider(Arc::new(LocalModel::new(&self.0)), Vec::new()).unwrap();
        core
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(more: Value) -> Config {
    let mut values = json!({ "provider": NAME, "threads": 1, "temperature": 0, "max_tokens": 12 });
    values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(values)
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

async fn answer(core: &Core, session: &Session, config: &Config) -> Result<Session> {
    core.send_request(session, config, RequestOptions::default()).await.map(|it| it.session)
}

fn last(session: &Session) -> Value {
    session.messages().last().unwrap().to_json()
}

#[test]
fn an_answer_has_text_usage_and_a_reason_to_end() {
    block_on(async {
        let folder = Folder::new();
        let core = folder.core();
        let session = asked("hello").await;
        let mut events =
            core.send_request_stream(&session, &settings(json!({})), RequestOptions::default());
        let (mut shown, mut done) = (String::new(), None);
        while let Some(event) = events.next().await {
            match event.unwrap() {
                CoreEvent::Partial(partial) => shown.push_str(&partial.content),
                CoreEvent::Final(response) => done = Some(response.session),
            }
        }
        let session = done.unwrap();
        let message = last(&session);
        assert_eq!(message["content"], shown);
        assert!(!shown.is_empty());
        let metadata = &message["metadata"];
        assert_eq!(metadata["finish_reason"], "length");
        assert_eq!(metadata["model"], "smollm2");
        assert_eq!(metadata["usage"]["output_tokens"], 12);
        assert_eq!(metadata["usage"]["cache_read_tokens"], 0);

        // The next turn has its beginning in the cache, and the same model.
        let session =
            core.add_message(&session, Message::user("more"), &settings(json!({}))).await.unwrap();
        let session = answer(&core, &session, &settings(json!({}))).await.unwrap();
        let usage = &last(&session)["metadata"]["usage"];
        let first = metadata["usage"]["input_tokens"].as_u64().unwrap();
        assert!(usage["cache_read_tokens"].as_u64().unwrap() >= first, "{usage}");
    });
}

#[test]
fn a_call_of_a_tool_is_in_the_form_of_functions() {
    block_on(async {
        let folder = Folder::new();
        let mut core = folder.core();
        let schema = json!({ "name": "light", "description": "Switches the light", "parameters": {
            "type": "object",
            "properties": { "on": { "type": "boolean" } },
            "required": ["on"],
            "additionalProperties": false,
        } });
        let schemas = vec![schema.as_object().unwrap().clone()];
        let tool = ScriptedTool::new("lights").get_tool_schemas(move |_, _| Ok(schemas.clone()));
        core.register_tool(Arc::new(tool)).unwrap();
        let config = settings(json!({ "tool_choice": "required", "max_tokens": 120 }));
        let session = answer(&core, &asked("hello").await, &config).await.unwrap();
        let message = last(&session);
        let call = &message["metadata"]["tool_calls"][0];
        assert_eq!(call["function"]["name"], "light", "{message}");
        let arguments: Value =
            serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        assert!(arguments["on"].is_boolean());
        assert!(call["id"].as_str().unwrap().starts_with("call_"));
    });
}

#[test]
fn an_answer_by_schema_is_json() {
    block_on(async {
        let folder = Folder::new();
        let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"], "additionalProperties": false });
        let config = settings(json!({ "output_schema": schema, "max_tokens": 60 }));
        let session = answer(&folder.core(), &asked("hello").await, &config).await.unwrap();
        let message = last(&session);
        let value: Value = serde_json::from_str(message["content"].as_str().unwrap()).unwrap();
        assert!(value["ok"].is_boolean());
        assert_eq!(message["metadata"]["finish_reason"], "stop");
    });
}

#[test]
fn a_missing_model_says_how_to_get_it() {
    block_on(async {
        let folder = Folder::empty();
        let core = folder.core();
        let session = asked("hello").await;
        let error = answer(&core, &session, &settings(json!({}))).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound);
        let path = |text: &str| text.replace(&*folder.0.to_string_lossy(), "FOLDER");
        expect![[r#"the model "smollm2" is not in FOLDER; fetch it with `orlop model pull smollm2` (plugin "local", hook call_api)"#]].assert_eq(&path(&error.to_string()));

        folder.write("other.gguf");
        let error =
            answer(&core, &session, &settings(json!({ "model": "big" }))).await.unwrap_err();
        expect![[r#"the model "big" is not in FOLDER (there are: other); `orlop model pull` knows smollm2; with `orlop model pull big --from FILE` it takes any GGUF file (plugin "local", hook call_api)"#]].assert_eq(&path(&error.to_string()));
        let error = answer(&core, &session, &settings(json!({ "model": "/no/such.gguf" })))
            .await
            .unwrap_err();
        expect![[r#"there is no model file /no/such.gguf; set `model` to a GGUF file or to a name from `orlop model list` (plugin "local", hook call_api)"#]].assert_eq(&path(&error.to_string()));
        let error =
            answer(&core, &session, &settings(json!({ "model": "other", "threads": "two" })))
                .await
                .unwrap_err();
        expect![[r#"`threads` for the embedded model has to be a whole number that is not negative (plugin "local", hook call_api)"#]].assert_eq(&path(&error.to_string()));
    });
}

#[test]
fn models_are_the_files_of_the_folder_and_a_path_is_a_model_as_well() {
    block_on(async {
        let folder = Folder::new();
        folder.write("another.gguf");
        std::fs::write(folder.0.join("smollm2.gguf.part"), "half").unwrap();
        let core = folder.core();
        let models = core.fetch_models(&settings(json!({}))).await.unwrap();
        let ids: Vec<_> = models.iter().map(|model| model["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["another", "smollm2"]);

        let elsewhere = Folder::empty();
        let path = elsewhere.write("mine.gguf");
        let config = settings(json!({ "model": path }));
        let session = answer(&core, &asked("hello").await, &config).await.unwrap();
        assert_eq!(last(&session)["metadata"]["model"], *path.to_string_lossy());
    });
}

#[test]
fn models_are_listed_with_what_their_files_say() {
    block_on(async {
        let folder = Folder::empty();
        folder.write("small.gguf");
        folder.write_model("large.gguf", TinyModel { context: 131_072, ..TinyModel::default() });
        folder
            .write_model("other.gguf", TinyModel { architecture: "gpt2", ..TinyModel::default() });
        std::fs::write(folder.0.join("broken.gguf"), "GGUF").unwrap();
        let listed = async |more: Value| {
            let models = folder.core().fetch_models(&settings(more)).await.unwrap();
            models.into_iter().map(|it| Value::Object(it).to_string()).collect::<Vec<_>>()
        };
        // What cannot be run is listed, and using it says why it cannot.
        expect![[r#"
            {"id":"broken"}
            {"id":"large","context_window":8192,"tags":["tools","json_schema"]}
            {"id":"other"}
            {"id":"small","context_window":1024,"tags":["tools","json_schema"]}"#]]
        .assert_eq(&listed(json!({})).await.join("\n"));
        let large = &listed(json!({ "context": 32_768 })).await[1];
        assert!(large.contains("\"context_window\":32768"), "as a conversation can be: {large}");
    });
}

#[test]
fn dropping_the_stream_frees_the_model_within_a_token() {
    block_on(async {
        let folder = Folder::new();
        let core = folder.core();
        let session = asked("hello").await;
        let endless = settings(json!({ "max_tokens": 900, "temperature": 1.5, "seed": 3 }));
        let mut events = core.send_request_stream(&session, &endless, RequestOptions::default());
        let first = events.next().await.unwrap().unwrap();
        assert!(matches!(first, CoreEvent::Partial(_)));
        drop(events);
        // Both answers take turns at the model; this one comes to its end.
        let session = answer(&core, &session, &settings(json!({}))).await.unwrap();
        assert_eq!(last(&session)["metadata"]["finish_reason"], "length");
    });
}

#[test]
fn a_request_is_cancelled_by_its_token() {
    block_on(async {
        let folder = Folder::new();
        let core = folder.core();
        let session = asked("hello").await;
        let endless = settings(json!({ "max_tokens": 900, "temperature": 1.5, "seed": 3 }));
        let token = CancelToken::new();
        let options = RequestOptions {
            request_id: Some("r".into()),
            cancellation: Some(Arc::new(token.clone())),
            ..RequestOptions::default()
        };
        let mut events = core.send_request_stream(&session, &endless, options);
        let _ = events.next().await.unwrap().unwrap();
        token.cancel();
        let error = loop {
            match events.next().await.expect("it ends with an error") {
                Ok(CoreEvent::Partial(_)) => {}
                Ok(other) => panic!("{other:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.class(), ErrorClass::Cancelled);
    });
}
