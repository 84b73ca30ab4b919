//! Resources of servers that a message mentions: `@server:address`.

use crate::server::Server;
use crate::{media, report, words};
use orlop_core::{Error, Map, Result};
use rmcp::model::{
    ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ResourceContents, ServerResult,
};
use std::sync::Arc;

/// How many mentions of a message are followed, and how much each may add, in bytes.
const MAX_MENTIONS: usize = 10;
const MAX_TEXT: usize = 100_000;

/// A resource that is mentioned.
pub(crate) struct Mention {
    pub(crate) server: Arc<Server>,
    pub(crate) uri: String,
}

impl Mention {
    /// The resources that a text mentions. An address need not be listed: servers have templates.
    pub(crate) fn all(text: &str, servers: &[Arc<Server>]) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for word in text.split_whitespace() {
            let Some(word) = word.trim_start_matches(['(', '[', '"', '\'']).strip_prefix('@')
            else {
                continue;
            };
            let server = servers.iter().find_map(|server| {
                Some((server, word.strip_prefix(server.name())?.strip_prefix(':')?))
            });
            let Some((server, uri)) = server else { continue };
            let bare = uri.trim_end_matches(['.', ',', ';', '!', '?', ')', ']', '"', '\'']);
            let listed =
                server.known().is_some_and(|it| it.resources.iter().any(|it| it.uri == uri));
            let uri = if listed { uri } else { bare };
            let is_there = |held: &Self| held.uri == uri && held.server.name() == server.name();
            if uri.contains(':') && !found.iter().any(is_there) && found.len() < MAX_MENTIONS {
                found.push(Self { server: server.clone(), uri: uri.to_owned() });
            }
        }
        found
    }

    /// What is behind it as parts of the message: its text, and pictures; or why it could not be read.
    pub(crate) async fn parts(&self) -> Vec<Map> {
        let (server, uri) = (self.server.name(), &self.uri);
        let contents = match self.read().await {
            Ok(contents) => contents,
            Err(error) => {
                let why = error.message();
                let told = format!("[the resource @{server}:{uri} could not be read: {why}]");
                return vec![media::text(told)];
            }
        };
        let mut pictures = Vec::new();
        let texts = contents.into_iter().map(|content| match content {
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                media::beside(&uri, &mime_type.unwrap_or_default(), blob, &mut pictures)
            }
            other => report::resource_text(vec![other], MAX_TEXT),
        });
        let text = words::text(&texts.collect::<Vec<_>>().join("\n"), MAX_TEXT);
        let text = format!("<resource server=\"{server}\" uri=\"{uri}\">\n{text}\n</resource>");
        std::iter::once(media::text(text)).chain(pictures).collect()
    }

    async fn read(&self) -> Result<Vec<ResourceContents>> {
        let params = ReadResourceRequestParams::new(&self.uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let connection = self.server.connect().await?;
        match connection.ask(request, self.server.patience()).await? {
            ServerResult::ReadResourceResult(result) => Ok(result.contents),
            _ => Err(Error::provider("the server's answer makes no sense")),
        }
    }
}
