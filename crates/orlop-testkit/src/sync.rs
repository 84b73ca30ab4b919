//! The one lock this crate uses: a mutex whose poisoning does not matter, because a test that
//! panicked has failed already and the others must still see what the server saw.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
