//! The feature: compacts one session, by hand or before it gets too long for the model.

use super::ask::snapshot;
use super::fill::{estimate, tokens};
use super::range::{Borders, is_snapshot, named};
use super::{NAME, Settings, context, described};
use orlop_app::{Application, now};
use orlop_core::hooks::{ActionInput, ActionsInput, FromNativeInput, Hook, HookSet};
use orlop_core::types::Edit;
use orlop_core::{
    ActionDefinition, ActionResult, Answer, CallContext, Change, Context, Error, Feature,
    LifecycleRun, Manifest, Map, Message, NativeItem, Plugin, Result, Role, Seq, Session, Value,
    lifecycle,
};
use serde_json::json;
use std::ops::Range;

/// The action for people.
pub(super) const COMPACT_RANGE: &str = "compact_range";
/// The action that runs by itself.
const MAKE_ROOM: &str = "make_room";
/// What is worth a snapshot that nobody asked for, in tokens.
const WORTH: u64 = 500;

/// Replaces a range of a conversation by a snapshot that a model writes. It does so by itself when
/// the context window fills up, and when the model server says that it has.
pub struct Compaction;

impl Plugin for Compaction {
    fn manifest(&self) -> Manifest {
        let manifest = Manifest::new(NAME, "1.0.0").priority(20).without_models();
        described(manifest).only(HookSet::of(&[
            Hook::FeatureFromNative,
            Hook::FeatureGetActions,
            Hook::FeatureExecuteAction,
        ]))
    }
}

impl Feature for Compaction {
    /// Snapshots carry their mark as messages, too, so that front ends can tell them apart.
    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Change<Message>> {
        let marked = |message: &Message| {
            let places = message.native_indices().positions()?;
            places.iter().find_map(|place| mark_of(input.native_messages.get(*place)?))
        };
        let edits = input.messages.iter().enumerate().filter_map(|(index, message)| {
            let patch = Map::from_iter([(NAME.to_owned(), marked(message)?.clone())]);
            Some(Edit::PatchMetadata { indices: vec![index], patch })
        });
        let edits: Vec<Edit<Message>> = edits.collect();
        Answer::ok(if edits.is_empty() { Change::Keep } else { Change::Edit(edits) })
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let settings = Settings::of(cx);
        let mut compact = ActionDefinition::new(COMPACT_RANGE, "Compact range")
            .describing("Replaces messages by a snapshot of their state.")
            .input("start", "integer", false)
            .input("end", "integer", false)
            .input("end_inclusive", "boolean", false)
            .input("instructions", "string", false);
        if !settings.triggers.is_empty() {
            let names: Vec<&str> = settings.triggers.iter().map(String::as_str).collect();
            compact = compact.on(&names);
        }
        let room = ActionDefinition::new(MAKE_ROOM, "Make room")
            .describing("Compacts what is old before the context window is full.")
            .on(&[lifecycle::MODEL_REQUEST, lifecycle::CONTEXT_OVERFLOW]);
        Answer::ok(vec![compact, room])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        let settings = Settings::of(cx);
        let automatic = input.action_id == MAKE_ROOM;
        let is_side = input.session.metadata().get("side").and_then(Value::as_bool) == Some(true);
        if automatic && (!settings.enabled || is_side) {
            return Answer::ok(noop("conversations are not compacted here"));
        }
        if !settings.enabled {
            let message = "compaction is switched off for this agent; set compaction.enabled";
            return Answer::ok(ActionResult::error("disabled", message));
        }
        if automatic && !(settings.auto && is_full(input, &settings, cx)) {
            let told = context::warning(input, &settings, cx);
            return Answer::ok(told.unwrap_or_else(|| noop("there is room, or nobody wants more")));
        }
        Answer::later(async move {
            let job = Job::new(input, &settings, cx);
            let range = match automatic {
                true => job.automatic_range(),
                false => Some(job.borders().within(named(&input.params, job.messages.len()))),
            };
            let instructions = input.params.get("instructions").and_then(Value::as_str);
            match range {
                Some(range) if !job.replaced(&range).is_empty() => {
                    job.run(range, instructions, automatic).await
                }
                _ => Ok(noop("there is nothing to compact")),
            }
        })
    }
}

/// Whether there is a reason to compact: too much of the context window is taken, or the model
/// server said so.
fn is_full(input: &ActionInput, settings: &Settings, cx: &Context) -> bool {
    if cx.lifecycle() == Some(lifecycle::CONTEXT_OVERFLOW) {
        return true;
    }
    cx.context_window().is_some_and(|window| {
        let limit = (window as f64 * settings.at) as u64;
        tokens(&input.session, &input.native_messages) >= limit
    })
}

fn noop(message: impl Into<String>) -> ActionResult {
    let public = json!({ "status": "noop", "message": message.into() });
    ActionResult { public: public.as_object().cloned().unwrap_or_default(), ..Default::default() }
}

fn mark_of(item: &NativeItem) -> Option<&Value> {
    item.metadata().get(NAME)
}

/// One compaction.
struct Job<'a> {
    input: &'a ActionInput,
    settings: &'a Settings,
    cx: &'a Context,
    messages: Vec<Message>,
    /// Whether native history is what the messages stand for, and not just made of them.
    retained: bool,
}

