//! The objects of a file by their number, and its pages in order.

use super::Limits;
use super::object::{Dict, Object, Reader};
use flate2::bufread::ZlibDecoder;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// How many objects are known.
const MAX_OBJECTS: usize = 300_000;
/// How much is unpacked, of one stream and of all, in bytes.
const MAX_STREAM: u64 = 32 * 1024 * 1024;
const MAX_UNPACKED: u64 = 256 * 1024 * 1024;
/// How many references lead to an object, and how deep the tree of pages is.
const MAX_STEPS: usize = 32;
/// How many pages are looked for.
const MAX_PAGES: usize = 10_000;

/// An object of the file, and the bytes of its stream if it has one.
struct Held<'a> {
    object: Object,
    stream: Option<&'a [u8]>,
}

/// The objects of a file.
pub(super) struct Store<'a> {
    objects: HashMap<u32, Held<'a>>,
    room: Cell<u64>,
}

impl<'a> Store<'a> {
    pub(super) fn of(bytes: &'a [u8], limits: Limits) -> Result<Self, &'static str> {
        let mut store = Self { objects: HashMap::new(), room: Cell::new(MAX_UNPACKED) };
        let mut at = 0;
        while let Some((number, start)) = next_object(bytes, at) {
            if store.objects.len() >= MAX_OBJECTS || limits.is_over() {
                return Err("it is too large to be read");
            }
            let mut reader = Reader { bytes, at: start };
            let object = reader.next().unwrap_or(Object::Null);
            let mut behind = reader.clone();
            let is_stream = behind.next() == Some(Object::Word(b"stream".to_vec()));
            let stream = match &object {
                Object::Dict(dict) if is_stream => Some(stream_at(bytes, behind.at, dict)),
                _ => None,
            };
            at = stream.map_or(reader.at, |stream| end_of(bytes, stream)).max(start);
            store.objects.insert(number, Held { object, stream });
        }
        if bytes.windows(8).any(|window| window == b"/Encrypt") {
            return Err("it is encrypted");
        }
        store.unpack_objects(limits);
        Ok(store)
    }

    /// Adds the objects that are packed into streams.
    fn unpack_objects(&mut self, limits: Limits) {
        let is_packed = |held: &Held<'_>| matches!(&held.object, Object::Dict(dict) if is_name(dict.get(&b"Type"[..]), b"ObjStm"));
        let mut packed: Vec<u32> =
            self.objects.iter().filter(|(_, held)| is_packed(held)).map(|(n, _)| *n).collect();
        packed.sort_unstable();
        for number in packed {
            if limits.is_over() {
                return;
            }
            let Some((dict, bytes)) = self.stream(&Object::Reference(number)) else { continue };
            let count = |key: &[u8]| {
                let number = dict.get(key).and_then(|it| self.resolved(it).number()).unwrap_or(0.0);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a cut is as good as an error"
                )]
                let count = number.clamp(0.0, 1e9) as usize;
                count
            };
            let (objects, first) = (count(b"N").min(MAX_OBJECTS), count(b"First"));
            let mut head = Reader::new(&bytes);
            let mut found = Vec::new();
            for _ in 0..objects {
                let (Some(Object::Number(number)), Some(Object::Number(offset))) =
                    (head.next(), head.next())
                else {
                    break;
                };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a cut is as good as an error"
                )]
                let (number, offset) = (number as u32, offset.max(0.0) as usize);
                let mut reader = Reader { bytes: &bytes, at: first.saturating_add(offset) };
                found.extend(reader.next().map(|object| (number, object)));
            }
            for (number, object) in found {
                if self.objects.len() < MAX_OBJECTS {
                    // What stands in the file itself was written later.
                    self.objects.entry(number).or_insert(Held { object, stream: None });
                }
            }
        }
    }

    /// What an object is once references are followed.
    pub(super) fn resolved<'b>(&'b self, object: &'b Object) -> &'b Object {
        let mut object = object;
        for _ in 0..MAX_STEPS {
            match object {
                Object::Reference(number) => match self.objects.get(number) {
                    Some(held) => object = &held.object,
                    None => return &Object::Null,
                },
                other => return other,
            }
        }
        &Object::Null
    }

    /// An entry of a mapping, resolved.
    pub(super) fn get<'b>(&'b self, dict: &'b Dict, key: &[u8]) -> &'b Object {
        dict.get(key).map_or(&Object::Null, |object| self.resolved(object))
    }

    /// An entry that is a mapping.
    pub(super) fn dict<'b>(&'b self, dict: &'b Dict, key: &[u8]) -> Option<&'b Dict> {
        match self.get(dict, key) {
            Object::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The mapping of a stream and its bytes, unpacked.
    pub(super) fn stream(&self, object: &Object) -> Option<(&Dict, Vec<u8>)> {
        let Object::Reference(number) = object else { return None };
        let held = self.objects.get(number)?;
        let Object::Dict(dict) = &held.object else { return None };
        let filters = match self.get(dict, b"Filter") {
            Object::Name(name) => vec![name.clone()],
            Object::List(names) => names
                .iter()
                .filter_map(|name| match self.resolved(name) {
                    Object::Name(name) => Some(name.clone()),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let mut bytes = held.stream?.to_vec();
        for filter in filters.iter().take(4) {
            bytes = match filter.as_slice() {
                b"FlateDecode" | b"Fl" => self.inflated(&bytes),
                b"ASCIIHexDecode" | b"AHx" => from_hexadecimal(&bytes),
                b"ASCII85Decode" | b"A85" => from_base85(&bytes),
                _ => return None,
            };
        }
        Some((dict, bytes))
    }

    /// Unpacked, as far as it goes: the end of a damaged stream is lost, its beginning is not.
    fn inflated(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let room = self.room.get().min(MAX_STREAM);
        let _ = ZlibDecoder::new(bytes).take(room).read_to_end(&mut out);
        self.room.set(self.room.get().saturating_sub(out.len() as u64));
        out
    }

    /// The pages in order, each with the resources it inherits.
    pub(super) fn pages(&self) -> Vec<Dict> {
        let mut pages = Vec::new();
        let catalogue = self.objects.values().find_map(|held| match &held.object {
            Object::Dict(dict) if is_name(dict.get(&b"Type"[..]), b"Catalog") => Some(dict),
            _ => None,
        });
        let root = catalogue.and_then(|catalogue| catalogue.get(&b"Pages"[..]));
        if let Some(Object::Reference(root)) = root {
            self.walk(*root, None, MAX_STEPS, &mut HashSet::new(), &mut pages);
        }
        if pages.is_empty() {
            // A broken tree: the pages as they are numbered.
            let mut found: Vec<(&u32, &Held<'_>)> = self.objects.iter().collect();
            found.sort_unstable_by_key(|(number, _)| **number);
            pages.extend(found.into_iter().filter_map(|(_, held)| match &held.object {
                Object::Dict(dict) if is_name(dict.get(&b"Type"[..]), b"Page") => {
                    Some(dict.clone())
                }
                _ => None,
            }));
        }
        pages.truncate(MAX_PAGES);
        pages
    }

    fn walk(
        &self,
        number: u32,
        resources: Option<&Object>,
        depth: usize,
        seen: &mut HashSet<u32>,
        pages: &mut Vec<Dict>,
    ) {
        if depth == 0 || pages.len() >= MAX_PAGES || !seen.insert(number) {
            return;
        }
        let Some(Held { object: Object::Dict(node), .. }) = self.objects.get(&number) else {
            return;
        };
        let resources = node.get(&b"Resources"[..]).or(resources);
        match self.get(node, b"Kids") {
            Object::List(kids) => {
                for kid in kids {
                    if let Object::Reference(kid) = kid {
                        self.walk(*kid, resources, depth - 1, seen, pages);
                    }
                }
            }
            _ => {
                let mut page = node.clone();
                if let Some(resources) = resources {
                    page.insert(b"Resources".to_vec(), resources.clone());
                }
                pages.push(page);
            }
        }
    }
}

pub(super) fn is_name(object: Option<&Object>, name: &[u8]) -> bool {
    matches!(object, Some(Object::Name(held)) if held == name)
}

/// The number of the next object in the file, and where it begins.
fn next_object(bytes: &[u8], from: usize) -> Option<(u32, usize)> {
    let mut at = from;
    loop {
        let found = bytes.get(at..)?.windows(3).position(|window| window == b"obj")? + at;
        at = found + 3;
        if let Some(number) = number_before(&bytes[..found]) {
            return Some((number, at));
        }
    }
}

/// The `12` of `12 0 ` at the end of some bytes.
fn number_before(bytes: &[u8]) -> Option<u32> {
    let tail = &bytes[bytes.len().saturating_sub(24)..];
    let text: String = tail.iter().map(|byte| char::from(*byte)).collect();
    let trimmed = text.trim_end();
    let (rest, generation) = trimmed.rsplit_once(|c: char| c.is_ascii_whitespace())?;
    generation.parse::<u16>().ok()?;
    let rest = rest.trim_end();
    let digits = rest.len() - rest.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    rest[rest.len() - digits..].parse().ok()
}

/// The bytes of a stream whose word `stream` ends at `at`.
fn stream_at<'a>(bytes: &'a [u8], at: usize, dict: &Dict) -> &'a [u8] {
    let mut begin = at;
    if bytes.get(begin) == Some(&b'\r') {
        begin += 1;
    }
    if bytes.get(begin) == Some(&b'\n') {
        begin += 1;
    }
    let rest = bytes.get(begin..).unwrap_or_default();
    // A length that is right is followed by the word that ends the stream.
    if let Some(Object::Number(length)) = dict.get(&b"Length"[..]) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is looked at whether it fits"
        )]
        let length = length.max(0.0) as usize;
        let behind = rest.get(length..).map(|rest| &rest[..rest.len().min(16)]);
        if behind.is_some_and(|behind| behind.windows(9).any(|window| window == b"endstream")) {
            return &rest[..length];
        }
    }
    let end = rest.windows(9).position(|window| window == b"endstream").unwrap_or(rest.len());
    &rest[..end]
}

/// Where a part of some bytes ends in them.
fn end_of(bytes: &[u8], part: &[u8]) -> usize {
    (part.as_ptr().addr() - bytes.as_ptr().addr()) + part.len()
}

fn from_hexadecimal(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'<'];
    text.extend_from_slice(bytes);
    match Reader::new(&text).next() {
        Some(Object::String(bytes)) => bytes,
        _ => Vec::new(),
    }
}

fn from_base85(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut group) = (Vec::new(), Vec::new());
    let flush = |group: &mut Vec<u32>, out: &mut Vec<u8>| {
        let count = group.len();
        if count < 2 {
            return;
        }
        group.resize(5, 84);
        let value =
            group.iter().fold(0_u32, |sum, digit| sum.wrapping_mul(85).wrapping_add(*digit));
        out.extend_from_slice(&value.to_be_bytes()[..count - 1]);
        group.clear();
    };
    for byte in bytes {
        match byte {
            b'z' if group.is_empty() => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => {
                group.push(u32::from(byte - b'!'));
                if group.len() == 5 {
                    flush(&mut group, &mut out);
                }
            }
            b'~' => break,
            _ => {}
        }
    }
    flush(&mut group, &mut out);
    out
}
