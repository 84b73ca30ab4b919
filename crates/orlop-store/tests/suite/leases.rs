//! Leases: one holder, tokens that grow, and writers that come too late.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::store::{Acquired, Commit, Lease};
use orlop_core::ErrorClass::Conflict;
use std::time::Duration;

async fn a_lease_has_one_holder(place: &Place) {
    let store = place.open();
    let lease = lease(&*store, &ana(), "s").await;
    assert_eq!(lease, Lease { session: "s".to_owned(), owner: "me".to_owned(), token: 1 });
    for other in ["you", "me"] {
        match store.acquire(&ana(), "s", other, HOUR).await.unwrap() {
            Acquired::Held { owner, remaining } => {
                assert_eq!(owner, "me");
                assert!(remaining <= HOUR && remaining > Duration::ZERO);
            }
            Acquired::Lease(lease) => panic!("{lease:?}"),
        }
    }
    let elsewhere = crate::steps::lease(&*store, &ana(), "other").await;
    assert_eq!(elsewhere.token, 1);
}

async fn tokens_grow_over_release_expiry_and_deletion(place: &Place) {
    let store = place.open();
    let first = create(&*store, &ana(), "s", &["m"]).await;
    store.release(&ana(), &first).await.unwrap();
    let second = lease_for(&*store, &ana(), "s", Duration::ZERO).await;
    let third = lease(&*store, &ana(), "s").await;
    assert!(store.delete(&ana(), &third, Vec::new()).await.unwrap().is_some());
    store.release(&ana(), &third).await.unwrap();
    let fourth = lease(&*place.open(), &ana(), "s").await;
    assert_eq!([first, second, third, fourth].map(|lease| lease.token), [1, 2, 3, 4]);
}

async fn a_lost_lease_is_neither_renewed_nor_released(place: &Place) {
    let store = place.open();
    let old = lease_for(&*store, &ana(), "s", Duration::ZERO).await;
    assert!(store.renew(&ana(), &old, Duration::ZERO).await.unwrap(), "nobody took it yet");
    let new = lease(&*store, &ana(), "s").await;
    assert!(!store.renew(&ana(), &old, HOUR).await.unwrap());
    store.release(&ana(), &old).await.unwrap();
    assert!(store.renew(&ana(), &new, HOUR).await.unwrap(), "it is still held");
    let thief = Lease { owner: "thief".to_owned(), ..new.clone() };
    assert!(!store.renew(&ana(), &thief, HOUR).await.unwrap());
    store.release(&ana(), &new).await.unwrap();
    assert!(!store.renew(&ana(), &new, HOUR).await.unwrap());
    let unknown = Lease { session: "unknown".to_owned(), ..new };
    store.release(&ana(), &unknown).await.unwrap();
    assert!(!store.renew(&ana(), &unknown, HOUR).await.unwrap());
}

async fn renewing_keeps_a_lease(place: &Place) {
    let store = place.open();
    let lease = lease_for(&*store, &ana(), "s", Duration::ZERO).await;
    assert!(store.renew(&ana(), &lease, HOUR).await.unwrap());
    let other = store.acquire(&ana(), "s", "you", HOUR).await.unwrap();
    assert!(matches!(other, Acquired::Held { .. }));
    let endless = store.renew(&ana(), &lease, Duration::MAX).await;
    assert!(endless.unwrap(), "time beyond all clocks is a long time and not an error");
}

async fn a_lease_is_taken_from_an_owner_that_is_gone(place: &Place) {
    let store = place.open();
    assert!(!store.revoke(&ana(), "s", "me").await.unwrap(), "nobody has it");
    let gone = create(&*store, &ana(), "s", &["m"]).await;
    assert!(!store.revoke(&ana(), "s", "somebody else").await.unwrap());
    assert!(!store.revoke(&ana(), "other", "me").await.unwrap());
    let stranger = orlop_app::Scope::new("acme", "bob").unwrap();
    assert!(!store.revoke(&stranger, "s", "me").await.unwrap());
    assert!(store.renew(&ana(), &gone, HOUR).await.unwrap());
    assert!(store.revoke(&ana(), "s", "me").await.unwrap());
    assert!(!store.revoke(&ana(), "s", "me").await.unwrap());
    assert!(!store.renew(&ana(), &gone, HOUR).await.unwrap());
    assert_eq!(class(save(&*store, &ana(), &gone, write(1, vec![])).await), Conflict);
    let next = lease(&*store, &ana(), "s").await;
    assert_eq!(next.token, gone.token + 1);
}

async fn a_writer_that_comes_late_is_refused(place: &Place) {
    let store = place.open();
    let late = lease_for(&*store, &ana(), "s", Duration::ZERO).await;
    save(&*store, &ana(), &late, write(0, vec![new(&["a"])])).await.unwrap();
    let now = match place.open().acquire(&ana(), "s", "you", HOUR).await.unwrap() {
        Acquired::Lease(lease) => lease,
        held => panic!("{held:?}"),
    };
    let overwrite = save(&*store, &ana(), &late, write(1, vec![new(&["late"])])).await;
    assert_eq!(class(overwrite), Conflict);
    let only_events = Commit { reserve: 1, ..Commit::new(late.clone()) };
    assert_eq!(class(store.commit(&ana(), only_events).await), Conflict);
    assert_eq!(class(store.delete(&ana(), &late, Vec::new()).await), Conflict);
    for wrong in [
        Lease { token: now.token + 1, ..now.clone() },
        Lease { owner: "me".to_owned(), ..now.clone() },
        Lease { session: "other".to_owned(), ..now.clone() },
    ] {
        assert_eq!(class(save(&*store, &ana(), &wrong, write(1, vec![])).await), Conflict);
    }
    assert_eq!(texts(&*store, &ana(), "s").await, ["a"]);
    save(&*store, &ana(), &now, write(1, vec![kept(0..1), new(&["b"])])).await.unwrap();
    store.release(&ana(), &now).await.unwrap();
    assert_eq!(class(save(&*store, &ana(), &now, write(2, vec![])).await), Conflict);
    assert_eq!(texts(&*store, &ana(), "s").await, ["a", "b"]);
}

on_every_store! {
    #[test]
    a_lease_has_one_holder;
    #[test]
    tokens_grow_over_release_expiry_and_deletion;
    #[test]
    a_lost_lease_is_neither_renewed_nor_released;
    #[test]
    renewing_keeps_a_lease;
    #[test]
    a_lease_is_taken_from_an_owner_that_is_gone;
    #[test]
    a_writer_that_comes_late_is_refused;
}
