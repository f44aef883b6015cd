//! The kinds of subagents there are: what each is for, which tools it has, what it is told. It grants no permission.

/// A kind of subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentKind {
    General,
    /// Looks, changes nothing.
    Explore,
    /// Looks, and says how something could be done.
    Plan,
}

/// Tools of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    All,
    /// These alone.
    Only(&'static [&'static str]),
}

/// Tools that change nothing.
const LOOKING: &[&str] = &["Read", "Glob", "Grep", "TodoWrite"];

impl AgentKind {
    pub const ALL: [AgentKind; 3] = [AgentKind::General, AgentKind::Explore, AgentKind::Plan];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AgentKind::General => "general",
            AgentKind::Explore => "explore",
            AgentKind::Plan => "plan",
        }
    }

    /// By name; also by the names others use.
    #[must_use]
    pub fn named(name: &str) -> Option<AgentKind> {
        match name.trim().to_lowercase().as_str() {
            "" | "general" | "general-purpose" => Some(AgentKind::General),
            "explore" => Some(AgentKind::Explore),
            "plan" => Some(AgentKind::Plan),
            _ => None,
        }
    }

    #[must_use]
    pub const fn tools(self) -> Tools {
        match self {
            AgentKind::General => Tools::All,
            AgentKind::Explore | AgentKind::Plan => Tools::Only(LOOKING),
        }
    }

    /// What it is told beside what every loop is told.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            AgentKind::General => {
                "You are a subagent: another agent gave you one piece of work. Do all of it, then answer with a report that stands on \
                 its own: what you found, what you changed (files by path), what is left. Nobody sees anything of you but that report."
            }
            AgentKind::Explore => {
                "You are a subagent that looks and changes nothing: another agent asks you about this code. Search widely, read what \
                 counts, and answer with a report that stands on its own: the facts, with paths and lines. Nobody sees anything of you \
                 but that report."
            }
            AgentKind::Plan => {
                "You are a subagent that plans and changes nothing: another agent asks you how something could be done here. Read what \
                 counts, then answer with a plan that stands on its own: steps in order, files by path, risks, how to check each step. \
                 Nobody sees anything of you but that plan."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Names lead back to their kinds.

    use super::{AgentKind, Tools};

    #[test]
    fn each_kind_is_found_by_its_name() {
        for kind in AgentKind::ALL {
            assert_eq!(AgentKind::named(kind.name()), Some(kind));
        }
        assert_eq!(AgentKind::named("general-purpose"), Some(AgentKind::General));
        assert_eq!(AgentKind::named("wizard"), None);
    }

    #[test]
    fn what_only_looks_has_no_tool_that_changes() {
        for kind in [AgentKind::Explore, AgentKind::Plan] {
            let Tools::Only(names) = kind.tools() else { panic!("{kind:?}") };
            assert!(!names.iter().any(|name| ["Bash", "Write", "Edit", "NotebookEdit", "Agent"].contains(name)));
        }
    }
}
