//! Which steps of a script expect something, so that one that was never reached is no success. The daemon checks the rest.

/// The steps that expect something, from 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Expectations {
    steps: Vec<usize>,
}

impl Expectations {
    /// # Errors
    /// Where `text` is no TOML.
    pub fn read(text: &str) -> Result<Expectations, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let steps = table.get("step").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let expecting = steps.iter().enumerate().filter(|(_, step)| step.get("expect").is_some());
        Ok(Expectations { steps: expecting.map(|(index, _)| index).collect() })
    }

    /// The steps (from 1) whose expectation was never checked when there were so many replies.
    pub fn missed(&self, replies: usize) -> Vec<usize> {
        self.steps.iter().filter(|step| **step >= replies).map(|step| step + 1).collect()
    }
}

#[cfg(test)]
mod tests;
