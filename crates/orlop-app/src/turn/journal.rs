//! What is stored of a turn: its state, and beside it each call of its step for itself, so that a
//! call that ends writes as much with a thousand others as alone.

use super::machine::{Call, CallState, Phase, Turn};
use crate::store::{CallsWrite, TurnRecord, TurnWrite};
use orlop_core::{Error, Result, Value};
use serde::Serialize;
use std::mem::Discriminant;

/// What the store has of the calls of a turn: the step they belong to, and how far each was. A call
/// changes in no other way than that it gets further.
#[derive(Default)]
pub(super) struct Journal {
    step: u32,
    stages: Vec<Discriminant<CallState>>,
}

impl Journal {
    /// What to write of a turn, given that everything before was written.
    pub(super) fn write(&mut self, request: &str, turn: &mut Turn) -> Result<TurnWrite> {
        let calls = self.changes(turn)?;
        Ok(TurnWrite {
            request: request.to_owned(),
            new: false,
            state: without_calls(turn)?,
            calls,
            settled: turn.is_settled(),
        })
    }

    fn changes(&mut self, turn: &Turn) -> Result<CallsWrite> {
        let now = Self { step: turn.step, stages: stages(turn.calls()) };
        let stored = std::mem::replace(self, now);
        if stored.step != self.step || stored.stages.len() != self.stages.len() {
            let calls = turn.calls().iter().map(json).collect::<Result<Vec<_>>>()?;
            let none_at_all = stored.stages.is_empty() && calls.is_empty();
            return Ok(if none_at_all { CallsWrite::default() } else { CallsWrite::All(calls) });
        }
        let pairs = stored.stages.iter().zip(&self.stages).zip(turn.calls()).enumerate();
        let changed = pairs.filter(|(_, ((before, now), _))| before != now);
        let changed = changed.map(|(index, (_, call))| Ok((index, json(call)?)));
        Ok(CallsWrite::Changed(changed.collect::<Result<_>>()?))
    }
}

fn stages(calls: &[Call]) -> Vec<Discriminant<CallState>> {
    calls.iter().map(|call| std::mem::discriminant(&call.state)).collect()
}

fn json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::internal(format!("the turn does not serialise: {error}")))
}

fn without_calls(turn: &mut Turn) -> Result<Value> {
    let held = match &mut turn.phase {
        Phase::Tools { calls } => std::mem::take(calls),
        _ => Vec::new(),
    };
    let state = json(turn);
    if let Phase::Tools { calls } = &mut turn.phase {
        *calls = held;
    }
    state
}

/// A turn as it was stored, and what the store has of its calls.
pub(super) fn restored(record: TurnRecord) -> Result<(Turn, Journal)> {
    let unreadable = |error: serde_json::Error| {
        Error::bad_state(format!(
            "the stored state of request \"{}\" cannot be read ({error}); it was written by another version",
            record.request
        ))
    };
    let mut turn: Turn = serde_json::from_value(record.state).map_err(unreadable)?;
    let calls = record.calls.into_iter().map(serde_json::from_value);
    let stored: Vec<Call> = calls.collect::<Result<_, _>>().map_err(unreadable)?;
    let journal = Journal { step: turn.step, stages: stages(&stored) };
    // A state of before calls were stored for themselves has them inside.
    if let Phase::Tools { calls } = &mut turn.phase
        && !stored.is_empty()
    {
        *calls = stored;
    }
    Ok((turn, journal))
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Again, Ending, Input};
    use super::*;
    use crate::turn::Approval;
    use expect_test::{Expect, expect};
    use orlop_core::types::InspectedCall;
    use orlop_core::{Map, Message};

    /// What a store holds of a turn, and what was written to it last.
    #[derive(Default)]
    struct Held {
        journal: Journal,
        state: Value,
        calls: Vec<Value>,
    }

    impl Held {
        /// Stores the turn; what is read back is the turn, also for one who has just come.
        fn check(&mut self, turn: &mut Turn, expected: Expect) {
            let write = self.journal.write("r", turn).unwrap();
            let shown = match &write.calls {
                CallsWrite::All(calls) => format!("all {}", calls.len()),
                CallsWrite::Changed(calls) => {
                    format!("{:?}", calls.iter().map(|(index, _)| index).collect::<Vec<_>>())
                }
            };
            expected.assert_eq(&shown);
            self.state = write.state;
            match write.calls {
                CallsWrite::All(calls) => self.calls = calls,
                CallsWrite::Changed(calls) => {
                    calls.into_iter().for_each(|(index, call)| self.calls[index] = call);
                }
            }
            let (read, journal) = restored(self.record()).unwrap();
            assert_eq!(read, *turn);
            self.journal = journal;
        }

        fn record(&self) -> TurnRecord {
            TurnRecord {
                request: "r".to_owned(),
                session: "s".to_owned(),
                state: self.state.clone(),
                calls: self.calls.clone(),
                settled: false,
                created: 0,
                updated: 0,
            }
        }
    }

    fn turn() -> Turn {
        Turn {
            agent: "default".to_owned(),
            overrides: Map::new(),
            context: Map::new(),
            asked: None,
            preface: Vec::new(),
            instructions: None,
            stream: true,
            approval: Approval::Wait,
            first_message: 0,
            step: 0,
            max_steps: 9,
            usage: Map::new(),
            caller_tools: Vec::new(),
            tool_calls_left: None,
            caller_calls: Vec::new(),
            again: Again::default(),
            phase: Phase::Model,
        }
    }

    fn answered(calls: usize) -> Input {
        let call = |index: usize| Call {
            id: index.to_string(),
            call: InspectedCall::default(),
            idempotent: false,
            concurrent: false,
            state: CallState::Ready,
        };
        let calls = (0..calls).map(call).collect();
        Input::Answered { calls, usage: Map::new(), ending: Ending::Done }
    }

    fn finished(call: usize) -> Input {
        Input::Finished { call: call.to_string(), message: Message::tool("done") }
    }

    #[test]
    fn a_call_that_ends_writes_itself_and_the_one_that_starts() {
        let (mut turn, mut held) = (turn(), Held::default());
        held.check(&mut turn, expect!["[]"]);
        turn.apply(answered(4)).unwrap();
        held.check(&mut turn, expect!["all 4"]);
        held.check(&mut turn, expect!["[]"]);
        turn.apply(finished(0)).unwrap();
        held.check(&mut turn, expect!["[0, 1]"]);
        turn.apply(finished(1)).unwrap();
        turn.apply(finished(2)).unwrap();
        held.check(&mut turn, expect!["[1, 2, 3]"]);
        turn.apply(finished(3)).unwrap();
        held.check(&mut turn, expect!["all 0"]);
        // As many calls as before are others if the step is another.
        turn.apply(answered(1)).unwrap();
        held.check(&mut turn, expect!["all 1"]);
        turn.apply(finished(0)).unwrap();
        turn.apply(answered(1)).unwrap();
        held.check(&mut turn, expect!["all 1"]);
        turn.apply(Input::Cancelled("enough".to_owned())).unwrap();
        held.check(&mut turn, expect!["all 0"]);
        turn.apply(Input::Told).unwrap();
        held.check(&mut turn, expect!["[]"]);
    }

    #[test]
    fn a_state_with_its_calls_inside_is_read_and_written_anew() {
        let mut turn = turn();
        turn.apply(answered(2)).unwrap();
        let held = Held { state: serde_json::to_value(&turn).unwrap(), ..Held::default() };
        let (mut read, journal) = restored(held.record()).unwrap();
        assert_eq!(read, turn);
        Held { journal, ..held }.check(&mut read, expect!["all 2"]);
    }
}
