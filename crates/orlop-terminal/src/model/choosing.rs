//! What is chosen from lists, and what follows from it.

use super::command::Command;
use super::form::{Form, Purpose};
use super::picker::{Item, MessageUse, Pick, Picker, SessionUse, Setting};
use super::{Ask, Effect, Model, Operation, Overlay};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use orlop_app::ui::{ActionElement, Dialog, InputKind};
use orlop_core::{ActionDefinition, Value};
use serde_json::json;

/// What an item of a list stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// Something the chat can do.
    Command(Command),
    /// A button of a plugin.
    Element(Box<ActionElement>),
    /// An action of a plugin.
    Action(Box<ActionDefinition>),
    /// A follow-up of a display: its number and the place of the follow-up.
    FollowUp(u64, usize),
    /// A session.
    Session(String),
    /// An agent.
    Agent(String),
    /// A model.
    Model(String),
    /// A message, by its position.
    Message(usize),
    /// A setting.
    Setting(Box<Setting>),
    /// A change.
    Change(String),
    /// A text.
    Text(String),
}

/// Stands between what is known of an item and what was found in it.
const FOUND: &str = " — ";

/// How far a page goes.
const PAGE: isize = 8;

impl Model {
    /// Brings up a list.
    pub(super) fn pick(&mut self, pick: Pick) -> Vec<Effect> {
        self.completions = None;
        let mut picker = Picker::new(pick.clone());
        if pick == Pick::History {
            let item = |text: &&str| Item {
                label: text.replace('\n', " "),
                detail: String::new(),
                choice: Choice::Text((*text).to_owned()),
            };
            picker.items = self.editor.history.newest_first().iter().map(item).collect();
            picker.loading = false;
            self.overlay = Some(Overlay::Picker(picker));
            return Vec::new();
        }
        if pick == Pick::Palette {
            picker.items = self.follow_ups();
            picker.items.extend(Command::ALL.iter().map(|command| Item {
                label: command.label().to_owned(),
                detail: command.keys().to_owned(),
                choice: Choice::Command(*command),
            }));
        }
        self.overlay = Some(Overlay::Picker(picker));
        vec![Effect::App(Ask::List(pick, String::new()))]
    }

    /// What a list has; what was there stays in front.
    pub(super) fn listed(&mut self, pick: Pick, items: Vec<Item>) -> Vec<Effect> {
        if let Some(Overlay::Picker(picker)) = &mut self.overlay
            && picker.pick == pick
        {
            picker.loading = false;
            for item in items {
                match picker.items.iter_mut().find(|held| held.choice == item.choice) {
                    // Found once more, for what was said in it.
                    Some(held) => {
                        let known = held.detail.split(FOUND).next().unwrap_or_default();
                        held.detail = format!("{known}{FOUND}{}", item.detail);
                    }
                    None => picker.items.push(item),
                }
            }
            let chosen = picker.chosen().filter(|_| picker.eager).map(|item| item.choice.clone());
            picker.eager = false;
            if let Some(choice) = chosen {
                self.overlay = None;
                return self.chosen(pick, choice);
            }
            return picker
                .wants_preview()
                .map(|it| Effect::App(Ask::Preview(it)))
                .into_iter()
                .collect();
        }
        Vec::new()
    }

    pub(super) fn picker_key(&mut self, mut picker: Picker, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let mut effects = Vec::new();
        match key.code {
            KeyCode::Esc => return Vec::new(),
            KeyCode::Char('c' | 'g') if control => return Vec::new(),
            KeyCode::Enter => {
                let Some(item) = picker.chosen().cloned() else {
                    picker.eager = picker.loading;
                    self.overlay = Some(Overlay::Picker(picker));
                    return Vec::new();
                };
                return self.chosen(picker.pick, item.choice);
            }
            KeyCode::Up => picker.step(-1),
            KeyCode::Down | KeyCode::Tab => picker.step(1),
            KeyCode::PageUp => picker.step(-PAGE),
            KeyCode::PageDown => picker.step(PAGE),
            KeyCode::Char('p') if control => picker.step(-1),
            KeyCode::Char('n') if control => picker.step(1),
            KeyCode::Char(c) if control => {
                let session = match picker.chosen().map(|item| item.choice.clone()) {
                    Some(Choice::Session(session)) => session,
                    _ => String::new(),
                };
                if picker.pick == Pick::Sessions(SessionUse::Open) && !session.is_empty() {
                    let title = picker.chosen().map(|item| item.label.clone());
                    if let Some(done) = self.session_key(c, session, title.unwrap_or_default()) {
                        return done;
                    }
                }
            }
            KeyCode::Backspace => {
                picker.query.pop();
                picker.selected = 0;
                effects = searched(&picker);
            }
            KeyCode::Char(c) => {
                picker.query.push(c);
                picker.selected = 0;
                effects = searched(&picker);
            }
            _ => {}
        }
        effects.extend(picker.wants_preview().map(|it| Effect::App(Ask::Preview(it))));
        self.overlay = Some(Overlay::Picker(picker));
        effects
    }

