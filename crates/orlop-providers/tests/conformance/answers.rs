//! What providers make of answers, and what they send.

use crate::stage::{Stage, asked, at_once, metadata, shown, stage, stage_with};
use crate::subject::Subject;
use orlop_core::{Message, Response, Session, Value};
use orlop_testkit::mock_model::{Completion, Reply};
use orlop_testkit::scripted::{plain_session, texts};
use serde_json::json;

/// The calls of the suite. Ids as a server of chat completions gives them.
pub(crate) const CALLS: [(&str, &str, &str); 3] = [
    ("call_1", "echo", r#"{"text":"one"}"#),
    ("call_2", "echo", r#"{"text":"two"}"#),
    ("call_3", "echo", r#"{"text":"drei ü"}"#),
];

/// Asks for the same answer streamed and whole, of servers that know nothing of each other, and
/// makes sure that both come to the same.
async fn both(subject: &Subject, reply: Reply<Completion>) -> (Vec<orlop_core::Partial>, Response) {
    let hi = asked("hi").await;
    let told = stage(subject, [reply.clone()]).await.streamed(&hi).await;
    let told = told.map_err(|(_, error)| error).unwrap();
    let whole = stage(subject, [reply]).await.whole(&hi).await.unwrap();
    assert_same(&told.response.session, &whole.session);
    (told.partials, whole)
}

/// Two sessions say the same and hold the same native items.
pub(crate) fn assert_same(one: &Session, other: &Session) {
    let messages = |session: &Session| -> Vec<Value> {
        session.messages().iter().map(Message::to_json).collect()
    };
    let items = |session: &Session| -> Vec<Value> {
        let items = session.native().unwrap().items();
        items.iter().map(|item| item.value().clone()).collect()
    };
    assert_eq!(items(one), items(other));
    assert_eq!(messages(one), messages(other));
}

pub(crate) async fn text(subject: &Subject) {
    let stage = stage(subject, [Reply::text(["Hel", "lo, ", "wörld"])]).await;
    let response = stage.whole(&asked("hi").await).await.unwrap();
    assert_eq!(texts(&response.session), "hi|Hello, wörld");
    let told = metadata(&response);
    assert_eq!((&told["finish_reason"], &told["model"]), (&json!("stop"), &json!(subject.model)));
    response.session.verify().unwrap();
}

pub(crate) async fn stream(subject: &Subject) {
    let pieces = ["Hel", "lo, ", "wörld", " \"\\\n\u{1F600}"];
    let (partials, response) = both(subject, Reply::text(pieces)).await;
    let shown: Vec<&str> = partials.iter().map(|partial| partial.content.as_str()).collect();
    assert_eq!(shown, pieces);
    assert_eq!(response.messages.last().unwrap().text(), pieces.concat());
    response.session.verify().unwrap();
}

pub(crate) async fn tool_calls(subject: &Subject) {
    let calls = Reply::text(["Let me ", "see."]).then_tool_calls(CALLS);
    let calls = calls.split_arguments(4).interleaved();
    let (partials, _) = both(subject, calls.clone()).await;
    assert_eq!(shown(&partials), "Let me see.");
    assert_eq!(crate::stage::arguments(&partials), CALLS.map(|(_, _, arguments)| arguments));

    let stage = stage(subject, [calls, Reply::text(["done"])]).await;
    let told = stage.streamed(&asked("go").await).await.map_err(|(_, error)| error).unwrap();
    assert_eq!(metadata(&told.response)["finish_reason"], "tool_calls");
    let session = stage.run_calls(&told.response).await;
    let end = stage.streamed(&session).await.map_err(|(_, error)| error).unwrap();
    let said = texts(&end.response.session);
    assert!(said.ends_with("|one|two|drei ü|done"), "{said}");
    end.response.session.verify().unwrap();
}

/// The answer goes back as its native items say, byte for byte.
async fn goes_back(subject: &Subject, reply: Reply<Completion>, stream: bool) {
    let stage = stage(subject, [reply, Reply::text(["ok"])]).await;
    let hi = asked("hi").await;
    let answer = match stream {
        true => stage.streamed(&hi).await.map_err(|(_, error)| error).unwrap().response,
        false => stage.whole(&hi).await.unwrap(),
    };
    assert_eq!(metadata(&answer)["reasoning"], "let me think");
    let before = hi.messages().len();
    let items: Vec<String> = answer
        .session
        .native()
        .unwrap()
        .items()
        .iter()
        .skip(before)
        .map(|item| item.wire().to_owned())
        .collect();
    assert!(!items.is_empty());
    // Saved and loaded in between, as an application does.
    let stored = answer.session.export("json").unwrap();
    let stored = Response { session: Session::import(&stored, "json").unwrap(), ..answer };
    let mut session = stage.run_calls(&stored).await;
    if session.messages().len() == stored.session.messages().len() {
        session = stage.add(&session, Message::user("sure?")).await;
    }
    stage.whole(&session).await.unwrap();
    if subject.has_server() {
        let sent = stage.server().requests().pop().unwrap().body;
        let sent = String::from_utf8(sent.to_vec()).unwrap();
        for item in items {
            assert!(sent.contains(&item), "{item}\nis not in\n{sent}");
        }
    }
}

pub(crate) async fn reasoning(subject: &Subject) {
    let answer = Reply::text(["yes"]).reasoning("let me ").reasoning("think");
    let (partials, _) = both(subject, answer.clone()).await;
    let thoughts: String = partials.iter().map(|partial| partial.reasoning.as_str()).collect();
    assert_eq!((thoughts.as_str(), shown(&partials).as_str()), ("let me think", "yes"));
    for stream in [true, false] {
        goes_back(subject, answer.clone(), stream).await;
    }
}

pub(crate) async fn reasoning_with_calls(subject: &Subject) {
    let answer = Reply::tool_calls(CALLS).reasoning("let me ").reasoning("think");
    both(subject, answer.clone()).await;
    for stream in [true, false] {
        goes_back(subject, answer.clone(), stream).await;
    }
}

/// A message with an image.
pub(crate) fn with_image(text: &str, image: Value) -> Message {
    let message = json!({ "role": "user", "content": text, "multipartContent": [image] });
    Message::from_json(message).unwrap()
}

/// An image of one dot.
pub(crate) const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(crate) async fn images(subject: &Subject) {
    let inline = json!({ "type": "image", "data": IMAGE, "media_type": "image/png" });
    let by_address = json!({ "type": "image", "url": "https://example.com/cat.png" });
    let stage = stage(subject, [Reply::text(["a dot"]), Reply::text(["a cat"])]).await;
    let session = plain_session(&[with_image("what is this?", inline)]).await.unwrap();
    let session = stage.whole(&session).await.unwrap().session;
    let sent = stage.last_body();
    assert!(texts_in(&sent).iter().any(|text| text.contains(IMAGE)), "{sent}");
    let session = stage.add(&session, with_image("and this?", by_address)).await;
    let response = stage.whole(&session).await.unwrap();
    let sent = stage.last_body();
    // A server that fetches nothing is told where it is.
    let named = |text: &&str| text.contains("https://example.com/cat.png");
    assert!(texts_in(&sent).iter().any(named), "{sent}");
    assert_eq!(texts(&response.session), "what is this?|a dot|and this?|a cat");
}

/// Every text in a document.
pub(crate) fn texts_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts_in).collect(),
        Value::Object(fields) => fields.values().flat_map(texts_in).collect(),
        _ => Vec::new(),
    }
}

