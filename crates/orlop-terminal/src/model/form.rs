//! Forms: the fields of a dialog, filled in one after another, each of its declared type.

use super::approval::Asked;
use super::picker::Setting;
use super::{Ask, Effect, Model, Operation, Overlay, Run, Tone};
use crate::editor::{Editor, Keys};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use orlop_app::ui::{Dialog, DialogInput, InputKind, plain_line};
use orlop_core::{ActionDefinition, Map, Value};

/// What a form is for.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// Runs the action of a button with the answers.
    Run(Box<Run>),
    /// Runs an action with the answers as its inputs.
    Action(Box<ActionDefinition>, Option<String>),
    /// Answers an agent.
    Answer(Box<Asked>),
    /// Tells a model why not.
    Refuse(Box<Asked>),
    /// Names a session.
    Rename(String),
    /// Writes a session to a file: to the one that is there already, or to one that is asked for.
    Export {
        /// The session.
        session: String,
        /// The file that may be replaced.
        path: Option<String>,
    },
    /// Deletes a session.
    Delete(String),
    /// Sets something.
    Set(Box<Setting>),
}

/// A form.
#[derive(Debug, Clone)]
pub struct Form {
    /// What is asked.
    pub dialog: Dialog,
    /// The fields, in the order of the dialog.
    pub fields: Vec<Field>,
    /// The field that gets the keys.
    pub focus: usize,
    /// What is wrong with the answers.
    pub problem: Option<String>,
    /// What it is for.
    pub purpose: Purpose,
}

/// A field of a form.
#[derive(Debug, Clone)]
pub struct Field {
    /// What is asked.
    pub input: DialogInput,
    /// What was typed.
    pub editor: Editor,
    /// What can be chosen: a value and what it is called.
    pub choices: Vec<(Value, String)>,
    /// What is chosen.
    pub chosen: Vec<bool>,
    /// The choice that keys go to.
    pub at: usize,
}

