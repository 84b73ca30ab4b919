//! What PostgreSQL's failures mean to a person.

use orlop_core::Error;
use postgres::error::SqlState;
use std::error::Error as _;

/// A failure of the database at `place`, with what to do about it.
pub(super) fn explain(place: &str, error: &postgres::Error) -> Error {
    let Some(failure) = error.as_db_error() else {
        return Error::unavailable(format!(
            "the connection to PostgreSQL at {place} broke ({}); check the server and try again",
            cause(error)
        ));
    };
    by_code(place, failure.code(), failure.message())
}

fn by_code(place: &str, code: &SqlState, message: &str) -> Error {
    let class = code.code().get(..2).unwrap_or_default();
    match code.code() {
        "53100" => Error::unavailable(format!(
            "the disk of PostgreSQL at {place} is full, and nothing was changed; free some space and try again"
        )),
        "53300" => Error::unavailable(format!(
            "PostgreSQL at {place} has too many connections; try again later, or raise its max_connections"
        )),
        "25006" => Error::unavailable(format!(
            "PostgreSQL at {place} can only be read now; name the primary server, or try again later"
        )),
        "28P01" | "28000" => Error::bad_state(format!(
            "PostgreSQL at {place} refused the user or the password; check both in the address of the store"
        )),
        "3D000" => Error::bad_state(format!(
            "PostgreSQL has no database at {place}; create it, or check the address of the store"
        )),
        "42501" => Error::bad_state(format!(
            "PostgreSQL at {place} denies the user a right that the store needs ({message}); grant it"
        )),
        "22021" => Error::bad_argument(
            "an id or a name has the character of number zero, which PostgreSQL cannot store; leave it out",
        ),
        "40001" | "40P01" | "55P03" => Error::unavailable(format!(
            "others kept what this step needs of PostgreSQL at {place} locked for too long; try again"
        )),
        "XX001" | "XX002" => Error::bad_state(format!(
            "the database at {place} is damaged ({message}); restore it from a backup"
        )),
        _ if class == "54" => Error::bad_argument(format!(
            "this is more than PostgreSQL takes in one piece ({message})"
        )),
        _ if ["08", "53", "57", "58"].contains(&class) => Error::unavailable(format!(
            "PostgreSQL at {place} cannot be used now ({message}); check the server and try again"
        )),
        code => Error::internal(format!("the store at {place} failed: {message} ({code})")),
    }
}

/// Why there is no connection.
pub(super) fn cannot_connect(place: &str, error: &postgres::Error) -> Error {
    if error.as_db_error().is_some() {
        return explain(place, error);
    }
    let about_tls = error.to_string().contains("TLS");
    let advice = match about_tls {
        true => {
            "let the system trust the server's certificate, or add ?sslmode=disable where the network is safe"
        }
        false => "check that it runs and that the address of the store is right",
    };
    let cause = cause(error);
    Error::unavailable(format!("PostgreSQL at {place} cannot be reached ({cause}); {advice}"))
}

/// The innermost reason there is; the outer ones only say what was tried.
fn cause(error: &postgres::Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Whether the same step can succeed if it is tried again at once.
pub(super) fn is_passing(error: &postgres::Error) -> bool {
    let passing = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| passing.contains(code))
}

/// Whether the connection is gone.
pub(super) fn is_broken(error: &postgres::Error) -> bool {
    match error.code() {
        Some(code) => code.code().starts_with("57P") || code.code().starts_with("08"),
        None => error.is_closed() || error.source().is_some_and(|it| it.is::<std::io::Error>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_core::ErrorClass::{BadArgument, BadState, Internal, Unavailable};

    #[test]
    fn every_failure_has_its_class() {
        for (code, class) in [
            ("53100", Unavailable),
            ("53300", Unavailable),
            ("53200", Unavailable),
            ("57P03", Unavailable),
            ("25006", Unavailable),
            ("55P03", Unavailable),
            ("28P01", BadState),
            ("3D000", BadState),
            ("42501", BadState),
            ("XX001", BadState),
            ("22021", BadArgument),
            ("54000", BadArgument),
            ("42601", Internal),
        ] {
            let error = by_code("host:5432/db", &SqlState::from_code(code), "why");
            assert_eq!(error.class(), class, "{code}");
        }
    }
}
