//! Links by which others may read a session.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::Scope;
use orlop_app::store::ShareRecord;
use orlop_core::ErrorClass::NotFound;

fn share(id: &str, session: &str, created: i64) -> ShareRecord {
    ShareRecord {
        id: id.to_owned(),
        session: session.to_owned(),
        secret_hash: format!("hash of {id}"),
        created,
    }
}

async fn a_link_is_found_by_its_id_until_it_is_forgotten(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &["m"]).await;
    for link in [share("b", "s", 2), share("a", "s", 2), share("c", "s", 1)] {
        store.put_share(&ana(), &link).await.unwrap();
    }
    let listed = store.shares(&ana(), "s").await.unwrap();
    assert_eq!(listed.iter().map(|link| &*link.id).collect::<Vec<_>>(), ["c", "a", "b"]);
    drop(store);
    // Another process finds it, whoever asks.
    let store = place.open();
    assert_eq!(store.share("a").await.unwrap(), Some((ana(), share("a", "s", 2))));
    assert!(store.delete_share(&ana(), "s", "a").await.unwrap());
    assert!(!store.delete_share(&ana(), "s", "a").await.unwrap());
    assert_eq!(store.share("a").await.unwrap(), None);
    assert_eq!(store.shares(&ana(), "s").await.unwrap().len(), 2);
}

async fn only_who_has_the_session_makes_sees_and_forgets_links(place: &Place) {
    let store = place.open();
    create(&*store, &ana(), "s", &["m"]).await;
    store.put_share(&ana(), &share("a", "s", 1)).await.unwrap();
    assert_eq!(class(store.put_share(&ana(), &share("x", "never", 1)).await), NotFound);
    for (tenant, user) in [("acme", "bob"), ("other", "ana")] {
        let stranger = Scope::new(tenant, user).unwrap();
        assert_eq!(class(store.put_share(&stranger, &share("x", "s", 1)).await), NotFound);
        assert_eq!(store.shares(&stranger, "s").await.unwrap(), []);
        assert!(!store.delete_share(&stranger, "s", "a").await.unwrap());
    }
    assert!(!store.delete_share(&ana(), "other", "a").await.unwrap());
    assert!(store.share("a").await.unwrap().is_some() && store.share("x").await.unwrap().is_none());
}

on_every_store! {
    #[test]
    a_link_is_found_by_its_id_until_it_is_forgotten;
    #[test]
    only_who_has_the_session_makes_sees_and_forgets_links;
}
