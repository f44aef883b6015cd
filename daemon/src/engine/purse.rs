//! What may still be spent: by the session in its life, and by this submission. It pays nothing.

use agentd_core::query::Budget;
use agentd_types::Money;

/// Both accounts before a model call.
#[derive(Debug, Clone, Copy)]
pub struct Purse {
    pub session: Account,
    pub submission: Account,
}

/// What was spent of what may be; no limit = anything.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub spent: Money,
    pub limit: Option<Money>,
}

impl Purse {
    /// Whether there is money for one more request after `more` was spent, too. A request in flight is always let end.
    #[must_use]
    pub fn after(&self, more: Money) -> Budget {
        let reached = |account: Account| {
            let spent = account.spent + more;
            account.limit.filter(|limit| spent >= *limit).map(|limit| Budget::Reached { spent, limit })
        };
        reached(self.session).or_else(|| reached(self.submission)).unwrap_or(Budget::Reserved)
    }
}
