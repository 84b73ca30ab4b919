//! Tool calls: how a call is run, and how its result becomes a message.

use expect_test::expect;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::interop::{Interop, ResultFormat};
use orlop_core::types::InspectedResult;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// A call in function style.
fn call(id: &str, name: &str) -> Map {
    map(json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}))
}

fn garbage() -> Map {
    map(json!({"neither": "name nor format"}))
}

/// A core with one provider and one tool plugin `kit`.
fn core_with_tool(tool: ScriptedTool) -> Core {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_tool(Arc::new(tool)).unwrap();
    core
}

/// The tool `t` of plugin `kit`, which streams these chunks, read as those of a foreign tool.
fn streaming(chunks: Vec<Result<Value>>) -> ScriptedTool {
    ScriptedTool::new("kit").offering(&["t"]).stream_tool(move |_, _| {
        let read = |chunk: &Result<Value>| match chunk {
            Ok(chunk) => ToolPart::from_json(chunk.clone()).map(Ok),
            Err(error) => Some(Err(error.clone())),
        };
        chunks.iter().filter_map(read).collect()
    })
}

/// The tool `t` of plugin `kit`, which reports this.
fn reporting(report: ToolReport) -> ScriptedTool {
    ScriptedTool::new("kit").offering(&["t"]).execute_tool(move |_, _| Ok(report.clone()))
}

async fn run(core: &Core, calls: Vec<Map>) -> Vec<ToolEvent> {
    let events = core.iter_tool_messages(calls, &Config::empty(), &CallContext::default());
    events.map(Result::unwrap).collect().await
}

/// Runs one call of `t` and gives its message.
async fn message_of(tool: ScriptedTool) -> Message {
    let mut events = run(&core_with_tool(tool), vec![call("c1", "t")]).await;
    match (events.len(), events.pop()) {
        (1, Some(ToolEvent::Message(message))) => message,
        other => panic!("{other:?}"),
    }
}

/// Events on one line: parts as JSON, messages as their text.
fn shown(events: &[ToolEvent]) -> String {
    let line = |event: &ToolEvent| match event {
        ToolEvent::Part(part) => part.to_string(),
        ToolEvent::Message(message) => message.text().to_owned(),
    };
    events.iter().map(line).collect::<Vec<_>>().join(" ")
}

#[tokio::test] // F-09
async fn calls_are_found_in_assistant_messages_only() {
    let messages = json!([
        {"role": "assistant", "content": "", "metadata": {"tool_calls": [{"id": "1"}, "text", {"id": "2"}, null]}},
        {"role": "user", "content": "", "metadata": {"tool_calls": [{"id": "of the user"}]}},
        {"role": "tool", "content": "", "metadata": {"tool_calls": [{"id": "of a tool"}]}},
        "no mapping",
        7,
        {"role": "assistant", "content": "", "metadata": {"tool_calls": {"id": "no list"}}},
        {"role": "assistant", "content": "", "metadata": {"tool_calls": "no list"}},
        {"role": "assistant", "content": "no metadata"},
        {"role": "assistant", "content": "", "metadata": {"tool_calls": [{"id": "3"}]}},
    ]);
    let args = map(json!({"messages": messages}));
    let found = Core::new()
        .invoke("extract_tool_calls_from_messages", args, &CallContext::default())
        .await
        .unwrap();
    assert_eq!(found, json!([{"id": "1"}, {"id": "2"}, {"id": "3"}]));
}

