//! Trying again: other words, or another answer, on a branch of the session.

use crate::common::*;
use orlop_app::store::ListQuery;
use orlop_app::*;
use orlop_core::*;

fn again(session: &str, index: i64, text: &str) -> ChatRequest {
    ChatRequest { branch_at: Some(index), ..chat_with(session, text, true) }
}

/// The session that answered, with its messages.
async fn answered(host: &Host, request: ChatRequest) -> (String, String) {
    let mut chat = host.chat(request).await.unwrap();
    while chat.next().await.is_some() {}
    let id = chat.session_id.clone();
    chat.ended().await;
    let text = said(host.app(), &id).await;
    (id, text)
}

/// The tries at a message, the current one in brackets; a session by the words of its user.
async fn tries(host: &Host, session: &str, index: i64) -> String {
    let found = host.app().branches(session, index).await.unwrap();
    let mut shown = Vec::new();
    for (place, summary) in found.sessions.iter().enumerate() {
        let text = said(host.app(), &summary.session_id).await;
        let text = text.split('|').nth(found.message_index).unwrap_or("-").to_owned();
        shown.push(if found.current == Some(place) { format!("[{text}]") } else { text });
    }
    shown.join(" ")
}

#[tokio::test]
async fn a_message_is_sent_again_in_other_words() {
    let scene = Scene::says(&["1", "2", "3", "4", "5", "6", "7"]);
    let (host, _) = open_door(&scene).await;
    let (first, _) = answered(&host, chat_with("s", "one", true)).await;
    answered(&host, chat_with("s", "two", true)).await;
    // Other words in place of the second message.
    let (other, text) = answered(&host, again("s", 2, "zwei")).await;
    assert_eq!((first.as_str(), text.as_str()), ("s", "one|1|zwei|3"));
    assert_eq!(said(host.app(), "s").await, "one|1|two|2", "the session stays as it is");
    assert_eq!(tries(&host, "s", 2).await, "[two] zwei");
    assert_eq!(tries(&host, &other, 2).await, "two [zwei]");
    // A third try at the same place, from the second.
    let (third, text) = answered(&host, again(&other, 2, "deux")).await;
    assert_eq!(text, "one|1|deux|4");
    assert_eq!(tries(&host, "s", 2).await, "[two] zwei deux");
    // The first message is the same in all three, and a try at it belongs to them all.
    let (fourth, text) = answered(&host, again(&third, 0, "eins")).await;
    assert_eq!(text, "eins|5");
    assert_eq!(tries(&host, &other, 0).await, "[one] eins");
    assert_eq!(tries(&host, &fourth, 0).await, "one [eins]");
    // Behind the place a branch has tries of its own.
    answered(&host, chat_with(&other, "drei", true)).await;
    answered(&host, again(&other, 4, "trois")).await;
    assert_eq!(tries(&host, &other, 4).await, "[drei] trois");
    assert_eq!(tries(&host, "s", 2).await, "[two] zwei deux");
    // What is deleted is no longer there.
    host.app().delete_session("s", None).await.unwrap();
    assert_eq!(tries(&host, &third, 2).await, "zwei [deux]");
}

#[tokio::test]
async fn an_answer_is_asked_for_again() {
    let scene = Scene::says(&["first", "second"]);
    let (host, _) = open_door(&scene).await;
    answered(&host, chat_with("s", "hello", true)).await;
    // The answer is meant; the message before it is sent once more.
    let request = ChatRequest { request_id: Some("r".to_owned()), ..again("s", -1, "") };
    let (branch, text) = answered(&host, request.clone()).await;
    assert_eq!(text, "hello|second");
    assert_ne!(branch, "s");
    // The same request is the same branch.
    assert_eq!(answered(&host, request).await.0, branch);
    assert_eq!(tries(&host, &branch, 0).await, "hello [hello]");
}

#[tokio::test]
async fn a_place_that_is_not_there_is_refused() {
    let (host, _) = open_door(&Scene::says(&["sure"])).await;
    let error = async |request: ChatRequest| match host.chat(request).await {
        Ok(_) => panic!("it was taken"),
        Err(error) => error,
    };
    assert_eq!(error(again("s", 0, "x")).await.class(), ErrorClass::NotFound);
    answered(&host, chat_with("s", "hello", true)).await;
    assert_eq!(error(again("s", 2, "x")).await.class(), ErrorClass::OutOfRange);
    assert_eq!(error(again("s", -3, "x")).await.class(), ErrorClass::OutOfRange);
    let nowhere = ChatRequest { session_id: None, ..again("s", 0, "x") };
    assert_eq!(error(nowhere).await.class(), ErrorClass::BadArgument);
}

#[tokio::test]
async fn branches_of_branches_come_from_one_session_and_copies_from_none() {
    let (host, _) = open_door(&Scene::says(&["1", "2", "3", "4"])).await;
    answered(&host, chat_with("s", "one", true)).await;
    let (branch, _) = answered(&host, again("s", 0, "eins")).await;
    answered(&host, chat_with(&branch, "two", true)).await;
    let (inner, _) = answered(&host, again(&branch, 2, "zwei")).await;
    let app = host.app();
    app.fork_session(&inner, None, Some("copy")).await.unwrap();
    app.fork_stored(&inner, None, Some("stored")).await.unwrap();
    // Whatever becomes of those between.
    app.delete_session(&branch, None).await.unwrap();
    let listed = app.list_sessions(&ListQuery::default()).await.unwrap().sessions;
    let of = |id: &str| listed.iter().find(|it| it.session_id == id).unwrap().branch_of.as_deref();
    assert_eq!((of("s"), of(&inner)), (None, Some("s")));
    assert_eq!((of("copy"), of("stored")), (None, None));
    assert_eq!(tries(&host, "copy", 0).await, "[eins]");
}
