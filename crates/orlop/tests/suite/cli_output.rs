//! `orlop run` with answers that have to fit a schema, and with models that fail.

use crate::common::Place;
use orlop_testkit::mock_model::Reply;
use serde_json::json;

const SCHEMA: &str = r#"{"type": "object", "required": ["city"]}"#;
const FENCED: &str = "```json\n{\"city\": \"Bremen\"}\n```";

#[tokio::test]
async fn a_schema_comes_as_json_or_from_a_file() {
    let place = Place::new("schema").await;
    place.model.reply(Reply::text([FENCED]));
    let out = place.run(&["run", "--output-schema", SCHEMA, "where?"]).await.ok();
    assert_eq!(out, "{\"city\":\"Bremen\"}\n");
    let file = place.write("city.json", SCHEMA);
    place.model.reply(Reply::text([FENCED]));
    let file = file.to_str().unwrap();
    let run = place.run(&["run", "-o", "json", "--output-schema", file, "where?"]).await.json();
    assert_eq!(run["output"], json!({ "city": "Bremen" }));
    assert_eq!(run["model"], json!({ "provider": "openai_compatible", "model": "m" }));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    let place = Place::new("repair").await;
    place.model.reply(Reply::text(["Bremen"]));
    place.model.reply(Reply::text([r#"{"city": "Bremen"}"#]));
    let out = place.run(&["run", "--output-schema", SCHEMA, "where?"]).await.ok();
    assert_eq!((out.as_str(), place.times_asked()), ("{\"city\":\"Bremen\"}\n", 2));
    place.model.reply(Reply::text(["Bremen"]));
    place.model.reply(Reply::text(["{}"]));
    let done = place.run(&["run", "-o", "json", "--output-schema", SCHEMA, "where?"]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(1), ""));
    let out: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&out["error"]["type"], &out["error"]["answer"]),
        (&json!("provider"), &json!("{}"))
    );
}

#[tokio::test]
async fn what_is_no_schema_is_a_mistake_of_the_command_line() {
    let place = Place::new("no-schema").await;
    for (given, words) in [
        ("nowhere.json", "nowhere.json cannot be read"),
        ("{", "the schema is no JSON"),
        (r#"{"type": "txt"}"#, "/type: \"txt\" is not valid"),
    ] {
        let done = place.run(&["run", "--output-schema", given, "where?"]).await;
        done.fails(2, &[words]);
    }
    assert_eq!(place.times_asked(), 0);
}

#[tokio::test]
async fn another_model_taking_over_is_one_line() {
    let place = Place::new("fallback").await;
    place.model.reply(Reply::status(401));
    place.model.reply(Reply::text(["here"]));
    let set = ["--set", r#"agents.default.fallback=["n"]"#];
    let done = place.run(&[&["run"][..], &set, &["hi"]].concat()).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), "here\n"));
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
    let begins = "orlop: openai_compatible/m failed, asking openai_compatible/n instead: the model server answered 401";
    assert!(done.err.starts_with(begins), "{done:?}");
    assert_eq!(place.asked()["model"], "n");
}
