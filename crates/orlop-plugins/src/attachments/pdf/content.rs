//! The text of a page: what its operators show, with lines and spaces where things stand apart.

use super::Limits;
use super::font::Font;
use super::object::{Dict, Object, Reader, is_space};
use super::store::{Store, is_name};
use std::collections::HashMap;
use std::rc::Rc;

/// How many operators of a page are followed.
const MAX_OPERATORS: usize = 2_000_000;
/// How many operands one may have, and how many states are kept.
const MAX_OPERANDS: usize = 256;
const MAX_STATES: usize = 64;
/// How deep forms may show forms.
const MAX_FORMS: usize = 6;

/// A place and how large things are there: `[a b c d e f]`.
type Matrix = [f64; 6];
const ONE: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// What `first` and then `then` do.
fn times(first: &Matrix, then: &Matrix) -> Matrix {
    let [a, b, c, d, e, f] = *first;
    let [g, h, i, j, k, l] = *then;
    [
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + l,
    ]
}

/// The text of a page.
pub(super) fn text_of(store: &Store<'_>, page: &Dict, limits: Limits) -> String {
    let empty = Dict::new();
    let resources = store.dict(page, b"Resources").unwrap_or(&empty);
    let mut bytes = Vec::new();
    let streams = match page.get(&b"Contents"[..]) {
        Some(one @ Object::Reference(_)) => match store.resolved(one) {
            Object::List(many) => many.iter().collect(),
            _ => vec![one],
        },
        Some(Object::List(many)) => many.iter().collect(),
        _ => Vec::new(),
    };
    for stream in streams {
        if let Some((_, more)) = store.stream(stream) {
            bytes.extend(more);
            bytes.push(b'\n');
        }
    }
    let mut shown = Shown {
        store,
        limits,
        operators: 0,
        out: String::new(),
        last: None,
        fonts: HashMap::new(),
    };
    shown.run(&bytes, resources, ONE, MAX_FORMS);
    shown.out
}

/// What has been shown so far.
struct Shown<'a> {
    store: &'a Store<'a>,
    limits: Limits,
    operators: usize,
    out: String,
    /// Where the last character ended, and how large it was.
    last: Option<(f64, f64, f64)>,
    fonts: HashMap<u32, Rc<Font>>,
}

/// How text is shown now.
#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    leading: f64,
    between: f64,
    between_words: f64,
    stretch: f64,
}

