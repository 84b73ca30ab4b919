//! What `openai_compatible` makes of answers, through the core and over HTTP: text, reasoning,
//! tool calls, and the next request that sends them back.

use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::*;
use orlop_providers::{OpenAiCompatible, TokioExecutor, openai};
use orlop_testkit::Gate;
use orlop_testkit::mock_model::{MockModel, RecordedRequest, Reply};
use orlop_testkit::scripted::{ScriptedTool, config, echo_tool, plain_session, texts};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;

fn core() -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::default()), Vec::new()).unwrap();
    core
}

fn core_with_tool(tool: ScriptedTool) -> Core {
    let mut core = core();
    core.register_tool(Arc::new(tool)).unwrap();
    core
}

fn config_for(server: &MockModel) -> Config {
    config(json!({ "provider": openai::NAME, "model": "m", "base_url": server.base_url() }))
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

/// The fragments of an answer, and its end.
async fn streamed(core: &Core, session: &Session, config: &Config) -> (Vec<Partial>, Response) {
    let events = core.send_request_stream(session, config, RequestOptions::default());
    let mut events: Vec<CoreEvent> = events.map(|event| event.unwrap()).collect().await;
    let Some(CoreEvent::Final(response)) = events.pop() else { panic!("no final: {events:?}") };
    let partial = |event| match event {
        CoreEvent::Partial(partial) => partial,
        CoreEvent::Final(_) => panic!("two finals"),
    };
    (events.into_iter().map(partial).collect(), *response)
}

async fn collected(core: &Core, session: &Session, config: &Config) -> Response {
    core.send_request(session, config, RequestOptions::default()).await.unwrap()
}

async fn add(core: &Core, session: &Session, message: Message, config: &Config) -> Session {
    core.add_message(session, message, config).await.unwrap()
}

fn text_of(partials: &[Partial]) -> String {
    partials.iter().map(|partial| partial.content.as_str()).collect()
}

/// The messages of a request, as the texts that were sent.
fn sent(request: &RecordedRequest) -> Vec<String> {
    #[derive(Deserialize)]
    struct Body {
        messages: Vec<Box<RawValue>>,
    }
    let body: Body = serde_json::from_slice(&request.body).unwrap();
    body.messages.iter().map(|message| message.get().to_owned()).collect()
}

fn last_item(session: &Session) -> NativeItem {
    session.native().unwrap().items().iter().last().unwrap().clone()
}

#[tokio::test] // M-01, E-27
async fn the_fragments_of_a_text_are_the_text() {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::text(["Hel", "lo, ", "wörld"]).usage(7, 3));
    let (partials, response) = streamed(&core(), &asked("hi").await, &config_for(&server)).await;
    assert_eq!(partials, ["Hel", "lo, ", "wörld"].map(Partial::text));
    let [message] = response.messages.as_slice() else { panic!("{:?}", response.messages) };
    assert_eq!(text_of(&partials), message.text());
    assert_eq!(
        message.to_json()["metadata"],
        json!({
            "finish_reason": "stop", "model": "m", "native_indices": [1],
            "usage": { "input_tokens": 7, "output_tokens": 3, "total_tokens": 10 },
        })
    );
    assert_eq!(texts(&response.session), "hi|Hello, wörld");
}

#[tokio::test] // M-01, E-28
async fn all_forms_of_a_request_end_in_the_same_session() {
    let server = MockModel::start().await.unwrap();
    server.otherwise(|_| {
        Reply::text(["one ", "two"]).reasoning("h").reasoning("m").then_tool_calls([(
            "call_1",
            "echo",
            r#"{"text":"x"}"#,
        )])
    });
    let (session, config) = (asked("hi").await, config_for(&server));
    let (partials, response) = streamed(&core(), &session, &config).await;
    let (again, of_blocking) = {
        let (session, config) = (session.clone(), config.clone());
        let forms = move || {
            let core = Blocking::new(core(), TokioExecutor::new().unwrap());
            let response = core.send_request(&session, &config, RequestOptions::default()).unwrap();
            let events = core.send_request_stream(&session, &config, RequestOptions::default());
            (events.collect::<Result<Vec<_>>>().unwrap(), response)
        };
        tokio::task::spawn_blocking(forms).await.unwrap()
    };
    assert_eq!(collected(&core(), &session, &config).await, response);
    assert_eq!(of_blocking, response);
    let mut events: Vec<CoreEvent> = partials.into_iter().map(CoreEvent::Partial).collect();
    events.push(CoreEvent::Final(Box::new(response)));
    assert_eq!(again, events);
    let forms: Vec<bool> = server.requests().iter().map(RecordedRequest::wants_stream).collect();
    assert_eq!(forms, [true, false, true, false]);
}

