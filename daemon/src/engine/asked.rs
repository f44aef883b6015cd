//! Who is asked: the session's model, or the fallback a submission went over to. When to go over is decided in core.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use super::kit::Kit;
use crate::models::provider::Provider;

/// The model that is asked now, and those that are left to go over to.
pub struct Asked {
    pub model: String,
    pub provider: Arc<dyn Provider>,
    left: VecDeque<String>,
}

impl Asked {
    /// `fallbacks` in the order they are tried; the model itself among them is passed over.
    #[must_use]
    pub fn new(model: String, provider: Arc<dyn Provider>, fallbacks: &[String]) -> Asked {
        let left = fallbacks.iter().map(|name| name.trim()).filter(|name| !name.is_empty() && *name != model);
        let left = left.map(ToOwned::to_owned).collect();
        Asked { model, provider, left }
    }

    /// Goes over to the next model that can be asked; false when none is left. Says into `passed` who could not, and why.
    pub async fn go_over(&mut self, kit: &Kit, folder: &Path, passed: &mut Vec<String>) -> bool {
        while let Some(model) = self.left.pop_front() {
            match resolve(kit, &model, folder).await {
                Ok(provider) => {
                    (self.model, self.provider) = (model, provider);
                    return true;
                }
                Err(why) => passed.push(format!("the fallback model `{model}` cannot be asked: {why}")),
            }
        }
        false
    }
}

/// The provider of `model` for a session in `folder`; reading a rehearsal's script blocks.
///
/// # Errors
/// Why it cannot be asked, for a person.
pub async fn resolve(kit: &Kit, model: &str, folder: &Path) -> Result<Arc<dyn Provider>, String> {
    let (models, name, folder) = (Arc::clone(&kit.models), model.to_owned(), folder.to_owned());
    let resolved = tokio::task::spawn_blocking(move || models.resolve_in(&name, &folder)).await;
    resolved.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