#[tokio::test] // F-10, F-20
async fn calls_run_one_after_another() {
    let log = Log::new();
    let ran = log.clone();
    let tool = ScriptedTool::new("kit").offering(&["t"]).stream_tool(move |input, _| {
        ran.add(input.tool_call["id"].as_str().unwrap());
        let id = input.tool_call["id"].clone();
        vec![
            Ok(ToolPart::Part(json!({"part": id}))),
            Ok(ToolPart::Report(ToolReport::ok("early"))),
            Ok(ToolPart::Part(json!({"part": "more"}))),
            Ok(ToolPart::Report(ToolReport::ok(format!("done {id}")))),
        ]
    });
    let core = core_with_tool(tool);
    assert!(run(&core, vec![]).await.is_empty());
    let events = run(&core, vec![call("c1", "t"), call("c2", "t")]).await;
    assert_eq!(
        shown(&events),
        r#"{"part":"c1"} {"part":"more"} done "c1" {"part":"c2"} {"part":"more"} done "c2""#
    );
    assert_eq!(log.lines(), ["c1", "c2"]);

    // The second call does not start before the first has ended.
    log.take();
    let calls = vec![call("c1", "t"), call("c2", "t")];
    let events = core.iter_tool_messages(calls, &Config::empty(), &CallContext::default());
    let first: Vec<_> = events.take(3).collect().await;
    assert_eq!(first.len(), 3);
    assert_eq!(log.lines(), ["c1"]);
}

/// Runs one call that fails and compares its message, which has nothing but these keys.
async fn check_failure(tool: ScriptedTool, call: Map, text: &str, metadata: Value) {
    let core = core_with_tool(tool);
    let events = run(&core, vec![call, self::call("after", "t")]).await;
    let first = events.iter().position(|event| matches!(event, ToolEvent::Message(_))).unwrap();
    let ToolEvent::Message(message) = &events[first] else { panic!() };
    assert_eq!(
        message.to_json(),
        json!({"role": "tool", "content": text, "metadata": metadata}),
        "no structured result, no schema, no display"
    );
    let messages = events.iter().filter(|event| matches!(event, ToolEvent::Message(_)));
    assert_eq!(messages.count(), 2, "the next call runs all the same");
}

// covers: F-11, F-12, F-17
#[tokio::test]
async fn a_call_that_nobody_handles_gives_an_error_message() {
    let tool = || reporting(ToolReport::ok("fine"));
    let nobody = json!({"tool_call_id": null, "tool_name": null});
    check_failure(tool(), garbage(), "Error: no tool handled 'unknown'", nobody).await;
    let unknown = json!({"tool_call_id": "c1", "tool_name": "other"});
    check_failure(tool(), call("c1", "other"), "Error: no tool handled 'other'", unknown).await;

    let events = run(&core_with_tool(tool()), vec![garbage(), call("c2", "t")]).await;
    assert_eq!(shown(&events), "Error: no tool handled 'unknown' fine");
}

// covers: F-13, F-14, F-16, F-17
#[tokio::test]
async fn a_tool_that_fails_gives_an_error_message() {
    let metadata = json!({"tool_call_id": "c1", "tool_name": "t", "tool_plugin": "kit"});
    let broken = || Error::plugin("disk full");
    let tool = || ScriptedTool::new("kit").offering(&["t"]);
    let cases = [
        (tool().execute_tool(move |_, _| Err(broken())), "Tool error: disk full"),
        (
            tool().stream_tool(|_, _| panic!("not today")),
            "Tool error: the plugin panicked: not today",
        ),
        (streaming(vec![Err(broken())]), "Tool error: disk full"),
        (streaming(vec![Ok(json!({"part": 1})), Err(broken())]), "Tool error: disk full"),
        (streaming(vec![]), "Error: no tool handled 't'"),
        (streaming(vec![Ok(json!({"part": 1}))]), "Error: no tool handled 't'"),
    ];
    for (tool, text) in cases {
        check_failure(tool, call("c1", "t"), text, metadata.clone()).await;
    }
}

