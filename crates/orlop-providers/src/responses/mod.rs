//! The OpenAI Responses API.
