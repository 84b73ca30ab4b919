//! Actions: buttons with their dialogs, what came of them, and the displays they leave.

use super::block::{Block, Tone};
use super::effect::{Run, What};
use super::form::{Form, Purpose};
use super::picker::{Item, MessageUse, Pick, SessionUse};
use super::{Ask, Choice, Deed, Effect, Model, Operation, Origin};
use orlop_app::ui::{
    ActionElement, Dialog, Display, DisplayActionKind, Outcome, Surface, plain_line, plain_text,
};
use orlop_core::{ActionDefinition, Map, Value};
use serde_json::json;

/// A display with more lines, or a longer text, may not fit above the line.
const TALL_LINES: usize = 8;
const TALL_BYTES: usize = 600;

impl Model {
    /// A button was pressed: what it is about is chosen first, then its dialog is filled in.
    pub(super) fn press(&mut self, element: ActionElement) -> Vec<Effect> {
        let element = Box::new(element);
        match element.surface {
            Surface::SessionList => self.pick(Pick::Sessions(SessionUse::Run(element))),
            Surface::MessageAction if self.conversation.session.is_none() => {
                self.notice(Tone::Info, "Nothing has been said in this session yet");
                Vec::new()
            }
            Surface::MessageAction => self.pick(Pick::Messages(MessageUse::Run(element))),
            Surface::SessionAction | Surface::Terminal => {
                let session = self.conversation.session.clone();
                self.open_dialog(*element, session, None)
            }
        }
    }

    pub(super) fn open_dialog(
        &mut self,
        element: ActionElement,
        session: Option<String>,
        message: Option<usize>,
    ) -> Vec<Effect> {
        let surface = element.surface;
        let dialog = element.dialog.clone();
        let what = What::Element(Box::new(element), Map::new());
        let run = Run { what, surface, session, message, follows: None };
        match dialog {
            Some(mut dialog) => {
                if dialog.title.is_empty() {
                    dialog.title = "Go on?".to_owned();
                }
                self.ask(Form::new(dialog, Purpose::Run(Box::new(run))))
            }
            None => vec![Effect::App(Ask::Run(Box::new(run)))],
        }
    }

    /// The dialog of a button was filled in.
    pub(super) fn run_with(&mut self, mut run: Run, given: Map) -> Vec<Effect> {
        if let What::Element(_, answers) = &mut run.what {
            *answers = given;
        }
        vec![Effect::App(Ask::Run(Box::new(run)))]
    }

    /// An action that has no button: its inputs are asked for as a dialog would.
    pub(super) fn ask_for_inputs(&mut self, action: ActionDefinition) -> Vec<Effect> {
        let session = self.conversation.session.clone();
        let implied = |name: &str| matches!(name, "session_id" | "agent_id");
        let inputs = action.inputs.iter().filter(|(name, _)| !implied(name));
        let inputs: Vec<Value> = inputs
            .map(|(name, descriptor)| {
                let mut input = descriptor.as_object().cloned().unwrap_or_default();
                let label = input.get("description").cloned();
                input.insert("name".to_owned(), name.clone().into());
                input.entry("label").or_insert(label.unwrap_or_else(|| name.clone().into()));
                Value::Object(input)
            })
            .collect();
        if inputs.is_empty() {
            return self.run_action(&action, session, Map::new());
        }
        let dialog = Dialog::read(&json!({ "title": action.label, "inputs": inputs }));
        let purpose = Purpose::Action(Box::new(action), session);
        self.ask(Form::new(dialog.unwrap_or_default(), purpose))
    }

    pub(super) fn run_action(
        &mut self,
        action: &ActionDefinition,
        session: Option<String>,
        params: Map,
    ) -> Vec<Effect> {
        let plugin = action.plugin.clone().unwrap_or_default();
        let what = What::Action { plugin, action: action.id.clone(), params };
        let surface = Surface::SessionAction;
        let run = Run { what, surface, session, message: None, follows: None };
        vec![Effect::App(Ask::Run(Box::new(run)))]
    }

