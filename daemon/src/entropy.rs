//! Randomness as a handed-in value. Nothing else in the daemon makes ids or jitter.

/// Makes ids and random numbers.
pub trait Entropy: Send + Sync + 'static {
    /// The bits of a fresh UUIDv7: later ones sort later.
    fn id(&self) -> u128;

    /// Uniform in `0..=bound`.
    fn up_to(&self, bound: u64) -> u64;
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn id(&self) -> u128 {
        uuid::Uuid::now_v7().as_u128()
    }

    fn up_to(&self, bound: u64) -> u64 {
        // The low 62 bits of a v7 UUID are random and come from the same source as ids.
        let random = u64::try_from(uuid::Uuid::now_v7().as_u128() & ((1 << 62) - 1)).unwrap_or(0);
        match bound.checked_add(1) {
            Some(span) => random % span,
            None => random,
        }
    }
}
