//! Media types: what bytes are said to be, what they are, and what is accepted.

use orlop_core::{Error, Result};

/// How many of the first bytes tell the type.
pub(super) const HEAD: usize = 1024;

const UNKNOWN: &str = "application/octet-stream";

/// Whether a list of types, such as `application/pdf` and `image/*`, has `media_type` in it.
///
/// ```
/// use orlop_app::assets::allows;
/// let types = ["image/*".to_owned(), "application/pdf".to_owned()];
/// assert!(allows(&types, "image/png") && !allows(&types, "text/plain"));
/// ```
pub fn allows(types: &[String], media_type: &str) -> bool {
    let (family, _) = media_type.split_once('/').unwrap_or((media_type, ""));
    types.iter().map(|allowed| allowed.trim()).any(|allowed| match allowed.split_once('/') {
        Some(("*", "*")) => true,
        Some((of, "*")) => of.eq_ignore_ascii_case(family),
        _ => allowed == "*" || essence(allowed).is_ok_and(|allowed| allowed == media_type),
    })
}

/// Refuses a declared type before any bytes are read, if it would be refused after.
pub(super) fn check_declared(declared: Option<&str>, types: Option<&[String]>) -> Result<()> {
    match said(declared)? {
        Some(declared) => check_allowed(declared, types).map(drop),
        None => Ok(()),
    }
}

/// Gives the type back if it is accepted.
pub(super) fn check_allowed(media_type: String, types: Option<&[String]>) -> Result<String> {
    match types {
        Some(types) if !allows(types, &media_type) => Err(Error::wrong_type(format!(
            "files of type {media_type} are not accepted here; assets.types accepts {}",
            match types {
                [] => "none".to_owned(),
                _ => types.iter().map(|kind| kind.trim()).collect::<Vec<_>>().join(", "),
            }
        ))),
        _ => Ok(media_type),
    }
}

/// The type of a file that is declared to have one and begins with `head`. An image that its
/// bytes contradict is refused.
pub(super) fn media_type_of(declared: Option<&str>, head: &[u8]) -> Result<String> {
    let found = sniff(head);
    let Some(declared) = said(declared)? else {
        return Ok(found.unwrap_or(UNKNOWN).to_owned());
    };
    if !declared.starts_with("image/") || found == Some(&*declared) {
        return Ok(declared);
    }
    let fits = match &*declared {
        "image/svg+xml" => found == Some("text/plain") && is_svg(head),
        // These have a signature, which the bytes lack.
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/bmp" | "image/tiff"
        | "image/avif" | "image/heic" | "image/heif" | "image/x-icon" => {
            matches!((&*declared, found), ("image/heif", Some("image/heic")))
        }
        // Other images may be anything that is not known to be something else.
        _ => found.is_none(),
    };
    match fits {
        true => Ok(declared),
        false => Err(Error::bad_argument(format!(
            "it is said to be {declared}, but its bytes are {}; send it with its own type, or without one",
            found.unwrap_or("of another kind")
        ))),
    }
}

/// The declared type, if it says more than that there are bytes.
fn said(declared: Option<&str>) -> Result<Option<String>> {
    let declared = declared.map(str::trim).filter(|declared| !declared.is_empty());
    let declared = declared.map(essence).transpose()?;
    Ok(declared.filter(|declared| declared != UNKNOWN))
}

/// Type and subtype in lower case, without parameters, under their usual name.
fn essence(media_type: &str) -> Result<String> {
    let (plain, _) = media_type.split_once(';').unwrap_or((media_type, ""));
    let plain = plain.trim().to_ascii_lowercase();
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    if plain.len() > 127 || !plain.split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b))
    {
        let shown: String = media_type.chars().take(40).flat_map(char::escape_debug).collect();
        return Err(Error::bad_argument(format!(
            "\"{shown}\" is no media type; write one such as image/png, or none"
        )));
    }
    Ok(match &*plain {
        "image/jpg" | "image/pjpeg" => "image/jpeg".to_owned(),
        "image/x-png" => "image/png".to_owned(),
        "image/x-ms-bmp" | "image/x-bmp" => "image/bmp".to_owned(),
        "image/vnd.microsoft.icon" => "image/x-icon".to_owned(),
        "application/x-pdf" => "application/pdf".to_owned(),
        _ => plain,
    })
}

/// What the first bytes show.
fn sniff(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("image/bmp"),
        [b'I', b'I', 0x2a, 0, ..] | [b'M', b'M', 0, 0x2a, ..] => Some("image/tiff"),
        [0, 0, 1, 0, count, 0, ..] if *count > 0 => Some("image/x-icon"),
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4)? {
            b"avif" | b"avis" => Some("image/avif"),
            b"heic" | b"heix" | b"hevc" | b"heim" | b"heis" | b"mif1" | b"msf1" => {
                Some("image/heic")
            }
            _ => None,
        },
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        [] => None,
        _ if is_text(head) => Some("text/plain"),
        _ => None,
    }
}

/// UTF-8 without characters that no text has; the last character may be cut off.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let fits =
        |c: char| !c.is_ascii_control() || matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}');
    !text.is_empty() && text.chars().all(fits)
}

