//! What is asked of people, folded: requests and questions that are open, and how they were answered. It answers none.

use agentd_types::Event;
use agentd_types::permission::{AllowScope, Decision, PermissionResolved};
use agentd_types::question::{Answered, Asks, Reply};

use super::{Projection, Told};

/// Answered requests, and questions, kept for the second answerer and for `permissions --all`.
const ANSWERED_KEPT: usize = 256;

impl Projection {
    pub(super) fn fold_resolved(&mut self, event: &Event, resolved: &PermissionResolved) {
        let Some(at) = self.open.iter().position(|request| request.id == resolved.id) else { return };
        let request = self.open.remove(at);
        if let (Some(run), None) = (&mut self.run, request.agent) {
            run.answers.insert(resolved.tool_use.clone(), resolved.clone());
        }
        if let (Decision::Allow { scope: AllowScope::Session | AllowScope::Always, .. }, Some(rule)) = (&resolved.decision, &resolved.rule)
        {
            self.allowed.push(rule.clone());
        }
        if self.answered.len() == ANSWERED_KEPT {
            self.answered.remove(0);
        }
        self.answered.push((request, resolved.clone(), event.time));
    }

    pub(super) fn fold_answer(&mut self, event: &Event, answered: &Answered) {
        let Some(at) = self.questions.iter().position(|question| question.id == answered.id) else { return };
        let question = self.questions.remove(at);
        let run = self.run.as_mut().filter(|_| question.agent.is_none());
        match (run, &question.asks, &answered.reply) {
            (Some(run), Asks::Call { tool_use, place }, Reply::Chosen { .. }) => {
                run.replies.push((tool_use.clone(), *place, answered.clone()));
            }
            (Some(run), Asks::Resume, Reply::Chosen { .. }) => run.told = Told::Yes,
            (Some(_) | None, Asks::Call { .. } | Asks::Resume, Reply::Chosen { .. } | Reply::Withdrawn) => {}
        }
        if self.replied.len() == ANSWERED_KEPT {
            self.replied.remove(0);
        }
        self.replied.push((question, answered.clone(), event.time));
    }
}
