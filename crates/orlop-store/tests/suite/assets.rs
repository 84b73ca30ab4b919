//! What is remembered of assets.

use crate::place::{Place, on_every_store};
use crate::steps::*;
use orlop_app::store::AssetRecord;

fn asset(id: &str, session: Option<&str>, created: i64) -> AssetRecord {
    AssetRecord {
        id: id.to_owned(),
        session: session.map(str::to_owned),
        name: "a \u{0} / name é.png".to_owned(),
        media_type: "image/png".to_owned(),
        size: u64::MAX,
        sha256: "00ff".to_owned(),
        created,
    }
}

async fn assets_are_put_replaced_and_forgotten(place: &Place) {
    let store = place.open();
    assert_eq!(store.asset(&ana(), "a").await.unwrap(), None);
    let first = asset("a", None, 1);
    store.put_asset(&ana(), &first).await.unwrap();
    assert_eq!(store.asset(&ana(), "a").await.unwrap(), Some(first));
    let second = AssetRecord { name: "other".to_owned(), ..asset("a", Some("s"), 2) };
    store.put_asset(&ana(), &second).await.unwrap();
    assert_eq!(store.asset(&ana(), "a").await.unwrap(), Some(second.clone()));
    assert_eq!(store.assets(&ana(), None).await.unwrap(), []);
    assert_eq!(store.assets(&ana(), Some("s")).await.unwrap(), [second]);
    assert!(store.delete_asset(&ana(), "a").await.unwrap());
    assert!(!store.delete_asset(&ana(), "a").await.unwrap());
    assert_eq!(store.asset(&ana(), "a").await.unwrap(), None);
}

async fn assets_are_listed_oldest_first(place: &Place) {
    let store = place.open();
    for (id, session, created) in
        [("d", None, 5), ("c", Some("s"), 2), ("b", Some("s"), 1), ("a", Some("s"), 2)]
    {
        store.put_asset(&ana(), &asset(id, session, created)).await.unwrap();
    }
    let ids = async |session| {
        let assets = store.assets(&ana(), session).await.unwrap();
        assets.into_iter().map(|asset| asset.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(Some("s")).await, ["b", "c", "a"]);
    assert_eq!(ids(None).await, ["d"]);
    assert_eq!(ids(Some("other")).await, Vec::<String>::new());
}

on_every_store! {
    #[test] // I-32
    assets_are_put_replaced_and_forgotten;
    #[test]
    assets_are_listed_oldest_first;
}
