//! What readers of an immutable value found in it, so that each looks only once.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// One finding of each type that was asked for. The first is at hand; there is seldom another.
#[derive(Default)]
pub(crate) struct Findings {
    held: OnceLock<Box<dyn Any + Send + Sync>>,
    others: OnceLock<Box<Findings>>,
}

/// That nothing was found. It has no size, so that keeping it allocates nothing.
struct Nothing<T>(PhantomData<fn() -> T>);

impl Findings {
    /// What `find` says, which is asked once for each type.
    #[inline]
    pub(crate) fn get<T: Any + Send + Sync>(&self, find: impl FnOnce() -> Option<T>) -> Option<&T> {
        let mut find = Some(find);
        let mut place = self;
        loop {
            let held = place.held.get_or_init(|| match find.take().and_then(|find| find()) {
                Some(found) => Box::new(found),
                None => Box::new(Nothing::<T>(PhantomData)),
            });
            let held: &(dyn Any + Send + Sync) = &**held;
            if held.type_id() == TypeId::of::<Nothing<T>>() {
                return None;
            }
            if let Some(found) = held.downcast_ref() {
                return Some(found);
            }
            place = place.others.get_or_init(Box::default);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_looks_once_whether_it_finds_something_or_not() {
        let findings = Findings::default();
        assert_eq!(findings.get(|| Some(7_u8)), Some(&7));
        assert_eq!(findings.get(|| None::<u16>), None);
        assert_eq!(findings.get(|| Some("text")), Some(&"text"));
        for _ in 0..2 {
            assert_eq!(findings.get::<u8>(|| unreachable!()), Some(&7));
            assert_eq!(findings.get::<u16>(|| unreachable!()), None);
            assert_eq!(findings.get::<&str>(|| unreachable!()), Some(&"text"));
        }
    }

    #[test]
    fn readers_in_several_threads_see_the_same() {
        let findings = Findings::default();
        let look = &|n: u32| (findings.get(|| Some(n)).copied(), findings.get(|| None::<u8>));
        let all = std::thread::scope(|scope| {
            let looking: Vec<_> = (0..4).map(|n| scope.spawn(move || look(n))).collect();
            looking.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(all.iter().all(|seen| seen.0.is_some() && *seen == (all[0].0, None)), "{all:?}");
    }
}