impl<'a> Job<'a> {
    fn new(input: &'a ActionInput, settings: &'a Settings, cx: &'a Context) -> Self {
        let made = &input.native_messages;
        let is_same = |held: &Seq<NativeItem>| {
            held.len() == made.len() && held.iter().zip(made.iter()).all(|(a, b)| a.ptr_eq(b))
        };
        Self {
            messages: input.session.messages().iter().cloned().collect(),
            retained: input.session.native().is_some_and(|held| is_same(held.items())),
            input,
            settings,
            cx,
        }
    }

    fn borders(&self) -> Borders<'_> {
        let len = self.retained.then(|| self.input.native_messages.len());
        Borders::new(&self.messages, len)
    }

    /// What to replace without being told: everything but the newest, if that is worth it.
    fn automatic_range(&self) -> Option<Range<usize>> {
        // What was too long is the only measure where the window is not known.
        let size = self.cx.context_window();
        let size = size.unwrap_or_else(|| tokens(&self.input.session, &self.input.native_messages));
        let keep = (size as f64 * self.settings.keep) as u64;
        let range = self.borders().but_the_newest(keep);
        let worth: u64 = self.replaced(&range).iter().map(|message| estimate(message)).sum();
        (worth >= WORTH).then_some(range)
    }

    /// The user's last message: where a compaction runs by itself, it may not have been answered.
    fn request(&self) -> Option<usize> {
        let is_request = |message: &Message| message.role() == Role::User && !is_snapshot(message);
        self.messages.iter().rposition(is_request)
    }

    /// The messages of the range that a snapshot would stand for.
    fn replaced(&self, range: &Range<usize>) -> Vec<&Message> {
        let kept = self.kept_request(range);
        let places = range.clone().filter(|place| Some(*place) != kept);
        let replaced: Vec<&Message> = places.filter_map(|place| self.messages.get(place)).collect();
        // A snapshot of one snapshot says nothing new.
        match replaced.as_slice() {
            [only] if is_snapshot(only) => Vec::new(),
            _ => replaced,
        }
    }

    /// The user's last message, if it is in the range of a compaction inside of a request.
    fn kept_request(&self, range: &Range<usize>) -> Option<usize> {
        let in_request = matches!(
            self.cx.lifecycle(),
            Some(
                lifecycle::MODEL_REQUEST | lifecycle::CONTEXT_OVERFLOW | lifecycle::REQUEST_PREPARE
            )
        );
        self.request().filter(|place| in_request && range.contains(place))
    }

    async fn run(
        self,
        range: Range<usize>,
        instructions: Option<&str>,
        automatic: bool,
    ) -> Result<ActionResult> {
        let told = json!({
            "start": range.start, "end": range.end, "instructions": instructions,
            "trigger": self.cx.lifecycle(),
        });
        let supplied = match self.prepared(told.clone()).await {
            Ok(Prepared::Vetoed(reason)) => return Ok(noop(reason)),
            Ok(Prepared::Supplied(summary)) => Some(summary),
            Ok(Prepared::Nothing) => None,
            Err(error) => return failed(error),
        };
        let replaced: Vec<Message> = self.messages.get(range.clone()).unwrap_or_default().to_vec();
        let summary = match supplied {
            Some(summary) => summary,
            None => match snapshot(&replaced, instructions, self.settings, self.cx).await {
                Ok(summary) => summary,
                Err(error) => return failed(error),
            },
        };
        let before: u64 = self.replaced(&range).iter().map(|message| estimate(message)).sum();
        let said = Message::user(format!(
            "The conversation up to here was compacted. This snapshot of its state stands in its place; go on from it.\n\n<state_snapshot>\n{summary}\n</state_snapshot>"
        ));
        let after = estimate(&said);
        if automatic && after >= before {
            return failed(Error::provider("the snapshot is longer than what it would replace"));
        }
        let (count, at) = (self.count() + 1, now());
        let change = match self.change(&range, said, &at).await {
            Ok(change) => change,
            Err(error) => return failed(error),
        };
        let replaced = range.len() - usize::from(self.kept_request(&range).is_some());
        self.completed(&change, told, &summary).await;
        let message = format!(
            "{replaced} messages (about {before} tokens) were replaced by a snapshot of about {after} tokens; undo brings them back"
        );
        let public = json!({
            "status": "ok",
            "message": message,
            "display": { "title": "Compacted", "body": message, "variant": "info" },
            "compaction": {
                "start": range.start, "end": range.end, "replaced": replaced,
                "tokens_before": before, "tokens_after": after,
            },
        });
        Ok(ActionResult {
            native_messages: change,
            base_revision: Some(self.input.revision),
            session_metadata: Some(json!({ "last_compaction": at, "compaction_count": count })),
            public: public.as_object().cloned().unwrap_or_default(),
            ..ActionResult::default()
        })
    }

    fn count(&self) -> u64 {
        let held = self.input.session.metadata().get("compaction_count");
        held.and_then(Value::as_u64).unwrap_or(0)
    }

    /// The native history with `said` in place of the range.
    async fn change(
        &self,
        range: &Range<usize>,
        said: Message,
        at: &str,
    ) -> Result<Change<NativeItem>> {
        let native = &self.input.native_messages;
        let request = self.kept_request(range);
        let borders = self.borders();
        let places = match borders.are_placed() {
            true => borders.native(range),
            false => None,
        };
        let mut items = Vec::new();
        match places {
            Some(places) => {
                let own = |place: usize| self.messages.get(place)?.native_indices().positions();
                let held = request.and_then(own).unwrap_or_default();
                let held: Vec<NativeItem> =
                    held.iter().filter_map(|place| native.get(*place).cloned()).collect();
                let kept = native.len() - places.end + held.len();
                items.extend(self.marked(said, range, kept, at).await?);
                items.extend(held);
                let Range { start, end } = places;
                Ok(Change::Edit(vec![Edit::Replace { start, end, items }]))
            }
            None => {
                let part =
                    |range: Range<usize>| self.messages.get(range).unwrap_or_default().to_vec();
                let mut after: Vec<Message> = request
                    .and_then(|place| self.messages.get(place).cloned())
                    .into_iter()
                    .collect();
                after.extend(part(range.end..self.messages.len()));
                let after = self.native_of(after).await?;
                items.extend(self.native_of(part(0..range.start)).await?);
                items.extend(self.marked(said, range, after.len(), at).await?);
                items.extend(after);
                Ok(Change::Replace(items))
            }
        }
    }

    async fn native_of(&self, messages: Vec<Message>) -> Result<Vec<NativeItem>> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let context = CallContext::new(NAME);
        self.cx.core().core_messages_to_native(messages, self.cx.config(), &context).await
    }

    /// The snapshot as native items that say what they are.
    async fn marked(
        &self,
        said: Message,
        range: &Range<usize>,
        kept: usize,
        at: &str,
    ) -> Result<Vec<NativeItem>> {
        let items = self.native_of(vec![said]).await?;
        let mark = json!({ "at": at, "replaced": range.len(), "kept": kept });
        let marked = |item: &NativeItem| {
            let mut metadata = item.metadata().clone();
            metadata.insert(NAME.to_owned(), mark.clone());
            item.with_metadata(metadata)
        };
        Ok(items.iter().map(marked).collect())
    }

    /// Tells plugins that history is about to be compacted; they may refuse, or say what takes its
    /// place.
    async fn prepared(&self, told: Value) -> Result<Prepared> {
        let name = lifecycle::COMPACTION_PREPARE;
        let run = self.lifecycle(name, &self.input.session, told).await?;
        for record in &run.results {
            if record.result.get("decision").and_then(Value::as_str) == Some("deny") {
                let word = |key: &str| record.result.get(key).and_then(Value::as_str);
                let reason = word("reason").or_else(|| word("message"));
                return Ok(Prepared::Vetoed(match reason {
                    Some(reason) => format!("plugin \"{}\" refused: {reason}", record.plugin),
                    None => format!("plugin \"{}\" refused", record.plugin),
                }));
            }
        }
        let mut summaries = run.results.iter().filter_map(|record| {
            let summary = record.result.get("summary")?.as_str()?.trim();
            (!summary.is_empty()).then(|| summary.to_owned())
        });
        Ok(summaries.next().map_or(Prepared::Nothing, Prepared::Supplied))
    }

    /// Tells plugins what history is going to be. Nothing they do can take it back.
    async fn completed(&self, change: &Change<NativeItem>, mut told: Value, summary: &str) {
        told["summary"] = summary.into();
        let completed = async {
            let native: Seq<NativeItem> = change.clone().apply(&self.input.native_messages)?;
            let (core, context) = (self.cx.core(), CallContext::new(NAME));
            let session = core
                .with_native_history(&self.input.session, native, self.cx.config(), &context)
                .await?;
            self.lifecycle(lifecycle::COMPACTION_COMPLETE, &session, told).await
        };
        if let Err(error) = completed.await {
            tracing::warn!(target: "orlop::plugins", %error, "compaction_complete failed");
        }
    }

    /// Runs a lifecycle of compaction. What it does to the session is not kept.
    async fn lifecycle(&self, name: &str, session: &Session, told: Value) -> Result<LifecycleRun> {
        let config = self.cx.config();
        match Application::of(self.cx) {
            Ok(app) => {
                let told = Map::from_iter([(NAME.to_owned(), told)]);
                app.run_session_lifecycle(name, session, config, told).await
            }
            Err(_) => {
                let context = CallContext::new(NAME).with(NAME, told);
                self.cx.core().execute_lifecycle_actions(session, config, name, &context).await
            }
        }
    }
}

/// What plugins said before a compaction.
enum Prepared {
    Nothing,
    Supplied(String),
    Vetoed(String),
}

/// A failure leaves everything as it was. A cancellation ends whatever the compaction is part of.
fn failed(error: Error) -> Result<ActionResult> {
    if error.is_cancelled() {
        return Err(error);
    }
    let message = format!("the conversation was not compacted: {}", error.message());
    Ok(ActionResult::error(error.class().as_str(), message))
}
