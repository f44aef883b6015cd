//! Whether a request begins with all that the one before said: what the provider's cache and bound thinking live on. It changes
//! no request.

use std::fmt;
use std::sync::Arc;

use crate::model::{ApiMessage, ModelRequest, SystemPart};
use crate::tools::ToolSpec;

/// The request that was sent last; its blocks are shared with the conversation.
#[derive(Debug, Clone)]
pub struct Sent {
    model: String,
    system: Arc<[SystemPart]>,
    tools: Arc<[ToolSpec]>,
    messages: Vec<ApiMessage>,
}

/// Where a request parts from the one before; its text is the notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheBreak {
    /// The system field.
    System,
    /// By name.
    Tools { added: Vec<String>, removed: Vec<String>, changed: Vec<String> },
    /// `kept` of `sent` messages are the same.
    Messages { kept: usize, sent: usize },
}

impl From<ModelRequest> for Sent {
    fn from(request: ModelRequest) -> Sent {
        let ModelRequest { model, system, tools, messages, max_tokens: _, replies: _ } = request;
        Sent { model, system, tools, messages }
    }
}

impl Sent {
    /// Whether `next` begins with this. Another model has a cache of its own: nothing is broken then. The provider reads tools
    /// first, then the system field, then messages.
    ///
    /// # Errors
    /// The first difference.
    pub fn continues_in(&self, next: &ModelRequest) -> Result<(), CacheBreak> {
        if self.model != next.model {
            return Ok(());
        }
        if !Arc::ptr_eq(&self.tools, &next.tools) && self.tools != next.tools {
            return Err(changed_tools(&self.tools, &next.tools));
        }
        if !Arc::ptr_eq(&self.system, &next.system) && self.system != next.system {
            return Err(CacheBreak::System);
        }
        let kept = kept(&self.messages, &next.messages);
        if kept == self.messages.len() { Ok(()) } else { Err(CacheBreak::Messages { kept, sent: self.messages.len() }) }
    }
}

/// How many of the messages `before` stand in front of `after`. The last one may have grown.
fn kept(before: &[ApiMessage], after: &[ApiMessage]) -> usize {
    let same = |(was, is): &(&ApiMessage, &ApiMessage)| was.role == is.role && was.content.len() == is.content.len() && begins(was, is);
    let whole = before.iter().zip(after).take_while(same).count();
    let grown = whole + 1 == before.len() && after.get(whole).is_some_and(|is| is.role == before[whole].role && begins(&before[whole], is));
    whole + usize::from(grown)
}

/// Blocks are shared from request to request, so that this looks at addresses, and at texts only where they differ.
fn begins(was: &ApiMessage, is: &ApiMessage) -> bool {
    was.content.len() <= is.content.len() && was.content.iter().zip(&is.content).all(|(was, is)| Arc::ptr_eq(was, is) || was == is)
}

fn changed_tools(before: &[ToolSpec], after: &[ToolSpec]) -> CacheBreak {
    let missing = |these: &[ToolSpec], those: &[ToolSpec]| -> Vec<String> {
        these.iter().filter(|this| !those.iter().any(|that| that.name == this.name)).map(|this| this.name.clone()).collect()
    };
    let other = |this: &&ToolSpec| before.iter().any(|that| that.name == this.name && that != *this);
    CacheBreak::Tools {
        added: missing(after, before),
        removed: missing(before, after),
        changed: after.iter().filter(other).map(|this| this.name.clone()).collect(),
    }
}

/// Names of one notice at most.
const NAMED: usize = 8;

impl fmt::Display for CacheBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheBreak::System => f.write_str("cache_break: the system prompt changed"),
            CacheBreak::Messages { kept, sent } => write!(f, "cache_break: of {sent} messages sent before, {kept} are the same"),
            CacheBreak::Tools { added, removed, changed } => {
                f.write_str("cache_break: tools changed:")?;
                let named = [("+", added), ("-", removed), ("~", changed)];
                let names: Vec<String> =
                    named.iter().flat_map(|(sign, names)| names.iter().map(move |name| format!(" {sign}{name}"))).collect();
                names.iter().take(NAMED).try_for_each(|name| f.write_str(name))?;
                match names.len() {
                    0 => f.write_str(" their order"),
                    count if count > NAMED => write!(f, " and {} more", count - NAMED),
                    _ => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
