//! What the chat itself can do, by palette, by key and by command.

use super::form::{Form, Purpose};
use super::picker::{MessageUse, Pick, SessionUse};
use super::{Ask, Block, Deed, Effect, Model, Operation, Overlay, Tone};

/// Something the chat can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each has its label")]
pub enum Command {
    New,
    Sessions,
    Agent,
    Model,
    Settings,
    Edit,
    Fork,
    Rename,
    Export,
    Delete,
    Undo,
    Templates,
    CopyAnswer,
    CopyCode,
    Unfold,
    Editor,
    History,
    Keys,
    Wipe,
    Mode,
    Palette,
    Leave,
}

impl Command {
    /// All, in the order of the palette.
    pub const ALL: [Self; 21] = [
        Self::New,
        Self::Sessions,
        Self::Agent,
        Self::Model,
        Self::Settings,
        Self::Edit,
        Self::Fork,
        Self::Rename,
        Self::Export,
        Self::Delete,
        Self::Undo,
        Self::Templates,
        Self::CopyAnswer,
        Self::CopyCode,
        Self::Unfold,
        Self::Editor,
        Self::History,
        Self::Keys,
        Self::Wipe,
        Self::Mode,
        Self::Leave,
    ];

    /// What people read.
    pub fn label(self) -> &'static str {
        match self {
            Self::New => "New session",
            Self::Sessions => "Sessions: open, search, fork, rename, export, delete",
            Self::Agent => "Switch agent",
            Self::Model => "Switch model",
            Self::Settings => "Settings of this session",
            Self::Edit => "Edit a message and send it again",
            Self::Fork => "Fork from a message",
            Self::Rename => "Rename this session",
            Self::Export => "Export this session",
            Self::Delete => "Delete this session",
            Self::Undo => "Take back the change of an action",
            Self::Templates => "Templates",
            Self::CopyAnswer => "Copy the last answer",
            Self::CopyCode => "Copy the last block of code",
            Self::Unfold => "Show what was shortened",
            Self::Editor => "Write in your own editor",
            Self::History => "Look for what you sent before",
            Self::Keys => "Keys",
            Self::Wipe => "Clear the screen",
            Self::Mode => "Another mode of permissions",
            Self::Palette => "All that can be done",
            Self::Leave => "Leave",
        }
    }

    /// The key or the command that does the same.
    pub fn keys(self) -> &'static str {
        match self {
            Self::New => "/new",
            Self::Sessions => "/sessions",
            Self::Settings => "/settings",
            Self::Edit => "/edit",
            Self::Export => "/export",
            Self::Templates => "/templates",
            Self::CopyAnswer => "/copy",
            Self::Unfold => "^O",
            Self::Editor => "^G",
            Self::History => "^R",
            Self::Keys => "/keys",
            Self::Wipe => "^L",
            Self::Mode => "Shift-Tab",
            Self::Leave => "^D",
            _ => "",
        }
    }

    /// The command that a text is, if it is one of the chat itself. Those of plugins are not.
    pub(super) fn typed(text: &str) -> Option<Self> {
        match text.trim() {
            "/sessions" | "/resume" => Some(Self::Sessions),
            "/settings" => Some(Self::Settings),
            "/edit" => Some(Self::Edit),
            "/rename" => Some(Self::Rename),
            "/export" => Some(Self::Export),
            "/delete" => Some(Self::Delete),
            "/templates" => Some(Self::Templates),
            "/copy" => Some(Self::CopyAnswer),
            "/keys" => Some(Self::Keys),
            "/more" => Some(Self::Unfold),
            "/palette" => Some(Self::Palette),
            "/quit" | "/exit" => Some(Self::Leave),
            _ => None,
        }
    }

    /// The commands that can be typed, with what they do.
    pub(super) const TYPED: [(&'static str, Self); 12] = [
        ("/sessions", Self::Sessions),
        ("/settings", Self::Settings),
        ("/edit", Self::Edit),
        ("/rename", Self::Rename),
        ("/export", Self::Export),
        ("/delete", Self::Delete),
        ("/templates", Self::Templates),
        ("/copy", Self::CopyAnswer),
        ("/keys", Self::Keys),
        ("/more", Self::Unfold),
        ("/palette", Self::Palette),
        ("/quit", Self::Leave),
    ];
}

/// The modes of permissions that one goes through by a key. The one that allows everything is not
/// among them: nobody should come to it by accident.
const MODES: [&str; 3] = ["ask", "accept_edits", "read_only"];

