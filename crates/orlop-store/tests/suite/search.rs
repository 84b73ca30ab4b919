//! Finding messages by their words.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::store::{NewItem, SearchQuery, Segment, SessionWrite, Store};
use orlop_core::Message;
use serde_json::json;

/// Hits as `session:index`.
async fn hits(store: &dyn Store, text: &str) -> Vec<String> {
    let hits = store.search(&ana(), &SearchQuery::new(text, 50)).await.unwrap();
    hits.iter().map(|hit| format!("{}:{}", hit.head.id, hit.message_index)).collect()
}

async fn all_words_must_be_in_one_message(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &["the quick fox", "a lazy dog", "Quick brown dog!"]).await;
    for (text, expected) in [
        ("quick fox", "s:0"),
        ("fox quick", "s:0"),
        ("dog QUICK", "s:2"),
        ("brown-dog", "s:2"),
        ("fox dog", ""),
        ("qui", ""),
        ("quicks", ""),
        ("cat", ""),
    ] {
        assert_eq!(hits(&*store, text).await.join(" "), expected, "{text}");
    }
}

async fn what_a_user_types_is_never_syntax(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &["cats AND dogs NEAR me", "terms body rowid", "it's a \\ test"])
        .await;
    for empty in ["", " ", "*", "\"", "''", "-", "()", "\\", "!&|:*<->", "\0", "\u{200b}", "…"] {
        assert_eq!(hits(&*store, empty).await, Vec::<String>::new(), "{empty:?}");
    }
    for (text, expected) in [
        ("\"cats", "s:0"),
        ("cat*", ""),
        ("cats AND", "s:0"),
        ("cats OR nothing", ""),
        ("-dogs", "s:0"),
        ("cats NOT dogs", ""),
        ("NEAR(cats me)", "s:0"),
        ("terms:body", "s:1"),
        ("^cats", "s:0"),
        ("cats & dogs", "s:0"),
        ("!cats", "s:0"),
        ("cats <-> dogs", "s:0"),
        ("cats:*", "s:0"),
        ("it's", "s:2"),
        ("'; DROP TABLE items; --", ""),
        ("$1 ?1", ""),
        ("cats\0dogs", "s:0"),
    ] {
        assert_eq!(hits(&*store, text).await.join(" "), expected, "{text:?}");
    }
    let many = "dogs ".repeat(5000) + &"x".repeat(100_000);
    assert_eq!(hits(&*store, &many).await, Vec::<String>::new());
}

async fn case_and_accents_do_not_matter(place: &Place) {
    let store = place.open();
    let texts = ["Ein Café in ÅRHUS", "cafe\u{301} noir", "東京タワー visit", "Привет МИР"];
    create(&*store, &ana(), "s", &texts).await;
    for (text, expected) in [
        ("cafe arhus", "s:0"),
        ("CAFÉ noir", "s:1"),
        ("東京", "s:2"),
        ("タワー", "s:2"),
        ("мир", "s:3"),
    ] {
        assert_eq!(hits(&*store, text).await.join(" "), expected, "{text}");
    }
}

async fn a_session_is_one_hit_its_best(place: &Place) {
    let store = place.open();
    let long = format!("apple {}", "filler ".repeat(300));
    create(&*store, &ana(), "one", &[&long, "apple apple pie", "nothing"]).await;
    create(&*store, &ana(), "two", &[&long]).await;
    create(&*store, &ana(), "three", &["nothing"]).await;
    assert_eq!(hits(&*store, "apple").await, ["one:1", "two:0"]);
    let best = store.search(&ana(), &SearchQuery::new("apple", 1)).await.unwrap();
    assert_eq!(best.len(), 1);
    assert_eq!(best[0].head, store.head(&ana(), "one").await.unwrap().unwrap());
    assert_eq!(best[0].snippet, "apple apple pie");
    assert_eq!(store.search(&ana(), &SearchQuery::new("apple", 0)).await.unwrap(), []);
}

async fn a_snippet_is_on_one_line_around_the_words(place: &Place) {
    let store = place.open();
    let text = format!(
        "{}\n\nhere is the\n\tneedle,\r\nfound {}",
        "long ago ".repeat(90),
        "and so on ".repeat(90)
    );
    create(&*store, &ana(), "s", &[&text]).await;
    let hit = store.search(&ana(), &SearchQuery::new("needle", 1)).await.unwrap().remove(0);
    assert!(hit.snippet.contains("here is the needle, found"), "{}", hit.snippet);
    assert!(!hit.snippet.contains(['\n', '\r', '\t']) && hit.snippet.chars().count() < 200);
}

