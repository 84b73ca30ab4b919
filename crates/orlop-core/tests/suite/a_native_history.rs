//! Native history: the list, its seal, the mapping of messages to items, internal metadata.

use orlop_core::*;
use orlop_testkit::scripted::{
    ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with, native_session,
    plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

fn mapping(message: &Message) -> Value {
    message.native_indices().to_json().unwrap_or_default()
}

fn mappings(session: &Session) -> Value {
    session.messages().iter().map(mapping).collect()
}

async fn three_native(core: &Core) -> Session {
    let messages = [Message::user("a"), Message::assistant("b"), Message::user("c")];
    native_session(core, &messages, &config(json!({}))).await.unwrap()
}

#[tokio::test] // A-15
async fn native_history_is_a_list_or_absent() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    let config = config(json!({"model": "m"}));
    let session = three_native(&core).await;
    let mut json = session.to_json();
    json["metadata"]["native_messages"] = json!("x");
    let odd = Session::from_json(json).unwrap();
    assert!(odd.native().is_none());
    let joined = core.join_sessions(&session, &odd, Some(&config)).await.unwrap();
    assert!(joined.native().is_none());

    let empty = core.slice_session(&session, Slice::range(0, 0), Some(&config)).await;
    assert_eq!(empty.to_json()["metadata"]["native_messages"], json!([]));
    let joined = core.join_sessions(&session, &empty, Some(&config)).await.unwrap();
    assert_eq!(joined.native().unwrap().items(), session.native().unwrap().items());
}

#[tokio::test] // A-16
async fn native_history_and_its_seal_come_together() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["d"]));
    let core = core_with(&provider).unwrap();
    let config = config(json!({"model": "m"}));
    let here = CallContext::default();
    let session = three_native(&core).await;
    let plain = plain_session(&[Message::user("a")]).await.unwrap();
    let inserted = NewMessage::from(Message::user("d")).at(Place::Start);
    let cut = core.split_session(&session, Slice::without([1]), Some(&config)).await;
    let written = [
        core.add_message(&session, Message::user("d"), &config).await.unwrap(),
        core.add_message(&session, inserted, &config).await.unwrap(),
        core.modify_message(&session, 0, "A", &config, &here).await.unwrap(),
        core.slice_session(&session, Slice::range(0, 1), Some(&config)).await,
        cut.kept,
        cut.removed,
        core.fork_session(&session, 1, None, Some(&config)).await,
        core.join_sessions(&session, &session, Some(&config)).await.unwrap(),
        core.rebuild_native_history(&plain, Some(&config), None, None, &here).await.unwrap(),
        core.send_request(&plain, &config, RequestOptions::default()).await.unwrap().session,
    ];
    for session in written {
        let metadata = &session.to_json()["metadata"];
        assert!(metadata["native_messages"].is_array(), "{metadata}");
        assert!(metadata["native_messages_integrity"].is_string(), "{metadata}");
        session.verify().unwrap();
    }
}

#[tokio::test] // A-19
async fn finals_point_into_native_history() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["one"]));
    provider.reply(ScriptedReply::items(vec![
        json!({"think": "hm"}),
        json!({"who": "assistant", "say": "two"}),
    ]));
    let core = core_with(&provider).unwrap();
    let config = config(json!({"model": "m"}));
    let mut session = plain_session(&[Message::user("hi")]).await.unwrap();
    for expected in [json!([[1]]), json!([[3, 4]])] {
        let response =
            core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
        assert_eq!(response.messages.iter().map(mapping).collect::<Value>(), expected);
        let count = response.session.native().unwrap().items().len();
        for message in response.session.messages().iter() {
            assert!(message.native_indices().positions().unwrap().iter().all(|&at| at < count));
        }
        session =
            core.add_message(&response.session, Message::user("more"), &config).await.unwrap();
    }
}

