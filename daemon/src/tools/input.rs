//! Reading a call's input into its type, and the schema the model is shown: both from one Rust type.

use agentd_core::permission::Subject;
use agentd_core::tools::ToolSpec;
use agentd_types::Json;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::tool::{Boxed, ToolContext, ToolFailure};
use crate::files::open;

/// The input as `T`; a wrong one is told with field and reason.
pub fn read<T: DeserializeOwned>(tool: &str, input: &Json) -> Result<T, ToolFailure> {
    input.read().map_err(|error| ToolFailure::TellModel(format!("The input of {tool} is not as its schema says: {error}")))
}

/// A tool's spec with the schema of `T`.
pub fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    let input_schema = Json::of(&schema).unwrap_or_else(|_| Json::empty_object());
    ToolSpec { name: name.to_owned(), description: description.trim().to_owned(), input_schema }
}

/// Blocking work off the runtime's threads; its failure is the call's.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolFailure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ToolFailure::TellModel(format!("the file could not be worked on: {error}")))
}

/// What editing `file_path` is about, links resolved.
pub fn editing<'a>(context: &'a ToolContext, file_path: String) -> Boxed<'a, Result<Subject, ToolFailure>> {
    Box::pin(async move {
        let path = context.cwd.join(&file_path);
        blocking(move || Subject::Edit { real: open::resolve(&path), path }).await
    })
}