async fn check_reasoning(field: &str, stream: bool) {
    let server = MockModel::start().await.unwrap();
    let answer = Reply::text(["yes"]).reasoning("let me ").reasoning("think");
    server.reply(answer.reasoning_field(field)).reply(Reply::text(["ok"]));
    let (core, config, session) = (core(), config_for(&server), asked("why").await);
    let response = if stream {
        let (partials, response) = streamed(&core, &session, &config).await;
        let thoughts: String = partials.iter().map(|partial| partial.reasoning.as_str()).collect();
        assert_eq!((thoughts.as_str(), text_of(&partials).as_str()), ("let me think", "yes"));
        response
    } else {
        collected(&core, &session, &config).await
    };
    let message = &response.messages[0];
    assert_eq!((message.text(), &message.metadata()["reasoning"]), ("yes", &json!("let me think")));

    let session = add(&core, &response.session, Message::user("sure?"), &config).await;
    collected(&core, &session, &config).await;
    let back = &sent(&server.requests()[1])[1];
    assert_eq!(*back, last_item(&response.session).wire());
    assert_eq!(
        *back,
        format!(r#"{{"role":"assistant","content":"yes","{field}":"let me think"}}"#)
    );
}

#[tokio::test]
async fn reasoning_is_shown_and_goes_back_under_its_own_name() {
    for field in ["reasoning_content", "reasoning"] {
        check_reasoning(field, true).await;
        check_reasoning(field, false).await;
    }
}

#[tokio::test]
async fn what_one_family_of_models_wrote_is_not_sent_to_another() {
    let server = MockModel::start().await.unwrap();
    for text in ["one", "two", "three"] {
        server.reply(Reply::text([text]).reasoning("hm"));
    }
    let core = core();
    let with = |model: &str| {
        config(json!({ "provider": openai::NAME, "model": model, "base_url": server.base_url() }))
    };
    let ask = async |session: &Session, model: &str| {
        let session = add(&core, session, Message::user("more"), &with(model)).await;
        collected(&core, &session, &with(model)).await.session
    };
    let session = ask(&asked("hi").await, "deepseek-chat").await;
    let session = ask(&session, "vendor/deepseek-r1:free").await;
    let session = ask(&session, "gpt-5-mini").await;
    let reasons = |request: &RecordedRequest| {
        sent(request).iter().filter(|item| item.contains("reasoning_content")).count()
    };
    let counts: Vec<usize> = server.requests().iter().map(reasons).collect();
    assert_eq!(counts, [0, 1, 0]);
    assert_eq!(texts(&session), "hi|more|one|more|two|more|three");
    let kept = session.messages().iter().filter(|it| it.metadata().contains_key("reasoning"));
    assert_eq!(kept.count(), 3);
}

#[tokio::test] // M-01, A-21, F-05
async fn tool_calls_are_run_and_their_results_go_back_in_order() {
    let server = MockModel::start().await.unwrap();
    let calls = ["one", "two", "drei ü"]
        .map(|text| (format!("call_{text}"), "echo", json!({ "text": text }).to_string()));
    let answer = Reply::tool_calls(calls.clone()).split_arguments(4).interleaved();
    server.reply(answer).reply(Reply::text(["done"]));
    let (core, config) = (core_with_tool(echo_tool()), config_for(&server));

    let (partials, response) = streamed(&core, &asked("go").await, &config).await;
    let mut shown = vec![String::new(); calls.len()];
    for piece in partials.iter().flat_map(|partial| &partial.tool_calls) {
        let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
        shown[index].push_str(piece["function"]["arguments"].as_str().unwrap_or_default());
    }
    assert_eq!(shown, calls.clone().map(|(_, _, arguments)| arguments));
    let made = extract_tool_calls(&response.messages);
    let expected = calls.clone().map(|(id, name, arguments)| {
        json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
    });
    assert_eq!(json!(made), json!(expected));
    assert_eq!(response.messages[0].metadata()["finish_reason"], "tool_calls");

    let results = core.execute_tool_calls(made, &config, &CallContext::default()).await.unwrap();
    let mut session = response.session.clone();
    for result in results {
        session = add(&core, &session, result, &config).await;
    }
    let (_, end) = streamed(&core, &session, &config).await;
    assert_eq!(texts(&end.session), "go||one|two|drei ü|done");

    let [first, second] = [0, 1].map(|number| server.requests()[number].clone());
    let messages = sent(&second);
    assert_eq!(messages[0], sent(&first)[0]);
    assert_eq!(messages[1], last_item(&response.session).wire());
    for (message, (id, text)) in messages[2..].iter().zip([
        ("call_one", "one"),
        ("call_two", "two"),
        ("call_drei ü", "drei ü"),
    ]) {
        let expected = json!({ "role": "tool", "tool_call_id": id, "content": text });
        assert_eq!(*message, expected.to_string());
    }
    let schema = json!([{ "type": "function", "function": {
        "name": "echo", "description": "the echo tool",
        "parameters": { "type": "object", "properties": {} },
    } }]);
    assert_eq!((&first.json()["tools"], &second.json()["tools"]), (&schema, &schema));
}

#[tokio::test]
async fn a_whole_message_goes_back_as_the_server_spelled_it() {
    let spelled = r#"{"role":"assistant","content":"\u00e9","annotations":[],"score":1.0,"tool_calls":[{"id":"a","type":"function","function":{"name":"echo","arguments":"{\"text\" : \"x\"}"},"index":0}]}"#;
    let body = format!(
        r#"{{"choices": [{{"index": 0, "message": {spelled}, "finish_reason": "tool_calls"}}]}}"#
    );
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::status(200).body(body.clone())).reply(Reply::status(200).body(body));
    server.otherwise(|_| Reply::text(["ok"]));
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    // A server may answer whole although it was asked for a stream.
    let (partials, of_stream) = streamed(&core, &session, &config).await;
    assert_eq!((text_of(&partials).as_str(), partials[0].tool_calls.len()), ("é", 1));
    for response in [of_stream, collected(&core, &session, &config).await] {
        // Saved and loaded in between, as an application does.
        let stored = response.session.export("json").unwrap();
        let session = Session::import(&stored, "json").unwrap();
        let result = Message::tool("x").with_metadata_entry("tool_call_id", "a");
        let session = add(&core, &session, result, &config).await;
        collected(&core, &session, &config).await;
        let request = server.requests().pop().unwrap();
        assert_eq!(sent(&request)[1], spelled);
    }
}

