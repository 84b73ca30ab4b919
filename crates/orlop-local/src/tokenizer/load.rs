//! Reads a tokenizer from the metadata of a model file.

use std::collections::{HashMap, HashSet};

use orlop_types::{Error, Result};
use regex::Regex;

use super::split::Splitter;
use super::{Kind, Method, Token, Tokenizer};
use crate::gguf::{Metadata, Value, broken};

/// Names of tokens with which models of the family end an answer.
const ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<end_of_turn>",
    "</s>",
];

/// How SentencePiece writes a space.
const SPACE: char = '\u{2581}';

impl Tokenizer {
    /// Reads it.
    pub(crate) fn read(metadata: &Metadata) -> Result<Self> {
        let texts = metadata.texts("tokenizer.ggml.tokens")?;
        if texts.is_empty() || u32::try_from(texts.len()).is_err() {
            return Err(broken(format_args!("it has {} tokens", texts.len())));
        }
        let kinds = match metadata.get("tokenizer.ggml.token_type") {
            Some(Value::Wholes(kinds)) if kinds.len() == texts.len() => kinds.clone(),
            None => vec![1; texts.len()],
            Some(_) => return Err(broken("its tokens and their types do not match")),
        };
        let named = |key: &str| -> Result<Option<u32>> {
            let id = metadata.optional_count(&format!("tokenizer.ggml.{key}_token_id"))?;
            match id {
                Some(id) if id >= texts.len() => {
                    Err(broken(format_args!("its {key} token {id} does not exist")))
                }
                id => Ok(id.and_then(|id| u32::try_from(id).ok())),
            }
        };
        let sentence_piece = match metadata.text("tokenizer.ggml.model")? {
            Some("gpt2") => false,
            Some("llama") => true,
            other => {
                return Err(Error::bad_argument(format!(
                    "the tokenizer {:?} is not known to the embedded model (known: gpt2, llama); take \
                     another file",
                    other.unwrap_or("none")
                )));
            }
        };
        let tokens = tokens(texts, &kinds, sentence_piece);
        let ids = ids(&tokens, |kind| kind == Kind::Text);
        let (method, bytes) = if sentence_piece {
            (scores(metadata, texts.len())?, sentence_piece_bytes(texts, &kinds))
        } else {
            (merges(metadata, &ids)?, (0..=255).map(|byte| ids.get(&[byte][..]).copied()).collect())
        };
        let Some(end) = named("eos")? else {
            return Err(broken("it does not say which token ends an answer"));
        };
        let mut ends = HashSet::from([end]);
        ends.extend(named("eot")?);
        let steering_ids: HashMap<String, u32> = ids_as_text(&tokens);
        ends.extend(ENDS.iter().filter_map(|name| steering_ids.get(*name)));
        let begin = named("bos")?;
        Ok(Self {
            add_begin: metadata.bool_or("tokenizer.ggml.add_bos_token", sentence_piece)?,
            steering: steering(&steering_ids)?,
            unknown: named("unknown")?,
            tokens,
            ids,
            method,
            steering_ids,
            bytes,
            ends,
            end,
            begin,
        })
    }
}

fn tokens(texts: &[String], kinds: &[i64], sentence_piece: bool) -> Vec<Token> {
    let letters = byte_letters();
    let token = |(text, kind): (&String, &i64)| match kind {
        3 | 2 | 5 => Token { bytes: text.clone().into_bytes(), kind: Kind::Control },
        4 => Token { bytes: text.clone().into_bytes(), kind: Kind::Added },
        6 => {
            let byte = byte_of(text);
            Token { bytes: byte.map_or_else(Vec::new, |byte| vec![byte]), kind: Kind::Byte }
        }
        _ if sentence_piece => {
            Token { bytes: text.replace(SPACE, " ").into_bytes(), kind: Kind::Text }
        }
        _ => {
            let bytes: Option<Vec<u8>> =
                text.chars().map(|letter| letters.get(&letter).copied()).collect();
            let bytes = bytes.unwrap_or_else(|| text.clone().into_bytes());
            Token { bytes, kind: Kind::Text }
        }
    };
    texts.iter().zip(kinds).map(token).collect()
}

