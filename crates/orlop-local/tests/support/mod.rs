//! What the tests of the engine share: tiny models on disk, and requests to them.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use orlop_local::{Message, Model, Options, Request, Sampling};
pub(crate) use orlop_testkit::tiny_model::TinyModel;

/// The model, on one thread.
pub(crate) fn open(tiny: &TinyModel) -> Model {
    open_with(tiny, &Options { threads: Some(1), ..Options::default() })
}

pub(crate) fn open_with(tiny: &TinyModel, options: &Options) -> Model {
    // The map outlives the name of the file.
    Model::open_with(File::new(&tiny.bytes().0).path(), options).unwrap()
}

/// A file that is removed when the test ends.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("orlop-local-{}-{count}.gguf", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) fn message(role: &str, content: &str) -> Message {
    Message { role: role.into(), content: content.into(), calls: Vec::new() }
}

/// A request that always gets the same answer.
pub(crate) fn ask(messages: &[Message], max_tokens: usize) -> Request {
    Request {
        messages: messages.to_vec(),
        sampling: Sampling::greedy(),
        max_tokens: Some(max_tokens),
        ..Request::default()
    }
}
