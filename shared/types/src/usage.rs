//! Tokens and money; it never knows a price (that is `core::model::price`).

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// What a request, a round or a session used, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input after the last cache marker.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// Written with a life of 5 minutes.
    pub cache_write_5m: u64,
    /// Written with a life of 1 hour.
    pub cache_write_1h: u64,
}

impl Usage {
    /// Everything the model read: input, cache reads and cache writes.
    #[must_use]
    pub fn total_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
}

impl Add for Usage {
    type Output = Usage;
    fn add(self, other: Usage) -> Usage {
        Usage {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write_5m: self.cache_write_5m + other.cache_write_5m,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}

/// US dollars in nano-dollars (10⁻⁹): one token at $0.01 per million is 10 of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    pub const ZERO: Money = Money(0);

    /// From dollars, rounded down to nano-dollars; negative and not-a-number become zero.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_usd(usd: f64) -> Money {
        Money((usd.max(0.0) * 1e9) as u64)
    }

    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        *self = *self + other;
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.as_usd())
    }
}
