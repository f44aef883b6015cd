//! Identities as newtypes; it never makes a random one (the edge hands the bits in).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An id's text was not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id (a UUID like 0198c0de-7a3b-7f00-8000-000000000001)")]
pub struct BadId {
    /// What was given.
    pub text: String,
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// From the 128 bits of a UUID (v7 at the edge, so that order is age).
            #[must_use]
            pub const fn from_u128(bits: u128) -> Self {
                Self(Uuid::from_u128(bits))
            }

            /// The 16 bytes, big-endian.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// From 16 big-endian bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Uuid::parse_str(text).map(Self).map_err(|_| BadId { text: text.to_owned() })
            }
        }
    };
}

uuid_id!(
    /// A conversation with its engine, queue and tasks.
    SessionId
);
uuid_id!(
    /// One prompt, or one batch of queued prompts, handed to the engine.
    SubmissionId
);
uuid_id!(
    /// An entry of the command queue.
    CommandId
);
uuid_id!(
    /// An open permission request.
    RequestId
);
uuid_id!(
    /// A message of the transcript; deltas and tombstones name it.
    MessageId
);
uuid_id!(
    /// Work with a life of its own: a command in the background, a subagent.
    TaskId
);
uuid_id!(
    /// A subagent's loop inside its parent's session; absent = the main loop.
    AgentId
);

/// The id the model gave a tool call; unique within a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolUseId(pub String);

impl ToolUseId {
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A durable event's number within its session: dense, from 1. `Seq::ZERO` is "before the first".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first event.
    pub const ZERO: Seq = Seq(0);

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
