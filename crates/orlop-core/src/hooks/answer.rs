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
    /// Known later, once something else is there. The time limit of the hook begins then; what comes
    /// first has to end by itself.
    After(BoxFuture<'a, Result<()>>, BoxFuture<'a, Result<T>>),
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

    /// The result of a future that begins when another has ended well.
    pub fn after(
        first: impl Future<Output = Result<()>> + Send + 'a,
        then: impl Future<Output = Result<T>> + Send + 'a,
    ) -> Self {
        Self::After(first.boxed(), then.boxed())
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
