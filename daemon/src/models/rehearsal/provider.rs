//! A script as a provider: the step is the number of answers the conversation has. It remembers only how often a step was asked.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use agentd_core::model::{ErrorClass, ModelError, ModelRequest};
use futures_util::stream;

use super::expect;
use super::play::{Beat, Ending, play};
use super::script::{Script, Step};
use crate::models::http::class_of;
use crate::models::provider::{ModelStream, Provider};

/// A provider that plays a script, for one session.
pub struct RehearsalProvider {
    script: Script,
    /// Requests per step: the first ones may have to fail.
    asked: Vec<AtomicU32>,
}

/// What a request of a step comes to.
enum Fate {
    Refused(ModelError),
    Played(Ending),
}

impl RehearsalProvider {
    #[must_use]
    pub fn new(script: Script) -> RehearsalProvider {
        let asked = script.steps.iter().map(|_| AtomicU32::new(0)).collect();
        RehearsalProvider { script, asked }
    }

    fn begin(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let index = usize::try_from(request.replies).unwrap_or(usize::MAX);
        let mut ending = Ending::Whole;
        if let (Some(step), Some(asked)) = (self.script.steps.get(index), self.asked.get(index)) {
            if let Some(expect) = &step.expect {
                expect::check(expect, request.replies + 1, &request.messages)?;
            }
            match fate(step, request.replies + 1, asked.fetch_add(1, Ordering::Relaxed)) {
                Fate::Refused(error) => return Err(error),
                Fate::Played(played) => ending = played,
            }
        }
        let beats: VecDeque<Beat> = play(&self.script, index, request, ending).into();
        Ok(Box::pin(stream::unfold(beats, |mut beats| async move {
            let beat = beats.pop_front()?;
            if !beat.wait.is_zero() {
                tokio::time::sleep(beat.wait).await;
            }
            Some((beat.said, beats))
        })))
    }
}

/// In this order: the errors, the refusal as too long, the cut, the answer.
fn fate(step: &Step, number: u32, asked_before: u32) -> Fate {
    let mut left = asked_before;
    if let Some(error) = step.error {
        if left < error.times {
            let message = format!("step {number} of the script answers HTTP {} ({} of {})", error.status, left + 1, error.times);
            let class = class_of(error.status);
            return Fate::Refused(ModelError { class, status: Some(error.status), message, retry_after_ms: error.retry_after_ms });
        }
        left -= error.times;
    }
    if step.prompt_too_long {
        if left == 0 {
            let message = format!("step {number} of the script: prompt is too long");
            return Fate::Refused(ModelError { class: ErrorClass::PromptTooLong, status: Some(400), message, retry_after_ms: None });
        }
        left -= 1;
    }
    Fate::Played(if step.cut && left == 0 { Ending::Cut } else { Ending::Whole })
}

impl Provider for RehearsalProvider {
    fn key_source(&self) -> &'static str {
        "rehearsal"
    }

    fn send<'a>(&'a self, request: &'a ModelRequest) -> Pin<Box<dyn Future<Output = Result<ModelStream, ModelError>> + Send + 'a>> {
        Box::pin(std::future::ready(self.begin(request)))
    }
}

#[cfg(test)]
mod tests;
