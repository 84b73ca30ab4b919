//! Where a key goes: to what stands in front, else to the chat, else to the editor.

use super::picker::Pick;
use super::{Ask, Command, Deed, Effect, Model, Overlay, TWICE};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

impl Model {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.hint = None;
        match self.overlay.take() {
            Some(Overlay::Picker(picker)) => return self.picker_key(picker, key),
            Some(Overlay::Form(form)) => return self.form_key(form, key),
            None => {}
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if !control && let Some(effects) = self.approval_key(key) {
            return effects;
        }
        if let KeyCode::Char(c) = key.code
            && control
            && let Some(effects) = self.control_key(c)
        {
            return effects;
        }
        self.leaving = None;
        match key.code {
            KeyCode::Char(c @ '1'..='9') if key.modifiers.contains(KeyModifiers::ALT) => {
                self.follow_up_of_last(c as usize - '1' as usize)
            }
            KeyCode::Esc => self.escape(key),
            KeyCode::Tab if self.completions.is_some() => self.accept(),
            KeyCode::BackTab => self.command(Command::Mode),
            KeyCode::Up if self.completions.is_some() => {
                self.step_completion(true);
                Vec::new()
            }
            KeyCode::Down if self.completions.is_some() => {
                self.step_completion(false);
                Vec::new()
            }
            KeyCode::Enter if self.completions.as_ref().is_some_and(|it| it.touched) => {
                self.accept()
            }
            KeyCode::Enter if sends(key) && !self.editor.before().ends_with('\\') => self.submit(),
            KeyCode::Up if self.editor.is_empty() && !self.queue.is_empty() => {
                // What is not sent yet can still be changed.
                if let Some(draft) = self.queue.pop_back() {
                    self.take_back(draft);
                }
                Vec::new()
            }
            _ => {
                self.editor.key(key);
                Vec::new()
            }
        }
    }

    fn escape(&mut self, key: KeyEvent) -> Vec<Effect> {
        if self.completions.take().is_some() {
            return Vec::new();
        }
        if self.editor.key(key) {
            return Vec::new();
        }
        if self.turn.is_some() {
            return self.cancel();
        }
        if self.editing.take().is_some() {
            self.editor.set("");
            return Vec::new();
        }
        self.dismiss();
        Vec::new()
    }

    fn control_key(&mut self, c: char) -> Option<Vec<Effect>> {
        let effects = match c {
            'c' => return Some(self.interrupt()),
            'd' if self.editor.is_empty() => self.leave(),
            'k' => self.pick(Pick::Palette),
            'r' => self.pick(Pick::History),
            'g' => self.command(Command::Editor),
            'o' => self.command(Command::Unfold),
            'l' => vec![Effect::Terminal(Deed::Wipe)],
            'z' => vec![Effect::Terminal(Deed::Suspend)],
            _ => return None,
        };
        self.leaving = None;
        Some(effects)
    }

    /// Leaves at once; what is under way is told to stop, and nobody waits for it.
    pub(super) fn leave(&mut self) -> Vec<Effect> {
        let mut effects = self.cancel();
        effects.extend(self.requests_away().cloned().map(|it| Effect::App(Ask::Cancel(it))));
        effects.push(Effect::Terminal(Deed::Leave));
        effects
    }

    /// Ctrl-C: stops what is under way, or empties the line; twice leaves.
    fn interrupt(&mut self) -> Vec<Effect> {
        let twice = self.leaving.is_some_and(|since| self.now.saturating_sub(since) < TWICE);
        if twice {
            return self.leave();
        }
        self.leaving = Some(self.now);
        self.hint = Some("Ctrl-C again leaves".to_owned());
        if self.turn.as_ref().is_some_and(|turn| !turn.cancelled) {
            return self.cancel();
        }
        self.editor.set("");
        self.editing = None;
        Vec::new()
    }
}

fn sends(key: KeyEvent) -> bool {
    !key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::CONTROL)
}
