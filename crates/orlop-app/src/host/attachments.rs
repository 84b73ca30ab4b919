//! Files that come with a request: what handlers are told of them, and what the model gets unless a
//! feature knows better.

use crate::application::Application;
use crate::store::AssetRecord;
use base64::Engine;
use orlop_core::hooks::{FileInfo, RequestInfo};
use orlop_core::{Error, Map, Message, Result, Session, TriggerSource, Value};
use serde_json::json;

/// How much text of a file goes into a message, in bytes.
const MAX_TEXT: u64 = 256 * 1024;

/// A file of a request.
pub(super) struct File {
    pub(super) info: FileInfo,
    /// What the message carries of it.
    pub(super) parts: Vec<Map>,
}

impl Application {
    /// The files behind asset ids; one that does not exist is not found.
    pub(super) async fn files_of(&self, ids: &[String]) -> Result<Vec<File>> {
        let mut files = Vec::with_capacity(ids.len());
        for id in ids {
            let (record, bytes) = self.read_asset(id).await?;
            let location = match &self.shared.assets {
                Some(assets) => assets.path(&self.scope, id)?.display().to_string(),
                None => return Err(Error::bad_state("this application keeps no attachments")),
            };
            let parts = vec![part_of(&record, &bytes)];
            let AssetRecord { id, name, media_type, size, .. } = record;
            files.push(File { info: FileInfo { id, name, media_type, size, location }, parts });
        }
        Ok(files)
    }

    /// The files as the features of the request's agent want them in the message.
    pub(super) async fn shaped(
        &self,
        files: Vec<File>,
        info: &RequestInfo,
        overrides: &Map,
    ) -> Result<Vec<File>> {
        if files.is_empty() {
            return Ok(files);
        }
        let agent = self.shared.agent(&info.agent_id)?;
        let session = match self.load_session(&info.session_id).await? {
            Some(loaded) => loaded.session,
            None => Session::new(&*info.session_id),
        };
        let config = self.effective(&agent, &session, &[overrides]);
        let (core, layer) =
            (self.core_of(&agent), self.layer(&agent.base, TriggerSource::Application));
        let mut shaped = Vec::with_capacity(files.len());
        for file in files {
            let parts = core.attachment_parts(&config, file.info.clone(), &layer).await?;
            let parts = if parts.is_empty() { file.parts } else { parts };
            shaped.push(File { parts, ..file });
        }
        Ok(shaped)
    }
}

/// The message with a note of its files, for whoever shows it: `parts` says how many of its last
/// content parts are of a file, in the order of the files.
pub(super) fn noted(message: Message, files: &[File]) -> Message {
    if files.is_empty() {
        return message;
    }
    let note = |File { info, parts }: &File| {
        json!({
            "id": info.id, "name": info.name, "media_type": info.media_type, "size": info.size,
            "parts": parts.len(),
        })
    };
    message.with_metadata_entry("attachments", files.iter().map(note).collect::<Vec<_>>())
}

/// Images go inline, text as text, anything else by name. A drawing in SVG is text: models do not
/// take it as an image.
fn part_of(record: &AssetRecord, bytes: &[u8]) -> Map {
    let AssetRecord { name, media_type, size, .. } = record;
    let part = if media_type.starts_with("image/") && media_type != "image/svg+xml" {
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let url = format!("data:{media_type};base64,{data}");
        json!({ "type": "image_url", "image_url": { "url": url } })
    } else {
        let text = (*size <= MAX_TEXT).then(|| std::str::from_utf8(bytes).ok()).flatten();
        let said = match text {
            Some(text) => format!("File {name}:\n{text}"),
            None => format!("File {name} ({media_type}, {size} bytes) is attached."),
        };
        json!({ "type": "text", "text": said })
    };
    match part {
        Value::Object(part) => part,
        _ => Map::new(),
    }
}
