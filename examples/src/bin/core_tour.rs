//! A tour of the core: create, add, send, stream, tool schemas, execute calls.
//!
//! `cargo run --bin core_tour` needs no key: it talks over HTTP to a scripted model server that
//! it starts itself.

use futures::StreamExt;
use orlop_core::{
    Blocking, CallContext, Config, Core, CoreEvent, Message, RequestOptions, Session,
    session::extract_tool_calls,
};
use orlop_examples::Shout;
use orlop_providers::{OpenAiCompatible, TokioExecutor};
use orlop_testkit::mock_model::{MockModel, Reply};
use serde_json::json;
use std::error::Error;
use std::io::Write;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    // One core for the whole program: it holds plugins, never sessions.
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::default()), vec![])?;
    core.register_tool(Arc::new(Shout))?;

    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build()?;
    let server = runtime.block_on(scripted_server())?;
    let config = Config::from_json(json!({
        "provider": "openai_compatible",
        "model": "scripted",
        "base_url": server.base_url(),
    }))?;

    println!("== without streaming");
    let blocking = Blocking::new(core.clone(), TokioExecutor::new()?);
    let session = core.create_session(None);
    let session = blocking.run(core.add_message(&session, Message::user("Hello!"), &config))?;
    let response = blocking.send_request(&session, &config, RequestOptions::default())?;
    println!("{}", response.messages[0].text());

    println!("== streaming, and tools");
    let session = runtime.block_on(chat_with_tools(&core, response.session, &config))?;
    println!("== the session now has {} messages", session.messages().len());
    Ok(())
}

async fn chat_with_tools(
    core: &Core,
    session: Session,
    config: &Config,
) -> orlop_core::Result<Session> {
    for schema in core.tool_schemas(config).await? {
        println!("tool on offer: {}", schema["name"]);
    }
    let question = Message::user("Please shout 'all hands'.");
    let mut session = core.add_message(&session, question, config).await?;
    loop {
        let (next, answer) = stream_one_answer(core, &session, config).await?;
        session = next;
        let calls = extract_tool_calls(&answer);
        if calls.is_empty() {
            return Ok(session);
        }
        for preview in core.format_tool_call_previews(&calls, config).await? {
            println!("[{}]", preview.preview);
        }
        for result in core.execute_tool_calls(calls, config, &CallContext::new("core_tour")).await?
        {
            session = core.add_message(&session, result, config).await?;
        }
    }
}

async fn stream_one_answer(
    core: &Core,
    session: &Session,
    config: &Config,
) -> orlop_core::Result<(Session, Vec<Message>)> {
    let mut events = core.send_request_stream(session, config, RequestOptions::default());
    while let Some(event) = events.next().await {
        match event? {
            CoreEvent::Partial(partial) => {
                print!("{}", partial.content);
                let _ = std::io::stdout().flush();
            }
            CoreEvent::Final(response) => {
                println!();
                return Ok((response.session, response.messages));
            }
        }
    }
    Err(orlop_core::Error::internal("the stream ended without a final"))
}

/// A model server that says what this tour expects of it.
async fn scripted_server() -> Result<MockModel, orlop_testkit::TestkitError> {
    let server = MockModel::start().await?;
    server.reply(Reply::text(["Hello to you, too."]));
    server.reply(Reply::tool_call("call_1", "shout", r#"{"text":"all hands"}"#).split_arguments(3));
    server.reply(Reply::text(["They heard it: ", "ALL HANDS."]));
    Ok(server)
}
