//! Broken files and files of the wrong kind: each is an error that says so, and nothing worse.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;

use expect_test::{Expect, expect};
use orlop_local::{Model, Options};
use support::{File, TinyModel, ask, message};

fn one_thread() -> Options {
    Options { threads: Some(1), ..Options::default() }
}

/// What opening says, without the name of the file.
fn check(bytes: &[u8], expected: Expect) {
    let file = File::new(bytes);
    let said = match Model::open(file.path()) {
        Ok(_) => "opened".to_owned(),
        Err(error) => error.to_string().replace(&file.path().display().to_string(), "FILE"),
    };
    expected.assert_eq(&said);
}

#[test]
fn a_file_of_another_kind_is_refused_by_what_it_is() {
    check(b"", expect!["FILE cannot be used: it is not a GGUF file; convert it to GGUF first"]);
    check(
        b"GGUF\x01\0\0\0",
        expect![
            "FILE cannot be used: GGUF version 1 is not known (known: 2 and 3, little endian); convert it anew"
        ],
    );
    let other = TinyModel { architecture: "qwen2", ..TinyModel::default() };
    check(
        &other.bytes().0,
        expect![[
            r#"FILE cannot be used: models of the architecture "qwen2" cannot be run by the embedded model; take one of the architecture "llama", or serve it with Ollama and use the provider `ollama`"#
        ]],
    );
    let other = TinyModel { format: 10, ..TinyModel::default() };
    check(
        &other.bytes().0,
        expect![[
            r#"FILE cannot be used: tensor "token_embd.weight" is stored as Q2_K, which the embedded model does not compute with; take a file with F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, BF16"#
        ]],
    );
    let other = TinyModel { splitter: "tekken", ..TinyModel::default() };
    check(
        &other.bytes().0,
        expect![[
            r#"FILE cannot be used: the way "tekken" to split words is not known to the embedded model (known: gpt-2, smollm, starcoder, refact, command-r, codeshell, llama-bpe, qwen2); take another file"#
        ]],
    );
    let other = TinyModel { template: "{% for".into(), ..TinyModel::default() };
    check(
        &other.bytes().0,
        expect![
            "FILE cannot be used: the chat template of the model file cannot be read: syntax error: unexpected end of input, expected identifier (in chat:1); take another file"
        ],
    );
    let other = TinyModel { width: 48, format: 0, ..TinyModel::default() };
    check(&other.bytes().0, expect!["opened"]);
}

#[test]
fn a_missing_file_is_not_found() {
    let error = Model::open(Path::new("/nowhere/model.gguf")).err().unwrap();
    assert_eq!(error.class().as_str(), "not_found");
    let error = Model::open(&std::env::temp_dir()).err().unwrap();
    assert_eq!(error.class().as_str(), "bad_argument");
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    let (bytes, header) = TinyModel::default().bytes();
    let file = File::new(&bytes);
    let handle = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    // The last bytes are padding; the last tensor needs all before it.
    let data = (header..bytes.len() - 32).rev().step_by(251);
    for length in data.chain((0..header).rev()) {
        handle.set_len(length as u64).unwrap();
        assert!(Model::open_with(file.path(), &one_thread()).is_err(), "cut at {length}");
    }
}

#[test]
fn a_header_with_any_byte_changed_is_refused_or_still_runs() {
    let (bytes, header) = TinyModel::default().bytes();
    let file = File::new(&bytes);
    let mut handle = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    let mut put = |at: usize, byte: u8| {
        handle.seek(SeekFrom::Start(at as u64)).unwrap();
        handle.write_all(&[byte]).unwrap();
    };
    let (mut opened, mut refused) = (0, 0);
    // Of the vocabulary, which is a list of the same thing, some bytes are enough.
    let find = |key: &str| bytes.windows(key.len()).position(|it| it == key.as_bytes()).unwrap();
    let tokens = find("tokenizer.ggml.tokens") + 64..find("tokenizer.ggml.merges");
    for at in (0..header).filter(|at| !tokens.contains(at) || at % 23 == 0) {
        for changed in [0xff, bytes[at] ^ 0x80, bytes[at].wrapping_add(1)] {
            put(at, changed);
            match Model::open_with(file.path(), &one_thread()) {
                Err(_) => refused += 1,
                Ok(model) => {
                    opened += 1;
                    if opened % 16 == 0 {
                        // It may say nonsense or refuse; it must not fail in any other way.
                        let request = ask(&[message("user", "hello")], 2);
                        let _ = model.chat(&request, &mut |_| ControlFlow::Continue(()));
                    }
                }
            }
        }
        put(at, bytes[at]);
    }
    assert!(opened > 100 && refused > 100, "{opened} opened, {refused} refused");
}