#[tokio::test] // F-14
async fn parts_before_a_failure_stay() {
    let broken = Err(Error::plugin("disk full"));
    let core = core_with_tool(streaming(vec![Ok(json!({"part": "half"})), broken]));
    let events = run(&core, vec![call("c1", "t")]).await;
    assert_eq!(shown(&events), r#"{"part":"half"} Tool error: disk full"#);
}

#[tokio::test] // F-15, F-18, F-19
async fn what_the_chunks_of_a_tool_mean() {
    let done = |text: &str| json!({"success": true, "output": text});
    let cases = [
        // A result stands, whatever fails after it.
        (vec![Ok(done("fine")), Err(Error::plugin("late"))], "fine"),
        // The last result wins; one with a part is a result, too.
        (vec![Ok(done("one")), Ok(done("two"))], "two"),
        (vec![Ok(json!({"success": true, "part": 1, "output": "both"}))], "both"),
        (vec![Ok(json!({"success": false, "error": "sorry"}))], "sorry"),
        // What is no mapping is skipped; parts pass, other mappings are wrapped.
        (
            vec![Ok(json!("text")), Ok(json!(7)), Ok(json!([1])), Ok(json!(null)), Ok(done("x"))],
            "x",
        ),
        (vec![Ok(json!({"part": "a", "more": 1})), Ok(done("x"))], r#"{"part":"a","more":1} x"#),
        (vec![Ok(json!({"line": "a"})), Ok(done("x"))], r#"{"part":{"line":"a"}} x"#),
    ];
    for (chunks, expected) in cases {
        let events = run(&core_with_tool(streaming(chunks)), vec![call("c1", "t")]).await;
        assert_eq!(shown(&events), expected);
    }
}

#[tokio::test] // F-21
async fn a_result_that_cannot_be_formatted_is_still_a_result() {
    let tool = reporting(ToolReport::ok("fine"))
        .format_tool_result(|_, _| Err(Error::plugin("no such template")));
    let message = message_of(tool).await;
    assert_eq!(message.text(), "Tool formatting error: no such template");
    assert_eq!(message.tool_result().unwrap()["text"], message.text());
    assert_eq!(message.metadata()["tool_plugin"], "kit");
    assert!(message.metadata().contains_key("tool_schema"));
}

/// A result format that carries a display: `{"rows": 3, "show": "a table"}`.
fn rows_format() -> Interop {
    let read = |result: &Value| {
        let rows = result.get("rows")?;
        let display = result.get("show").map(|show| map(json!({"type": "table", "content": show})));
        Some(InspectedResult { text: format!("{rows} rows"), display, ..Default::default() })
    };
    let format = ResultFormat { id: "kit.rows".into(), read: Some(Arc::new(read)), write: None };
    Interop { results: vec![format], ..Interop::default() }
}

/// The display of a message whose tool formats its result and shows it like this.
async fn check_display(formatted: Value, display: Result<Option<Value>>, expected: Option<Value>) {
    let tool = reporting(ToolReport::ok("fine"))
        .interop(rows_format())
        .format_tool_result(move |_, _| Ok(Some(formatted.clone())))
        .to_display_format(move |_, _| display.clone());
    let message = message_of(tool).await;
    assert_eq!(message.metadata().get("display"), expected.as_ref());
}

// covers: F-22, F-23, F-26
#[tokio::test]
async fn what_a_person_sees_of_a_result() {
    let (plain, rows) = (json!("text"), json!({"rows": 3, "show": "T"}));
    let table = Some(json!({"type": "table", "content": "T"}));
    let own = json!({"type": "card", "content": "mine"});
    let echo = |text: &str| json!({"type": "text", "content": text});
    let failed = || Err(Error::plugin("no display"));

    // The tool's own display; a failure or a non-mapping means none.
    check_display(plain.clone(), Ok(Some(own.clone())), Some(own.clone())).await;
    check_display(plain.clone(), failed(), None).await;
    check_display(plain.clone(), Ok(Some(json!("no mapping"))), None).await;
    check_display(rows.clone(), Ok(Some(own.clone())), Some(own)).await;
    // A mere echo gives way to the display of the result, unless it is on a single line.
    check_display(rows.clone(), Ok(Some(echo("3 rows"))), table.clone()).await;
    let single = json!({"type": "text", "content": "3 rows", "single_line": true});
    check_display(rows.clone(), Ok(Some(single.clone())), Some(single)).await;
    check_display(rows.clone(), Ok(Some(echo("other"))), Some(echo("other"))).await;
    check_display(plain, Ok(Some(echo("text"))), Some(echo("text"))).await;
    // Without one, that of the stored value is used.
    check_display(rows.clone(), failed(), table.clone()).await;
    check_display(rows, Ok(Some(json!(["no mapping"]))), table).await;
}

#[tokio::test] // F-22
async fn the_display_hook_gets_text_report_and_state() {
    let tool = reporting(ToolReport::ok("fine"))
        .init(|_, _| Ok(StateChange::set("kit", "ready")))
        .to_display_format(|input, _| {
            let state = input.state.values["kit"].clone();
            let seen = json!([input.text, input.result.success, input.result.data, state]);
            Ok(Some(json!({"type": "seen", "content": seen})))
        });
    let message = message_of(tool).await;
    let seen = json!(["fine", true, {"output": "fine"}, "ready"]);
    assert_eq!(message.metadata()["display"]["content"], seen);
}

/// What is stored of a result that is formatted like this, and what the model reads.
async fn check_stored(formatted: Value, stored: Value, text: &str) {
    let tool = reporting(ToolReport::ok("fine"))
        .interop(rows_format())
        .format_tool_result(move |_, _| Ok(Some(formatted.clone())));
    let message = message_of(tool).await;
    assert_eq!(Value::Object(message.tool_result().unwrap().clone()), stored);
    assert_eq!(message.text(), text);
}

#[tokio::test] // F-24, F-25
async fn what_is_stored_of_a_result() {
    let rows = json!({"rows": 3, "other": [1, 2]});
    check_stored(rows.clone(), rows, "3 rows").await;
    let mcp = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"x": 1}});
    check_stored(mcp.clone(), mcp, "a").await;

    let core_text = |text: &str| json!({"type": "tool_result", "text": text});
    check_stored(json!("plain"), core_text("plain"), "plain").await;
    check_stored(core_text("as is"), core_text("as is"), "as is").await;
    check_stored(json!(7), core_text("7"), "7").await;
    check_stored(json!([1, 2]), core_text("[1,2]"), "[1,2]").await;
    check_stored(json!({"foo": 1}), core_text(r#"{"foo":1}"#), r#"{"foo":1}"#).await;
}

#[tokio::test] // F-25
async fn a_core_text_writer_that_fails_does_not_matter() {
    let unwilling = ResultFormat {
        id: interop::results::CORE_TEXT.into(),
        read: None,
        write: Some(Arc::new(|_, read, _| Some(json!(read.text.len())))),
    };
    let tool = reporting(ToolReport::ok("fine"))
        .interop(Interop { results: vec![unwilling], ..Interop::default() });
    let message = message_of(tool).await;
    let stored = Value::Object(message.tool_result().unwrap().clone());
    assert_eq!(stored, json!({"type": "tool_result", "text": "fine"}));
}

#[tokio::test] // F-27
async fn the_message_of_a_call() {
    let tool = reporting(ToolReport::ok("fine"))
        .interop(rows_format())
        .format_tool_result(|_, _| Ok(Some(json!({"rows": 3, "show": "T"}))));
    let message = message_of(tool).await;
    expect![[r#"
        {
          "role": "tool",
          "content": "3 rows",
          "metadata": {
            "tool_call_id": "c1",
            "tool_name": "t",
            "tool_schema": {
              "name": "t",
              "description": "the t tool",
              "parameters": {
                "type": "object",
                "properties": {}
              }
            },
            "tool_plugin": "kit",
            "display": {
              "type": "table",
              "content": "T"
            }
          },
          "tool_result": {
            "rows": 3,
            "show": "T"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&message).unwrap());
}

/// What a tool sees of the context it is called with.
async fn check_context(context: CallContext, expected: Value) {
    let tool = ScriptedTool::new("kit").offering(&["t"]).execute_tool(|_, cx| {
        let mut seen = cx.to_json();
        seen.retain(|key, _| ["config", "trigger_source", "theme"].contains(&key.as_str()));
        seen.insert("handles".into(), json!(cx.handles()));
        seen.insert("source".into(), json!(cx.trigger_source()));
        Ok(ToolReport { success: true, data: map(json!({"output": seen})) })
    });
    let core = core_with_tool(tool);
    let config = config(json!({"model": "m"}));
    let messages = core.execute_tool_calls(vec![call("c1", "t")], &config, &context).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(messages[0].text()).unwrap(), expected);
}

#[tokio::test] // F-28
async fn a_tool_sees_what_the_layers_set_and_never_what_a_caller_pretends() {
    let config = json!({"model": "m"});
    check_context(
        CallContext::default(),
        json!({"config": config, "trigger_source": "core", "handles": ["core"], "source": "core"}),
    )
    .await;
    let from_application = || {
        CallContext::new("app")
            .from_source(TriggerSource::Application)
            .lending("app", Arc::new(String::from("the application")))
            .owning("config", json!({"model": "of the application"}))
    };
    let seen = json!({
        "config": {"model": "of the application"}, "trigger_source": "application",
        "handles": ["core", "app", "application"], "source": "application",
    });
    check_context(from_application(), seen.clone()).await;

    let pretended = json!({"config": 1, "trigger_source": "manual", "core": 1, "theme": "dark"});
    let mut with_theme = seen;
    with_theme["theme"] = json!("dark");
    check_context(from_application().with_all(map(pretended)), with_theme).await;
}

/// Works until it is cancelled, and says so.
struct Patient;

impl Plugin for Patient {
    fn manifest(&self) -> Manifest {
        Manifest::new("patient", "1")
    }
}

impl Tool for Patient {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::ok(vec![map(json!({"name": "t"}))])
    }

    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::default()
    }

    fn stream_tool(
        &self,
        _: &ToolInput,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<ToolPart>>> {
        let cancelled = cx.cancellation()?.cancelled();
        let working = stream::iter([Ok(ToolPart::Part(json!({"part": "working"})))]);
        let ending = stream::once(async move {
            cancelled.await;
            Ok(ToolPart::Report(ToolReport::failed("stopped early")))
        });
        Some(working.chain(ending).boxed())
    }
}

#[tokio::test] // F-29
async fn a_long_tool_ends_when_cancelled() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_tool(Arc::new(Patient)).unwrap();
    let token = CancelToken::new();
    let context = CallContext::default().cancelled_by(Arc::new(token.clone()));
    let mut events =
        core.iter_tool_messages(vec![call("c1", "t")], &Config::empty(), &context).boxed();
    assert!(matches!(events.next().await, Some(Ok(ToolEvent::Part(_)))));
    assert!(futures::FutureExt::now_or_never(events.next()).is_none(), "it works on");
    token.cancel();
    let Some(Ok(ToolEvent::Message(message))) = events.next().await else { panic!() };
    assert_eq!(message.text(), "stopped early");
    assert!(events.next().await.is_none());
}

#[tokio::test] // F-31
async fn executing_calls_gives_one_message_each() {
    let chunks = vec![Ok(json!({"part": 1})), Ok(json!({"success": true, "output": "fine"}))];
    let core = core_with_tool(streaming(chunks));
    let (config, context) = (Config::empty(), CallContext::default());
    let calls = vec![call("c1", "t"), garbage(), call("c3", "other")];
    let messages = core.execute_tool_calls(calls, &config, &context).await.unwrap();
    let texts: Vec<_> = messages.iter().map(Message::text).collect();
    assert_eq!(
        texts,
        ["fine", "Error: no tool handled 'unknown'", "Error: no tool handled 'other'"]
    );
    let ids: Vec<_> = messages.iter().map(|message| &message.metadata()["tool_call_id"]).collect();
    assert_eq!(ids, [&json!("c1"), &json!(null), &json!("c3")]);
    assert!(core.execute_tool_calls(vec![], &config, &context).await.unwrap().is_empty());
}

/// The chunks of one call; `Err` is the text of a failure on the way.
async fn chunks_of(core: &Core, call: &Map) -> Vec<Result<Value, String>> {
    let chunks = core.stream_tool_call(call, &Config::empty(), &CallContext::default()).await;
    let read = |chunk: Result<Value>| chunk.map_err(|error| error.message().to_owned());
    chunks.unwrap().map(read).collect().await
}

#[tokio::test] // F-33
async fn the_chunks_of_a_call_come_as_they_are() {
    let chunks = [
        json!({"part": "a", "more": 1}),
        json!({"line": "no part"}),
        json!({"success": true, "part": 1, "output": "fine"}),
        json!({"part": "after"}),
        json!({"success": false}),
    ];
    let core = core_with_tool(streaming(chunks.iter().cloned().map(Ok).collect()));
    let found = chunks_of(&core, &call("c1", "t")).await;
    assert_eq!(found, chunks.map(Ok));

    let broken = Err(Error::plugin("disk full"));
    let core = core_with_tool(streaming(vec![Ok(json!({"part": 1})), broken]));
    let found = chunks_of(&core, &call("c1", "t")).await;
    assert_eq!(found, [Ok(json!({"part": 1})), Err("disk full".to_owned())]);
}

#[tokio::test] // F-33
async fn a_call_that_cannot_start_has_no_chunks() {
    let tool = || ScriptedTool::new("kit").offering(&["t"]);
    let no_tools = core_with(&ScriptedProvider::default()).unwrap();
    let fine = core_with_tool(tool());
    let panicking = core_with_tool(tool().stream_tool(|_, _| panic!("not today")));
    for (case, core, call) in [
        ("no tools", &no_tools, call("c1", "t")),
        ("no such format", &fine, garbage()),
        ("no handler", &fine, call("c1", "other")),
        ("cannot start", &panicking, call("c1", "t")),
    ] {
        assert!(chunks_of(core, &call).await.is_empty(), "{case}");
    }
}

#[tokio::test] // F-36
async fn a_result_in_a_session_keeps_its_structure_for_the_provider() {
    let provider = ScriptedProvider::default();
    provider
        .reply(ScriptedReply::calls(&[("c1", "t", json!({}))]))
        .reply(ScriptedReply::text(&["ok"]));
    let mut core = core_with(&provider).unwrap();
    let tool = reporting(ToolReport::ok("fine"))
        .interop(rows_format())
        .format_tool_result(|_, _| Ok(Some(json!({"rows": 3}))));
    core.register_tool(Arc::new(tool)).unwrap();

    let (config, context) = (Config::empty(), CallContext::default());
    let options = RequestOptions::default;
    let asked = plain_session(&[Message::user("how many?")]).await.unwrap();
    let answer = core.send_request(&asked, &config, options()).await.unwrap();
    let calls = session::extract_tool_calls(&answer.messages);
    let results = core.execute_tool_calls(calls, &config, &context).await.unwrap();
    let session = core.add_message(&answer.session, results[0].clone(), &config).await.unwrap();

    let held = session.messages().last().unwrap();
    assert_eq!((held.role(), held.text()), (Role::Tool, "3 rows"));
    assert_eq!(held.metadata()["tool_call_id"], "c1");
    assert_eq!(held.tool_result(), results[0].tool_result());
    let item = session.native().unwrap().items().last().unwrap();
    assert_eq!(item.get("result"), Some(&json!({"rows": 3})));
    assert_eq!(item.get("answers"), Some(&json!("c1")));

    core.send_request(&session, &config, options()).await.unwrap();
    let (sent, _) = provider.requests().pop().unwrap();
    assert_eq!(sent.last().unwrap().get("result"), Some(&json!({"rows": 3})));
}
