//! Questions to the user.

use crate::stage::*;
use expect_test::expect;
use orlop_app::{Approval, Decision, EventKind, Recovery, Request};
use orlop_core::{ErrorClass, Value};
use orlop_plugins::AskUser;
use orlop_testkit::scripted::*;
use serde_json::json;

fn asking(arguments: Value) -> Stage {
    Stage::calls(&[("c1", "ask_user", arguments)]).tool(AskUser)
}

fn answer(answer: Value) -> Decision {
    let input = Some(json!({ "answer": answer }));
    Decision { allow: true, input, by: "ana".to_owned(), ..Decision::default() }
}

#[tokio::test]
async fn any_surface_gets_a_form_and_the_answer_must_fit_it() {
    let form = json!({"type": "object", "required": ["port"], "properties": {
        "port": {"type": "integer", "title": "Port"}}});
    let app = asking(json!({"question": "Where?", "form": form})).start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    let request = handle.request_id().to_owned();
    let mut told = Vec::new();
    while let Some(event) = handle.next().await {
        match &event.kind {
            EventKind::ApprovalRequested { call_id, form, reason, .. } => {
                let form = form.clone().unwrap();
                told.push(format!("{reason}: {} {}", form["title"], form["inputs"]));
                for wrong in
                    [answer(json!({"port": "x"})), Decision { allow: true, ..Decision::default() }]
                {
                    let error = app.decide(&request, call_id, wrong).await.unwrap_err();
                    assert_eq!(error.class(), ErrorClass::BadArgument);
                    told.push(error.message().to_owned());
                }
                app.decide(&request, call_id, answer(json!({"port": 80}))).await.unwrap();
            }
            EventKind::ToolResult { message, .. } => {
                told.push(message.text().to_owned());
                told.push(message.metadata()["display"]["answer"].to_string());
            }
            _ => {}
        }
    }
    expect![[r#"
        tool "ask_user" has a question: "Where?" [{"name":"port","type":"integer","label":"Port","required":true}]
        the answer does not fit the form: /port: "x" is not of type "integer"
        this call needs an answer; decide with the input {"answer": ..}
        The user answered: {"port":80}
        {"port":80}"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn who_does_not_answer_is_not_answered_for() {
    let question = json!({"question": "Which?", "options": ["a", "b"], "answer": "made up"});
    for (approval, expected) in [
        (
            Approval::Allow,
            expect![
                "Error: this call was not allowed: nobody is there to answer; decide yourself what can be decided, and say at the end what you assumed"
            ],
        ),
        (
            Approval::Deny,
            expect![
                "Error: this call was not allowed: nobody is there to answer; decide yourself what can be decided, and say at the end what you assumed"
            ],
        ),
    ] {
        let app = asking(question.clone()).start().await;
        let request = Request { approval, ..ask("s", "go") };
        expected.assert_eq(&results(&events_of(&app, request).await)[0]);
    }
    let app = asking(question).start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    let request = handle.request_id().to_owned();
    while let Some(event) = handle.next().await {
        match &event.kind {
            EventKind::ApprovalRequested { call_id, .. } => {
                app.decide(&request, call_id, Decision::default()).await.unwrap();
            }
            EventKind::ToolResult { message, .. } => {
                expect!["Error: this call was not allowed: the user does not want to answer; go on without an answer, or stop"].assert_eq(message.text());
            }
            _ => {}
        }
    }
}

#[test]
fn a_question_outlives_the_program_that_asked_it() {
    let stage = asking(json!({"question": "Which?", "options": ["a", "b"]}));
    let first = process();
    first.block_on(async {
        let app = stage.start().await;
        let request = Request { request_id: Some("r".to_owned()), ..ask("s", "go") };
        let mut handle = app.send_request(request).await.unwrap();
        while let Some(event) = handle.next().await {
            if let EventKind::ApprovalRequested { .. } = &event.kind {
                break;
            }
        }
    });
    drop(first);
    process().block_on(async {
        let app = stage.start().await;
        bury(&stage.store, "s").await;
        assert_eq!(app.recover(Recovery::Resume).await.unwrap(), 1);
        let wrong = app.decide("r", "c1", answer(json!(7))).await.unwrap_err();
        assert_eq!(wrong.class(), ErrorClass::BadArgument);
        app.decide("r", "c1", answer(json!("b"))).await.unwrap();
        let mut events = app.request_events("r", 0).await.unwrap();
        while futures::StreamExt::next(&mut events).await.is_some() {}
        assert_eq!(said(&app, "s").await, "go||The user answered: b|done");
    });
}

#[tokio::test]
async fn what_cannot_be_asked_is_told_to_the_model() {
    let stage = asking(json!({"question": "", "options": []}));
    let app = stage.start().await;
    expect![[r#"Error: this call was not allowed: there is no question; say what to ask under "question""#]]
        .assert_eq(&results(&events_of(&app, ask("s", "go")).await)[0]);
}

#[tokio::test]
async fn without_an_application_nobody_is_asked() {
    let provider = ScriptedProvider::default();
    let mut core = core_with(&provider).unwrap();
    core.register_tool(std::sync::Arc::new(AskUser)).unwrap();
    let call = json!({"id": "c", "type": "function", "function": {"name": "ask_user", "arguments": "{\"question\": \"q\", \"answer\": \"made up\"}"}});
    let calls = vec![call.as_object().cloned().unwrap()];
    let answers = core.execute_tool_calls(calls, &config(json!({})), &Default::default()).await;
    expect!["nobody can be asked here; decide yourself, and say what you assumed"]
        .assert_eq(answers.unwrap()[0].text());
}
