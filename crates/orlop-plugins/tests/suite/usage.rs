//! What model calls take, who pays for what, and budgets.

use crate::stage::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::{Compaction, CompactionActions, Usage, UsageReport};
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

const PRICE: &str = "usage.price = { input = 1, output = 10, cache_read = 0.1 }";

/// An answer that read and wrote so many tokens.
fn took(say: &str, input: u64, output: u64) -> ScriptedReply {
    let usage = json!({ "input_tokens": input, "output_tokens": output, "cache_read_tokens": 0 });
    ScriptedReply::items(vec![json!({
        "who": "assistant", "say": say, "_metadata": { "usage": usage, "model": "m-1" },
    })])
}

fn calling(input: u64) -> ScriptedReply {
    let call =
        json!([{ "id": "c1", "type": "function", "function": { "name": "t", "arguments": "{}" } }]);
    let usage = json!({ "input_tokens": input, "output_tokens": 0 });
    ScriptedReply::items(vec![json!({
        "who": "assistant", "say": "", "calls": call, "_metadata": { "usage": usage },
    })])
}

fn stage(replies: Vec<ScriptedReply>) -> Stage {
    let stage = Stage::default()
        .feature(Usage::default())
        .feature(Compaction)
        .application(UsageReport)
        .application(CompactionActions)
        .tool(echo("t"));
    replies.into_iter().for_each(|reply| {
        stage.model.reply(reply);
    });
    stage
}

async fn shown(app: &Application, session: Option<&str>) -> Map {
    app.execute_action(ActionCall::new("usage", "show_usage"), session).await.unwrap()
}

