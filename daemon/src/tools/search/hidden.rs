//! What deny rules keep from being read: a search leaves it out, and says so. It decides nothing that rules do not.

use std::cell::Cell;
use std::path::Path;

use agentd_core::permission::{Policy, Subject, forbids};
use agentd_types::AbsPath;

use crate::files::open;

/// The deny rules as a search below one folder sees them.
pub struct Hidden {
    rules: Policy,
    place: AbsPath,
    /// The same with links resolved: rules look at both.
    real: AbsPath,
    met: Cell<usize>,
}

impl Hidden {
    /// Blocks: links are resolved.
    pub fn new(policy: &Policy, place: &AbsPath) -> Hidden {
        let deny = policy.deny.iter().filter(|rule| rule.tool == "Read" && rule.specifier.is_some()).cloned().collect();
        let rules = Policy { mode: policy.mode, allow: Vec::new(), deny, ask: Vec::new(), scope: policy.scope.clone() };
        Hidden { rules, place: place.clone(), real: open::resolve(place), met: Cell::new(0) }
    }

    /// Whether the file must not be read; counted.
    pub fn hides(&self, file: &Path) -> bool {
        if self.rules.deny.is_empty() {
            return false;
        }
        let below = file.strip_prefix(self.place.as_path()).unwrap_or(file);
        let subject = Subject::Read { path: self.place.join(below), real: self.real.join(below) };
        let hides = forbids(&self.rules, "Read", &subject).is_some();
        self.met.set(self.met.get() + usize::from(hides));
        hides
    }

    /// What the model is told of them.
    pub fn note(&self) -> String {
        match self.met.get() {
            0 => String::new(),
            met => format!("[files left out because a rule forbids reading them: {met}]"),
        }
    }
}
