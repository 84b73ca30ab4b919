//! The engine beside llama.cpp, with real weights: the same tokens, and the same numbers as far as
//! rounding allows. The file is named by `ORLOP_LOCAL_MODEL`.
//!
//! Both bring activations down to eight bits. In this small model that alone moves the logarithm
//! of a probability by 0.12 on average, in either engine, beside the same weights in floats.

mod numbers;

use crate::llama::{BATCH, Cache};
use crate::{Model, Options};
use numbers::{CONTINUATIONS, TOKENS};

/// What the tests know of the file; other weights have other numbers.
const BYTES: u64 = 98_362_432;

fn model(threads: usize, what: &str) -> Option<Model> {
    let path = std::env::var_os("ORLOP_LOCAL_MODEL").filter(|it| !it.is_empty());
    let Some(path) = path else {
        orlop_testkit::skip(what, "ORLOP_LOCAL_MODEL names no model file");
        return None;
    };
    let path = std::path::Path::new(&path);
    if std::fs::metadata(path).unwrap().len() != BYTES {
        orlop_testkit::skip(what, "ORLOP_LOCAL_MODEL is not SmolLM2-135M-Instruct.Q4_1.gguf");
        return None;
    }
    let options = Options { threads: Some(threads), ..Options::default() };
    Some(Model::open_with(path, &options).unwrap())
}

fn read(model: &Model, cache: &mut Cache, tokens: &[u32]) -> Vec<f32> {
    let mut logits = Vec::new();
    for batch in tokens.chunks(BATCH) {
        logits = model.read_tokens(batch, cache, true).unwrap();
    }
    logits
}

fn likeliest(logits: &[f32]) -> u32 {
    (0..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1)).map(|(token, _)| token).unwrap()
}

#[test]
fn texts_have_the_tokens_of_llama_cpp() {
    let Some(model) = model(1, "the tokenizer with real weights") else { return };
    for (text, tokens) in TOKENS {
        assert_eq!(model.tokenizer.encode(text), *tokens, "{text:?}");
        if !text.contains("<|") {
            let bytes: Vec<_> = tokens.iter().flat_map(|it| model.tokenizer.bytes(*it)).collect();
            assert_eq!(bytes, text.as_bytes().iter().collect::<Vec<_>>(), "{text:?}");
        }
    }
}

#[test]
fn probabilities_and_answers_are_those_of_llama_cpp() {
    for threads in [1, 2] {
        let Some(model) = model(threads, "logits with real weights") else { return };
        for continuation in CONTINUATIONS {
            let mut cache = Cache::new(model.llama.measures());
            let mut logits = read(&model, &mut cache, &model.tokenizer.encode(continuation.prompt));
            let sum: f64 = logits.iter().map(|it| f64::from(*it).exp()).sum();
            let mut squares = 0.0;
            for (token, expected) in continuation.likeliest {
                let found = logits[*token as usize] - sum.ln() as f32;
                assert!((found - expected).abs() < 0.3, "{token}: {found} and {expected}");
                squares += (found - expected).powi(2);
            }
            let distance = (squares / continuation.likeliest.len() as f32).sqrt();
            assert!(distance < 0.2, "{distance} after {:?}", continuation.prompt);
            // Rounding may turn the choice between two equals; the first words are far from that.
            let mut tokens = Vec::new();
            for _ in 0..12 {
                let token = likeliest(&logits);
                tokens.push(token);
                logits = read(&model, &mut cache, &[token]);
            }
            assert_eq!(tokens, continuation.tokens[..12], "after {:?}", continuation.prompt);
        }
    }
}
