//! What is known about models: context window, prices, capabilities.
