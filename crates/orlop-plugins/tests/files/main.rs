//! The tool plugin `files`, through whole turns.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod edit;
mod find;
mod patch;
mod read;
#[path = "../stage/mod.rs"]
mod stage;

use orlop_app::Application;
use orlop_core::Value;
use orlop_plugins::Files;
use orlop_testkit::scripted::ScriptedReply;
use stage::*;

/// A stage with the tools of `files` on one session.
struct Room {
    stage: Stage,
    app: Application,
}

impl Room {
    async fn open(stage: Stage) -> Self {
        let stage = stage.tool(Files::default());
        let app = stage.start().await;
        Self { stage, app }
    }

    /// Runs a call in a turn; gives what the model reads of it.
    async fn call(&self, tool: &str, input: Value) -> String {
        let events = self.events(tool, input).await;
        results(&events).pop().unwrap_or_else(|| names(&events))
    }

    async fn events(&self, tool: &str, input: Value) -> Vec<std::sync::Arc<orlop_app::Event>> {
        self.stage.model.reply(ScriptedReply::calls(&[("c1", tool, input)]));
        self.stage.model.reply(ScriptedReply::text(&["done"]));
        events_of(&self.app, ask("s", "go")).await
    }
}
