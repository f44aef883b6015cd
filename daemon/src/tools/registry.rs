//! Which tools there are, in a stable order: the list is part of what a provider caches.

use std::sync::Arc;

use agentd_core::tools::ToolSpec;

use super::edit::Edit;
use super::glob::Glob;
use super::grep::Grep;
use super::notebook_edit::NotebookEdit;
use super::read::Read;
use super::sleep::Sleep;
use super::task_output::TaskOutput;
use super::task_stop::TaskStop;
use super::todo::TodoWrite;
use super::tool::Tool;
use super::write::Write;

/// Tools by name.
#[derive(Clone)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// Sorted by name.
    #[must_use]
    pub fn new(mut tools: Vec<Arc<dyn Tool>>) -> ToolRegistry {
        tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        ToolRegistry { tools }
    }

    /// Those of these names.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> ToolRegistry {
        let named = |tool: &&Arc<dyn Tool>| names.contains(&tool.spec().name.as_str());
        ToolRegistry { tools: self.tools.iter().filter(named).cloned().collect() }
    }

    /// By name, or by another name it is called by.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let named = self.tools.iter().find(|tool| tool.spec().name == name);
        named.or_else(|| self.tools.iter().find(|tool| tool.aliases().contains(&name)))
    }

    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.spec().name.as_str()).collect()
    }

    /// What the model is told, in order.
    #[must_use]
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }
}

/// The tools that need nothing but files and time.
#[must_use]
pub fn built_in_files() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read::new()),
        Arc::new(Write::new()),
        Arc::new(Edit::new()),
        Arc::new(NotebookEdit::new()),
        Arc::new(Glob::new()),
        Arc::new(Grep::new()),
        Arc::new(TodoWrite::new()),
        Arc::new(Sleep::new()),
        Arc::new(TaskOutput::new()),
        Arc::new(TaskStop::new()),
    ]
}

#[cfg(test)]
mod tests;