/// Whether `wanted` stands anywhere in a document.
fn holds(value: &Value, wanted: &Value) -> bool {
    value == wanted
        || match value {
            Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
            Value::Object(fields) => fields.values().any(|field| holds(field, wanted)),
            _ => false,
        }
}

pub(crate) async fn system_message(subject: &Subject) {
    let stage = stage(subject, [Reply::text(["Ahoy"]), Reply::text(["Aye"])]).await;
    let history = [Message::system("You are a pirate."), Message::user("hi")];
    let session = plain_session(&history).await.unwrap();
    let session = stage.whole(&session).await.unwrap().session;
    assert_eq!(texts(&session), "You are a pirate.|hi|Ahoy");
    let session = stage.add(&session, Message::user("more")).await;
    let session = stage.whole(&session).await.unwrap().session;
    assert_eq!(texts(&session), "You are a pirate.|hi|Ahoy|more|Aye");
    for request in stage.server().requests() {
        let sent = request.json();
        let told = texts_in(&sent).iter().filter(|text| **text == "You are a pirate.").count();
        assert_eq!(told, 1, "{sent}");
    }
}

pub(crate) async fn usage(subject: &Subject) {
    let reply = Reply::text(["yes"]).reasoning("hm").usage(100, 20).cached(40).thought(8);
    let (_, response) = both(subject, reply).await;
    let usage = &metadata(&response)["usage"];
    let counted = ["input_tokens", "output_tokens", "total_tokens"].map(|key| &usage[key]);
    assert_eq!(counted, [&json!(100), &json!(20), &json!(120)], "{usage}");
    if subject.tells_details() {
        let details = ["cache_read_tokens", "reasoning_tokens"].map(|key| &usage[key]);
        assert_eq!(details, [&json!(40), &json!(8)], "{usage}");
    }
}

