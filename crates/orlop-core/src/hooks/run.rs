//! Calls hooks: skips what a plugin does not implement, catches panics, watches the time, names
//! the plugin in errors and tells the observer.

use super::{Answer, Hook};
use crate::plugin::Registered;
use futures::future::{BoxFuture, Either, FutureExt, select};
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use orlop_types::{Error, Result, Value};
use serde::Serialize;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Measures time for the core, which has no clock of its own. Without one, hooks have no limit.
pub trait Timer: Send + Sync {
    /// Ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// What a hook answered; made into JSON only where somebody wants to see it.
pub trait Outcome {
    /// The answer as JSON, which says what the hook changed.
    fn to_json(&self) -> Value;
}

impl<T: Serialize> Outcome for T {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// One thing an [`Observer`] is told.
pub enum HookEvent<'a> {
    /// The hook is about to run.
    Started,
    /// It answered.
    Answered(&'a dyn Outcome),
    /// It failed.
    Failed(&'a Error),
}

/// Sees hook calls, for traces: each hook that answers, and each stream from its opening to its
/// end. `process_chunk`, which runs for every chunk, is not shown. It is called in place and must
/// be quick.
pub trait Observer: Send + Sync {
    /// `hook` of `plugin` has come to `event`.
    fn hook(&self, plugin: &str, hook: Hook, event: HookEvent<'_>);

    /// `action` of `plugin` is about to run, by hand or in a lifecycle: the `execute_action` that
    /// the plugin starts next.
    fn action(&self, _plugin: &str, _action: &str, _lifecycle: Option<&str>) {}

    /// Somebody wanted to run `action` of `plugin` by hand, and it was not done.
    fn refused(&self, _plugin: &str, _action: &str, _why: &str) {}

    /// The actions of a lifecycle are about to run.
    fn lifecycle(&self, _lifecycle: &str) {}
}

/// How hooks are called, by the core and by the layers above it.
#[derive(Clone, Default)]
pub struct Runner {
    /// Measures the time limits of the table; without one there are none.
    pub timer: Option<Arc<dyn Timer>>,
    /// Sees every call.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Runner {
    /// Tells the observer which action is about to run.
    pub fn about_to_act(&self, plugin: &str, action: &str, lifecycle: Option<&str>) {
        if let Some(observer) = &self.observer {
            observer.action(plugin, action, lifecycle);
        }
    }

    /// Tells the observer that an action is not run by hand, and why.
    pub fn refused(&self, plugin: &str, action: &str, why: &str) {
        if let Some(observer) = &self.observer {
            observer.refused(plugin, action, why);
        }
    }

    /// Tells the observer which lifecycle is about to run.
    pub fn about_to_run(&self, lifecycle: &str) {
        if let Some(observer) = &self.observer {
            observer.lifecycle(lifecycle);
        }
    }

    /// Calls `hook` of `plugin`. The default outcome stands in where the plugin does not
    /// implement the hook, or fails and the table or the plugin says to skip.
    pub async fn call<'a, P, T>(
        &self,
        plugin: &'a Registered<P>,
        hook: Hook,
        ask: impl FnOnce(&'a P) -> Answer<'a, T>,
    ) -> Result<T>
    where
        P: ?Sized,
        T: Default + Serialize,
    {
        if !plugin.manifest.hooks.contains(hook) {
            return Ok(T::default());
        }
        let result = self.try_call(plugin, hook, ask).await;
        match result {
            Err(error) if plugin.manifest.goes_on_without(hook) => {
                tracing::warn!(target: "orlop::core", plugin = plugin.name(), hook = hook.name(), %error, "hook failed, skipped");
                Ok(T::default())
            }
            result => result,
        }
    }

    /// Calls `hook` of `plugin` and gives its failure whatever the table says of it.
    pub async fn try_call<'a, P, T>(
        &self,
        plugin: &'a Registered<P>,
        hook: Hook,
        ask: impl FnOnce(&'a P) -> Answer<'a, T>,
    ) -> Result<T>
    where
        P: ?Sized,
        T: Serialize,
    {
        if let Some(observer) = &self.observer {
            observer.hook(plugin.name(), hook, HookEvent::Started);
        }
        let answer = catch_unwind(AssertUnwindSafe(|| ask(&*plugin.plugin)));
        let result = match answer {
            Ok(Answer::Ready(result)) => result,
            Ok(Answer::Pending(future)) => self.wait(future, hook).await,
            Ok(Answer::After(first, then)) => match guarded(first).await {
                Ok(()) => self.wait(then, hook).await,
                Err(error) => Err(error),
            },
            Err(panic) => Err(panicked(&*panic)),
        };
        let result = result.map_err(|error| error.in_hook(plugin.name(), hook.name()));
        if let Some(observer) = &self.observer {
            let event = match &result {
                Ok(outcome) => HookEvent::Answered(outcome),
                Err(error) => HookEvent::Failed(error),
            };
            observer.hook(plugin.name(), hook, event);
        }
        result
    }

    /// Shows the opening and the end of a stream to the observer, and names the plugin in its
    /// errors.
    pub(crate) fn watch<P, T>(
        &self,
        plugin: &Registered<P>,
        hook: Hook,
        stream: BoxStream<'static, Result<T>>,
    ) -> BoxStream<'static, Result<T>>
    where
        P: ?Sized,
        T: Send + 'static,
    {
        let name = plugin.name().to_owned();
        let Some(observer) = self.observer.clone() else {
            return stream.map_err(move |error| error.in_hook(&name, hook.name())).boxed();
        };
        observer.hook(&name, hook, HookEvent::Started);
        let failed = Arc::new(AtomicBool::new(false));
        let (ending, plugin, failed_before) = (observer.clone(), name.clone(), failed.clone());
        let end = futures::stream::once(async move {
            if !failed_before.load(Ordering::Relaxed) {
                ending.hook(&plugin, hook, HookEvent::Answered(&()));
            }
            None
        });
        let items = stream.map(move |item| {
            Some(item.map_err(|error| {
                let error = error.in_hook(&name, hook.name());
                failed.store(true, Ordering::Relaxed);
                observer.hook(&name, hook, HookEvent::Failed(&error));
                error
            }))
        });
        items.chain(end).filter_map(|item| async { item }).boxed()
    }

    async fn wait<T>(&self, future: BoxFuture<'_, Result<T>>, hook: Hook) -> Result<T> {
        let (Some(timer), Some(limit)) = (&self.timer, hook.spec().timeout) else {
            return guarded(future).await;
        };
        match select(pin!(guarded(future)), timer.sleep(limit)).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => {
                let late = format!("no answer within {} s", limit.as_secs());
                Err(Error::plugin(late).with_timeout())
            }
        }
    }
}

async fn guarded<T>(future: BoxFuture<'_, Result<T>>) -> Result<T> {
    let ended = AssertUnwindSafe(future).catch_unwind().await;
    ended.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The failure that a panic of a plugin becomes.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::plugin(format!("the plugin panicked: {text}"))
}
