//! Why a message could not be read; it never says what a caller should answer.

/// A message that does not hold what it must.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("`{field}` is missing")]
    Missing { field: &'static str },
    /// An enum value that this version does not know, or the unspecified one where there is no default.
    #[error("`{field}` is {value}, which this version does not know")]
    Unknown { field: &'static str, value: i32 },
    #[error("`{field}` cannot be read: {why}")]
    Invalid { field: &'static str, why: String },
}

impl WireError {
    pub(crate) fn invalid(field: &'static str, why: impl ToString) -> Self {
        WireError::Invalid { field, why: why.to_string() }
    }

    /// The field's name, as in the .proto (`message.field` where the message is not the request itself).
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            WireError::Missing { field } | WireError::Unknown { field, .. } | WireError::Invalid { field, .. } => field,
        }
    }
}
