//! What the model is sent of a conversation. It never stores anything and never reads a file.

pub mod normalize;
pub mod pairing;
pub mod prefix;
pub mod transcript;

pub use normalize::{Normalized, normalize, resend};
pub use pairing::{Flaw, check};
pub use prefix::{CacheBreak, Sent};
pub use transcript::{Repairs, Said};
