//! The process of a package: started when it is first needed, started again when it died, ended
//! with the host.

use crate::call::Lent;
use crate::description;
use crate::launch::Launch;
use crate::memory;
use crate::package::Package;
use crate::peer::Peer;
use crate::remembered::Remembered;
use crate::tap::{ProcessTap, Tap};
use orlop_app::PluginHealth;
use orlop_core::types::protocol::Description;
use orlop_core::{Error, Map, Result};
use serde_json::json;
use std::io::{PipeReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long a process that was told to stop may go on.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// Pauses before a process that keeps failing is started again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A process that lived so long has not failed at its start.
const PROVEN: Duration = Duration::from_secs(30);
/// A pause that is waited for rather than told of.
const SHORT_PAUSE: Duration = Duration::from_millis(500);

/// Stands between a process and its host: given what the process prints and its number, it gives
/// what the host hears.
pub(crate) type Between =
    Arc<dyn Fn(PipeReader, Option<u32>) -> Box<dyn Read + Send> + Send + Sync>;

/// The process of a package.
pub(crate) struct Process {
    launch: Launch,
    tap: Option<Tap>,
    between: Option<Between>,
    /// What the host took it for, and where that is remembered.
    taken_for: OnceLock<(Remembered, Description)>,
    /// Held while the process is being started.
    starting: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    peer: Option<Arc<Peer>>,
    /// How many processes were started, and which of them `peer` is.
    started: u64,
    current: u64,
    since: Option<Instant>,
    failures: u32,
    last_end: Option<Instant>,
    /// Ended for good.
    closed: bool,
}

impl Process {
    pub(crate) fn new(launch: Launch, tap: Option<Tap>) -> Arc<Self> {
        let (between, taken_for, starting, state) = Default::default();
        Arc::new(Self { launch, tap, between, taken_for, starting, state })
    }

    /// A process that is not heard as it is.
    pub(crate) fn through(launch: Launch, between: Between) -> Arc<Self> {
        let (tap, taken_for, starting, state) = Default::default();
        Arc::new(Self { launch, tap, between: Some(between), taken_for, starting, state })
    }

    pub(crate) fn package(&self) -> &Package {
        &self.launch.package
    }

    /// How it is started.
    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The settings it is introduced with.
    pub(crate) fn settings(&self) -> &Map {
        self.launch.settings()
    }

    /// The host goes by this description from now on.
    pub(crate) fn remember(&self, remembered: Remembered, description: Description) {
        let _ = self.taken_for.set((remembered, description));
    }

    /// What is remembered of the package.
    pub(crate) fn remembered(&self) -> Option<&Remembered> {
        self.taken_for.get().map(|(remembered, _)| remembered)
    }

    /// Refuses a process that holds something else than the host took it for.
    fn admit(&self, now: Description) -> Result<Description> {
        match self.taken_for.get() {
            Some((remembered, before)) if !description::is_same(before, &now) => {
                remembered.forget();
                Err(Error::plugin(format!(
                    "plugin \"{}\" changed: it holds something else than when Orlop was started; start Orlop again",
                    self.package().name
                )))
            }
            _ => Ok(now),
        }
    }

    /// The connection, if the process runs.
    pub(crate) fn running(&self) -> Option<Arc<Peer>> {
        self.state().peer.clone().filter(|peer| peer.is_alive())
    }

    /// Which of the processes that were started runs, or was the last to run.
    pub(crate) fn number(&self) -> u64 {
        self.state().current
    }

    /// How it is doing, and what is wrong with it.
    pub(crate) fn health(&self) -> (PluginHealth, Option<String>) {
        let state = self.state();
        let alive = state.peer.as_ref().is_some_and(|peer| peer.is_alive());
        match (alive, state.failures) {
            (true, _) => (PluginHealth::Running, None),
            (false, 0) => (PluginHealth::NotStarted, None),
            (false, times) => {
                let problem = format!("it ended unexpectedly, {times} times in a row");
                (PluginHealth::Failed, Some(problem))
            }
        }
    }

    /// The connection; starts the process if it does not run. One that others try to start again and
    /// again is waited for twice as long as one start may take.
    pub(crate) async fn peer(self: &Arc<Self>) -> Result<Arc<Peer>> {
        if let Some(peer) = self.running() {
            return Ok(peer);
        }
        let process = self.clone();
        let started = tokio::task::spawn_blocking(move || process.peer_blocking());
        let started = tokio::time::timeout(self.launch.patience * 2, started).await;
        let started = started.map_err(|_| {
            let name = &self.package().name;
            Error::unavailable(format!("plugin \"{name}\" takes too long to start")).with_timeout()
        })?;
        started.map_err(|error| Error::internal(format!("a plugin cannot be started: {error}")))?
    }

    /// The same, in place. Who comes while it is being started waits for it.
    pub(crate) fn peer_blocking(self: &Arc<Self>) -> Result<Arc<Peer>> {
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(peer) = self.running() {
            return Ok(peer);
        }
        std::thread::sleep(self.pause()?);
        self.start().map(|(peer, _)| peer)
    }

    /// How long to wait before the next start; an error if that is too long to wait for.
    fn pause(&self) -> Result<Duration> {
        let state = self.state();
        let name = &self.package().name;
        if state.closed {
            return Err(Error::unavailable(format!("plugin \"{name}\" was ended with the host")));
        }
        let (Some(ended), 1..) = (state.last_end, state.failures) else {
            return Ok(Duration::ZERO);
        };
        let pause =
            FIRST_PAUSE.saturating_mul(1 << (state.failures - 1).min(16)).min(LONGEST_PAUSE);
        let left = pause.saturating_sub(ended.elapsed());
        if left > SHORT_PAUSE {
            return Err(Error::unavailable(format!(
                "plugin \"{name}\" ended unexpectedly {} times; it is started again in {} s",
                state.failures,
                left.as_secs() + 1
            )));
        }
        Ok(left)
    }

    /// Starts the process and asks what it holds.
    pub(crate) fn start(self: &Arc<Self>) -> Result<(Arc<Peer>, Description)> {
        let name = &self.package().name;
        let (group, input, output, errors) = self.launch.start()?;
        let leader = group.leader();
        let output: Box<dyn Read + Send> = match &self.between {
            Some(between) => between(output, leader),
            None => Box::new(output),
        };
        let process = (group, input, output, errors);
        let number = {
            let mut state = self.state();
            state.started += 1;
            state.started
        };
        let ended = Arc::downgrade(self);
        let tap = self.tap.as_ref().map(|tap| ProcessTap::new(tap, name));
        let limits = &self.package().limits;
        let peer =
            Arc::new(Peer::new(name, limits, process, tap, move || noticed(&ended, number))?);
        let lent = Lent::nothing(name);
        let introduction = self.launch.introduction();
        let (call, answer) = peer.ask_blocking(lent, |_, id| {
            let line =
                json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": introduction});
            Ok(line.to_string().into_bytes())
        })?;
        let patience = self.launch.patience;
        let described = match answer.recv_timeout(patience) {
            Ok(answer) => answer.and_then(|answer| description::read(answer.get(), name)),
            Err(_) => Err(Error::plugin(format!(
                "plugin \"{name}\" did not say what it holds within {} ms",
                patience.as_millis()
            ))),
        };
        drop(call);
        match described.and_then(|now| self.admit(now)) {
            Ok(description) => {
                let mut state = self.state();
                if state.closed {
                    peer.end(Error::unavailable(format!(
                        "plugin \"{name}\" was ended with the host"
                    )));
                    return Err(Error::unavailable("the host is being stopped"));
                }
                state.peer = Some(peer.clone());
                state.current = number;
                state.since = Some(Instant::now());
                drop(state);
                if let Some(leader) = leader {
                    let limit = self.package().limits.memory_mb();
                    watch_memory(Arc::downgrade(&peer), name.clone(), leader, limit);
                }
                Ok((peer, description))
            }
            Err(error) => {
                peer.end(error.clone());
                let mut state = self.state();
                state.failures += 1;
                state.last_end = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// Ends the process: asks it to, waits a little, and then sees to it.
    pub(crate) async fn stop(&self) {
        let peer = {
            let mut state = self.state();
            state.closed = true;
            state.peer.take()
        };
        let Some(peer) = peer.filter(|peer| peer.is_alive()) else { return };
        let lent = Lent::nothing(&self.package().name);
        let asked = peer.ask(lent, |_, id| {
            Ok(json!({"jsonrpc": "2.0", "id": id, "method": "shutdown"}).to_string().into_bytes())
        });
        if let Ok((_call, answer)) = asked {
            // One that answers has a moment to end by itself, with all it does at its end.
            if let Ok(Ok(Ok(_))) = tokio::time::timeout(GRACE, answer).await
                && let Some(mut group) = peer.leave()
            {
                let _ = tokio::time::timeout(GRACE, group.wait()).await;
            }
        }
        peer.end(Error::unavailable(format!(
            "plugin \"{}\" was ended with the host",
            self.package().name
        )));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process of this number ended, and was not asked to. Another may have taken its place by now.
fn noticed(process: &Weak<Process>, number: u64) {
    let Some(process) = process.upgrade() else { return };
    let mut state = process.state();
    if state.closed || state.current != number || state.peer.take().is_none() {
        return;
    }
    let proven = state.since.is_some_and(|since| since.elapsed() >= PROVEN);
    state.failures = if proven { 1 } else { state.failures + 1 };
    state.last_end = Some(Instant::now());
}

/// Ends a process that takes more memory than it may, with all it started.
fn watch_memory(peer: Weak<Peer>, name: String, leader: u32, limit: u64) {
    tokio::runtime::Handle::current().spawn(async move {
        let mut clock = tokio::time::interval(Duration::from_millis(500));
        loop {
            clock.tick().await;
            let Some(peer) = peer.upgrade().filter(|peer| peer.is_alive()) else { return };
            let Some(used) = memory::resident_mb(leader) else { return };
            if used > limit {
                peer.end(Error::plugin(format!(
                    "plugin \"{name}\" took {used} MB of memory and was ended; its limit is {limit} (limits.memory_mb)"
                )));
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use orlop_app::config::RuntimeEnv;

    /// Answers everything.
    const PROGRAM: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocol": 1, "plugins": [{"name": "x", "kind": "tool"}]}}), flush=True)
"#;

    #[tokio::test]
    async fn the_end_of_an_old_process_does_not_concern_the_one_after_it() {
        let home = std::env::temp_dir().join(format!("orlop-process-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("raw.py"), PROGRAM).unwrap();
        let manifest = "[plugin]\nname = \"x\"\n[run]\ncommand = [\"python3\", \"raw.py\"]\n";
        let package = Package::parse(manifest, &home).unwrap();
        let env = RuntimeEnv::from_vars(std::env::vars().collect());
        let process = Process::new(Launch::new(package, &env, &home, Map::new()), None);
        let (first, _) = process.start().unwrap();
        first.end(Error::plugin("it is old"));
        let (second, _) = process.start().unwrap();
        noticed(&Arc::downgrade(&process), 1);
        assert!(process.running().is_some_and(|peer| Arc::ptr_eq(&peer, &second)));
        noticed(&Arc::downgrade(&process), 2);
        assert!(process.running().is_none());
        assert_eq!(process.health().0, PluginHealth::Failed);
        process.stop().await;
        std::fs::remove_dir_all(&home).unwrap();
    }
}