/// All keys, as people read them.
pub(crate) const KEYS: &str = "\
| key | does |
| --- | --- |
| Enter | sends; while an answer is under way, sends afterwards |
| Alt-Enter, Shift-Enter, Ctrl-J, `\\` Enter | begins another line |
| Esc | closes what is in front; stops the answer |
| Ctrl-C | stops the answer, or empties the line; twice leaves |
| Ctrl-D | leaves, on an empty line |
| Ctrl-K | opens the palette: all that can be done |
| Tab | takes what is offered for `@` and `/` |
| Up, Down | line by line, then what was sent before |
| Ctrl-R | looks for what was sent before |
| Ctrl-G | opens the text in `$VISUAL` or `$EDITOR` |
| Ctrl-O | shows what was shortened, the newest first |
| Shift-Tab | another mode of permissions |
| Alt-1 to Alt-9 | does what the display above offers |
| Ctrl-L | clears the screen |
| Ctrl-Z | goes to the background |
| Ctrl-A, Ctrl-E, Alt-B, Alt-F | beginning and end of the line, word by word |
| Ctrl-W, Ctrl-U, Alt-K, Ctrl-Y | cuts the word, to the beginning, to the end; puts it in |
| Ctrl-_ | undoes |
";

impl Model {
    pub(super) fn command(&mut self, command: Command) -> Vec<Effect> {
        let session = self.conversation.session.clone();
        let needs_session = matches!(
            command,
            Command::Edit
                | Command::Fork
                | Command::Rename
                | Command::Export
                | Command::Delete
                | Command::Undo
        );
        let Some(session) = session.or_else(|| (!needs_session).then(String::new)) else {
            self.notice(Tone::Info, "Nothing has been said in this session yet");
            return Vec::new();
        };
        match command {
            Command::New => vec![Effect::App(Ask::Do(Operation::New))],
            Command::Sessions => self.pick(Pick::Sessions(SessionUse::Open)),
            Command::Agent => self.pick(Pick::Agents),
            Command::Model => self.pick(Pick::Models),
            Command::Settings => self.pick(Pick::Settings),
            Command::Edit => self.pick(Pick::Messages(MessageUse::Edit)),
            Command::Fork => self.pick(Pick::Messages(MessageUse::Fork)),
            Command::Undo => self.pick(Pick::Changes),
            Command::Templates => self.pick(Pick::Templates),
            Command::History => self.pick(Pick::History),
            Command::Palette => self.pick(Pick::Palette),
            Command::Rename => {
                let title = self.conversation.title.clone().unwrap_or_default();
                let purpose = Purpose::Rename(session);
                self.ask(Form::line("Rename the session", "Title", &title, purpose))
            }
            Command::Export => self.ask(Form::export(session)),
            Command::Delete => {
                let title = "Delete this session for good?".to_owned();
                self.ask(Form::confirm(title, Purpose::Delete(session)))
            }
            Command::CopyAnswer => self.copy(self.answer.clone(), "the last answer"),
            Command::CopyCode => {
                let code = last_code(&self.answer).unwrap_or_default();
                self.copy(code, "the last block of code")
            }
            Command::Unfold => {
                self.unfold();
                Vec::new()
            }
            Command::Keys => {
                self.say(Block::Answer(KEYS.to_owned()));
                Vec::new()
            }
            Command::Editor => vec![Effect::Terminal(Deed::Edit(self.editor.whole()))],
            Command::Wipe => vec![Effect::Terminal(Deed::Wipe)],
            Command::Mode => {
                let now = self.conversation.mode.as_deref().unwrap_or(MODES[0]);
                let place = MODES.iter().position(|mode| *mode == now).map_or(0, |it| it + 1);
                let next = MODES[place % MODES.len()];
                vec![Effect::App(Ask::Do(Operation::Mode(next.to_owned())))]
            }
            Command::Leave => self.leave(),
        }
    }

    pub(super) fn ask(&mut self, form: Form) -> Vec<Effect> {
        self.overlay = Some(Overlay::Form(form));
        Vec::new()
    }

    pub(super) fn copy(&mut self, text: String, what: &str) -> Vec<Effect> {
        if text.trim().is_empty() {
            self.hint = Some("there is nothing to copy".to_owned());
            return Vec::new();
        }
        self.hint = Some(format!("copied {what}"));
        vec![Effect::Terminal(Deed::Copy(text))]
    }
}

/// The last block of code in a text.
fn last_code(text: &str) -> Option<String> {
    let mut blocks = text.split("\n```").map(str::to_owned).collect::<Vec<_>>();
    if let Some(first) = text.strip_prefix("```") {
        blocks[0] = first.split("\n```").next().unwrap_or_default().to_owned();
        blocks.insert(0, String::new());
    }
    let opened: Vec<&String> = blocks.iter().skip(1).step_by(2).collect();
    let (_, code) = opened.last()?.split_once('\n')?;
    Some(code.to_owned())
}