    pub(super) fn acted(&mut self, run: &Run, outcome: Outcome) -> Vec<Effect> {
        self.show_outcome(run.surface, run.session.clone(), run.follows, outcome)
    }

    /// Shows what came of an action: its display, else its message, else that it worked.
    pub(super) fn show_outcome(
        &mut self,
        surface: Surface,
        session: Option<String>,
        follows: Option<(u64, bool)>,
        outcome: Outcome,
    ) -> Vec<Effect> {
        let shows_displays = surface != Surface::SessionList;
        let display = outcome.display.clone().filter(|_| shows_displays);
        let shown = display.is_some();
        let number = match follows {
            Some((number, preserve)) if !outcome.failed() || shown => {
                self.displays.follow_up(number, preserve, surface, display)
            }
            _ => display.and_then(|display| self.displays.show(surface, display)),
        };
        if let Some(number) = number {
            self.origins.insert(number, Origin { surface, session });
        }
        match outcome.message.as_deref().filter(|_| !shown || outcome.failed()) {
            Some(message) if outcome.failed() => self.notice(Tone::Failure, plain_text(message)),
            Some(message) => self.notice(Tone::Success, plain_text(message)),
            None if !shown => self.notice(Tone::Success, "Done"),
            None => {}
        }
        self.apply(&outcome)
    }

    /// What an action wants front ends to do, and what they have to know of sessions it touched.
    pub(super) fn apply(&mut self, outcome: &Outcome) -> Vec<Effect> {
        let mine = self.conversation.session.clone();
        let is_mine = |ids: &[String]| mine.as_ref().is_some_and(|mine| ids.contains(mine));
        let mut effects = Vec::new();
        if is_mine(&outcome.mutations.deleted_session_ids) {
            effects.push(Effect::App(Ask::Do(Operation::New)));
            effects.extend(self.pick(Pick::Sessions(SessionUse::Open)));
        } else if is_mine(&outcome.reload_session_ids()) {
            effects.extend(mine.iter().map(|it| Effect::App(Ask::Do(Operation::Open(it.clone())))));
        } else if is_mine(&outcome.mutations.updated_session_ids) {
            effects.push(Effect::App(Ask::Do(Operation::Reload)));
        }
        effects.extend(self.hand_over(outcome));
        let Some(place) = outcome.navigate() else { return effects };
        let word = |key: &str| place.get(key).and_then(Value::as_str);
        match (word("screen"), word("session_id")) {
            (Some("sessions"), _) => effects.extend(self.pick(Pick::Sessions(SessionUse::Open))),
            (Some("session"), Some(id)) if Some(id) != self.conversation.session.as_deref() => {
                effects.push(Effect::App(Ask::Do(Operation::Open(id.to_owned()))));
            }
            (Some("settings"), _) => effects.extend(self.pick(Pick::Settings)),
            _ => {}
        }
        effects
    }

    /// What an action gives to the user: a text to the clipboard, a file to the working folder.
    fn hand_over(&mut self, outcome: &Outcome) -> Vec<Effect> {
        let effect = |name: &str| outcome.ui_effects.as_ref().and_then(|effects| effects.get(name));
        let mut effects = Vec::new();
        if let Some(text) = effect("copy_text").and_then(Value::as_str) {
            effects.extend(self.copy(text.to_owned(), "it"));
        }
        if let Some(file) = effect("download") {
            let word = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
            let (asset, name) = (word("asset_id").to_owned(), word("name").to_owned());
            if !asset.is_empty() {
                effects.push(Effect::App(Ask::Do(Operation::Download { asset, name })));
            }
        }
        effects
    }

    /// A display that a plugin published, in the session that it is of.
    pub(super) fn published(&mut self, session: Option<&String>, fields: &Map) {
        let Some(display) = Display::from_result(fields) else { return };
        if session.is_some() && session == self.conversation.session.as_ref() {
            let surface = Surface::SessionAction;
            if let Some(number) = self.displays.show(surface, display) {
                self.origins.insert(number, Origin { surface, session: session.cloned() });
            }
        }
    }

