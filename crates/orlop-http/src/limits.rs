//! How much of the server one tenant, or one token, may use at once.

use crate::problem::Problem;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Counts what each tenant has under way.
#[derive(Clone, Default)]
pub(crate) struct Counts(Arc<Mutex<HashMap<String, usize>>>);

/// One of something that is counted, until it is dropped.
pub(crate) struct Slot {
    counts: Counts,
    tenant: String,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counts {
    /// One more for a tenant, unless it has `most` already.
    pub(crate) fn take(&self, tenant: &str, most: usize) -> Option<Slot> {
        let mut counts = locked(&self.0);
        let count = counts.entry(tenant.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Slot { counts: self.clone(), tenant: tenant.to_owned() })
    }

    /// How many there are in all.
    pub(crate) fn total(&self) -> usize {
        locked(&self.0).values().sum()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = locked(&self.counts.0);
        if let Some(count) = counts.get_mut(&self.tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.tenant);
            }
        }
    }
}

/// How often each token may ask: a bucket of a minute's requests, filled evenly.
pub(crate) struct Rates {
    per_minute: u32,
    buckets: Mutex<HashMap<Arc<str>, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

/// Buckets are looked through when there are more than this.
const MANY: usize = 10_000;

impl Rates {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::default() }
    }

    /// Counts a request; refused if there were too many.
    pub(crate) fn count(&self, who: &Arc<str>) -> Result<(), Problem> {
        self.count_at(who, Instant::now())
    }

    fn count_at(&self, who: &Arc<str>, now: Instant) -> Result<(), Problem> {
        let most = f64::from(self.per_minute);
        let per_second = most / 60.0;
        let filled = |bucket: &Bucket| {
            let gained = now.saturating_duration_since(bucket.at).as_secs_f64() * per_second;
            (bucket.left + gained).min(most)
        };
        let mut buckets = locked(&self.buckets);
        if buckets.len() > MANY {
            buckets.retain(|_, bucket| filled(bucket) < most);
        }
        let bucket = buckets.entry(who.clone()).or_insert(Bucket { left: most, at: now });
        let left = filled(bucket);
        if left < 1.0 {
            let wait = ((1.0 - left) / per_second).ceil();
            return Err(Problem::too_many(
                format!(
                    "more than {} requests a minute came with this token; wait, or raise server.limits.requests_per_minute",
                    self.per_minute
                ),
                wait as u32,
            ));
        }
        *bucket = Bucket { left: left - 1.0, at: now };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_tenant_has_so_many_slots_and_gets_them_back() {
        let counts = Counts::default();
        let held: Vec<_> = (0..2).map(|_| counts.take("a", 2)).collect();
        assert!(counts.take("a", 2).is_none() && counts.take("b", 2).is_some());
        assert_eq!(counts.total(), 2);
        drop(held);
        assert!(counts.take("a", 2).is_some());
        assert_eq!(counts.total(), 0);
    }

    #[test]
    fn a_minute_fills_a_bucket_evenly() {
        let rates = Rates::new(60);
        let (who, now): (Arc<str>, _) = ("t".into(), Instant::now());
        assert!((0..60).all(|_| rates.count_at(&who, now).is_ok()));
        let problem = rates.count_at(&who, now).unwrap_err();
        assert_eq!((problem.status().as_u16(), problem.retry_after_seconds()), (429, Some(1)));
        assert!(rates.count_at(&"u".into(), now).is_ok());
        let later = now + Duration::from_secs(2);
        assert!(rates.count_at(&who, later).is_ok() && rates.count_at(&who, later).is_ok());
        assert!(rates.count_at(&who, later).is_err());
    }
}
