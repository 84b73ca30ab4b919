//! When the model is asked again although no tool was called: another model, because one failed;
//! the same one, because its answer does not fit `output_schema` or was only a pause, or because
//! the conversation was too long for it and is shorter now.

use super::machine::{Effect, Next, Outcome, Phase, Turn};
use orlop_core::types::app_event::ModelName;
use orlop_core::{Error, Result, Value};
use serde::{Deserialize, Serialize};

/// How much of an answer the model is shown again, in characters.
const SHOWN: usize = 8_000;

/// What a turn remembers of asking again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Again {
    /// Which of the agent's models is asked: 0 is its own, n its nth fallback.
    pub model: usize,
    /// The models that failed in this step, in the order they were asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedModel>,
    /// How often an answer that does not fit may still be asked for again.
    pub repairs: u32,
    /// The answer that is being asked for again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfit: Option<Unfit>,
    /// Whether the conversation has been made shorter for the model that is being asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

/// A model that could not be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedModel {
    /// Which of the agent's models it is.
    pub index: usize,
    /// Its name.
    pub name: ModelName,
    /// Why: `type`, `message`, `retryable`.
    pub error: Value,
}

/// How an answer without tool calls ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Ending {
    /// It is the answer.
    #[default]
    Done,
    /// The model server interrupted it and goes on when it is asked again.
    Paused,
    /// It does not fit `output_schema`.
    Unfit(Unfit),
}

/// An answer that does not fit `output_schema`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Unfit {
    /// What the model said.
    pub text: String,
    /// What is wrong with it.
    pub problems: Vec<String>,
}

impl Unfit {
    /// What the model reads before it is asked again.
    pub fn request(&self) -> String {
        let problems: Vec<String> =
            self.problems.iter().map(|problem| format!("- {problem}")).collect();
        let shown: String = self.text.chars().take(SHOWN).collect();
        format!(
            "Your answer to the following message was not accepted, because it does not fit the required JSON Schema:\n\
             {}\nThe answer was:\n{shown}\nAnswer again with nothing but JSON that fits the schema.",
            problems.join("\n")
        )
    }

    /// The error that ends the request, with the answer beside it.
    fn error(self) -> Value {
        let error = Error::provider(format!(
            "the answer does not fit output_schema ({}); ask again, raise output_repairs, or change the schema",
            self.problems.join("; ")
        ));
        let mut error = error.with_retryable(true).to_json();
        error["answer"] = self.text.into();
        error
    }
}

impl Turn {
    /// Whether an answer that comes now and does not fit is asked for again.
    pub fn may_repair(&self) -> bool {
        self.again.repairs > 0 && self.step + 1 < self.max_steps
    }

    /// What follows from an answer without tool calls; it is counted already.
    pub(super) fn ended(&mut self, ending: Ending) -> Next {
        match ending {
            Ending::Done => self.settling(Outcome::Complete),
            Ending::Paused => self.ask_again(Vec::new()),
            Ending::Unfit(unfit) if self.again.repairs > 0 && self.step < self.max_steps => {
                self.again.repairs -= 1;
                self.again.unfit = Some(unfit);
                self.ask_again(Vec::new())
            }
            Ending::Unfit(unfit) => self.settling(Outcome::Failed { error: unfit.error() }),
        }
    }

    /// The conversation is longer than the model can take: it is made shorter, once for each answer.
    pub(super) fn too_long(&mut self, error: Error) -> Result<Next> {
        if self.phase != Phase::Model {
            return Err(Error::bad_state("a model failed though it was not asked"));
        }
        let error = error.to_json();
        if self.again.shortened {
            return Ok(self.settling(Outcome::Failed { error }));
        }
        self.again.shortened = true;
        self.phase = Phase::Shortening { error };
        Ok(Next { append: Vec::new(), effects: vec![Effect::Shorten] })
    }

    /// What follows when plugins have been asked for a shorter conversation.
    pub(super) fn after_shortening(&mut self, is_shorter: bool) -> Result<Next> {
        match std::mem::replace(&mut self.phase, Phase::Model) {
            Phase::Shortening { .. } if is_shorter => {
                Ok(Next { append: Vec::new(), effects: vec![Effect::CallModel] })
            }
            Phase::Shortening { error } => Ok(self.settling(Outcome::Failed { error })),
            other => {
                self.phase = other;
                Err(Error::bad_state("the conversation was not to be made shorter"))
            }
        }
    }

    /// The next model that was not asked in this step, or the end if there is none. Models are
    /// asked in their order, beginning with the one that answered last.
    pub(super) fn model_failed(
        &mut self,
        name: ModelName,
        error: Error,
        models: usize,
    ) -> Result<Next> {
        if self.phase != Phase::Model {
            return Err(Error::bad_state("a model failed though it was not asked"));
        }
        let index = self.again.model;
        let next = (index + 1) % models.max(1);
        let failed = &mut self.again.failed;
        let is_last = next == index || failed.iter().any(|failed| failed.index == next);
        if !is_last {
            failed.push(FailedModel { index, name, error: error.to_json() });
            self.again.model = next;
            return Ok(Next { append: Vec::new(), effects: vec![Effect::CallModel] });
        }
        let before = std::mem::take(failed);
        // Nothing was changed by those that failed: the session goes on with the model it had.
        self.again.model = before.first().map_or(index, |first| first.index);
        let error = gathered(&error, &before);
        Ok(self.settling(Outcome::Failed { error }))
    }
}

/// The last error, with the others named.
fn gathered(last: &Error, before: &[FailedModel]) -> Value {
    let mut error = last.to_json();
    if before.is_empty() {
        return error;
    }
    let said = |failed: &FailedModel| {
        let message = failed.error.get("message").and_then(Value::as_str).unwrap_or("failed");
        format!("{}: {message}", failed.name)
    };
    let others: Vec<String> = before.iter().map(said).collect();
    error["message"] = format!("{last} (other models failed before: {})", others.join("; ")).into();
    error
}
