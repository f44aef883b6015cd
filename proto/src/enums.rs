//! Every enum, both ways. It never maps an unspecified value to anything: that is the caller's to decide.

use agentd_types as t;

use crate::WireError;
use crate::v1;

/// Each line is one variant of both enums; the compiler checks that none is forgotten on either side.
macro_rules! same_variants {
    ($ours:path, $wire:path, $field:literal: $($variant:ident),+) => {
        impl From<$ours> for $wire {
            fn from(ours: $ours) -> Self {
                use $ours as Ours;
                match ours {
                    $(Ours::$variant => Self::$variant,)+
                }
            }
        }

        impl TryFrom<$wire> for $ours {
            type Error = WireError;
            fn try_from(wire: $wire) -> Result<Self, WireError> {
                use $wire as Wire;
                match wire {
                    Wire::Unspecified => Err(WireError::Unknown { field: $field, value: 0 }),
                    $(Wire::$variant => Ok(Self::$variant),)+
                }
            }
        }
    };
}

same_variants!(t::session::SessionState, v1::SessionState, "state": Idle, Running, WaitingPermission, WaitingAnswer, Interrupted, Failed, Archived);
same_variants!(t::session::NotesMode, v1::NotesMode, "notes": Start, Record);
same_variants!(
    t::permission::PermissionMode, v1::PermissionMode, "permission_mode": Default, Plan, AutoEdit, FullAuto, BypassPermissions, DontAsk
);
same_variants!(t::permission::AllowScope, v1::AllowScope, "scope": Once, Session, Always);
same_variants!(t::queue::Priority, v1::Priority, "priority": Now, Next, Later);
same_variants!(t::queue::CommandMode, v1::CommandMode, "mode": Prompt, TaskNotification, Shell);
same_variants!(t::queue::Batching, v1::Batching, "batching": Fold, Alone);
same_variants!(t::queue::OnAsk, v1::OnAsk, "on_ask": Wait, Park, Deny);
same_variants!(t::task::TaskKind, v1::TaskKind, "kind": Bash, Agent);
same_variants!(t::task::Placement, v1::Placement, "placement": Foreground, Background);
same_variants!(t::task::TaskOutcome, v1::TaskOutcome, "outcome": Completed, Failed, Killed, Lost);
same_variants!(t::event::UserKind, v1::UserKind, "kind": Prompt, ToolResults, Meta);
same_variants!(t::event::AttachmentKind, v1::AttachmentKind, "kind": QueuedCommand, EditedTextFile, Reminder);
same_variants!(t::live::DeltaKind, v1::DeltaKind, "kind": Text, Thinking, ToolInput);
same_variants!(t::system::InterruptReason, v1::InterruptReason, "reason": UserCancel, Interrupt, Drain);
same_variants!(t::system::RecoveryOutcome, v1::RecoveryOutcome, "outcome": Continued, Dropped, Waiting);
same_variants!(t::outcome::CostBasis, v1::CostBasis, "basis": Listed, Family, Unknown);
same_variants!(
    t::outcome::TerminalName, v1::Terminal, "terminal": Completed, MaxTurns, MaxBudget, PromptTooLong, ImageError, ModelError,
    AbortedStreaming, AbortedTools, HookStopped, StopHookPrevented, BlockingLimit, StructuredOutputRetries
);