impl Shown<'_> {
    fn run(&mut self, bytes: &[u8], resources: &Dict, page: Matrix, forms: usize) {
        let mut state = State {
            page,
            font: None,
            size: 0.0,
            leading: 0.0,
            between: 0.0,
            between_words: 0.0,
            stretch: 1.0,
        };
        let (mut states, mut operands) = (Vec::new(), Vec::<Object>::new());
        let (mut text, mut line) = (ONE, ONE);
        let mut reader = Reader::new(bytes);
        while let Some(object) = reader.next() {
            let Object::Word(operator) = &object else {
                if operands.len() < MAX_OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            self.operators += 1;
            let is_over = self.operators.is_multiple_of(1024) && self.limits.is_over();
            if self.operators > MAX_OPERATORS || is_over || self.out.len() > self.limits.max_text {
                return;
            }
            let number = |place: usize| operands.get(place).and_then(Object::number).unwrap_or(0.0);
            let mut next_line = |x: f64, y: f64| {
                line = times(&[1.0, 0.0, 0.0, 1.0, x, y], &line);
                line
            };
            match operator.as_slice() {
                b"q" if states.len() < MAX_STATES => states.push(state.clone()),
                b"Q" => state = states.pop().unwrap_or(state),
                b"cm" => state.page = times(&matrix(&operands), &state.page),
                b"BT" => (text, line) = (ONE, ONE),
                b"Tf" => {
                    state.size = number(1);
                    if let Some(Object::Name(name)) = operands.first() {
                        state.font = self.font(resources, name);
                    }
                }
                b"TL" => state.leading = number(0),
                b"Tc" => state.between = number(0),
                b"Tw" => state.between_words = number(0),
                b"Tz" => state.stretch = number(0) / 100.0,
                b"Td" => text = next_line(number(0), number(1)),
                b"TD" => {
                    state.leading = -number(1);
                    text = next_line(number(0), number(1));
                }
                b"Tm" => {
                    line = matrix(&operands);
                    text = line;
                }
                b"T*" => text = next_line(0.0, -state.leading),
                b"Tj" | b"TJ" => self.show(operands.last(), &state, &mut text),
                b"'" | b"\"" => {
                    if operator == b"\"" {
                        (state.between_words, state.between) = (number(0), number(1));
                    }
                    text = next_line(0.0, -state.leading);
                    self.show(operands.last(), &state, &mut text);
                }
                b"Do" if forms > 0 => {
                    if let Some(Object::Name(name)) = operands.first() {
                        self.form(resources, name, &state, forms);
                    }
                }
                b"ID" => skip_picture(&mut reader),
                _ => {}
            }
            operands.clear();
        }
    }

    fn font(&mut self, resources: &Dict, name: &[u8]) -> Option<Rc<Font>> {
        let held = self.store.dict(resources, b"Font")?.get(name)?;
        let Object::Dict(dict) = self.store.resolved(held) else { return None };
        let Object::Reference(number) = held else {
            return Some(Rc::new(Font::of(self.store, dict)));
        };
        if let Some(font) = self.fonts.get(number) {
            return Some(font.clone());
        }
        let font = Rc::new(Font::of(self.store, dict));
        self.fonts.insert(*number, font.clone());
        Some(font)
    }

    fn form(&mut self, resources: &Dict, name: &[u8], state: &State, forms: usize) {
        let store = self.store;
        let form = store.dict(resources, b"XObject").and_then(|all| all.get(name));
        let Some((dict, bytes)) = form.and_then(|form| store.stream(form)) else { return };
        if !is_name(dict.get(&b"Subtype"[..]), b"Form") {
            return;
        }
        let own = match store.get(dict, b"Matrix") {
            Object::List(numbers) => matrix(numbers),
            _ => ONE,
        };
        let resources = store.dict(dict, b"Resources").unwrap_or(resources);
        self.run(&bytes, resources, times(&own, &state.page), forms - 1);
    }

    /// Shows a string, or strings with distances between them.
    fn show(&mut self, what: Option<&Object>, state: &State, text: &mut Matrix) {
        let Some(font) = &state.font else { return };
        let one;
        let pieces: &[Object] = match what {
            Some(Object::List(pieces)) => pieces,
            Some(string @ Object::String(_)) => {
                one = [string.clone()];
                &one
            }
            _ => return,
        };
        for piece in pieces {
            match piece {
                Object::Number(back) => {
                    let x = -back / 1000.0 * state.size * state.stretch;
                    *text = times(&[1.0, 0.0, 0.0, 1.0, x, 0.0], text);
                }
                Object::String(string) => {
                    for (shown, width, is_space) in font.decode(string) {
                        self.put(shown, &times(text, &state.page), state.size);
                        let words = if is_space { state.between_words } else { 0.0 };
                        let x = width / 1000.0 * state.size + state.between + words;
                        *text = times(&[1.0, 0.0, 0.0, 1.0, x * state.stretch, 0.0], text);
                        let end = times(text, &state.page);
                        let size = (state.size * end[3].hypot(end[2])).abs();
                        self.last = Some((end[4], end[5], size));
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds a character at a place: on a new line, or behind a space, where it stands apart.
    fn put(&mut self, shown: &str, at: &Matrix, size: f64) {
        let size = (size * at[3].hypot(at[2])).abs();
        if let Some((x, y, before)) = self.last {
            let unit = size.max(before).max(0.001);
            let (over, down) = (at[4] - x, (at[5] - y).abs());
            if down > 0.4 * unit {
                self.separate(if down > 2.2 * unit { "\n\n" } else { "\n" });
            } else if over > 0.18 * unit || over < -2.0 * unit {
                self.separate(" ");
            }
        }
        self.out.push_str(shown);
    }

    fn separate(&mut self, by: &str) {
        if by == " " && self.out.ends_with([' ', '\n']) {
            return;
        }
        if by != " " {
            let end = self.out.trim_end_matches(' ').len();
            self.out.truncate(end);
        }
        if !self.out.is_empty() && !self.out.ends_with(by) {
            self.out.push_str(by);
        }
    }
}

fn matrix(numbers: &[Object]) -> Matrix {
    let mut matrix = ONE;
    for (place, number) in matrix.iter_mut().zip(numbers) {
        *place = number.number().unwrap_or(0.0);
    }
    matrix
}

/// Passes over a picture within the operators: bytes up to the word `EI`.
fn skip_picture(reader: &mut Reader<'_>) {
    let rest = reader.bytes.get(reader.at..).unwrap_or_default();
    let is_end =
        |window: &[u8]| is_space(window[0]) && &window[1..3] == b"EI" && is_space(window[3]);
    let end = rest.windows(4).position(is_end);
    reader.at = end.map_or(reader.bytes.len(), |end| reader.at + end + 3);
}
