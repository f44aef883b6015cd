//! A permission rule's text form: `Tool` or `Tool(specifier)`; matching is `core::permission`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A rule in its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    pub tool: String,
    /// What stands in the parentheses; absent = every call of the tool.
    pub specifier: Option<String>,
}

/// A rule's text could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no permission rule: {why} (write Tool or Tool(specifier), like Bash(npm run test:*))")]
pub struct BadRule {
    pub text: String,
    pub why: &'static str,
}

impl FromStr for Rule {
    type Err = BadRule;
    fn from_str(text: &str) -> Result<Self, BadRule> {
        let bad = |why| BadRule { text: text.to_owned(), why };
        let text_trimmed = text.trim();
        let (tool, specifier) = match text_trimmed.split_once('(') {
            None => (text_trimmed, None),
            Some((tool, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| bad("the closing parenthesis is missing"))?;
                (tool.trim_end(), Some(inner.to_owned()))
            }
        };
        if tool.is_empty() {
            return Err(bad("the tool's name is missing"));
        }
        if !tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.')) {
            return Err(bad("a tool's name has letters, digits, _, - and * only"));
        }
        // `Bash()` and `Bash(*)` say nothing that `Bash` does not.
        let specifier = specifier.filter(|inner| !inner.is_empty() && inner != "*");
        Ok(Rule { tool: tool.to_owned(), specifier })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.specifier {
            None => f.write_str(&self.tool),
            Some(inner) => write!(f, "{}({inner})", self.tool),
        }
    }
}

impl TryFrom<String> for Rule {
    type Error = BadRule;
    fn try_from(text: String) -> Result<Self, BadRule> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> String {
        rule.to_string()
    }
}
