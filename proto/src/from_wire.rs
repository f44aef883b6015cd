//! Wire messages as our types. It never guesses: what is missing or unknown is an error that names the field.

mod event;
mod live;
mod message;
mod permission;
mod question;
mod queue;
mod session;
mod system;
mod task;

use std::fmt::Display;
use std::str::FromStr;

use agentd_types::{AbsPath, Json, Money};

use crate::WireError;

/// A message field that must be there.
///
/// # Errors
/// [`WireError::Missing`] when it is not.
pub fn required<T>(field: &'static str, value: Option<T>) -> Result<T, WireError> {
    value.ok_or(WireError::Missing { field })
}

/// An enum field that must have a value.
///
/// # Errors
/// [`WireError::Unknown`] for numbers without a variant, and for the unspecified value.
pub fn enum_of<W, T>(field: &'static str, number: i32) -> Result<T, WireError>
where
    W: TryFrom<i32>,
    T: TryFrom<W>,
{
    let unknown = WireError::Unknown { field, value: number };
    let wire = W::try_from(number).map_err(|_| unknown.clone())?;
    T::try_from(wire).map_err(|_| unknown)
}

/// An enum field of a request, where the unspecified value means the default.
///
/// # Errors
/// [`WireError::Unknown`] for numbers without a variant.
pub fn enum_or_default<W, T>(field: &'static str, number: i32) -> Result<T, WireError>
where
    W: TryFrom<i32>,
    T: TryFrom<W> + Default,
{
    if number == 0 { Ok(T::default()) } else { enum_of::<W, T>(field, number) }
}

/// Each element converted; the first error ends it.
pub(crate) fn all<W, T: TryFrom<W, Error = WireError>>(items: Vec<W>) -> Result<Vec<T>, WireError> {
    items.into_iter().map(T::try_from).collect()
}

/// A message that may be absent.
pub(crate) fn maybe<W, T: TryFrom<W, Error = WireError>>(value: Option<W>) -> Result<Option<T>, WireError> {
    value.map(T::try_from).transpose()
}

/// An id from its text.
pub(crate) fn id<T: FromStr<Err: Display>>(field: &'static str, text: &str) -> Result<T, WireError> {
    text.parse().map_err(|why| WireError::invalid(field, why))
}

/// An id that may be absent.
pub(crate) fn maybe_id<T: FromStr<Err: Display>>(field: &'static str, text: Option<&str>) -> Result<Option<T>, WireError> {
    text.map(|text| id(field, text)).transpose()
}

/// Ids from their texts.
pub(crate) fn ids<T: FromStr<Err: Display>>(field: &'static str, texts: &[String]) -> Result<Vec<T>, WireError> {
    texts.iter().map(|text| id(field, text)).collect()
}

/// A JSON value.
pub(crate) fn json(field: &'static str, text: String) -> Result<Json, WireError> {
    Json::parse(text).map_err(|why| WireError::invalid(field, why))
}

/// A JSON value that may be absent.
pub(crate) fn maybe_json(field: &'static str, text: Option<String>) -> Result<Option<Json>, WireError> {
    text.map(|text| json(field, text)).transpose()
}

/// An absolute path.
pub(crate) fn path(field: &'static str, text: String) -> Result<AbsPath, WireError> {
    if text.is_empty() {
        return Err(WireError::Missing { field });
    }
    AbsPath::new(text).map_err(|why| WireError::invalid(field, why))
}

/// An HTTP status that may be absent.
pub(crate) fn http_status(field: &'static str, number: Option<u32>) -> Result<Option<u16>, WireError> {
    number.map(|number| u16::try_from(number).map_err(|why| WireError::invalid(field, why))).transpose()
}

/// Nano-dollars that may be absent.
pub(crate) fn money(nanos: Option<u64>) -> Option<Money> {
    nanos.map(Money)
}