#[tokio::test] // A-20
async fn messages_and_native_items_map_many_to_many() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::items(vec![
        json!({"pair": ["first", "second"]}),
        json!({"think": "hm"}),
        json!({"who": "assistant", "say": "third"}),
    ]));
    let core = core_with(&provider).unwrap();
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let config = config(json!({"model": "m"}));
    let answered =
        core.send_request(&session, &config, RequestOptions::default()).await.unwrap().session;
    assert_eq!(texts(&answered), "hi|first|second|third");
    assert_eq!(mappings(&answered), json!([[0], [1], [1], [2, 3]]));
}

/// Writes the metadata key `k` of messages into native items and reads it back.
fn remembering_feature() -> ScriptedFeature {
    ScriptedFeature::new("memory")
        .to_native_messages(|input, _| {
            let marks = input.messages.iter().enumerate().filter_map(|(index, message)| {
                let patch = map(json!({"k": message.metadata().get("k")?}));
                Some(Edit::PatchMetadata { indices: vec![index], patch })
            });
            Ok(Change::Edit(marks.collect()))
        })
        .from_native_messages(|input, _| {
            let restored = input.messages.iter().map(|message| {
                let at = message.native_indices().positions().unwrap_or_default();
                let item = at.first().and_then(|&at| input.native_messages.get(at));
                match item.and_then(|item| item.metadata().get("k")) {
                    Some(value) => message.clone().with_metadata_entry("k", value.clone()),
                    None => message.clone(),
                }
            });
            Ok(Change::Replace(restored.collect()))
        })
}

#[tokio::test] // A-25, A-26
async fn only_internal_metadata_of_native_items_survives_a_rebuild() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_feature(Arc::new(remembering_feature())).unwrap();
    let marked = Message::user("a").with_metadata(map(json!({"k": "kept", "n": 1})));
    let session = plain_session(&[marked, Message::user("b")]).await.unwrap();
    let here = CallContext::default();
    let config = config(json!({}));
    let session =
        core.rebuild_native_history(&session, Some(&config), None, None, &here).await.unwrap();
    let native = session.to_json()["metadata"]["native_messages"].clone();
    assert_eq!(native[0]["_metadata"], json!({"k": "kept"}));
    let metadata = |session: &Session| session.to_json()["messages"][0]["metadata"].clone();
    assert_eq!(metadata(&session), json!({"k": "kept", "native_indices": [0]}));
    let again =
        core.rebuild_native_history(&session, Some(&config), None, None, &here).await.unwrap();
    assert_eq!(metadata(&again), json!({"k": "kept", "native_indices": [0]}));
}

#[tokio::test] // A-27
async fn internal_metadata_is_not_part_of_what_is_sent() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["b"]));
    let mut core = core_with(&provider).unwrap();
    core.register_feature(Arc::new(remembering_feature())).unwrap();
    let marked = Message::user("a").with_metadata_entry("k", "secret");
    let session = plain_session(&[marked]).await.unwrap();
    let config = config(json!({"model": "m"}));
    let session =
        core.send_request(&session, &config, RequestOptions::default()).await.unwrap().session;
    assert!(session.export("json").unwrap().contains("_metadata"));
    let (sent, _) = &provider.requests()[0];
    assert_eq!(sent[0].metadata()["k"], "secret");
    assert_eq!(sent[0].wire(), r#"{"who":"user","say":"a"}"#);
}

#[test] // A-27
fn internal_metadata_is_found_however_its_key_is_spelled() {
    for key in
        [r#""_metadata""#, r#""\u005fmetadata""#, r#""_\u006Detadata""#, r#""_metadat\u0061""#]
    {
        let text = format!(r#"{{"say":"a",{key}:{{"k":"secret"}}}}"#);
        let item = NativeItem::from_text(&text).unwrap();
        assert_eq!(item.wire(), r#"{"say":"a"}"#, "{key}");
        assert_eq!(item.metadata()["k"], "secret", "{key}");
    }
}
