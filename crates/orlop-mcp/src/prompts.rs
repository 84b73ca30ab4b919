//! Prompts of servers as commands: `/server:prompt` with what it asks for behind it.

use crate::server::Server;
use crate::words;
use crate::{media, report};
use orlop_core::{Error, Map, Result, Value};
use rmcp::model::{
    ClientRequest, ContentBlock, GetPromptRequest, GetPromptRequestParams, Prompt,
    ResourceContents, Role, ServerResult,
};
use std::sync::Arc;

/// The longest text of a prompt, in bytes.
const MAX_TEXT: usize = 200_000;

/// A command that was typed: the prompt it names and what follows.
pub(crate) struct Typed<'a> {
    pub(crate) server: Arc<Server>,
    pub(crate) prompt: Prompt,
    rest: &'a str,
}

impl<'a> Typed<'a> {
    /// Reads a message; it is no command if none of the servers is known to have the prompt.
    pub(crate) fn read(text: &'a str, servers: &[Arc<Server>]) -> Option<Self> {
        let typed = text.strip_prefix('/')?;
        let end = typed.find(char::is_whitespace).unwrap_or(typed.len());
        let (name, rest) = (&typed[..end], typed[end..].trim());
        servers.iter().find_map(|server| {
            let wanted = name.strip_prefix(server.name())?.strip_prefix(':')?;
            let known = server.known()?;
            let prompt = known.prompts.iter().find(|prompt| prompt.name == wanted)?.clone();
            Some(Self { server: server.clone(), prompt, rest })
        })
    }

    /// The message that the server makes of it: its text, and its pictures beside it.
    pub(crate) async fn message(&self) -> Result<(String, Vec<Map>)> {
        let arguments = arguments(self.server.name(), &self.prompt, self.rest)?;
        let mut params = GetPromptRequestParams::new(&self.prompt.name);
        if !arguments.is_empty() {
            params = params.with_arguments(arguments);
        }
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let failed = |error: Error| {
            let prompt = &self.prompt.name;
            self.server
                .failure(&format!("did not give the prompt \"{prompt}\": {}", error.message()))
        };
        let connection = self.server.connect().await?;
        let answer = connection.ask(request, self.server.patience()).await.map_err(failed)?;
        let ServerResult::GetPromptResult(result) = answer else {
            return Err(failed(Error::provider("its answer makes no sense")));
        };
        let one_voice = result.messages.iter().all(|message| message.role == Role::User);
        let mut parts = Vec::new();
        let texts = result.messages.into_iter().map(|message| {
            let text = text_of(message.content, &mut parts);
            match message.role {
                _ if one_voice => text,
                Role::Assistant => format!("Assistant: {text}"),
                _ => format!("User: {text}"),
            }
        });
        let text = words::text(&texts.collect::<Vec<_>>().join("\n\n"), MAX_TEXT);
        match text.trim().is_empty() {
            true => Err(failed(Error::provider("it is empty"))),
            // What a server says must not be taken for a command.
            false if text.starts_with('/') => Ok((format!(" {text}"), parts)),
            false => Ok((text, parts)),
        }
    }
}

/// The text of a content. Pictures go beside it, and leave a word where they stood.
fn text_of(content: ContentBlock, parts: &mut Vec<Map>) -> String {
    match content {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                media::beside(&uri, &mime_type.unwrap_or_default(), blob, parts)
            }
            other => report::resource_text(vec![other], MAX_TEXT),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}]", link.uri),
        ContentBlock::Image(image) => media::beside("picture", &image.mime_type, image.data, parts),
        _ => "[not shown]".to_owned(),
    }
}

/// All prompts of a server as people begin to write them, one a line.
pub(crate) fn template(server: &Server) -> Vec<String> {
    let known = server.known();
    let prompts = known.iter().flat_map(|known| known.prompts.iter());
    let line = |prompt: &Prompt| {
        let written = format!("/{}:{} {}", server.name(), prompt.name, usage(prompt));
        words::line(written.trim_end(), 500)
    };
    prompts.map(line).collect()
}

/// What may follow a command.
pub(crate) fn usage(prompt: &Prompt) -> String {
    let words = prompt.arguments.iter().flatten().map(|argument| match argument.required {
        Some(true) => format!("{}=...", argument.name),
        _ => format!("[{}=...]", argument.name),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `name=value` pairs, values in quotation marks where they have spaces. What stands there without
/// a name is the first argument that has to be given.
fn arguments(server: &str, prompt: &Prompt, rest: &str) -> Result<Map> {
    let declared: Vec<_> = prompt.arguments.iter().flatten().collect();
    let is_declared = |name: &str| declared.iter().any(|argument| argument.name == name);
    let mut given = Map::new();
    let mut loose: Vec<String> = Vec::new();
    for word in split(rest) {
        match word.split_once('=') {
            Some((name, value)) if is_declared(name) => {
                given.insert(name.to_owned(), Value::from(value));
            }
            _ => loose.push(word),
        }
    }
    if !loose.is_empty() {
        let first = declared.iter().find(|argument| !given.contains_key(&argument.name));
        let first = first.ok_or_else(|| wrong(server, prompt, "takes nothing more"))?;
        given.insert(first.name.clone(), loose.join(" ").into());
    }
    let missing = declared
        .iter()
        .find(|argument| argument.required == Some(true) && !given.contains_key(&argument.name));
    match missing {
        Some(argument) => Err(wrong(server, prompt, &format!("needs \"{}\"", argument.name))),
        None => Ok(given),
    }
}

fn wrong(server: &str, prompt: &Prompt, what: &str) -> Error {
    let name = format!("/{server}:{}", prompt.name);
    let usage = format!("{name} {}", usage(prompt));
    Error::bad_argument(format!("{name} {what}; write: {}", usage.trim_end()))
}

/// Words; a part in double quotation marks is one.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                begun = true;
            }
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                begun = true;
                word.push(c);
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_read_by_name_or_in_order() {
        let prompt: Prompt = serde_json::from_value(json!({ "name": "p", "arguments": [
            { "name": "city", "required": true }, { "name": "style" }] }))
        .unwrap();
        let read = |rest: &str| match arguments("s", &prompt, rest) {
            Ok(given) => Value::Object(given).to_string(),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(read("Paris"), r#"{"city":"Paris"}"#);
        assert_eq!(read("city=\"New York\" style=short"), r#"{"city":"New York","style":"short"}"#);
        assert_eq!(read("style=short New York"), r#"{"style":"short","city":"New York"}"#);
        assert_eq!(read(""), "/s:p needs \"city\"; write: /s:p city=... [style=...]");
        assert_eq!(
            read("city=a style=b c"),
            "/s:p takes nothing more; write: /s:p city=... [style=...]"
        );
    }
}
