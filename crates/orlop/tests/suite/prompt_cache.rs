//! The key of the prompt cache in the real program.

use crate::common::Place;

#[tokio::test] // M-05, M-06, H-27
async fn a_session_keeps_its_key_from_process_to_process() {
    let place = Place::new("cache-key").await;
    let key = || place.asked()["prompt_cache_key"].as_str().unwrap_or("none").to_owned();
    place.run(&["run", "--session", "s", "hello"]).await.ok();
    let first = key();
    assert!(first.starts_with("orlop-"), "{first}");
    let stored = place.run(&["session", "export", "s"]).await.json();
    assert_eq!(stored["metadata"]["overrides"]["prompt_cache_key"], first.as_str());
    place.run(&["run", "--session", "s", "again"]).await.ok();
    assert_eq!(key(), first);
    place.run(&["run", "--session", "t", "hello"]).await.ok();
    assert_ne!(key(), first);

    place
        .run(&["run", "--session", "u", "--set", "prompt_cache.enabled=false", "hello"])
        .await
        .ok();
    assert_eq!(key(), "none");
    // A session that had none gets one with its next request.
    place.run(&["run", "--session", "u", "again"]).await.ok();
    assert!(key().starts_with("orlop-") && key() != first);
}
