//! A result that is too long for the model: kept whole in a file of the session, shown by its beginning and end. It drops nothing unsaid.

use agentd_types::content::ResultPart;
use agentd_types::{AbsPath, ToolUseId};

use super::bash::verdict::Counts;
use super::output::Kept;

/// `parts`, or, where their text is longer than `most` bytes, a preview that names the file with all of it.
pub(super) async fn bounded(parts: Vec<ResultPart>, most: usize, outputs: &AbsPath, call: &ToolUseId) -> Vec<ResultPart> {
    let text_of = |part: &ResultPart| match part {
        ResultPart::Text { text } => text.len(),
        ResultPart::Image { .. } => 0,
    };
    if parts.iter().map(text_of).sum::<usize>() <= most {
        return parts;
    }
    let mut kept = Kept::new(outputs.clone(), &format!("{call}-result"));
    let mut others = Vec::new();
    for part in parts {
        match part {
            ResultPart::Text { text } => kept.take(text.as_bytes()).await,
            image @ ResultPart::Image { .. } => others.push(image),
        }
    }
    let preview = ResultPart::Text { text: kept.finish(Counts::AsSuccess).await };
    std::iter::once(preview).chain(others).collect()
}