pub(crate) async fn finish_reasons(subject: &Subject) {
    for reason in subject.finishes {
        let reply = match *reason {
            "tool_calls" => Reply::tool_calls(CALLS),
            reason => Reply::text(["cut sho"]).finish_reason(reason),
        };
        let (_, response) = both(subject, reply).await;
        assert_eq!(metadata(&response)["finish_reason"], **reason);
    }
}

pub(crate) async fn structured_output(subject: &Subject) {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let said = r#"{"city":"Paris"}"#;
    let more = json!({ "output_schema": schema });
    let replies = [Reply::text([said]), Reply::text([said])];
    let stage = stage_with(subject, replies, more, at_once()).await;
    let hi = asked("hi").await;
    let told = stage.streamed(&hi).await.map_err(|(_, error)| error).unwrap();
    assert_eq!(told.text(), said);
    let whole = stage.whole(&hi).await.unwrap();
    assert_eq!(whole.messages.last().unwrap().text(), said);
    for request in stage.server().requests() {
        let sent = request.json();
        assert!(holds(&sent, &schema), "{sent}");
    }
}

pub(crate) async fn settings(subject: &Subject) {
    let more = json!({
        "temperature": 0.25, "max_tokens": 1234, "top_p": 0.75, "stop": ["END"],
        "tool_choice": "required",
    });
    let stage = stage_with(subject, [Reply::tool_calls(CALLS)], more, at_once()).await;
    stage.whole(&asked("hi").await).await.unwrap();
    let sent = stage.last_body();
    let wanted = [json!(0.25), json!(1234), json!(0.75), json!(["END"])];
    let known = if subject.knows_stop() { &wanted[..] } else { &wanted[..3] };
    for wanted in known {
        assert!(holds(&sent, wanted), "{wanted} is not in {sent}");
    }
    assert!(texts_in(&sent).contains(&"echo"), "the tool is not offered: {sent}");
}

pub(crate) async fn model_list(subject: &Subject) {
    let stage: Stage = stage(subject, []).await;
    stage.server().models(["mock-model", "second"]);
    let models = stage.core.fetch_models(&stage.config).await.unwrap();
    let ids: Vec<&Value> = models.iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["mock-model", "second"]);
}

pub(crate) async fn empty_answer(subject: &Subject) {
    let (partials, _) = both(subject, Reply::empty()).await;
    assert_eq!(shown(&partials), "");
    // Some servers refuse an empty message; the conversation goes on all the same.
    let stage = stage(subject, [Reply::empty(), Reply::text(["ok"])]).await;
    let response = stage.whole(&asked("hi").await).await.unwrap();
    assert_eq!(texts(&response.session), "hi|");
    let session = stage.add(&response.session, Message::user("well?")).await;
    let response = stage.whole(&session).await.unwrap();
    assert!(texts(&response.session).ends_with("well?|ok"));
}
