//! A chat in the terminal, line by line, with no key and no configuration.
//!
//! `cargo run --bin first_chat` answers from a model server that it starts itself and that only
//! knows how to repeat. With `OPENAI_API_KEY` set it talks to that server instead, or to the one
//! that `OPENAI_BASE_URL` names; `ORLOP_MODEL` names the model.

use futures::StreamExt;
use orlop_core::{
    CallContext, Config, Core, CoreEvent, Message, RequestOptions, Session,
    session::extract_tool_calls,
};
use orlop_examples::Shout;
use orlop_providers::OpenAiCompatible;
use orlop_testkit::mock_model::MockModel;
use serde_json::json;
use std::error::Error;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::default()), vec![])?;
    core.register_tool(Arc::new(Shout))?;
    let echo = MockModel::echo().await?;
    let config = configuration(&echo)?;
    let interactive = std::io::stdin().is_terminal();
    if interactive {
        println!("Write a line and press Enter; an empty line or Ctrl-D ends the chat.");
    }

    let mut session = core.create_session(None);
    let mut lines = std::io::stdin().lock().lines();
    loop {
        if interactive {
            print!("> ");
            std::io::stdout().flush()?;
        }
        let Some(line) = lines.next().transpose()?.filter(|line| !line.trim().is_empty()) else {
            return Ok(());
        };
        match turn(&core, &session, &line, &config).await {
            Ok(next) => session = next,
            Err(error) => eprintln!("{error}"),
        }
    }
}

/// The server of the environment, or the one that repeats.
fn configuration(echo: &MockModel) -> orlop_core::Result<Config> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut config =
        json!({ "provider": "openai_compatible", "model": "echo", "base_url": echo.base_url() });
    if let Some(key) = var("OPENAI_API_KEY") {
        config["api_key"] = key.into();
        config["base_url"] =
            var("OPENAI_BASE_URL").unwrap_or("https://api.openai.com/v1".into()).into();
        config["model"] = var("ORLOP_MODEL").unwrap_or("gpt-5-mini".into()).into();
        println!("Using {} at {}.", config["model"], config["base_url"]);
    } else {
        println!("No OPENAI_API_KEY is set: answering from a server that only repeats.");
    }
    Config::from_json(config)
}

/// One line of the person, answered, tools included.
async fn turn(
    core: &Core,
    session: &Session,
    line: &str,
    config: &Config,
) -> orlop_core::Result<Session> {
    let mut session = core.add_message(session, Message::user(line), config).await?;
    loop {
        let mut events = core.send_request_stream(&session, config, RequestOptions::default());
        let mut answer = Vec::new();
        while let Some(event) = events.next().await {
            match event? {
                CoreEvent::Partial(partial) => {
                    print!("{}", partial.content);
                    let _ = std::io::stdout().flush();
                }
                CoreEvent::Final(response) => {
                    session = response.session;
                    answer = response.messages;
                }
            }
        }
        println!();
        let calls = extract_tool_calls(&answer);
        if calls.is_empty() {
            return Ok(session);
        }
        for preview in core.format_tool_call_previews(&calls, config).await? {
            println!("[{}]", preview.preview);
        }
        for result in
            core.execute_tool_calls(calls, config, &CallContext::new("first_chat")).await?
        {
            session = core.add_message(&session, result, config).await?;
        }
    }
}