    fn session_key(&mut self, c: char, session: String, title: String) -> Option<Vec<Effect>> {
        let form = match c {
            'f' => {
                let fork = Operation::Fork { session, upto: None };
                return Some(vec![Effect::App(Ask::Do(fork))]);
            }
            'r' => Form::line("Rename the session", "Title", &title, Purpose::Rename(session)),
            'e' => Form::export(session),
            'd' => Form::confirm(format!("Delete \"{title}\" for good?"), Purpose::Delete(session)),
            _ => return None,
        };
        self.overlay = Some(Overlay::Form(form));
        Some(Vec::new())
    }

    fn chosen(&mut self, pick: Pick, choice: Choice) -> Vec<Effect> {
        let operation = match choice {
            Choice::Command(command) => return self.command(command),
            Choice::Element(element) => return self.press(*element),
            Choice::Action(action) => return self.ask_for_inputs(*action),
            Choice::FollowUp(number, place) => return self.follow_up(number, place),
            Choice::Session(session) => match pick {
                Pick::Sessions(SessionUse::Run(element)) => {
                    return self.open_dialog(*element, Some(session), None);
                }
                _ => Operation::Open(session),
            },
            Choice::Agent(agent) => Operation::Agent(agent),
            Choice::Model(model) => Operation::Set { key: "model".to_owned(), value: model.into() },
            Choice::Message(index) => match pick {
                Pick::Messages(MessageUse::Edit) => Operation::Fetch(index),
                Pick::Messages(MessageUse::Run(element)) => {
                    let session = self.conversation.session.clone();
                    return self.open_dialog(*element, session, Some(index));
                }
                _ => match self.conversation.session.clone() {
                    Some(session) => Operation::Fork { session, upto: Some(index) },
                    None => return Vec::new(),
                },
            },
            Choice::Setting(setting) => {
                let form = setting_form(*setting);
                self.overlay = Some(Overlay::Form(form));
                return Vec::new();
            }
            Choice::Change(change) => Operation::Undo(change),
            Choice::Text(text) => {
                self.editor.set(text);
                return Vec::new();
            }
        };
        vec![Effect::App(Ask::Do(operation))]
    }
}

/// What is typed is looked for in the messages of all sessions, too.
fn searched(picker: &Picker) -> Vec<Effect> {
    match (&picker.pick, picker.query.trim()) {
        (Pick::Sessions(_), words) if words.chars().count() > 2 => {
            vec![Effect::App(Ask::List(picker.pick.clone(), words.to_owned()))]
        }
        _ => Vec::new(),
    }
}

/// What takes a setting of the session back.
const AS_THE_AGENT: &str = "as the agent has it";

/// The field of a setting, with what its element says of it.
fn setting_form(setting: Setting) -> Form {
    let mut input = setting.element.clone();
    let unset = json!({ "value": null, "label": AS_THE_AGENT });
    let mut lists = ["choices", "options", "enum"].into_iter();
    let list = lists.find(|list| input.get(*list).is_some_and(Value::is_array));
    let kind = InputKind::named(input.get("type").and_then(Value::as_str).unwrap_or_default());
    let mut has_unset = true;
    match list {
        // None of several is a choice already.
        _ if kind == InputKind::Array => has_unset = false,
        Some(list) => {
            // What a server lists may not be all it has; what a plugin enumerates is.
            if list == "options" {
                input.entry("other").or_insert(true.into());
            }
            if let Some(Value::Array(choices)) = input.get_mut(list) {
                choices.insert(0, unset);
            }
        }
        None if kind == InputKind::Boolean => {
            let yes_or_no = [(false, "no"), (true, "yes")];
            let choices = yes_or_no.map(|(value, label)| json!({ "value": value, "label": label }));
            let choices: Vec<Value> = [unset].into_iter().chain(choices).collect();
            input.insert("choices".to_owned(), choices.into());
        }
        None => has_unset = false,
    }
    input.insert("name".to_owned(), "value".into());
    input.insert("label".to_owned(), setting.label.clone().into());
    input.insert("default".to_owned(), setting.value.clone());
    let title = match has_unset {
        true => setting.label.clone(),
        false => format!("{} (empty: {AS_THE_AGENT})", setting.label),
    };
    let dialog = Dialog::read(&json!({ "title": title, "inputs": [input] }));
    Form::new(dialog.unwrap_or_default(), Purpose::Set(Box::new(setting)))
}
