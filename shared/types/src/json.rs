//! A JSON value kept as the bytes it came in; it never re-serialises what it holds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The text was not one JSON value.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON value: {0}")]
pub struct BadJson(#[from] serde_json::Error);

/// One well-formed JSON value, byte for byte as given (surrounding white space aside).
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks that `text` is one JSON value and keeps its bytes.
    ///
    /// # Errors
    /// [`BadJson`] when it is not.
    pub fn parse(text: impl Into<String>) -> Result<Self, BadJson> {
        Ok(Self(RawValue::from_string(text.into())?))
    }

    /// Serialises a value whose serialisation cannot fail (maps have string keys).
    ///
    /// # Errors
    /// [`BadJson`] when `value` has no JSON form.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, BadJson> {
        Ok(Self(serde_json::value::to_raw_value(value)?))
    }

    /// `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self(RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| unreachable!("a literal")))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// Reads the value into `T`.
    ///
    /// # Errors
    /// What serde says, naming field and position.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}
