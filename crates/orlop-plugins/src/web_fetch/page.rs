//! What a page says: its bytes as text, by what the server calls it or what it looks like.

use super::fetch::Page;
use super::html;
use crate::attachments::{self, pdf};
use encoding_rs::Encoding;
use orlop_core::{Error, Result};

/// How far into a page its character set may be named.
const HEAD: usize = 2_048;

/// A page as text.
pub(super) struct Text {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// What the server calls it.
    pub(super) kind: String,
    /// What to know about the text, in sentences.
    pub(super) note: Option<String>,
}

enum Form {
    Html,
    Pdf,
    Plain,
}

/// The text of a page; what is no text is refused.
pub(super) fn text_of(page: &Page) -> Result<Text> {
    let kind = page.content_type.split(';').next().unwrap_or_default().trim().to_owned();
    let Some(form) = form_of(&kind, &page.body) else {
        let shown = if kind.is_empty() { "data of an unknown kind" } else { &kind };
        return Err(Error::bad_argument(format!(
            "{} is {shown} of {} bytes, and only text and PDF can be read",
            page.url,
            page.body.len()
        )));
    };
    let text = || decoded(page, matches!(form, Form::Html));
    let kind = if kind.is_empty() { "text".to_owned() } else { kind };
    Ok(match form {
        Form::Plain => Text { title: None, text: text(), kind, note: None },
        Form::Html => {
            let read = html::to_text(&text(), &page.url);
            Text { title: read.title, text: read.text, kind, note: None }
        }
        Form::Pdf => of_pdf(page)?,
    })
}

/// The text of a PDF, each page under its number.
fn of_pdf(page: &Page) -> Result<Text> {
    // A part of a file may still be read, but what is missing is not its fault.
    let because = if page.cut { ", and only its beginning was read" } else { "" };
    let most = usize::try_from(attachments::MAX_TEXT).unwrap_or(usize::MAX);
    let read = pdf::read(&page.body, most)
        .map_err(|why| Error::bad_argument(format!("{} is a PDF, but {why}{because}", page.url)))?;
    let pages = if read.pages == 1 { "page" } else { "pages" };
    let mut note = format!("A PDF of {} {pages}.", read.pages);
    if let Some(why) = read.cut {
        note.push_str(&format!(" The rest of it is left out: {why}."));
    }
    let kind = "application/pdf".to_owned();
    Ok(Text { title: None, text: read.text, kind, note: Some(note) })
}

fn form_of(kind: &str, body: &[u8]) -> Option<Form> {
    let words = ["json", "xml", "yaml", "toml", "javascript", "markdown", "csv", "x-sh", "sql"];
    match kind {
        "application/pdf" | "application/x-pdf" => Some(Form::Pdf),
        "text/html" | "application/xhtml+xml" => Some(Form::Html),
        _ if kind.starts_with("text/") => Some(Form::Plain),
        _ if kind.starts_with("application/") && words.iter().any(|word| kind.contains(word)) => {
            Some(Form::Plain)
        }
        "" | "application/octet-stream" | "application/unknown" => looks_like(body),
        _ => None,
    }
}

/// What nobody names is text if it has no zero bytes, and a page if it begins like one.
fn looks_like(body: &[u8]) -> Option<Form> {
    let head = &body[..body.len().min(HEAD)];
    if head.starts_with(b"%PDF-") {
        return Some(Form::Pdf);
    }
    if head.contains(&0) {
        return None;
    }
    let head = String::from_utf8_lossy(head).trim_start().to_lowercase();
    let is_page = head.starts_with("<!doctype html") || head.starts_with("<html");
    let is_text = std::str::from_utf8(body).is_ok() || !head.contains('\u{fffd}');
    if is_page { Some(Form::Html) } else { is_text.then_some(Form::Plain) }
}

/// The bytes in the character set that the server or the page names; UTF-8 if none does.
fn decoded(page: &Page, is_html: bool) -> String {
    let head = &page.body[..page.body.len().min(HEAD)];
    let head = String::from_utf8_lossy(head).to_lowercase();
    let named = charset_in(&page.content_type).or_else(|| charset_in(&head).filter(|_| is_html));
    let encoding = named.and_then(|name| Encoding::for_label(name.as_bytes()));
    encoding.unwrap_or(encoding_rs::UTF_8).decode(&page.body).0.into_owned()
}

fn charset_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(content_type: &str, body: &[u8], expected: Expect) {
        let page = Page {
            url: "https://example.org/a".parse().unwrap(),
            status: 200,
            content_type: content_type.to_owned(),
            body: body.to_vec(),
            cut: false,
        };
        let shown = match text_of(&page) {
            Ok(read) => format!("{} {:?}: {}", read.kind, read.title, read.text),
            Err(error) => error.message().to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn text_is_what_the_server_calls_text() {
        let html = b"<title>T</title><p>caf\xc3\xa9</p>";
        check("text/html; charset=utf-8", html, expect![[r#"text/html Some("T"): café"#]]);
        check("application/json", b"{\"a\": 1}", expect![[r#"application/json None: {"a": 1}"#]]);
        check("application/atom+xml", b"<feed/>", expect!["application/atom+xml None: <feed/>"]);
        check("text/plain", b"<b>as it is</b>", expect!["text/plain None: <b>as it is</b>"]);
        check("", b" <!DOCTYPE html><p>hi", expect!["text None: hi"]);
        check("", b"plain", expect!["text None: plain"]);
        check(
            "image/png",
            b"\x89PNG",
            expect![
                "https://example.org/a is image/png of 4 bytes, and only text and PDF can be read"
            ],
        );
        check(
            "",
            b"a\0b",
            expect![
                "https://example.org/a is data of an unknown kind of 3 bytes, and only text and PDF can be read"
            ],
        );
    }

    #[test]
    fn character_sets_are_those_of_the_server_or_the_page() {
        check("text/plain; charset=iso-8859-1", b"caf\xe9", expect!["text/plain None: café"]);
        check(
            "text/html",
            b"<meta charset='shift_jis'><p>\x93\xfa\x96\x7b",
            expect!["text/html None: 日本"],
        );
        check(
            "text/plain; charset=nonsense",
            b"caf\xc3\xa9 \xff",
            expect!["text/plain None: café �"],
        );
    }
}