async fn only_what_is_in_the_session_now_is_found(place: &Place) {
    let store = place.open();
    let lease = create(&*store, &ana(), "s", &["zero", "secret plan", "two"]).await;
    let fork = crate::steps::lease(&*store, &ana(), "fork").await;
    let copy =
        SessionWrite { from: Some("s".to_owned()), ..write(0, vec![new(&["begin"]), kept(1..2)]) };
    save(&*store, &ana(), &fork, copy).await.unwrap();
    assert_eq!(hits(&*store, "secret").await, ["fork:1", "s:1"]);
    let edit = write(1, vec![kept(0..1), new(&["open plan"]), kept(2..3)]);
    save(&*store, &ana(), &lease, edit).await.unwrap();
    assert_eq!(hits(&*store, "secret").await, ["fork:1"]);
    assert_eq!(hits(&*store, "plan").await, ["s:1", "fork:1"]);
    let moved = write(2, vec![kept(1..2), kept(2..3), kept(0..1)]);
    save(&*store, &ana(), &lease, moved).await.unwrap();
    assert_eq!(hits(&*store, "open").await, ["s:0"]);
    assert_eq!(hits(&*store, "zero").await, ["s:2"]);
}

async fn native_history_and_empty_texts_are_not_found(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let silent = NewItem { search: String::new(), ..item("hidden words") };
    let session = SessionWrite {
        native: set_native(vec![new_native(&["native words"])], "x"),
        ..write(0, vec![Segment::New(vec![silent])])
    };
    save(&*store, &ana(), &lease, session).await.unwrap();
    assert_eq!(hits(&*store, "words").await, Vec::<String>::new());
}

async fn a_message_is_found_by_the_text_given_for_it(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    let message = Message::user(json!([{"type": "image"}]));
    let body = serde_json::to_string(&message).unwrap();
    let picture = NewItem { body, search: "a picture\0of a heron".to_owned() };
    save(&*store, &ana(), &lease, write(0, vec![Segment::New(vec![picture])])).await.unwrap();
    let hit = store.search(&ana(), &SearchQuery::new("heron", 9)).await.unwrap().remove(0);
    assert_eq!(hit.snippet, "a picture of a heron");
    assert_eq!(hits(&*store, "image").await, Vec::<String>::new());
}

async fn a_huge_message_can_be_stored_and_found(place: &Place) {
    let store = place.open();
    let words: String = (0..300_000).map(|number| format!("word{number} ")).collect();
    let blob = "A0".repeat(1_000_000);
    create(&*store, &ana(), "s", &[&words, &blob, "small"]).await;
    assert_eq!(hits(&*store, "word7").await, ["s:0"]);
    assert_eq!(hits(&*store, "small").await, ["s:2"]);
    assert_eq!(hits(&*store, &blob).await, ["s:1"]);
    assert_eq!(texts(&*store, &ana(), "s").await[1], blob);
}

async fn many_messages_with_the_word_are_no_obstacle(place: &Place) {
    let store = place.open();
    let texts: Vec<String> = (0..1200).map(|number| format!("common number {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let lease = create(&*store, &ana(), "old", &["common treasure"]).await;
    create(&*store, &ana(), "big", &texts).await;
    assert_eq!(hits(&*store, "common treasure").await, ["old:0"]);
    let mut all = hits(&*store, "common").await;
    all.sort();
    assert_eq!(all.len(), 2);
    assert!(all[1].starts_with("old"));
    store.delete(&ana(), &lease, vec![]).await.unwrap().unwrap();
    assert_eq!(hits(&*store, "treasure").await, Vec::<String>::new());
}

async fn sub_sessions_are_searched_only_if_asked(place: &Place) {
    let store = place.open();
    for (id, metadata) in [
        ("main", json!({"text": "\"parent_session_id\":\"x\""})),
        ("sub", json!({"parent_session_id": "main"})),
        ("freed", json!({"parent_session_id": null})),
    ] {
        let lease = lease(&*store, &ana(), id).await;
        let metadata = metadata.as_object().cloned();
        let session = SessionWrite { metadata, ..write(0, vec![new(&["a heron"])]) };
        save(&*store, &ana(), &lease, session).await.unwrap();
    }
    assert_eq!(hits(&*store, "heron").await, ["freed:0", "main:0"]);
    // One that does not count takes no place of another.
    let one = store.search(&ana(), &SearchQuery::new("heron", 2)).await.unwrap();
    assert_eq!(one.len(), 2);
    let all = SearchQuery { sub_sessions: true, ..SearchQuery::new("heron", 50) };
    assert_eq!(store.search(&ana(), &all).await.unwrap().len(), 3);
}

on_every_store! {
    #[test]
    all_words_must_be_in_one_message;
    #[test]
    what_a_user_types_is_never_syntax;
    #[test]
    case_and_accents_do_not_matter;
    #[test]
    a_session_is_one_hit_its_best;
    #[test]
    a_snippet_is_on_one_line_around_the_words;
    #[test]
    only_what_is_in_the_session_now_is_found;
    #[test]
    native_history_and_empty_texts_are_not_found;
    #[test]
    a_message_is_found_by_the_text_given_for_it;
    #[test]
    a_huge_message_can_be_stored_and_found;
    #[test]
    many_messages_with_the_word_are_no_obstacle;
    #[test]
    sub_sessions_are_searched_only_if_asked;
}