#[tokio::test]
async fn calls_are_counted_by_turn_session_day_agent_model_and_plugin() {
    let stage = stage(vec![
        calling(100_000),
        took("a", 200_000, 10_000),
        took("short", 50_000, 1_000),
        took("b", 1_000, 0),
    ])
    .settings(PRICE)
    .more("[agents.other]\nextends = \"default\"");
    let app = stage.start().await;
    events_of(&app, ask("s", "one")).await;
    let compact = ActionCall::new("compaction", "compact_range");
    app.execute_action(compact, Some("s")).await.unwrap();
    let new = NewSession {
        agent: Some("other".to_owned()),
        id: Some("o".to_owned()),
        ..Default::default()
    };
    events_of(&app, Request { session: Target::StoredOrNew(new), ..ask("o", "two") }).await;
    let result = shown(&app, Some("s")).await;
    expect![[r#"
        this session: 3 calls, 350,000 tokens read, 11,000 written, $0.46
        | | calls | read | cached | written | cost |
        | --- | ---: | ---: | ---: | ---: | ---: |
        | this session | 3 | 350,000 | 0 | 11,000 | $0.46 |
        | its last request | 2 | 300,000 | 0 | 10,000 | $0.40 |
        | its plugin compaction | 1 | 50,000 | 0 | 1,000 | $0.06 |
        | today | 4 | 351,000 | 0 | 11,000 | $0.46 |
        | today, agent default | 3 | 350,000 | 0 | 11,000 | $0.46 |
        | today, agent other | 1 | 1,000 | 0 | 0 | $0.00100 |
        | today, model m | 1 | 100,000 | 0 | 0 | $0.10 |
        | today, model m-1 | 3 | 251,000 | 0 | 11,000 | $0.36 |
        | today, plugin compaction | 1 | 50,000 | 0 | 1,000 | $0.06 |
    "#]]
    .assert_eq(&format!(
        "{}\n{}",
        result["message"].as_str().unwrap(),
        result["display"]["body"].as_str().unwrap()
    ));
    assert!(shown(&app, None).await["message"].as_str().unwrap().starts_with("today: 4 calls"));
    let missing = ActionCall::new("usage", "show_usage").param("session_id", "nowhere");
    let refused = app.execute_action(missing, None).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn a_call_that_the_server_did_not_count_is_still_a_call() {
    let app = stage(vec![ScriptedReply::text(&["a"]), took("b", 1_000, 0)]);
    let app = app.settings(PRICE).start().await;
    let empty = shown(&app, None).await;
    assert!(!empty["display"]["body"].as_str().unwrap().contains("days"), "{empty:?}");
    events_of(&app, ask("s", "one")).await;
    events_of(&app, ask("s", "two")).await;
    let result = shown(&app, Some("s")).await;
    expect!["this session: 2 calls (1 without token counts), 1,000 tokens read, 0 written, $0.00100 and 1 calls without a known price"]
        .assert_eq(result["message"].as_str().unwrap());
    assert_eq!(result["usage"]["session"]["total"]["uncounted"], 1);
}

#[tokio::test]
async fn a_snapshot_inside_of_a_turn_belongs_to_the_turn_and_to_the_plugin() {
    let too_long =
        ScriptedReply::default().failing(Error::provider("too long").with_context_overflow());
    let stage = stage(vec![took("a", 10, 0), too_long, took("short", 500, 5), took("b", 20, 0)]);
    let app = stage.start().await;
    events_of(&app, ask("s", &"x".repeat(9_000))).await;
    events_of(&app, ask("s", "two")).await;
    let usage = shown(&app, Some("s")).await["usage"]["session"].clone();
    assert_eq!(usage["plugins"]["compaction"]["input_tokens"], 500);
    assert_eq!(
        (
            usage["turn"]["total"]["requests"].clone(),
            usage["turn"]["total"]["input_tokens"].clone()
        ),
        (json!(2), json!(520))
    );
    assert_eq!(usage["total"]["unpriced"], 3);
}

#[tokio::test]
async fn sessions_that_run_at_the_same_time_are_all_counted() {
    let stage = stage((0..20).map(|_| took("a", 10, 1)).collect());
    let app = stage.start().await;
    let other = stage.start().await;
    let all = (0..20).map(|n| {
        let app = if n % 2 == 0 { &app } else { &other };
        async move { events_of(app, ask(&format!("s{n}"), "hi")).await }
    });
    futures::future::join_all(all).await;
    assert_eq!(shown(&app, None).await["usage"]["today"]["total"]["input_tokens"], 200);
    let ana = app.for_scope(Scope::new("acme", "ana").unwrap());
    assert_eq!(shown(&ana, None).await["usage"]["today"], Value::Null, "everybody has their own");
}

/// How a request ended, in words.
async fn end(app: &Application, session: &str) -> String {
    match &events_of(app, ask(session, "go")).await.last().unwrap().kind {
        EventKind::RequestFailed { error } => error["message"].as_str().unwrap().to_owned(),
        kind => kind.name().to_owned(),
    }
}

async fn check_budget(setting: &str, sessions: [&str; 2], expected: expect_test::Expect) {
    let replies = (0..4).map(|_| took("a", 400_000, 20_000)).collect();
    let stage = stage(replies).settings(PRICE).settings(setting);
    let app = stage.start().await;
    let ends = [end(&app, sessions[0]).await, end(&app, sessions[1]).await];
    expected.assert_eq(&ends.join("\n"));
    assert_eq!(stage.model.requests().len(), 1, "the second call is not made");
    app.session("s").await.unwrap().session.verify().unwrap();
}

#[tokio::test]
async fn a_budget_that_is_used_up_ends_the_request_before_the_model_is_asked() {
    check_budget(
        "usage.max_cost_per_session = 0.5",
        ["s", "s"],
        expect![[r#"
            final
            this session took $0.60, and usage.max_cost_per_session allows $0.50; go on in a new session, or raise usage.max_cost_per_session (plugin "usage", hook execute_action)"#]],
    )
    .await;
    check_budget(
        "usage.max_tokens_per_session = 420000",
        ["s", "s"],
        expect![[r#"
            final
            this session took 420,000 tokens, and usage.max_tokens_per_session allows 420,000 tokens; go on in a new session, or raise usage.max_tokens_per_session (plugin "usage", hook execute_action)"#]],
    )
    .await;
    check_budget(
        "usage.max_cost_per_day = 0.6",
        ["s", "t"],
        expect![[r#"
            final
            today took $0.60, and usage.max_cost_per_day allows $0.60; go on tomorrow (UTC), or raise usage.max_cost_per_day (plugin "usage", hook execute_action)"#]],
    )
    .await;
}

#[tokio::test]
async fn plugins_ask_models_within_the_budgets_of_whom_they_ask_for() {
    let replies = vec![took("a", 400_000, 20_000), took("never", 1, 1)];
    let stage = stage(replies).settings(PRICE).settings("usage.max_cost_per_session = 0.5");
    let app = stage.start().await;
    events_of(&app, ask("s", &"x".repeat(9_000))).await;
    let compact = ActionCall::new("compaction", "compact_range");
    let told = match app.execute_action(compact, Some("s")).await {
        Ok(result) => json!(result).to_string(),
        Err(error) => error.message().to_owned(),
    };
    assert!(told.contains("usage.max_cost_per_session allows $0.50"), "{told}");
    assert_eq!(stage.model.requests().len(), 1, "the model is not asked");
}

#[tokio::test]
async fn a_turn_that_goes_on_and_on_is_ended_between_two_calls() {
    let stage = stage((0..9).map(|_| calling(10_000)).collect())
        .settings("usage.max_tokens_per_turn = 25000");
    let app = stage.start().await;
    let said = end(&app, "s").await;
    assert!(
        said.starts_with(
            "this request took 30,000 tokens, and usage.max_tokens_per_turn allows 25,000"
        ),
        "{said}"
    );
    assert_eq!(stage.model.requests().len(), 3);
    // The next one begins at nothing.
    stage.model.reply(took("never", 1, 1));
    let said = end(&app, "s").await;
    assert!(said.starts_with("this request took 30,000"), "{said}");
    assert_eq!(stage.model.requests().len(), 6);
}

#[tokio::test]
async fn a_budget_that_cannot_be_kept_says_so() {
    let stage = stage(vec![took("a", 1, 1)]).settings("usage.max_cost_per_turn = 1");
    let app = stage.start().await;
    assert_eq!(
        end(&app, "s").await,
        "usage.max_cost_per_turn cannot be kept, because no price is known for model \"m\"; set usage.price, or limit tokens instead (plugin \"usage\", hook execute_action)"
    );
    assert_eq!(stage.model.requests().len(), 0);
}

#[tokio::test]
async fn what_a_turn_cost_stands_in_its_final_event_where_prices_are_known() {
    let http = orlop_providers::HttpClient::new(Default::default());
    let openai = orlop_providers::openai::OpenAiCompatible::new(http);
    let mut core = Core::new();
    core.register_provider(Arc::new(openai), vec![]).unwrap();
    let config = config(json!({ "model": "gpt-5" }));
    let usage = json!({ "input_tokens": 1_000_000, "output_tokens": 100_000 });
    let cost = core.cost(&config, "gpt-5-2025-08-07", usage.as_object().unwrap());
    assert_eq!(cost, Some(2.25));
    assert_eq!(core.context_window(&config), Some(400_000));
    assert_eq!(core.cost(&config, "nobody-knows", usage.as_object().unwrap()), None);
}

#[tokio::test]
async fn a_configured_price_is_that_of_requests_and_of_each_model_call() {
    let app =
        stage(vec![calling(100_000), took("a", 200_000, 10_000)]).settings(PRICE).start().await;
    let request = Request { request_id: Some("r".to_owned()), ..ask("s", "one") };
    let events = events_of(&app, request).await;
    let EventKind::Final { usage: Some(usage), .. } = &events.last().unwrap().kind else {
        panic!("{events:?}")
    };
    let cents = |cost: &Value| (cost.as_f64().unwrap() * 100.0).round();
    assert_eq!(cents(&usage["cost"]), 40.0);
    let trace = app.trace("r").await.unwrap();
    let calls = trace.iter().filter(|entry| entry["kind"] == "model_call");
    let costs: Vec<f64> = calls.map(|call| cents(&call["detail"]["usage"]["cost"])).collect();
    assert_eq!(costs, [10.0, 30.0]);
}

#[tokio::test]
async fn a_task_that_was_given_away_counts_to_who_gave_it() {
    let stage = stage(vec![took("a", 100, 0), took("b", 900, 0)])
        .settings("usage.max_tokens_per_session = 1000");
    let app = stage.start().await;
    events_of(&app, ask("s", "one")).await;
    let parent = json!({ "parent_session_id": "s", "parent_request_id": "r" });
    let metadata = parent.as_object().cloned().unwrap();
    let new = NewSession { id: Some("task".to_owned()), metadata, ..Default::default() };
    events_of(&app, Request { session: Target::StoredOrNew(new), ..ask("task", "two") }).await;
    let usage = shown(&app, Some("s")).await["usage"]["session"].clone();
    assert_eq!(
        (usage["total"]["input_tokens"].clone(), usage["turn"]["request"].clone()),
        (json!(1_000), json!("r"))
    );
    for session in ["s", "task"] {
        let said = end(&app, session).await;
        assert!(said.starts_with("this session took 1,000 tokens"), "{said}");
    }
    assert_eq!(
        shown(&app, None).await["usage"]["today"]["total"]["input_tokens"],
        1_000,
        "once a day"
    );
}