impl Field {
    fn new(input: DialogInput) -> Self {
        let choices = choices(&input);
        let mut editor = Editor::new(Keys::Emacs);
        let default = input.extra.get("default").filter(|value| !value.is_null());
        let at = default.and_then(|value| choices.iter().position(|(choice, _)| choice == value));
        let among = |choice: &Value| {
            default.and_then(Value::as_array).is_some_and(|values| values.contains(choice))
        };
        let chosen = choices.iter().map(|(choice, _)| among(choice)).collect();
        // One that nobody offers stands there as if it was written.
        let is_open = input.extra.get("other") == Some(&Value::Bool(true));
        let is_offered = |value: &Value| at.is_some() || value.is_array();
        let is_written = |value: &&Value| choices.is_empty() || (is_open && !is_offered(value));
        if let Some(default) = default.filter(is_written) {
            editor.set(match default {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
        }
        Self { input, editor, choices, chosen, at: at.unwrap_or(0) }
    }

    /// Whether several can be chosen.
    pub fn is_many(&self) -> bool {
        self.input.kind() == InputKind::Array && !self.choices.is_empty()
    }

    /// Whether it has to be filled in.
    pub fn is_required(&self) -> bool {
        self.input.extra.get("required") == Some(&Value::Bool(true))
    }

    /// Whether something else than what is offered may be the answer.
    pub fn is_open(&self) -> bool {
        self.choices.is_empty() || self.input.extra.get("other") == Some(&Value::Bool(true))
    }

    /// The choice that somebody wrote out.
    fn written_out(&self) -> Option<Value> {
        let typed = self.editor.text().trim().to_lowercase();
        let is_it = |(value, label): &&(Value, String)| {
            label.to_lowercase() == typed
                || value.as_str().is_some_and(|value| value.to_lowercase() == typed)
        };
        self.choices.iter().find(is_it).map(|(value, _)| value.clone())
    }

    fn value(&self) -> Option<Value> {
        let typed = self.editor.text();
        if self.choices.is_empty() || !typed.is_empty() {
            let one = |value: Value| match self.is_many() {
                true => Value::Array(vec![value]),
                false => value,
            };
            return match self.written_out() {
                Some(chosen) => (!chosen.is_null()).then(|| one(chosen)),
                None => (!typed.is_empty()).then(|| typed.into()),
            };
        }
        if self.is_many() {
            let picked = self.choices.iter().zip(&self.chosen).filter(|(_, on)| **on);
            let picked: Vec<Value> = picked.map(|((value, _), _)| value.clone()).collect();
            return (!picked.is_empty()).then_some(Value::Array(picked));
        }
        self.choices.get(self.at).map(|(value, _)| value.clone()).filter(|it| !it.is_null())
    }

    /// What is wrong with the answer, beside its type.
    fn problem(&self) -> Option<String> {
        let name = &self.input.label;
        let Some(value) = self.value() else {
            return self.is_required().then(|| format!("\"{name}\" must be filled in"));
        };
        if !self.is_open() && !self.editor.is_empty() && self.written_out().is_none() {
            let labels: Vec<&str> = self.choices.iter().map(|(_, label)| label.as_str()).collect();
            return Some(format!("\"{name}\" must be one of: {}", labels.join(", ")));
        }
        let value = match self.input.kind().convert(name, &value) {
            Ok(value) => value?,
            Err(error) => return Some(plain_line(error.message())),
        };
        bounds(&self.input.extra, &value).map(|bound| format!("\"{name}\" must {bound}"))
    }

    /// Takes a whole line as the answer: numbers of choices, or the words themselves.
    pub(super) fn answer(&mut self, line: &str) {
        self.editor.set("");
        let numbers: Option<Vec<usize>> = line
            .split(',')
            .map(|word| word.trim().parse::<usize>().ok()?.checked_sub(1))
            .map(|place| place.filter(|place| *place < self.choices.len()))
            .collect();
        match numbers {
            Some(places) if self.is_many() => places.iter().for_each(|it| self.chosen[*it] = true),
            Some(places) => self.at = places.first().copied().unwrap_or(self.at),
            None => self.editor.set(line),
        }
    }

    fn key(&mut self, key: KeyEvent) {
        let typed = !self.editor.is_empty();
        match key.code {
            KeyCode::Left if !self.choices.is_empty() && !typed => {
                self.at = self.at.checked_sub(1).unwrap_or(self.choices.len() - 1);
            }
            KeyCode::Right if !self.choices.is_empty() && !typed => {
                self.at = (self.at + 1) % self.choices.len();
            }
            KeyCode::Char(' ') if self.is_many() && !typed => {
                if let Some(on) = self.chosen.get_mut(self.at) {
                    *on = !*on;
                }
            }
            KeyCode::Char(c @ '1'..='9') if !self.choices.is_empty() && !typed => {
                let place = c as usize - '1' as usize;
                if place < self.choices.len() {
                    self.at = place;
                    if self.is_many() {
                        self.chosen[place] = !self.chosen[place];
                    }
                }
            }
            _ => {
                self.editor.key(key);
            }
        }
    }
}

/// What a value must be to keep within the bounds of its field.
fn bounds(declared: &Map, value: &Value) -> Option<String> {
    let bound = |names: [&str; 2]| {
        names.into_iter().find_map(|name| declared.get(name).and_then(Value::as_f64))
    };
    if let Some(number) = value.as_f64() {
        let least = bound(["minimum", "min"]).filter(|least| number < *least);
        let most = bound(["maximum", "max"]).filter(|most| number > *most);
        return least
            .map(|least| format!("be at least {least}"))
            .or_else(|| most.map(|most| format!("be at most {most}")));
    }
    let (size, of) = match value {
        Value::String(text) => (text.chars().count(), "characters"),
        Value::Array(items) => (items.len(), "answers"),
        _ => return None,
    };
    let size = size as f64;
    let least = bound(["minLength", "minItems"]).filter(|least| size < *least);
    let most = bound(["maxLength", "maxItems"]).filter(|most| size > *most);
    least
        .map(|least| format!("have at least {least} {of}"))
        .or_else(|| most.map(|most| format!("have at most {most} {of}")))
}

/// What can be chosen: as the plugin lists it, or yes and no.
fn choices(input: &DialogInput) -> Vec<(Value, String)> {
    let listed = ["choices", "options", "enum"].into_iter().find_map(|key| input.extra.get(key));
    let listed = listed.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if listed.is_empty() && input.kind() == InputKind::Boolean {
        return vec![(Value::Bool(false), "no".to_owned()), (Value::Bool(true), "yes".to_owned())];
    }
    let choice = |choice: &Value| {
        let name = |value: &Value| match value {
            Value::String(text) => plain_line(text),
            other => other.to_string(),
        };
        let Some(fields) = choice.as_object() else { return (choice.clone(), name(choice)) };
        let value = fields.get("value").or_else(|| fields.get("id")).unwrap_or(&Value::Null);
        let label = fields.get("label").or_else(|| fields.get("name")).unwrap_or(value);
        let more = fields.get("description").and_then(Value::as_str);
        let more = more.map(|more| format!(" ({})", plain_line(more))).unwrap_or_default();
        (value.clone(), name(label) + &more)
    };
    listed.iter().map(choice).collect()
}

impl Form {
    /// The form of a dialog.
    pub fn new(dialog: Dialog, purpose: Purpose) -> Self {
        let fields = dialog.inputs.iter().cloned().map(Field::new).collect();
        Self { dialog, fields, focus: 0, problem: None, purpose }
    }

    /// A form with one field that has this in it.
    pub(super) fn line(title: &str, label: &str, text: &str, purpose: Purpose) -> Self {
        let dialog = Dialog::read(&serde_json::json!({
            "title": title,
            "inputs": [{ "name": "text", "label": label, "default": text, "required": true }],
        }));
        Self::new(dialog.unwrap_or_default(), purpose)
    }

    /// A form that asks for the file of a session.
    pub(super) fn export(session: String) -> Self {
        let path = format!("{session}.md");
        let purpose = Purpose::Export { session, path: None };
        Self::line("Export the session", "File (.md or .json)", &path, purpose)
    }

    /// A form that only asks whether to go on.
    pub(super) fn confirm(title: String, purpose: Purpose) -> Self {
        let dialog = Dialog { kind: "form".to_owned(), title, inputs: Vec::new() };
        Self::new(dialog, purpose)
    }

    /// Goes to the choice above or below, if there is one in the field.
    fn moves_choice(&mut self, code: KeyCode) -> bool {
        let Some(field) = self.fields.get_mut(self.focus) else { return false };
        let moved = match code {
            KeyCode::Up => field.at.checked_sub(1),
            _ => Some(field.at + 1),
        };
        let moved = moved.filter(|at| *at < field.choices.len() && field.editor.is_empty());
        field.at = moved.unwrap_or(field.at);
        moved.is_some()
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = self.fields.get_mut(self.focus) {
            field.editor.insert(&plain_line(text));
        }
    }

    /// The answers, each of its type, or what is wrong with them.
    fn answers(&self) -> Result<Map, (usize, String)> {
        for (place, field) in self.fields.iter().enumerate() {
            if let Some(problem) = field.problem() {
                return Err((place, problem));
            }
        }
        let given =
            self.fields.iter().filter_map(|field| Some((field.input.name.clone(), field.value()?)));
        let mut given: Map = given.collect();
        // What was emptied is empty; the default stands only where nobody was asked.
        for field in &self.fields {
            given.entry(field.input.name.clone()).or_insert_with(|| "".into());
        }
        self.dialog.answers(&given).map_err(|error| (0, plain_line(error.message())))
    }
}

impl Model {
    pub(super) fn form_key(&mut self, mut form: Form, key: KeyEvent) -> Vec<Effect> {
        let last = form.fields.len().saturating_sub(1);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        form.problem = None;
        match key.code {
            KeyCode::Esc => return self.form_closed(&form),
            KeyCode::Char('c') if control => return self.form_closed(&form),
            KeyCode::Char('n') if form.fields.is_empty() => return self.form_closed(&form),
            KeyCode::Char('y') if form.fields.is_empty() => return self.form_done(form),
            KeyCode::Enter if form.focus >= last => return self.form_done(form),
            KeyCode::Up | KeyCode::Down if form.moves_choice(key.code) => {}
            KeyCode::Enter | KeyCode::Tab | KeyCode::Down if form.focus < last => form.focus += 1,
            KeyCode::BackTab | KeyCode::Up => form.focus = form.focus.saturating_sub(1),
            KeyCode::Tab | KeyCode::Down => {}
            _ => {
                if let Some(field) = form.fields.get_mut(form.focus) {
                    field.key(key);
                }
            }
        }
        self.overlay = Some(Overlay::Form(form));
        Vec::new()
    }

    fn form_closed(&mut self, form: &Form) -> Vec<Effect> {
        self.overlay = None;
        match &form.purpose {
            Purpose::Answer(asked) => self.answer(asked, None),
            _ => Vec::new(),
        }
    }

    fn form_done(&mut self, mut form: Form) -> Vec<Effect> {
        let answers = match form.answers() {
            Ok(answers) => answers,
            Err((field, problem)) => {
                form.focus = field;
                form.problem = Some(problem);
                self.overlay = Some(Overlay::Form(form));
                return Vec::new();
            }
        };
        self.overlay = None;
        let text = || {
            let text = answers.get("text").and_then(Value::as_str);
            text.unwrap_or_default().trim().to_owned()
        };
        let operation = match form.purpose {
            Purpose::Run(run) => return self.run_with(*run, answers),
            Purpose::Action(action, session) => return self.run_action(&action, session, answers),
            Purpose::Answer(asked) => return self.answer(&asked, Some(answers)),
            Purpose::Refuse(asked) => return self.refuse(&asked, &answers),
            Purpose::Rename(session) => Operation::Rename { session, title: text() },
            Purpose::Export { session, path } => match path {
                Some(path) => Operation::Export { session, path, replace: true },
                None => Operation::Export { session, path: text(), replace: false },
            },
            Purpose::Delete(session) => Operation::Delete(session),
            Purpose::Set(setting) => {
                let value = answers.get("value").cloned().unwrap_or_default();
                let shown =
                    if value.is_null() { "as the agent has it".into() } else { value.to_string() };
                self.notice(Tone::Success, format!("{}: {}", setting.label, plain_line(&shown)));
                Operation::Set { key: setting.key, value }
            }
        };
        vec![Effect::App(Ask::Do(operation))]
    }
}
