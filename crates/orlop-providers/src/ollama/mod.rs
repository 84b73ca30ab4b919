//! The native chat API of Ollama.
