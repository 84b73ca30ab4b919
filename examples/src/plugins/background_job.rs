//! A host plugin with a job that runs again and again for as long as the host is up.

use orlop_app::Application;
use orlop_core::hooks::HostInput;
use orlop_core::{Answer, Context, HostPlugin, Manifest};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

type Job = dyn Fn(Application) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// Runs a job at an interval: the first time when the host starts, never twice at once, and not
/// after the host has stopped.
pub struct BackgroundJob {
    name: &'static str,
    every: Duration,
    job: std::sync::Arc<Job>,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl BackgroundJob {
    /// A job of this name.
    pub fn new<F>(
        name: &'static str,
        every: Duration,
        job: impl Fn(Application) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let job = std::sync::Arc::new(move |app| Box::pin(job(app)) as Pin<Box<_>>);
        Self { name, every, job, running: Mutex::default() }
    }

    fn replace(&self, running: Option<JoinHandle<()>>) -> Option<JoinHandle<()>> {
        let mut held = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, running)
    }
}

impl HostPlugin for BackgroundJob {
    fn manifest(&self) -> Manifest {
        Manifest::host(self.name, "1.0.0")
    }

    fn start<'a>(&'a self, _: &'a HostInput, cx: &'a Context) -> Answer<'a, ()> {
        let app = match Application::of(cx) {
            Ok(app) => app,
            Err(error) => return Answer::Ready(Err(error)),
        };
        let (every, job) = (self.every, self.job.clone());
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(every);
            // A job that took long is not run several times to make up for it.
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                job(app.clone()).await;
            }
        });
        self.replace(Some(task));
        Answer::ok(())
    }

    fn stop<'a>(&'a self, _: &'a HostInput, _: &'a Context) -> Answer<'a, ()> {
        Answer::later(async {
            if let Some(task) = self.replace(None) {
                task.abort();
                // When this returns, nothing of the job runs any more.
                let _ = task.await;
            }
            Ok(())
        })
    }
}
