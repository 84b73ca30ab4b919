//! What stands in the text as a mark: long pasted text, and files.

/// Longer pasted text is folded.
const MOST_LINES: usize = 8;
const MOST_CHARACTERS: usize = 1000;

/// Something that a mark stands for.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    pub(super) mark: String,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Text(String),
    File(String),
}

impl Folded {
    pub(super) fn is_file(&self) -> bool {
        matches!(self.what, What::File(_))
    }
}

/// A file that goes with a message.
pub type Attached = String;

/// What was written, ready to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// The text with folded parts written out.
    pub text: String,
    /// Paths of files that go with it.
    pub files: Vec<Attached>,
    /// The message that it takes the place of, if it was sent before.
    pub instead_of: Option<Sent>,
}

/// A message that was sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its session.
    pub session: String,
    /// Its position there.
    pub index: usize,
}

/// The mark of a text that is too long to stand in the editor.
pub(super) fn fold(text: &str, number: usize) -> Option<Folded> {
    let lines = text.lines().count();
    if lines <= MOST_LINES && text.chars().count() <= MOST_CHARACTERS {
        return None;
    }
    let size = match lines {
        1 => format!("{} characters", text.chars().count()),
        lines => format!("{lines} lines"),
    };
    let mark = format!("[Pasted text #{}, {size}]", number + 1);
    Some(Folded { mark, what: What::Text(text.to_owned()) })
}

/// The mark of a file, told apart from those of other files.
pub(super) fn file(path: &str, others: &[Folded]) -> Folded {
    let name = orlop_app::ui::plain_line(path.rsplit(['/', '\\']).next().unwrap_or(path));
    let mut mark = format!("[File {name}]");
    let mut number = 2;
    while others.iter().any(|other| other.mark == mark) {
        mark = format!("[File {name} #{number}]");
        number += 1;
    }
    Folded { mark, what: What::File(path.to_owned()) }
}

/// The text as it is sent; marks that were deleted stand for nothing any more.
pub(super) fn draft(text: &str, folded: &[Folded]) -> Draft {
    let mut draft = Draft { text: text.to_owned(), ..Draft::default() };
    for Folded { mark, what } in folded {
        if let What::File(path) = what
            && draft.text.contains(mark.as_str())
        {
            draft.files.push(path.clone());
            draft.text = draft.text.replace(&format!("{mark} "), "").replace(mark.as_str(), "");
        }
    }
    // After the files: what was pasted may speak of marks.
    draft.text = written_out(&draft.text, folded);
    draft
}

/// The text with pasted texts in place of their marks.
pub(super) fn written_out(text: &str, folded: &[Folded]) -> String {
    let mut written = text.to_owned();
    for Folded { mark, what } in folded {
        if let What::Text(whole) = what {
            written = written.replace(mark.as_str(), whole);
        }
    }
    written
}