fn is_svg(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace()).starts_with('<')
        && text.contains("<svg")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    fn check(declared: &str, head: &[u8], expected: Expect) {
        let declared = Some(declared).filter(|declared| !declared.is_empty());
        let shown = match media_type_of(declared, head) {
            Ok(found) => found,
            Err(error) => format!("{error:?}"),
        };
        expected.assert_eq(&shown);
    }

    #[test] // I-32
    fn bytes_tell_their_type() {
        let known: [(&[u8], &str); 16] = [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0..", "image/jpeg"),
            (b"GIF89a..", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
            (b"RIFF\x01\x02\x03\x04WAVEfmt ", UNKNOWN),
            (b"BM\x01\x02\x03\x04\0\0\0\0", "image/bmp"),
            (b"II\x2a\0\x08\0", "image/tiff"),
            (b"\0\0\x01\0\x01\0", "image/x-icon"),
            (b"\0\0\0\x1cftypavif", "image/avif"),
            (b"\0\0\0\x1cftypheic", "image/heic"),
            (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
            (b"BMW makes cars", "text/plain"),
            ("größe\n".as_bytes(), "text/plain"),
            (b"cut \xe2\x82", "text/plain"),
            (b"nul \0", UNKNOWN),
            (b"", UNKNOWN),
        ];
        for (head, expected) in known {
            for declared in [None, Some("application/octet-stream"), Some(" ")] {
                assert_eq!(media_type_of(declared, head).unwrap(), expected, "{head:?}");
            }
        }
        for length in 0..PNG.len() {
            assert!(media_type_of(None, &PNG[..length]).is_ok());
        }
    }

    #[test] // I-32
    fn a_declared_type_is_kept_under_its_usual_name() {
        check("Text/Markdown; charset=utf-8", b"# x", expect!["text/markdown"]);
        check("image/jpg", b"\xff\xd8\xff\xe0", expect!["image/jpeg"]);
        check("application/zip", b"PK\x03\x04", expect!["application/zip"]);
        check("image/svg+xml", b"<?xml version=\"1.0\"?>\n<svg>", expect!["image/svg+xml"]);
        check("image/x-own", b"\x01\x02", expect!["image/x-own"]);
        check("image/heif", b"\0\0\0\x1cftypmif1", expect!["image/heif"]);
    }

    #[test] // I-32
    fn an_image_that_is_none_is_refused() {
        check(
            "image/png",
            b"<script>",
            expect![
                "bad_argument: it is said to be image/png, but its bytes are text/plain; send it with its own type, or without one"
            ],
        );
        check(
            "image/png",
            b"\xff\xd8\xff\xe0",
            expect![
                "bad_argument: it is said to be image/png, but its bytes are image/jpeg; send it with its own type, or without one"
            ],
        );
        check(
            "image/jpeg",
            b"\x01\x02\x03",
            expect![
                "bad_argument: it is said to be image/jpeg, but its bytes are of another kind; send it with its own type, or without one"
            ],
        );
        check(
            "image/svg+xml",
            PNG,
            expect![
                "bad_argument: it is said to be image/svg+xml, but its bytes are image/png; send it with its own type, or without one"
            ],
        );
        check(
            "image/svg+xml",
            b"just text",
            expect![
                "bad_argument: it is said to be image/svg+xml, but its bytes are text/plain; send it with its own type, or without one"
            ],
        );
        check(
            "image/x-own",
            b"%PDF-1.7",
            expect![
                "bad_argument: it is said to be image/x-own, but its bytes are application/pdf; send it with its own type, or without one"
            ],
        );
        check(
            "image/gif",
            b"",
            expect![
                "bad_argument: it is said to be image/gif, but its bytes are of another kind; send it with its own type, or without one"
            ],
        );
    }

    #[test] // I-32
    fn what_is_no_media_type_is_refused() {
        check(
            "png",
            PNG,
            expect![[
                r#"bad_argument: "png" is no media type; write one such as image/png, or none"#
            ]],
        );
        for bad in ["image/", "/png", "image/png\r\nX-Header: 1", "a b/c", "image/*"] {
            assert!(media_type_of(Some(bad), PNG).is_err(), "{bad:?}");
        }
        assert!(media_type_of(Some(&format!("image/{}", "x".repeat(200))), PNG).is_err());
    }

    #[test] // I-32
    fn types_are_accepted_by_name_and_by_family() {
        let types = |list: &[&str]| list.iter().map(|&kind| kind.to_owned()).collect::<Vec<_>>();
        let some = types(&["image/*", " Application/PDF", "image/jpg"]);
        for yes in ["image/png", "image/jpeg", "application/pdf"] {
            assert!(allows(&some, yes), "{yes}");
        }
        for no in ["text/plain", "application/pdfx", "imagex/png", "application/json"] {
            assert!(!allows(&some, no), "{no}");
        }
        assert!(allows(&types(&["*/*"]), "a/b") && allows(&types(&["*"]), "a/b"));
        assert!(!allows(&[], "a/b"));
        let refused = check_allowed("text/html".to_owned(), Some(&some)).unwrap_err();
        expect!["files of type text/html are not accepted here; assets.types accepts image/*, Application/PDF, image/jpg"].assert_eq(refused.message());
        assert!(check_declared(Some("text/html"), Some(&some)).is_err());
        assert!(check_declared(None, Some(&some)).is_ok());
    }
}