fn ids(tokens: &[Token], wanted: impl Fn(Kind) -> bool) -> HashMap<Vec<u8>, u32> {
    let mut ids = HashMap::with_capacity(tokens.len());
    for (id, token) in (0..).zip(tokens) {
        if wanted(token.kind) && !token.bytes.is_empty() {
            ids.entry(token.bytes.clone()).or_insert(id);
        }
    }
    ids
}

fn ids_as_text(tokens: &[Token]) -> HashMap<String, u32> {
    let steering = ids(tokens, |kind| matches!(kind, Kind::Control | Kind::Added)).into_iter();
    steering.filter_map(|(bytes, id)| Some((String::from_utf8(bytes).ok()?, id))).collect()
}

fn steering(ids: &HashMap<String, u32>) -> Result<Option<Regex>> {
    if ids.is_empty() {
        return Ok(None);
    }
    let mut names: Vec<_> = ids.keys().collect();
    // The first that matches counts: longer ones first.
    names.sort_by_key(|name| (std::cmp::Reverse(name.len()), *name));
    let pattern: Vec<_> = names.iter().map(|name| regex::escape(name)).collect();
    let regex = regex::RegexBuilder::new(&pattern.join("|")).size_limit(64 << 20).build();
    regex.map(Some).map_err(|_| broken("its steering tokens are too many"))
}

fn merges(metadata: &Metadata, ids: &HashMap<Vec<u8>, u32>) -> Result<Method> {
    let name = metadata.text("tokenizer.ggml.pre")?.unwrap_or("default");
    let splitter = Splitter::named(name)?;
    let letters = byte_letters();
    let bytes = |text: &str| -> Option<Vec<u8>> {
        text.chars().map(|letter| letters.get(&letter).copied()).collect()
    };
    let mut merges = HashMap::new();
    for (rank, merge) in (0..).zip(metadata.texts("tokenizer.ggml.merges")?) {
        // What cannot be merged into a token of the vocabulary is no merge.
        let found = merge.split_once(' ').and_then(|(left, right)| {
            let (left, right) = (bytes(left)?, bytes(right)?);
            let merged = *ids.get(&[&left[..], &right[..]].concat())?;
            Some(((*ids.get(&left)?, *ids.get(&right)?), (rank, merged)))
        });
        if let Some((pair, merged)) = found {
            merges.entry(pair).or_insert(merged);
        }
    }
    Ok(Method::Merges { splitter, merges, whole_words: name.starts_with("llama") })
}

fn scores(metadata: &Metadata, tokens: usize) -> Result<Method> {
    let scores = match metadata.get("tokenizer.ggml.scores") {
        Some(Value::Reals(scores)) if scores.len() == tokens => {
            scores.iter().map(|score| *score as f32).collect()
        }
        _ => return Err(broken("its tokens have no scores")),
    };
    let space_first = metadata.bool_or("tokenizer.ggml.add_space_prefix", true)?;
    Ok(Method::Scores { scores, space_first })
}

fn sentence_piece_bytes(texts: &[String], kinds: &[i64]) -> Vec<Option<u32>> {
    let mut bytes = vec![None; 256];
    for (id, (text, kind)) in (0..).zip(texts.iter().zip(kinds)) {
        if let Some(byte) = byte_of(text).filter(|_| *kind == 6) {
            bytes[usize::from(byte)] = Some(id);
        }
    }
    bytes
}

/// `<0x0A>` stands for the byte 10.
fn byte_of(text: &str) -> Option<u8> {
    u8::from_str_radix(text.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}

/// The letters that stand for bytes in vocabularies of GPT-2: printable ones for themselves, all
/// others counted up from 256.
fn byte_letters() -> HashMap<char, u8> {
    let mut next = 256;
    (0..=255u8)
        .filter_map(|byte| {
            let printable = matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let letter = if printable {
                u32::from(byte)
            } else {
                next += 1;
                next - 1
            };
            Some((char::from_u32(letter)?, byte))
        })
        .collect()
}
