//! Variables that a command may set for itself without getting any power by it.

/// Whether setting a variable only changes how things are shown or told.
pub(crate) fn is_harmless(name: &str, value: &str) -> bool {
    let leads_elsewhere = value.starts_with(['/', ':', '~']) || value.contains("..");
    !leads_elsewhere && is_for_show(name)
}

fn is_for_show(name: &str) -> bool {
    matches!(
        name,
        "LANG"
            | "LANGUAGE"
            | "TZ"
            | "TERM"
            | "COLUMNS"
            | "LINES"
            | "NO_COLOR"
            | "CLICOLOR"
            | "CLICOLOR_FORCE"
            | "FORCE_COLOR"
            | "COLORTERM"
            | "CI"
            | "RUST_BACKTRACE"
            | "RUST_LOG"
            | "CARGO_TERM_COLOR"
            | "PYTHONUNBUFFERED"
            | "PYTHONDONTWRITEBYTECODE"
            | "DEBIAN_FRONTEND"
            | "GIT_TERMINAL_PROMPT"
            | "GIT_OPTIONAL_LOCKS"
    ) || (name.starts_with("LC_") && name.bytes().all(|b| b == b'_' || b.is_ascii_uppercase()))
}
