//! What a hook answers: a value at once, or one that is still on its way.

use futures::future::{BoxFuture, FutureExt};
use orlop_types::Result;
use std::future::Future;

/// The answer of a hook. A native plugin that computes at once answers `Ready` and costs no
/// allocation; one that must wait (a process, a network) answers with a future.
pub enum Answer<'a, T> {
    /// Known now.
    Ready(Result<T>),
    /// Known later.
    Pending(BoxFuture<'a, Result<T>>),
}

impl<'a, T> Answer<'a, T> {
    /// This value.
    pub fn ok(value: T) -> Self {
        Self::Ready(Ok(value))
    }

    /// The result of a future.
    pub fn later(future: impl Future<Output = Result<T>> + Send + 'a) -> Self {
        Self::Pending(future.boxed())
    }
}

impl<T: Default> Default for Answer<'_, T> {
    fn default() -> Self {
        Self::Ready(Ok(T::default()))
    }
}

impl<T> From<Result<T>> for Answer<'_, T> {
    fn from(result: Result<T>) -> Self {
        Self::Ready(result)
    }
}
