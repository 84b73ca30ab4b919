//! The arguments of calls against what their tools declare, before anybody is asked about them.
//!
//! Schemas may come from anywhere. One that cannot be used, or that takes too long, means that the
//! arguments of its tool are not judged; it never means that a call fails.

use crate::lock::locked;
use orlop_core::interop::calls::parse_error;
use orlop_core::types::{InspectedCall, ToolDescriptor};
use orlop_core::{ArgumentSchema, Value};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// How many schemas are remembered.
const KEPT: usize = 1_024;
/// How long reading a schema or judging arguments may take. Schemas can be made to take forever.
const TIME: Duration = Duration::from_secs(1);
/// The stack for it: schemas and arguments can be deep.
const STACK: usize = 16 * 1024 * 1024;

/// The schemas that were read, by their content; nothing for those that cannot be used.
#[derive(Default)]
pub(crate) struct ArgumentSchemas(Mutex<HashMap<[u8; 32], Option<Arc<ArgumentSchema>>>>);

impl ArgumentSchemas {
    /// The arguments of a call as its tool is to get them; a text for the model if they are none
    /// that it takes.
    pub(super) async fn read(
        &self,
        tool: Option<&ToolDescriptor>,
        call: &InspectedCall,
    ) -> Result<Value, String> {
        let Some(declared) = tool.and_then(|tool| ArgumentSchema::declared(&tool.schema)) else {
            return Ok(call.payload.clone());
        };
        let name = call.tool_name.as_deref().unwrap_or_default();
        if let Some(reason) = parse_error(call) {
            return Err(format!(
                "tool \"{name}\" was not run: {reason}; send them again as one JSON object"
            ));
        }
        match self.judge(name, declared, call.payload.clone()).await {
            Some(Err(problems)) => Err(format!(
                "tool \"{name}\" was not run, because its arguments do not fit its schema; correct them and call it again:\n- {}",
                problems.join("\n- ")
            )),
            Some(Ok(arguments)) => Ok(arguments),
            None => Ok(call.payload.clone()),
        }
    }

    /// What a schema says of arguments; nothing if it cannot be used.
    async fn judge(
        &self,
        tool: &str,
        declared: &Value,
        arguments: Value,
    ) -> Option<Result<Value, Vec<String>>> {
        let content: [u8; 32] = Sha256::digest(declared.to_string()).into();
        let known = locked(&self.0).get(&content).cloned();
        let schema = match known {
            Some(schema) => schema?,
            None => {
                let declared = declared.clone();
                let read = in_time(move || ArgumentSchema::new(&declared)).await;
                let schema = match read {
                    Some(Ok(schema)) => Some(Arc::new(schema)),
                    Some(Err(bad)) => {
                        unusable(tool, &format!("{}: {}", bad.place, bad.message));
                        None
                    }
                    None => {
                        unusable(tool, "it takes too long to read");
                        None
                    }
                };
                self.keep(content, schema.clone());
                schema?
            }
        };
        let judged = in_time(move || schema.read(arguments)).await;
        if judged.is_none() {
            unusable(tool, "it takes too long to judge arguments");
            self.keep(content, None);
        }
        judged
    }

    fn keep(&self, content: [u8; 32], schema: Option<Arc<ArgumentSchema>>) {
        let mut kept = locked(&self.0);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(content, schema);
    }
}

fn unusable(tool: &str, reason: &str) {
    tracing::warn!(target: "orlop::app", tool, reason, "the arguments of a tool are not judged, because its schema cannot be used");
}

/// What `work` gives, unless it takes too long or panics. It has a thread of its own, which nobody
/// waits for when the program ends.
async fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (send, receive) = oneshot::channel();
    let thread = std::thread::Builder::new().name("arguments".to_owned()).stack_size(STACK);
    thread.spawn(move || send.send(work()).map_err(drop)).ok()?;
    tokio::time::timeout(TIME, receive).await.ok()?.ok()
}
