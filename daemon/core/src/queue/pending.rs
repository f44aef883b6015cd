//! Commands that wait, in order of delivery, and which of them a gate takes. It never removes one but by a durable change.

use agentd_types::queue::{Batching, CommandMode, Priority, QueueChange, QueuedCommand};
use agentd_types::{Block, CommandId};

/// Commands a session holds at most.
pub const MAX_COMMANDS: usize = 1_000;
/// Bytes of content a session's queue holds at most: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Which bound a command would break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Bound {
    #[error("it holds {MAX_COMMANDS} commands already; remove some, or wait until they are delivered")]
    Commands,
    #[error("it holds {have} bytes, {more} more would pass {MAX_BYTES}; remove some, or wait until they are delivered")]
    Bytes { have: usize, more: usize },
}

/// Whether the round that just ended used `Sleep`: then background notes pass gate A too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slept {
    Yes,
    No,
}

/// What waits for a loop while its tools run: what may end a `Sleep` early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Waits {
    /// A prompt that was typed: ends the submission, if only tools run that give way.
    pub typed: bool,
    /// A note of a task: ends the wait, and joins the next round.
    pub noted: bool,
}

/// The queue's projection: what was enqueued and not yet delivered, removed or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// By priority, first in first out within one.
    commands: Vec<QueuedCommand>,
    bytes: usize,
}

impl Pending {
    /// Whether one more command fits. Notes of tasks are exempt: they must not be lost.
    ///
    /// # Errors
    /// The bound it would break.
    pub fn admits(&self, command: &QueuedCommand) -> Result<(), Bound> {
        if command.mode == CommandMode::TaskNotification {
            return Ok(());
        }
        let more = size_of_content(&command.content);
        if self.commands.len() >= MAX_COMMANDS {
            Err(Bound::Commands)
        } else if self.bytes + more > MAX_BYTES {
            Err(Bound::Bytes { have: self.bytes, more })
        } else {
            Ok(())
        }
    }

    /// Folds one durable change. A change of a command that is not here changes nothing.
    pub fn fold(&mut self, change: &QueueChange) {
        match change {
            QueueChange::Enqueued { command } => self.insert(command.clone()),
            QueueChange::Edited { id, version, content } => {
                if let Some(at) = self.position(*id) {
                    self.bytes += size_of_content(content);
                    self.bytes -= size_of_content(&self.commands[at].content);
                    self.commands[at].version = *version;
                    self.commands[at].content.clone_from(content);
                }
            }
            QueueChange::Promoted { id, priority } => {
                if let Some(mut command) = self.take(*id) {
                    command.priority = *priority;
                    self.insert(command);
                }
            }
            QueueChange::Delivered { id }
            | QueueChange::Returned { id }
            | QueueChange::Removed { id }
            | QueueChange::Refused { id, .. } => {
                self.take(*id);
            }
        }
    }

    /// In order of delivery.
    #[must_use]
    pub fn commands(&self) -> &[QueuedCommand] {
        &self.commands
    }

    #[must_use]
    pub fn get(&self, id: CommandId) -> Option<&QueuedCommand> {
        self.position(id).map(|at| &self.commands[at])
    }

    /// Gate A, between two rounds of a loop, for those of its commands that `reaches` names: `next` prompts; after a Sleep `later` ones too.
    /// Never `now` (it aborts), never slash commands and `!` (they wait for gate B), never what must be alone.
    #[must_use]
    pub fn gate_a(&self, reaches: impl Fn(&QueuedCommand) -> bool, slept: Slept) -> Vec<CommandId> {
        let passes = |command: &&QueuedCommand| {
            let priority = match (command.priority, slept) {
                (Priority::Now, _) | (Priority::Later, Slept::No) => false,
                (Priority::Next, _) | (Priority::Later, Slept::Yes) => true,
            };
            let mode = match command.mode {
                CommandMode::Prompt => !is_slash_command(command) && command.batching == Batching::Fold,
                CommandMode::TaskNotification => true,
                CommandMode::Shell => false,
            };
            priority && mode && reaches(command)
        };
        self.commands.iter().filter(passes).map(|command| command.id).collect()
    }

    /// Gate B, idle: of those that may start a submission the most urgent, and every further one of the same mode, priority and
    /// options that may be folded with it.
    #[must_use]
    pub fn gate_b(&self, may_start: impl Fn(&QueuedCommand) -> bool) -> Vec<CommandId> {
        let Some(first) = self.commands.iter().find(|command| may_start(command)) else { return Vec::new() };
        if !foldable(first) {
            return vec![first.id];
        }
        self.commands
            .iter()
            .filter(|it| it.mode == first.mode && it.priority == first.priority && it.options == first.options && foldable(it))
            .filter(|it| may_start(it))
            .map(|it| it.id)
            .collect()
    }

    /// What of the commands that `reaches` names may end a wait.
    #[must_use]
    pub fn waits(&self, reaches: impl Fn(&QueuedCommand) -> bool) -> Waits {
        let mut waits = Waits::default();
        for command in self.commands.iter().filter(|command| reaches(command)) {
            match (command.mode, command.priority) {
                (CommandMode::TaskNotification, _) => waits.noted = true,
                (CommandMode::Prompt | CommandMode::Shell, Priority::Now | Priority::Next) => waits.typed = true,
                (CommandMode::Prompt | CommandMode::Shell, Priority::Later) => {}
            }
        }
        waits
    }

    fn insert(&mut self, command: QueuedCommand) {
        self.bytes += size_of_content(&command.content);
        let at = self.commands.partition_point(|it| it.priority <= command.priority);
        self.commands.insert(at, command);
    }

    fn take(&mut self, id: CommandId) -> Option<QueuedCommand> {
        let command = self.commands.remove(self.position(id)?);
        self.bytes -= size_of_content(&command.content);
        Some(command)
    }

    fn position(&self, id: CommandId) -> Option<usize> {
        self.commands.iter().position(|it| it.id == id)
    }
}

fn foldable(command: &QueuedCommand) -> bool {
    match command.mode {
        CommandMode::Prompt => command.batching == Batching::Fold && !is_slash_command(command),
        CommandMode::TaskNotification => true,
        CommandMode::Shell => false,
    }
}

/// A `/command`: it acts on the session and never joins a running submission.
#[must_use]
pub fn is_slash_command(command: &QueuedCommand) -> bool {
    command.content.first().and_then(Block::as_text).is_some_and(|text| text.starts_with('/'))
}

/// Bytes of `content` that count against the bound.
fn size_of_content(content: &[Block]) -> usize {
    content.iter().map(Block::bytes).sum()
}

#[cfg(test)]
mod tests;
