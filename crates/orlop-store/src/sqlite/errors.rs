//! What SQLite's failures mean to a person.

use orlop_core::Error;
use rusqlite::ErrorCode;

/// A failure of the database at `place`, with what to do about it.
pub(super) fn explain(place: &str, error: &rusqlite::Error) -> Error {
    let Some(code) = error.sqlite_error_code() else {
        return Error::internal(format!("the store in {place} could not be used: {error}"));
    };
    match code {
        ErrorCode::NotADatabase => no_database(place),
        ErrorCode::DatabaseCorrupt => Error::bad_state(format!(
            "{place} is damaged; restore it from a backup, or move it away to begin with an empty store"
        )),
        ErrorCode::ReadOnly => read_only(place),
        ErrorCode::CannotOpen
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied => Error::unavailable(format!(
            "{place} cannot be opened; check that its folder exists and that you may read and write both"
        )),
        ErrorCode::DiskFull => Error::unavailable(format!(
            "the disk with {place} is full, and nothing was changed; free some space and try again"
        )),
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => Error::unavailable(format!(
            "another process has kept {place} locked for too long; end it or try again later"
        )),
        ErrorCode::SystemIoFailure => Error::unavailable(format!(
            "reading or writing {place} failed; check the disk and the space left on it, then try again"
        )),
        ErrorCode::OutOfMemory => Error::unavailable(
            "there is not enough memory for this operation of the store; close other programs and try again",
        ),
        ErrorCode::TooBig => Error::bad_argument(
            "this is more than the store takes in one piece (about 1 GB); store less at once",
        ),
        _ => Error::internal(format!("the store in {place} failed: {error}")),
    }
}

pub(super) fn no_database(place: &str) -> Error {
    Error::bad_state(format!(
        "{place} is no SQLite database, or is damaged; choose another file, or move this one away"
    ))
}

pub(super) fn read_only(place: &str) -> Error {
    Error::unavailable(format!(
        "{place} cannot be written; check the permissions of the file and its folder"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_core::ErrorClass::{BadArgument, BadState, Internal, Unavailable};
    use rusqlite::ffi;

    #[test]
    fn every_failure_has_its_class_and_names_the_place() {
        for (code, class) in [
            (ffi::SQLITE_NOTADB, BadState),
            (ffi::SQLITE_CORRUPT_VTAB, BadState),
            (ffi::SQLITE_READONLY_DIRECTORY, Unavailable),
            (ffi::SQLITE_CANTOPEN, Unavailable),
            (ffi::SQLITE_PERM, Unavailable),
            (ffi::SQLITE_FULL, Unavailable),
            (ffi::SQLITE_BUSY_RECOVERY, Unavailable),
            (ffi::SQLITE_IOERR_FSYNC, Unavailable),
            (ffi::SQLITE_CONSTRAINT, Internal),
        ] {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = explain("/x/orlop.db", &failure);
            assert_eq!(error.class(), class, "{code}");
            assert!(error.message().contains("/x/orlop.db"), "{error}");
        }
        let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None);
        assert_eq!(explain("x", &failure).class(), BadArgument);
        assert_eq!(explain("x", &rusqlite::Error::InvalidQuery).class(), Internal);
    }
}
