//! Who an input comes from, typed, so that a task's note can never pass for a person's consent; it grants nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::SessionId;

/// Who sent an input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A person at a client, named by the client ("cli on pts/3").
    Person {
        client: String,
    },
    /// A person behind a bridge.
    Bridge {
        name: String,
        author: String,
    },
    /// The note of a background task.
    Task {
        id: String,
    },
    Hook {
        event: String,
    },
    /// Another session, or a tool of this one.
    Session {
        id: SessionId,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Person { client } => f.write_str(client),
            Origin::Bridge { name, author } => write!(f, "{author} via {name}"),
            Origin::Task { id } => write!(f, "task {id}"),
            Origin::Hook { event } => write!(f, "hook {event}"),
            Origin::Session { id } => write!(f, "session {id}"),
        }
    }
}
