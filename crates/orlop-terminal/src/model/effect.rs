//! What the chat wants done, and what it is told of it.

use super::approval::Asked;
use super::block::{Block, Tone};
use super::picker::{Item, Pick};
use crate::editor::{Draft, Sent};
use orlop_app::Decision;
use orlop_app::ui::{ActionElement, Outcome, Surface};
use orlop_core::{Map, Value};

/// Something to be done.
#[derive(Debug, Clone)]
pub enum Effect {
    /// By the application; it takes as long as it takes.
    App(Ask),
    /// By the terminal, at once.
    Terminal(Deed),
}

/// What the terminal does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Rings.
    Bell,
    /// Puts a text where other programs can paste it from.
    Copy(String),
    /// Opens a page.
    Open(String),
    /// Empties the screen.
    Wipe,
    /// Has the text written in the editor of the user.
    Edit(String),
    /// Stops until the user comes back.
    Suspend,
    /// Shows this as the title of the window.
    Title(String),
    /// Ends.
    Leave,
}

/// What the application does.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Sends a message.
    Send {
        /// Which of all that was sent it is.
        number: u64,
        /// What was written.
        draft: Box<Draft>,
    },
    /// Cancels a request.
    Cancel(String),
    /// Answers what an agent waits for.
    Decide(Box<Asked>, Decision),
    /// Looks for completions of the text before the cursor.
    Complete(String),
    /// Looks what an accepted completion comes to; the text has it already.
    Apply {
        /// The text.
        text: String,
        /// What was put in.
        inserted: String,
        /// What was accepted.
        completion: Map,
    },
    /// Lists what there is to choose from.
    List(Pick, String),
    /// Looks what a session is about.
    Preview(String),
    /// Changes sessions.
    Do(Operation),
    /// Runs an action.
    Run(Box<Run>),
    /// Looks whether files are there.
    Inspect {
        /// Their paths.
        paths: Vec<String>,
        /// The text that was pasted.
        text: String,
    },
}

/// Something done to sessions.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Begins another session.
    New,
    /// Goes on with a session.
    Open(String),
    /// Reads again what is known of the session.
    Reload,
    /// Copies a session up to a message, that one included, and goes on with the copy.
    Fork {
        /// The session.
        session: String,
        /// The last message.
        upto: Option<usize>,
    },
    /// Reads a message to be written anew.
    Fetch(usize),
    /// Names a session.
    Rename {
        /// The session.
        session: String,
        /// The name.
        title: String,
    },
    /// Writes a session to a file.
    Export {
        /// The session.
        session: String,
        /// The file.
        path: String,
        /// Whether a file that is there may be replaced.
        replace: bool,
    },
    /// Writes an attachment to a file in the working folder.
    Download {
        /// The attachment.
        asset: String,
        /// What the file is called, if that name is free.
        name: String,
    },
    /// Gives the session another mode of permissions.
    Mode(String),
    /// Deletes a session.
    Delete(String),
    /// Gives the session another agent.
    Agent(String),
    /// Sets something for this session.
    Set {
        /// The setting.
        key: String,
        /// Its value; `null` for that of the agent.
        value: Value,
    },
    /// Takes back a change.
    Undo(String),
}

/// An action to be run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What runs it, with the answers to its dialog.
    pub what: What,
    /// Where it was started.
    pub surface: Surface,
    /// The session it is about.
    pub session: Option<String>,
    /// The message it is about.
    pub message: Option<usize>,
    /// The display whose follow-up it is, and whether that one stays.
    pub follows: Option<(u64, bool)>,
}

/// What runs an action.
#[derive(Debug, Clone)]
pub enum What {
    /// A button.
    Element(Box<ActionElement>, Map),
    /// The action itself.
    Action {
        /// Its plugin.
        plugin: String,
        /// Its id.
        action: String,
        /// Its inputs.
        params: Map,
    },
}

/// What is known of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// Its id; none as long as nothing was said.
    pub session: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its agent.
    pub agent: String,
    /// The model that answers.
    pub model: String,
    /// Settings of a session that is not stored yet.
    pub overrides: Map,
    /// The working folder, as people write it.
    pub folder: String,
    /// Tokens read and written.
    pub tokens: u64,
    /// What it cost in dollars, if that is known.
    pub cost: Option<f64>,
    /// How many tokens the last call read, and how many the model takes.
    pub context: Option<(u64, u64)>,
    /// How many tokens the model takes.
    pub window: Option<u64>,
    /// What holds for tool calls that no rule is about, if that is known.
    pub mode: Option<String>,
}

/// What came of something.
#[derive(Debug, Clone)]
pub enum Told {
    /// A request is under way.
    Started {
        /// Which of all that was sent it is.
        number: u64,
        /// Its id.
        request_id: String,
        /// Its session.
        session_id: String,
    },
    /// A message could not be sent.
    NotSent {
        /// Which of all that was sent it is.
        number: u64,
        /// What was written.
        draft: Box<Draft>,
        /// Why.
        error: String,
    },
    /// Completions of a text.
    Completions {
        /// The text before the cursor.
        text: String,
        /// What could be meant.
        items: Vec<Map>,
    },
    /// What an accepted completion comes to.
    Applied {
        /// The text with the completion.
        text: String,
        /// What was put in.
        inserted: String,
        /// What takes its place; nothing if it stays.
        snippet: String,
    },
    /// What there is to choose from.
    Listed {
        /// For what.
        pick: Pick,
        /// The things.
        items: Vec<Item>,
    },
    /// What a session is about.
    Preview {
        /// The session.
        session: String,
        /// Its last messages.
        lines: Vec<String>,
    },
    /// Another session is open.
    Opened {
        /// What is known of it.
        conversation: Box<Conversation>,
        /// What was said in it.
        history: Vec<Block>,
    },
    /// What is known of a session now.
    Known {
        /// The session that was asked about; none for one that is not stored.
        of: Option<String>,
        /// What is known: nothing more than before if it was not stored after all.
        conversation: Box<Conversation>,
    },
    /// Something to tell.
    Said(Tone, String),
    /// An answer was taken, or there is something wrong with it.
    Decided {
        /// What was asked.
        asked: Box<Asked>,
        /// What is wrong.
        problem: Option<String>,
    },
    /// An action has run.
    Acted {
        /// What was run.
        run: Box<Run>,
        /// What came of it.
        outcome: Box<Outcome>,
    },
    /// A file is there already.
    Taken {
        /// The session that was to be written to it.
        session: String,
        /// The file.
        path: String,
    },
    /// The text as the editor of the user left it.
    Edited(String),
    /// What was pasted, and the files that it names.
    Pasted {
        /// The text.
        text: String,
        /// Their paths; none if it is only a text.
        files: Vec<String>,
    },
    /// A message to be written anew.
    Message {
        /// Which one it is.
        sent: Sent,
        /// Its text.
        text: String,
    },
}
