//! What plugins keep with sessions.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::Scope;
use orlop_app::store::{OF_USER, PluginState, SessionWrite};
use orlop_core::ErrorClass::NotFound;
use orlop_core::Value;
use serde_json::json;

async fn a_state_is_set_by_whoever_knows_its_version(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &[]).await;
    let set = async |expected, value: Option<Value>| {
        store.set_plugin_state(&ana(), "s", "p", expected, value).await.unwrap()
    };
    let get = async || store.plugin_state(&ana(), "s", "p").await.unwrap();
    assert_eq!(set(1, Some(json!(0))).await, None);
    assert_eq!(set(0, Some(json!({"n": 1}))).await, Some(1));
    assert_eq!(get().await, Some(PluginState { value: json!({"n": 1}), version: 1 }));
    assert_eq!(set(0, Some(json!("lost"))).await, None);
    assert_eq!(set(2, Some(json!("lost"))).await, None);
    assert_eq!(set(1, Some(Value::Null)).await, Some(2));
    assert_eq!(get().await, Some(PluginState { value: Value::Null, version: 2 }));
    assert_eq!(set(1, None).await, None);
    assert_eq!(get().await.map(|state| state.version), Some(2));
}

async fn a_version_is_never_used_twice(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &[]).await;
    let set = async |expected, value: Option<Value>| {
        store.set_plugin_state(&ana(), "s", "p", expected, value).await.unwrap()
    };
    assert_eq!(set(0, None).await, Some(0), "there was none");
    assert_eq!(set(0, Some(json!(1))).await, Some(1));
    assert_eq!(set(1, None).await, Some(0), "there is none again");
    assert_eq!(store.plugin_state(&ana(), "s", "p").await.unwrap(), None);
    assert_eq!(set(1, Some(json!("late"))).await, None);
    let version = set(0, Some(json!(2))).await.unwrap();
    assert!(version > 1, "{version}");
}

async fn plugins_and_sessions_have_their_own(place: &Place) {
    let store = place.open();
    let stray = store.set_plugin_state(&ana(), "s", "p", 0, Some(json!(1))).await;
    assert_eq!(class(stray), NotFound);
    for session in ["s", "t"] {
        create(&*store, &ana(), session, &[]).await;
        for plugin in ["p", "q"] {
            let value = Some(json!([session, plugin]));
            store.set_plugin_state(&ana(), session, plugin, 0, value).await.unwrap();
        }
    }
    for (session, plugin) in [("s", "p"), ("s", "q"), ("t", "p"), ("t", "q")] {
        let state = store.plugin_state(&ana(), session, plugin).await.unwrap().unwrap();
        assert_eq!(state, PluginState { value: json!([session, plugin]), version: 1 });
    }
}

async fn a_user_has_states_without_a_session(place: &Place) {
    let store = place.open();
    let bob = Scope::new("acme", "bob").unwrap();
    let set = async |scope: &Scope, expected, value: Value| {
        store.set_plugin_state(scope, OF_USER, "p", expected, Some(value)).await.unwrap()
    };
    assert_eq!(set(&ana(), 0, json!("ana")).await, Some(1));
    assert_eq!(set(&bob, 0, json!("bob")).await, Some(1));
    assert_eq!(set(&ana(), 0, json!("lost")).await, None);
    let held = store.plugin_state(&ana(), OF_USER, "p").await.unwrap();
    assert_eq!(held, Some(PluginState { value: json!("ana"), version: 1 }));
    create(&*store, &ana(), "s", &[]).await;
    assert_eq!(store.plugin_state(&ana(), "s", "p").await.unwrap(), None);
}

async fn a_fork_begins_with_what_its_source_has(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &[]).await;
    for (plugin, value) in [("p", Some(json!(1))), ("q", Some(json!(2))), ("q", None)] {
        let state = store.plugin_state(&ana(), "s", plugin).await.unwrap();
        let version = state.map_or(0, |state| state.version);
        store.set_plugin_state(&ana(), "s", plugin, version, value).await.unwrap();
    }
    let lease = lease(&*store, &ana(), "fork").await;
    let fork = SessionWrite { from: Some("s".to_owned()), ..write(0, vec![]) };
    save(&*store, &ana(), &lease, fork).await.unwrap();
    let state = async |session: &str, plugin: &str| {
        store.plugin_state(&ana(), session, plugin).await.unwrap().map(|state| state.value)
    };
    assert_eq!(state("fork", "p").await, Some(json!(1)));
    assert_eq!(state("fork", "q").await, None);
    store.set_plugin_state(&ana(), "fork", "p", 1, Some(json!(9))).await.unwrap().unwrap();
    assert_eq!(state("s", "p").await, Some(json!(1)));
}

on_every_store! {
    #[test]
    a_state_is_set_by_whoever_knows_its_version;
    #[test]
    a_version_is_never_used_twice;
    #[test]
    plugins_and_sessions_have_their_own;
    #[test]
    a_user_has_states_without_a_session;
    #[test]
    a_fork_begins_with_what_its_source_has;
}
