//! Turns that another process left behind: settled, or taken up where they were.

use super::driver::{Driver, ended};
use super::journal::restored;
use super::machine::{Input, Phase};
use crate::application::{Application, Step};
use crate::lock::{SessionLock, Wait};
use crate::scope::Scope;
use crate::store::TurnRecord;
use orlop_core::types::app_event::EventKind;
use orlop_core::{ErrorClass, Result};

/// What becomes of a turn whose process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// It is closed with an error; finished steps stay.
    Settle,
    /// It goes on. Tool calls that were running are run again if they are idempotent, else closed.
    Resume,
}

impl Application {
    /// Finds turns of all tenants that nobody runs any more, and settles or resumes them. Gives
    /// how many there were.
    pub async fn recover(&self, recovery: Recovery) -> Result<usize> {
        self.recover_where(recovery, |_| true).await
    }

    /// As [`recover`](Self::recover), for the turns of this handle's tenant and user only.
    pub async fn recover_own(&self, recovery: Recovery) -> Result<usize> {
        self.recover_where(recovery, |scope| *scope == self.scope).await
    }

    async fn recover_where(
        &self,
        recovery: Recovery,
        wanted: impl Fn(&Scope) -> bool,
    ) -> Result<usize> {
        let mut count = 0;
        let abandoned = self.shared.store.abandoned(1_000).await?;
        for (scope, record) in abandoned.into_iter().filter(|(scope, _)| wanted(scope)) {
            let app = self.for_scope(scope).begin();
            match app.recover_turn(record, recovery).await {
                Ok(true) => count += 1,
                Ok(false) => {}
                Err(error) => {
                    // The next who looks for such turns tries again.
                    tracing::warn!(target: "orlop::app", %error, "a turn could not be recovered");
                }
            }
        }
        Ok(count)
    }

    async fn recover_turn(&self, record: TurnRecord, recovery: Recovery) -> Result<bool> {
        let lock = match self.lock(&record.session, Wait::No).await {
            Ok(lock) => lock,
            // Somebody else was faster.
            Err(error) if error.class() == ErrorClass::Conflict => return Ok(false),
            Err(error) => return Err(error),
        };
        // It may have been settled between being found and being locked.
        match self.shared.store.turn(&self.scope, &record.request).await? {
            Some(record) if !record.settled => self.take_over(record, lock, recovery).await,
            _ => Ok(false),
        }
    }

    /// Takes a turn over from a process that is gone. Settling is done when this returns;
    /// resuming goes on in a task of its own.
    pub(super) async fn take_over(
        &self,
        record: TurnRecord,
        lock: SessionLock,
        recovery: Recovery,
    ) -> Result<bool> {
        let (request, session) = (record.request.clone(), record.session.clone());
        let (mut turn, journal) = restored(record)?;
        let app = Self { tracer: self.new_tracer(), ..self.telling(turn.context.clone()) };
        let session = app.session(&session).await?.session;
        let agent = match app.shared.agent(&turn.agent) {
            Ok(agent) => agent,
            Err(_) => app.agent_of(&session)?,
        };
        let config = app.effective(&agent, &session, &[&turn.overrides]);
        // A turn must end even if its settings no longer make sense.
        let models = app.models_of(&config).unwrap_or_else(|_| app.only_model(&config));
        let resume = recovery == Recovery::Resume;
        let open = turn.open_calls();
        // Whoever listened may have seen the beginning of an answer that now comes anew.
        let restarted =
            (resume && turn.phase == Phase::Model).then_some(EventKind::AnswerRestarted {});
        let next = turn.apply(Input::Interrupted { resume })?;
        let events = ended(open, &turn, &next).into_iter().chain(restarted).collect();
        let mut driver = Driver::new(app, lock, agent, models, turn, session, request, true);
        driver.journal = journal;
        for message in &next.append {
            driver.append(message.clone()).await?;
        }
        driver.feed = Some(driver.app.shared.hub.open(&driver.app.scope, &driver.request));
        let step = Step {
            session: Some(driver.session.clone()),
            turn: Some(driver.turn_write()?),
            events,
            ..Step::default()
        };
        if let Err(error) = driver.commit(step).await {
            driver.app.shared.hub.close(&driver.app.scope, &driver.request);
            return Err(error);
        }
        driver.next = next;
        driver.lend(!driver.turn.calls().is_empty());
        driver.register();
        match recovery {
            Recovery::Settle => Box::pin(Box::new(driver).run()).await,
            Recovery::Resume => driver.start(),
        }
        Ok(true)
    }
}
