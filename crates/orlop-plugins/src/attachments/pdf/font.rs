//! What the bytes of a shown string mean: characters and their widths.

use super::object::{Dict, Object, Reader};
use super::store::{Store, is_name};
use std::collections::HashMap;

/// How many characters a font may map.
const MAX_MAPPED: usize = 70_000;
/// The width of a character of which none is known, in thousandths of the size.
const USUAL_WIDTH: f64 = 500.0;

/// What characters 128 to 159 are where nothing else is said; the rest is as in Latin-1.
const WINDOWS: &str = "€\u{fffd}‚ƒ„…†‡ˆ‰Š‹Œ\u{fffd}Ž\u{fffd}\u{fffd}‘’“”•–—˜™š›œ\u{fffd}žŸ";
/// Characters 128 to 255 on a Macintosh.
const MACINTOSH: &str = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{a0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{fffd}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ";

/// Names of characters that are no letters.
const NAMES: &[(&str, &str)] = &[
    ("space", " "),
    ("exclam", "!"),
    ("quotedbl", "\""),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("quotesingle", "'"),
    ("quoteright", "’"),
    ("quoteleft", "‘"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("plus", "+"),
    ("comma", ","),
    ("hyphen", "-"),
    ("minus", "−"),
    ("period", "."),
    ("slash", "/"),
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("less", "<"),
    ("equal", "="),
    ("greater", ">"),
    ("question", "?"),
    ("at", "@"),
    ("bracketleft", "["),
    ("backslash", "\\"),
    ("bracketright", "]"),
    ("asciicircum", "^"),
    ("underscore", "_"),
    ("grave", "`"),
    ("braceleft", "{"),
    ("bar", "|"),
    ("braceright", "}"),
    ("asciitilde", "~"),
    ("bullet", "•"),
    ("endash", "–"),
    ("emdash", "—"),
    ("ellipsis", "…"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("quotedblbase", "„"),
    ("quotesinglbase", "‚"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ff", "ff"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("germandbls", "ß"),
    ("AE", "Æ"),
    ("ae", "æ"),
    ("OE", "Œ"),
    ("oe", "œ"),
    ("Oslash", "Ø"),
    ("oslash", "ø"),
    ("dotlessi", "ı"),
    ("copyright", "©"),
    ("registered", "®"),
    ("trademark", "™"),
    ("degree", "°"),
    ("section", "§"),
    ("paragraph", "¶"),
    ("dagger", "†"),
    ("daggerdbl", "‡"),
    ("sterling", "£"),
    ("yen", "¥"),
    ("Euro", "€"),
    ("cent", "¢"),
    ("multiply", "×"),
    ("divide", "÷"),
    ("plusminus", "±"),
    ("mu", "µ"),
    ("periodcentered", "·"),
    ("nbspace", " "),
    ("arrowright", "→"),
    ("lessequal", "≤"),
    ("greaterequal", "≥"),
    ("notequal", "≠"),
];

/// Names of accents behind a letter, and the mark that goes over it.
const ACCENTS: &[(&str, char)] = &[
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circumflex", '\u{302}'),
    ("dieresis", '\u{308}'),
    ("tilde", '\u{303}'),
    ("ring", '\u{30a}'),
    ("cedilla", '\u{327}'),
    ("caron", '\u{30c}'),
];

/// A font as far as text goes.
#[derive(Default)]
pub(super) struct Font {
    /// How many bytes a character takes.
    bytes: usize,
    texts: HashMap<u32, String>,
    widths: HashMap<u32, f64>,
    width: f64,
}

impl Font {
    pub(super) fn of(store: &Store<'_>, dict: &Dict) -> Self {
        let is_composite = is_name(dict.get(&b"Subtype"[..]), b"Type0");
        let mut font = Self { bytes: 1, width: USUAL_WIDTH, ..Self::default() };
        if is_composite {
            font.bytes = 2;
            font.composite_widths(store, dict);
        } else {
            font.encoding(store, dict);
            font.simple_widths(store, dict);
        }
        if let Some((_, map)) = dict.get(&b"ToUnicode"[..]).and_then(|map| store.stream(map)) {
            font.to_unicode(&map);
        }
        font
    }

    /// The characters of a string: the text of each, its width, and whether it is a single space.
    pub(super) fn decode<'b>(
        &'b self,
        string: &'b [u8],
    ) -> impl Iterator<Item = (&'b str, f64, bool)> {
        string.chunks(self.bytes).map(|chunk| {
            let code = chunk.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
            let text = self.texts.get(&code).map(String::as_str).unwrap_or_default();
            let width = self.widths.get(&code).copied().unwrap_or(self.width);
            (text, width, self.bytes == 1 && code == 32)
        })
    }

    /// The characters of a font with one byte each.
    fn encoding(&mut self, store: &Store<'_>, dict: &Dict) {
        let encoding = store.get(dict, b"Encoding");
        let base = match encoding {
            Object::Dict(encoding) => store.get(encoding, b"BaseEncoding"),
            other => other,
        };
        let is_macintosh = is_name(Some(base), b"MacRomanEncoding");
        let high: Vec<char> = if is_macintosh { MACINTOSH } else { WINDOWS }.chars().collect();
        for code in 32_u32..256 {
            let place = usize::try_from(code).unwrap_or(0).checked_sub(128);
            let high = place.and_then(|place| high.get(place).copied());
            let character = high.or_else(|| char::from_u32(code)).filter(|c| *c != '\u{fffd}');
            if let Some(character) = character.filter(|c| !c.is_control()) {
                self.texts.insert(code, character.to_string());
            }
        }
        let Object::Dict(encoding) = encoding else { return };
        let Object::List(differences) = store.get(encoding, b"Differences") else { return };
        let mut code = 0;
        for item in differences {
            match store.resolved(item) {
                Object::Number(number) => code = whole(*number),
                Object::Name(name) => {
                    match named(name) {
                        Some(text) => self.texts.insert(code, text),
                        None => self.texts.remove(&code),
                    };
                    code = code.saturating_add(1);
                }
                _ => {}
            }
        }
    }

    fn simple_widths(&mut self, store: &Store<'_>, dict: &Dict) {
        let first = store.get(dict, b"FirstChar").number().map_or(0, whole);
        if let Object::List(widths) = store.get(dict, b"Widths") {
            let widths = widths.iter().take(256).zip(first..);
            let known = |(width, code)| Some((code, store.resolved(width).number()?));
            self.widths = widths.filter_map(known).collect();
        }
    }

    fn composite_widths(&mut self, store: &Store<'_>, dict: &Dict) {
        let Object::List(fonts) = store.get(dict, b"DescendantFonts") else { return };
        let Some(Object::Dict(font)) = fonts.first().map(|font| store.resolved(font)) else {
            return;
        };
        self.width = store.get(font, b"DW").number().unwrap_or(1000.0);
        let Object::List(widths) = store.get(font, b"W") else { return };
        let mut items = widths.iter().map(|item| store.resolved(item));
        while let (Some(Object::Number(first)), Some(second)) = (items.next(), items.next()) {
            let first = whole(*first);
            match second {
                Object::List(each) => {
                    for (code, width) in (first..).zip(each).take(MAX_MAPPED) {
                        self.widths.extend(width.number().map(|width| (code, width)));
                    }
                }
                Object::Number(last) => {
                    let Some(width) = items.next().and_then(Object::number) else { return };
                    let codes = (first..=whole(*last)).take(MAX_MAPPED);
                    self.widths.extend(codes.map(|code| (code, width)));
                }
                _ => return,
            }
            if self.widths.len() > MAX_MAPPED {
                return;
            }
        }
    }

    /// Reads a map of codes to characters.
    fn to_unicode(&mut self, map: &[u8]) {
        let mut reader = Reader::new(map);
        let mut strings: Vec<Object> = Vec::new();
        while let Some(object) = reader.next() {
            let Object::Word(word) = &object else {
                strings.push(object);
                if strings.len() > 3 * MAX_MAPPED {
                    return;
                }
                continue;
            };
            match word.as_slice() {
                b"endcodespacerange" => {
                    let lengths = strings.iter().filter_map(|item| match item {
                        Object::String(code) => Some(code.len()),
                        _ => None,
                    });
                    self.bytes = lengths.max().unwrap_or(self.bytes).clamp(1, 4);
                }
                b"endbfchar" => {
                    for pair in strings.chunks(2) {
                        if let [Object::String(code), Object::String(text)] = pair {
                            self.map(code_of(code), utf16(text, 0));
                        }
                    }
                }
                b"endbfrange" => {
                    for triple in strings.chunks(3) {
                        if let [Object::String(first), Object::String(last), texts] = triple {
                            self.map_range(code_of(first), code_of(last), texts);
                        }
                    }
                }
                _ => {}
            }
            strings.clear();
        }
    }

    fn map_range(&mut self, first: u32, last: u32, texts: &Object) {
        for (code, place) in (first..=last).zip(0_u16..) {
            if self.texts.len() > MAX_MAPPED {
                return;
            }
            match texts {
                Object::String(text) => self.map(code, utf16(text, place)),
                Object::List(texts) => match texts.get(usize::from(place)) {
                    Some(Object::String(text)) => self.map(code, utf16(text, 0)),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    fn map(&mut self, code: u32, text: String) {
        if self.texts.len() <= MAX_MAPPED {
            self.texts.insert(code, text);
        }
    }
}

fn whole(number: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let whole = number.clamp(0.0, 1e9) as u32;
    whole
}

fn code_of(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |code, byte| code << 8 | u32::from(*byte))
}

/// Text in UTF-16, with its last unit moved on by `place`.
fn utf16(bytes: &[u8], place: u16) -> String {
    let mut units: Vec<u16> = bytes
        .chunks(2)
        .take(64)
        .map(|pair| pair.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte)))
        .collect();
    if let Some(last) = units.last_mut() {
        *last = last.wrapping_add(place);
    }
    String::from_utf16_lossy(&units).replace(|c: char| c.is_control() && c != '\n', "")
}

/// The character of a name.
fn named(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.split('.').next().unwrap_or(name);
    if let Some((_, text)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some((*text).to_owned());
    }
    let mut letters = name.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    let rest = letters.as_str();
    if rest.is_empty() {
        return Some(letter.to_string());
    }
    if let Some((_, mark)) = ACCENTS.iter().find(|(known, _)| *known == rest) {
        return Some(format!("{letter}{mark}"));
    }
    let digits = name.strip_prefix("uni").or_else(|| name.strip_prefix('u'))?;
    let code = u32::from_str_radix(
        digits.get(..4).filter(|_| name.starts_with("uni")).unwrap_or(digits),
        16,
    );
    code.ok().and_then(char::from_u32).map(String::from)
}