    /// All of a display that may not fit on the screen, once.
    pub(super) fn open_display(&mut self) -> Option<Display> {
        let is_tall = |display: &Display| {
            display.body.lines().count() > TALL_LINES || display.body.len() > TALL_BYTES
        };
        let shown = self.displays.shown().iter().rev().map(|shown| &shown.display);
        let mut tall = shown.filter(|display| is_tall(display) && !self.printed.contains(display));
        let display = tall.next()?.clone();
        self.printed.push(display.clone());
        Some(display)
    }

    /// The follow-ups of all displays, for the palette.
    pub(super) fn follow_ups(&self) -> Vec<Item> {
        let shown = self.displays.shown().iter().rev();
        let items = shown.flat_map(|shown| {
            let title = shown.display.title.clone().unwrap_or_default();
            shown.display.actions.iter().enumerate().map(move |(place, action)| Item {
                label: action.label.clone(),
                detail: title.clone(),
                choice: Choice::FollowUp(shown.number, place),
            })
        });
        items.collect()
    }

    pub(super) fn follow_up_of_last(&mut self, place: usize) -> Vec<Effect> {
        let with_actions = self.displays.shown().iter().rev();
        let mut with_actions = with_actions.filter(|shown| !shown.display.actions.is_empty());
        match with_actions.next().map(|shown| shown.number) {
            Some(number) => self.follow_up(number, place),
            None => Vec::new(),
        }
    }

    pub(super) fn follow_up(&mut self, number: u64, place: usize) -> Vec<Effect> {
        let shown = self.displays.shown().iter().find(|shown| shown.number == number);
        let Some(action) = shown.and_then(|shown| shown.display.actions.get(place)) else {
            return Vec::new();
        };
        match action.kind.clone() {
            DisplayActionKind::OpenUrl { url } => {
                // Where nothing can be opened, it can at least be read.
                self.notice(Tone::Info, url.clone());
                vec![Effect::Terminal(Deed::Open(url))]
            }
            DisplayActionKind::CopyText { text } => {
                self.notice(Tone::Info, format!("Copied: {}", plain_line(&text)));
                vec![Effect::Terminal(Deed::Copy(text))]
            }
            DisplayActionKind::RunAction { plugin, action_id, params, preserve_display } => {
                let origin = self.origins.get(&number);
                let surface = origin.map_or(Surface::SessionAction, |origin| origin.surface);
                let session = origin.and_then(|origin| origin.session.clone());
                let session = session.or_else(|| self.conversation.session.clone());
                let what = What::Action { plugin, action: action_id, params };
                let follows = Some((number, preserve_display));
                let run = Run { what, surface, session, message: None, follows };
                vec![Effect::App(Ask::Run(Box::new(run)))]
            }
        }
    }

    /// Takes the newest display away that may be.
    pub(super) fn dismiss(&mut self) {
        let newest = self.displays.shown().iter().rev().find(|it| it.display.dismissible);
        if let Some(number) = newest.map(|shown| shown.number) {
            self.displays.dismiss(number);
            self.origins.remove(&number);
        }
    }

    /// Writes displays once, where nothing can be redrawn; their follow-ups stay in the palette.
    pub fn print_displays(&mut self) {
        let new: Vec<_> = self.displays.shown().iter().map(|it| it.display.clone()).collect();
        if new != self.printed {
            let fresh = new.iter().filter(|display| !self.printed.contains(display)).cloned();
            let fresh: Vec<_> = fresh.collect();
            fresh.into_iter().for_each(|display| self.say(Block::Display(display)));
            self.printed = new;
        }
    }

    /// The conversation goes on: displays that need not stay become history.
    pub(super) fn settle_displays(&mut self) {
        let stays = |it: &&orlop_app::ui::Shown| it.display.dismissible;
        let going: Vec<_> = self.displays.shown().iter().filter(stays).cloned().collect();
        for shown in going {
            self.displays.dismiss(shown.number);
            self.origins.remove(&shown.number);
            if !self.printed.contains(&shown.display) {
                self.say(Block::Display(shown.display));
            }
        }
    }
}
