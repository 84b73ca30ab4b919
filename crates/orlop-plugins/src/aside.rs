//! Questions to a model aside from the conversation: on a session that nobody keeps, without tools,
//! and counted to the plugin that asks.

use orlop_core::{Config, Core, Map, Message, RequestOptions, Result, Role, Session, Value};
use std::borrow::Cow;

/// A session for one question, of this agent.
pub(crate) fn session(core: &Core, agent: Option<&str>) -> Session {
    let mut mark = Map::from_iter([("side".to_owned(), true.into())]);
    if let Some(agent) = agent {
        mark.insert("agent_id".to_owned(), agent.into());
    }
    core.create_session(None).with_metadata_patch(&mark)
}

/// Asks on such a session; gives the messages of the answer.
pub(crate) async fn ask(
    core: &Core,
    config: &Config,
    side: &Session,
    question: String,
    options: RequestOptions,
) -> Result<Vec<Message>> {
    let side = core.add_message(side, Message::user(question), config).await?;
    let options = RequestOptions { without_tools: true, ..options };
    Ok(core.send_request(&side, config, options).await?.messages)
}

/// The settings without a schema for answers, where text is wanted.
pub(crate) fn unjudged(config: &Config) -> Cow<'_, Config> {
    if config.get("output_schema").is_none_or(Value::is_null) {
        return Cow::Borrowed(config);
    }
    let mut values = config.values().clone();
    values.shift_remove("output_schema");
    Cow::Owned(Config::new(values))
}

/// The text of the last message of the model.
pub(crate) fn answer(messages: &[Message]) -> &str {
    let said = messages.iter().rfind(|message| message.role() == Role::Assistant);
    said.map(Message::text).unwrap_or_default()
}
