//! The chat line by line: what a line means where nothing can be redrawn, and what to ask for one.

use super::{Effect, Model, Overlay, Picker};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use orlop_app::Remember;
use std::time::Duration;

/// How many items of a list are read out.
const LISTED: usize = 20;

impl Model {
    /// Takes a whole line: the answer to what is asked, else something to send.
    pub fn line(&mut self, now: Duration, line: &str) -> Vec<Effect> {
        self.now = now;
        let mut effects = match self.overlay.take() {
            Some(Overlay::Picker(picker)) => self.picked_line(picker, line.trim()),
            Some(Overlay::Form(mut form)) => {
                if let Some(field) = form.fields.get_mut(form.focus) {
                    field.answer(line.trim());
                    self.form_key(form, key(KeyCode::Enter))
                } else {
                    let yes = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
                    self.form_key(form, key(if yes { KeyCode::Enter } else { KeyCode::Esc }))
                }
            }
            None if self.approving().is_some() => {
                self.drawn();
                let letter = line.trim().chars().next().unwrap_or('n');
                self.approval_key(key(KeyCode::Char(letter))).unwrap_or_default()
            }
            None => {
                // What was chosen stands in the line: a template goes on, an old message is
                // written anew, and either can be sent as it is.
                match (self.editor.is_empty(), self.editing.is_some()) {
                    (false, true) if line.trim().is_empty() => {}
                    (false, false) => self.editor.insert(line),
                    _ => self.editor.set_after_files(line),
                }
                self.submit()
            }
        };
        self.show_asked();
        effects.extend(self.send_queued());
        effects
    }

    fn picked_line(&mut self, mut picker: Picker, line: &str) -> Vec<Effect> {
        match line.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) {
            _ if line.is_empty() => Vec::new(),
            Some(place) if place < picker.fitting().len() => {
                picker.selected = place;
                self.picker_key(picker, key(KeyCode::Enter))
            }
            _ => {
                picker.query = line.to_owned();
                self.overlay = Some(Overlay::Picker(picker));
                Vec::new()
            }
        }
    }

    /// Interrupts, as Ctrl-C does.
    pub fn interrupt_now(&mut self, now: Duration) -> Vec<Effect> {
        self.now = now;
        self.overlay = None;
        self.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL))
    }

    /// What is asked for, to be written before the next line is read; nothing while somebody works.
    pub fn question(&self) -> Option<String> {
        match &self.overlay {
            Some(Overlay::Picker(picker)) if picker.loading => None,
            Some(Overlay::Picker(picker)) => {
                let mut text = format!("{}\n", picker.title());
                for (place, item) in picker.fitting().iter().take(LISTED).enumerate() {
                    text.push_str(&format!("{}. {} {}\n", place + 1, item.label, item.detail));
                }
                Some(text + "Number, words to look for, or an empty line to close: ")
            }
            Some(Overlay::Form(form)) => {
                let mut text = String::new();
                if form.focus == 0 {
                    text.push_str(&format!("{}\n", form.dialog.title));
                }
                if let Some(problem) = &form.problem {
                    text.push_str(&format!("{problem}\n"));
                }
                let Some(field) = form.fields.get(form.focus) else {
                    return Some(text + "y or n: ");
                };
                for (place, (_, label)) in field.choices.iter().enumerate() {
                    text.push_str(&format!("{}. {label}\n", place + 1));
                }
                Some(text + &field.input.label + ": ")
            }
            None => match self.approving() {
                Some(asked) => {
                    let mut text = format!("{} ({})\n", asked.reason, asked.name);
                    for part in [self.preview_of(asked), asked.whole_input().as_str()] {
                        if !part.trim().is_empty() {
                            text.push_str(&format!("{}\n", part.trim_end()));
                        }
                    }
                    text.push_str("y: allow once\n");
                    for (letter, scope) in [("s", Remember::Session), ("a", Remember::Always)] {
                        if let Some(rules) = asked.rules(scope) {
                            let long = if letter == "s" { "in this session" } else { "always" };
                            text.push_str(&format!("{letter}: allow {rules} {long}\n"));
                        }
                    }
                    Some(text + "n: deny, r: deny and say why: ")
                }
                None if self.turn.is_some() => None,
                None if self.editor.is_empty() => Some("> ".to_owned()),
                None => {
                    let what = match self.editing {
                        Some(_) => "What to say in its place, or an empty line to say it again: ",
                        None => "How it goes on, or an empty line to send it: ",
                    };
                    Some(format!("{}\n{what}", self.editor.text()))
                }
            },
        }
    }
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}
