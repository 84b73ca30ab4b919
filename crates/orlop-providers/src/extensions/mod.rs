//! Provider extensions: what sits on the stream of a provider.
