//! The Gemini generateContent API.
