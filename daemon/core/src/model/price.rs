//! What tokens cost: five rates a model, and a second tier for long prompts where there is one. It never adds up a session.

use agentd_types::outcome::CostBasis;
use agentd_types::{Money, Usage};

use super::catalog::{self, Known};

/// Nano-dollars per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    cache_read: u64,
}

/// A model's row.
#[derive(Debug, Clone, Copy)]
struct Row {
    model: &'static str,
    rates: Rates,
    /// The whole request at these rates when everything the model read exceeds so many tokens.
    long: Option<(u64, Rates)>,
}

/// In the order a price list has them; dollars per million tokens times 1000.
const fn rates(input: u64, output: u64, cache_write_5m: u64, cache_write_1h: u64, cache_read: u64) -> Rates {
    Rates { input, output, cache_write_5m, cache_write_1h, cache_read }
}

const fn row(model: &'static str, rates: Rates) -> Row {
    Row { model, rates, long: None }
}

const FABLE_5_2: Rates = rates(8_000, 40_000, 10_000, 16_000, 200);
const FABLE_5_1: Rates = rates(10_000, 50_000, 12_500, 20_000, 250);
const FABLE_5: Rates = rates(10_000, 50_000, 12_500, 20_000, 1_000);
const OPUS_5_5: Rates = rates(4_000, 20_000, 5_000, 8_000, 200);
const OPUS: Rates = rates(5_000, 25_000, 6_250, 10_000, 500);
const SONNET_5_5: Rates = rates(2_000, 10_000, 2_500, 4_000, 100);
const SONNET_5: Rates = rates(2_000, 10_000, 2_500, 4_000, 200);
const SONNET_4: Rates = rates(3_000, 15_000, 3_750, 6_000, 300);
const HAIKU_5_5: Rates = rates(100, 500, 125, 200, 10);
const HAIKU_5_5_LONG: Rates = rates(500, 2_500, 625, 1_000, 50);
const HAIKU_4: Rates = rates(1_000, 5_000, 1_250, 2_000, 100);

/// Newest first within a family, as in the catalog.
const TABLE: &[Row] = &[
    row("claude-fable-5-2", FABLE_5_2),
    row("claude-fable-5-1", FABLE_5_1),
    row("claude-fable-5", FABLE_5),
    row("claude-mythos-5-2", FABLE_5_2),
    row("claude-mythos-5-1", FABLE_5_1),
    row("claude-mythos-5", FABLE_5),
    row("claude-opus-5-5", OPUS_5_5),
    row("claude-opus-5", OPUS),
    row("claude-opus-4-8", OPUS),
    row("claude-opus-4-7", OPUS),
    row("claude-opus-4-6", OPUS),
    row("claude-opus-4-5", OPUS),
    row("claude-sonnet-5-5", SONNET_5_5),
    row("claude-sonnet-5", SONNET_5),
    row("claude-sonnet-4-6", SONNET_4),
    row("claude-sonnet-4-5", SONNET_4),
    Row { model: "claude-haiku-5-5", rates: HAIKU_5_5, long: Some((100_000, HAIKU_5_5_LONG)) },
    row("claude-haiku-4-5", HAIKU_4),
];

/// What one request cost. `Flagged` = the model is not in the list: its family's newest row was taken, or nothing where
/// it has no family (a server of the user's own). A rehearsal costs nothing.
#[must_use]
pub fn cost(model: &str, usage: &Usage) -> (Money, Known) {
    if catalog::is_rehearsal(model) {
        return (Money::ZERO, Known::Listed);
    }
    match find(model) {
        (Some(row), known) => (priced(row, usage), known),
        (None, known) => (Money::ZERO, known),
    }
}

/// What a model's cost is worth: listed, its family's, or unknown.
#[must_use]
pub fn basis(model: &str) -> CostBasis {
    if catalog::is_rehearsal(model) {
        return CostBasis::Listed;
    }
    match find(model) {
        (Some(_), Known::Listed) => CostBasis::Listed,
        (Some(_), Known::Flagged) => CostBasis::Family,
        (None, _) => CostBasis::Unknown,
    }
}

/// What a person should know of a model that is not in the tables; nothing of one that is.
#[must_use]
pub fn caution(model: &str) -> Option<String> {
    match basis(model) {
        CostBasis::Listed => None,
        CostBasis::Family => Some(format!("model `{model}` is not in the tables: its family's newest limits and prices are used")),
        CostBasis::Unknown => {
            let facts = catalog::look_up(model).0;
            Some(format!(
                "model `{model}` is not in the tables: a window of {} and {} output tokens are guessed; its cost is unknown and counted as nothing",
                facts.context_window, facts.max_output
            ))
        }
    }
}

fn find(model: &str) -> (Option<&'static Row>, Known) {
    let name = catalog::canonical(model);
    if let Some(row) = TABLE.iter().find(|row| row.model == name) {
        return (Some(row), Known::Listed);
    }
    let family = catalog::family_of(name);
    let row = TABLE.iter().find(|row| family.is_some() && catalog::family_of(row.model) == family);
    (row, Known::Flagged)
}

fn priced(row: &Row, usage: &Usage) -> Money {
    let rates = match row.long {
        Some((above, long)) if usage.total_input() > above => long,
        Some(_) | None => row.rates,
    };
    let parts = [
        (usage.input, rates.input),
        (usage.output, rates.output),
        (usage.cache_write_5m, rates.cache_write_5m),
        (usage.cache_write_1h, rates.cache_write_1h),
        (usage.cache_read, rates.cache_read),
    ];
    Money(parts.into_iter().fold(0, |sum: u64, (tokens, rate)| sum.saturating_add(tokens.saturating_mul(rate))))
}

#[cfg(test)]
mod tests;
