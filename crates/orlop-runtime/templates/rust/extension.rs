//! An extension: shows the text of every provider in lower case while it streams.

use orlop_core::hooks::Chunk;
use orlop_core::{Extension, Manifest, Plugin, Result, State};

pub struct MyPlugin;

impl Plugin for MyPlugin {
    fn manifest(&self) -> Manifest {
        Manifest::new("my_plugin", "0.1.0").without_models()
    }
}

impl Extension for MyPlugin {
    fn process_chunk(&self, _: &State, chunk: &mut Chunk) -> Result<()> {
        if let Some(partial) = &mut chunk.partial {
            partial.content = partial.content.to_lowercase();
        }
        Ok(())
    }
}

#[test]
fn shows_text_in_lower_case() -> Result<()> {
    let partial = serde_json::json!({ "partial": { "role": "assistant", "content": "LOUD" } });
    let mut chunk: Chunk = serde_json::from_value(partial).unwrap_or_default();
    MyPlugin.process_chunk(&State::default(), &mut chunk)?;
    assert_eq!(chunk.partial.map(|partial| partial.content).as_deref(), Some("loud"));
    Ok(())
}