#[tokio::test] // M-02, F-36
async fn a_structured_tool_result_is_text_to_the_server_and_stays_whole_here() {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::tool_call("call_1", "echo", "{}")).reply(Reply::text(["ok"]));
    let structured = json!({ "type": "tool_result", "text": "3 rows", "rows": [1, 2, 3] });
    let result = structured.clone();
    let tool = echo_tool().format_tool_result(move |_, _| Ok(Some(result.clone())));
    let (core, config) = (core_with_tool(tool), config_for(&server));
    let (_, response) = streamed(&core, &asked("go").await, &config).await;
    let calls = extract_tool_calls(&response.messages);
    let results = core.execute_tool_calls(calls, &config, &CallContext::default()).await.unwrap();
    let session = add(&core, &response.session, results[0].clone(), &config).await;
    assert_eq!(last_item(&session).metadata()["tool_result"], structured);
    streamed(&core, &session, &config).await;
    let expected = json!({ "role": "tool", "tool_call_id": "call_1", "content": "3 rows" });
    assert_eq!(sent(&server.requests()[1])[2], expected.to_string());
}

#[tokio::test]
async fn calls_of_other_providers_are_sent_in_function_style() {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::text(["ok"]));
    let calls = json!([
        { "type": "tool_use", "id": "toolu_1", "name": "echo", "input": { "text": "x" } },
        { "functionCall": { "id": "g1", "name": "echo", "args": {} } },
        { "id": "own", "type": "function", "function": { "name": "echo", "arguments": "{ }" } },
    ]);
    let history = [
        Message::user("go"),
        Message::assistant("").with_metadata_entry("tool_calls", calls),
        Message::tool("x").with_metadata_entry("tool_call_id", "toolu_1"),
    ];
    let session = plain_session(&history).await.unwrap();
    let response = collected(&core(), &session, &config_for(&server)).await;
    let function = |id: &str, arguments: &str| {
        let function = json!({ "name": "echo", "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function })
    };
    let expected = json!({ "role": "assistant", "content": null, "tool_calls": [
        function("toolu_1", r#"{"text":"x"}"#), function("g1", "{}"), function("own", "{ }"),
    ] });
    assert_eq!(server.requests()[0].json()["messages"][1], expected);
    // What the session says of the call stays as it was.
    let held = extract_tool_calls(response.session.messages().iter());
    assert_eq!(held[0]["type"], "tool_use");
}

#[tokio::test]
async fn an_answer_that_was_stopped_is_an_answer() {
    for reason in ["length", "content_filter"] {
        let server = MockModel::start().await.unwrap();
        server.otherwise(move |_| Reply::text(["cut sho"]).finish_reason(reason));
        let (core, config, session) = (core(), config_for(&server), asked("hi").await);
        let (partials, response) = streamed(&core, &session, &config).await;
        assert_eq!(text_of(&partials), "cut sho");
        assert_eq!(response.messages[0].metadata()["finish_reason"], reason);
        assert_eq!(collected(&core, &session, &config).await, response);
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_empty_message() {
    let server = MockModel::start().await.unwrap();
    server.otherwise(|_| Reply::empty());
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let (partials, response) = streamed(&core, &session, &config).await;
    assert!(partials.is_empty());
    assert_eq!(texts(&response.session), "hi|");
    assert_eq!(collected(&core, &session, &config).await, response);
}

#[tokio::test]
async fn a_stream_may_end_without_done() {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::text(["a", "b"]).without_done());
    let (partials, response) = streamed(&core(), &asked("hi").await, &config_for(&server)).await;
    assert_eq!((text_of(&partials).as_str(), response.messages[0].text()), ("ab", "ab"));
    assert_eq!(response.messages[0].metadata()["usage"]["total_tokens"], 15);
}

#[tokio::test]
async fn bytes_may_be_cut_anywhere() {
    let event = |text: &str| {
        let choice = json!({ "index": 0, "delta": { "content": text } });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let (first, second) = (event("a"), event("€"));
    let inside = second.find('€').unwrap();
    // In the middle of the character, in the middle of a key, between the two line ends.
    for cut in [inside + 1, 9, second.len() - 1] {
        let (server, gate) = (MockModel::start().await.unwrap(), Gate::new());
        let (front, back) = second.as_bytes().split_at(cut);
        let script = Reply::script().raw([first.as_bytes(), front].concat()).wait(&gate).raw(back);
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        server.reply(script.event(end).done());
        let (core, config, session) = (core(), config_for(&server), asked("hi").await);
        let mut events = core.send_request_stream(&session, &config, RequestOptions::default());
        let mut next = async || events.next().await.unwrap().unwrap();
        // The front of the second event has come with the first.
        assert_eq!(next().await, CoreEvent::Partial(Partial::text("a")));
        gate.open();
        assert_eq!(next().await, CoreEvent::Partial(Partial::text("€")));
        let CoreEvent::Final(response) = next().await else { panic!("no final") };
        assert_eq!(response.messages[0].text(), "a€");
    }
}
