//! The person at this terminal: one question after the other, answered by y or n, or by a choice. What was typed before a question never answers it.

use std::collections::VecDeque;
use std::io::BufRead;

use agentd_types::RequestId;
use agentd_types::permission::{AllowScope, Decision, PermissionRequest};
use agentd_types::question::Question;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;

use crate::output::Out;

/// Lines typed and not looked at.
const TYPED: usize = 16;

/// What came from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Decided {
        request: RequestId,
        decision: Decision,
    },
    Chosen {
        question: RequestId,
        choice: String,
    },
    /// No more input: what is asked stays open for others.
    Gone,
}

/// What somebody is asked.
#[derive(Debug)]
pub enum Pending {
    Permission(PermissionRequest),
    Question(Question),
}

impl Pending {
    fn id(&self) -> RequestId {
        match self {
            Pending::Permission(request) => request.id,
            Pending::Question(question) => question.id,
        }
    }

    fn show(&self) {
        match self {
            Pending::Permission(request) => {
                Out::note(&format!("? {} {}\n  {}", request.tool_name, request.input, request.reason));
                Out::ask("  allow? [y/n] ");
            }
            Pending::Question(question) => {
                Out::note(&agentd_tui::plain::asked(question));
                Out::ask("  which? ");
            }
        }
    }

    /// What a typed line answers.
    fn read(&self, line: &str) -> Option<Answer> {
        match self {
            Pending::Permission(request) => decision(line).map(|decision| Answer::Decided { request: request.id, decision }),
            Pending::Question(question) => {
                let choice = line.trim().to_owned();
                (!choice.is_empty()).then_some(Answer::Chosen { question: question.id, choice })
            }
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Pending::Permission(_) => "  y or n? ",
            Pending::Question(_) => "  a number, or your own words? ",
        }
    }
}

/// Who is asked here.
pub struct Person {
    lines: Lines,
    asked: Option<Pending>,
    next: VecDeque<Pending>,
}

enum Lines {
    /// Nothing is read before the first question.
    NotYet,
    Typed(mpsc::Receiver<String>),
    Gone,
}

impl Person {
    pub fn new() -> Person {
        Person { lines: Lines::NotYet, asked: None, next: VecDeque::new() }
    }

    /// Asks, after what is asked already.
    pub fn ask(&mut self, pending: Pending) {
        self.next.push_back(pending);
        self.go_on();
    }

    /// The request was answered, by whomever.
    pub fn settled(&mut self, id: RequestId) {
        self.next.retain(|pending| pending.id() != id);
        if self.asked.take_if(|pending| pending.id() == id).is_some() {
            self.go_on();
        }
    }

    /// The next answer; never, while nothing is asked. Cancel-safe.
    pub async fn answer(&mut self) -> Answer {
        loop {
            let (Lines::Typed(lines), Some(asked)) = (&mut self.lines, &self.asked) else {
                return std::future::pending().await;
            };
            let Some(line) = lines.recv().await else {
                self.lines = Lines::Gone;
                return Answer::Gone;
            };
            match asked.read(&line) {
                Some(answer) => {
                    self.asked = None;
                    self.go_on();
                    return answer;
                }
                None => Out::ask(asked.hint()),
            }
        }
    }

    fn go_on(&mut self) {
        if self.asked.is_some() {
            return;
        }
        let Some(pending) = self.next.pop_front() else { return };
        match &mut self.lines {
            Lines::NotYet => {
                forget_typed();
                self.lines = Lines::Typed(lines());
            }
            Lines::Typed(lines) => {
                forget_typed();
                while lines.try_recv().is_ok() {}
            }
            Lines::Gone => {}
        }
        pending.show();
        self.asked = Some(pending);
    }
}

fn decision(line: &str) -> Option<Decision> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Decision::Allow { scope: AllowScope::Once, updated_input: None }),
        "n" | "no" => Some(Decision::Deny { message: None }),
        _ => None,
    }
}

/// Drops what the terminal holds; where stdin is none, there is nothing to drop.
fn forget_typed() {
    let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
}

fn lines() -> mpsc::Receiver<String> {
    let (to, from) = mpsc::channel(TYPED);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if to.blocking_send(line).is_err() {
                return;
            }
        }
    });
    from
}

#[cfg(test)]
mod tests;
