//! Conversations that move: each provider hands a conversation with reasoning, an image and tool
//! calls over to each other one, and takes it back.

use crate::answers::{IMAGE, with_image};
use crate::stage::{at_once, run_calls, streamed, take_part};
use crate::subject::{Subject, subjects};
use orlop_core::session::extract_tool_calls;
use orlop_core::{Config, Core, ErrorClass, Message, Session};
use orlop_testkit::mock_model::{Completion, MockModel, RecordedRequest, Reply};
use orlop_testkit::scripted::{echo_tool, plain_session, texts};
use serde_json::json;
use std::sync::Arc;

/// Two providers in one core, each with what its model will say.
struct Pair {
    core: Core,
    here: Config,
    there: Config,
    servers: [Option<MockModel>; 2],
}

fn said_here(here: &Subject) -> [Reply<Completion>; 2] {
    let [one, two] = here.call_ids();
    let calls = [(one, "echo", r#"{"text":"one"}"#), (two, "echo", r#"{"text":"two"}"#)];
    let answer = Reply::text(["A dot; ", "let me see."]).reasoning("hm, a dot");
    [answer.then_tool_calls(calls).split_arguments(2), Reply::text(["Home again."])]
}

fn said_there() -> [Reply<Completion>; 2] {
    let call = [("call_there", "echo", r#"{"text":"three"}"#)];
    [Reply::tool_calls(call).reasoning("once more"), Reply::text(["All seen."])]
}

async fn pair(
    here: &Subject,
    there: &Subject,
    said_there: impl IntoIterator<Item = Reply<Completion>>,
    turns_here: [u64; 2],
) -> Pair {
    let mut core = Core::new();
    core.register_tool(Arc::new(echo_tool())).unwrap();
    let more = || json!({});
    let (here, first) =
        take_part(here, &mut core, said_here(here), &turns_here, more(), at_once()).await;
    let (there, second) = take_part(there, &mut core, said_there, &[2, 3], more(), at_once()).await;
    Pair { core, here, there, servers: [first, second] }
}

/// The other providers to which a case applies.
fn others(here: &Subject, case: &'static str) -> impl Iterator<Item = Subject> {
    let name = here.name;
    let others = subjects().into_iter();
    others.filter(move |there| there.name != name && there.exempt(case).is_none())
}

impl Pair {
    /// A conversation up to the results of two calls.
    async fn begun(&self) -> Session {
        let image = json!({ "type": "image", "data": IMAGE, "media_type": "image/png" });
        let history = [Message::system("Be brief."), with_image("what is this?", image)];
        let session = plain_session(&history).await.unwrap();
        self.answered(&session, &self.here).await
    }

    /// The session with the answer under this configuration, and the results of its calls.
    async fn answered(&self, session: &Session, config: &Config) -> Session {
        let told = streamed(&self.core, session, config).await;
        let told = told.map_err(|(_, error)| error).unwrap();
        let session = run_calls(&self.core, config, &told.response).await;
        session.verify().unwrap();
        session
    }
}

fn body_of(request: &RecordedRequest) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

pub(crate) async fn switch(here: &Subject) {
    for there in others(here, "switch") {
        println!("  to {}", there.name);
        let pair = pair(here, &there, said_there(), [1, 4]).await;
        let session = pair.begun().await;
        let format = session.native().unwrap().format().map(str::to_owned);
        let session = pair.answered(&session, &pair.there).await;
        let session = pair.answered(&session, &pair.there).await;
        let question = Message::user("and?");
        let session = pair.core.add_message(&session, question, &pair.there).await.unwrap();
        assert_ne!(session.native().unwrap().format().map(str::to_owned), format);
        let session = pair.answered(&session, &pair.here).await;
        // The history is again that of the first.
        assert_eq!(session.native().unwrap().format().map(str::to_owned), format);

        assert_eq!(extract_tool_calls(session.messages().iter()).len(), 3);
        let messages = session.messages().iter();
        let said: Vec<&str> = messages.map(Message::text).filter(|it| !it.is_empty()).collect();
        let expected =
            "Be brief.|what is this?|A dot; let me see.|one|two|three|All seen.|and?|Home again.";
        assert_eq!(said.join("|"), expected);
        let shows = |message: &Message| !message.multipart_content().is_empty();
        assert!(session.messages().iter().any(shows), "the image is lost");
        for server in pair.servers.iter().flatten() {
            assert_eq!(server.unused_replies(), 0);
            let last = body_of(&server.requests().pop().unwrap());
            for text in ["A dot; let me see.", "Be brief.", "one", "two", "three", IMAGE] {
                assert!(last.contains(text), "{text:?} is lost: {last}");
            }
        }
    }
}

pub(crate) async fn failed_switch(here: &Subject) {
    for there in others(here, "failed_switch") {
        println!("  to {}", there.name);
        let error = json!({ "message": "out of order", "code": 400 });
        let fails = Reply::text(["par", "tial"]).then_error(error);
        let pair = pair(here, &there, [fails], [1, 2]).await;
        let session = pair.begun().await;
        let before = session.export("json").unwrap();
        let failed = streamed(&pair.core, &session, &pair.there).await;
        let Err((_, error)) = failed else { panic!("no error") };
        assert_eq!(error.class(), ErrorClass::Provider, "{error}");
        assert!(error.message().contains("out of order"), "{error}");
        assert_eq!(session.export("json").unwrap(), before);

        // The conversation goes on where it was, with the same bytes of history.
        let items: Vec<String> =
            session.native().unwrap().items().iter().map(|item| item.wire().to_owned()).collect();
        let session = pair.answered(&session, &pair.here).await;
        assert!(texts(&session).ends_with("|Home again."));
        let kept = session.native().unwrap().items().iter().map(|item| item.wire().to_owned());
        assert_eq!(kept.take(items.len()).collect::<Vec<_>>(), items);
    }
}

#[cfg(feature = "local")]
#[tokio::test]
async fn a_conversation_moves_to_the_embedded_model_and_back() {
    use orlop_providers::local::LocalModel;
    use orlop_testkit::scripted::config;

    let weights = std::env::var("ORLOP_LOCAL_MODEL").unwrap_or_default();
    if weights.is_empty() {
        orlop_testkit::skip("switch to the embedded model", "ORLOP_LOCAL_MODEL is not set");
        return;
    }
    let local = LocalModel::new(std::env::temp_dir());
    for here in subjects().iter().filter(|here| here.exempt("switch").is_none()) {
        println!("{} to local", here.name);
        let mut core = Core::new();
        core.register_tool(Arc::new(echo_tool())).unwrap();
        core.register_provider(Arc::new(local.clone()), Vec::new()).unwrap();
        let (said, turns) = (said_here(here), [1, 3]);
        let (here, server) = take_part(here, &mut core, said, &turns, json!({}), at_once()).await;
        let there = config(json!({
            "provider": "local", "model": weights, "max_tokens": 6, "temperature": 0,
            "threads": 1, "tool_choice": "none",
        }));
        let pair = Pair { core, here, there, servers: [server, None] };
        let session = pair.begun().await;
        let before = session.messages().len();
        let session = pair.answered(&session, &pair.there).await;
        assert!(!session.messages().last().unwrap().text().is_empty());
        assert_eq!(session.messages().len(), before + 1);
        let question = Message::user("and?");
        let session = pair.core.add_message(&session, question, &pair.there).await.unwrap();
        let session = pair.answered(&session, &pair.here).await;
        assert!(texts(&session).ends_with("|and?|Home again."), "{}", texts(&session));
        for server in pair.servers.iter().flatten() {
            let last = body_of(&server.requests().pop().unwrap());
            for text in ["A dot; let me see.", "Be brief.", "one", "two", IMAGE] {
                assert!(last.contains(text), "{text:?} is lost: {last}");
            }
        }
    }
}
