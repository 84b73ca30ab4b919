//! What plugins keep with a user, whatever the session.

use crate::stage::*;
use orlop_app::Scope;
use orlop_core::{Error, Value};
use serde_json::json;

#[tokio::test]
async fn changes_build_on_each_other_and_users_have_their_own() {
    let app = Stage::default().start().await;
    let count = async |app: &orlop_app::Application| {
        app.change_user_state("counter", |value| {
            *value = json!(value.as_u64().unwrap_or(0) + 1);
            Ok(value.clone())
        })
        .await
        .unwrap()
    };
    let ana = app.for_scope(Scope::new("acme", "ana").unwrap());
    let all = futures::future::join_all((0..8).map(|_| count(&app))).await;
    assert_eq!(all.iter().max_by_key(|count| count.as_u64()), Some(&json!(8)));
    assert_eq!(count(&ana).await, json!(1));
    assert_eq!(app.user_state("counter").await.unwrap().unwrap().value, json!(8));
    let refused = app.change_user_state("counter", |value| {
        *value = Value::Null;
        Err::<(), _>(Error::bad_argument("no"))
    });
    assert_eq!(refused.await.unwrap_err().message(), "no");
    assert_eq!(app.user_state("counter").await.unwrap().unwrap().value, json!(8));
    app.change_user_state("counter", |value| {
        *value = Value::Null;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(app.user_state("counter").await.unwrap(), None);
    assert_eq!(count(&app).await, json!(1));
}
