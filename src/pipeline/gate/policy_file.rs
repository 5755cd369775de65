//! `--policy FILE`: the rules of a gate in a file of their own, such as stricter ones for a release.

use std::path::Path;

use crate::config::Config;
use crate::policy;
use sprag_model::rule::Policy;

/// The rules of a policy file.
pub struct PolicyFile {
    /// By which rule each metric is judged.
    pub policy: Policy,
}

impl PolicyFile {
    /// Reads a file that holds the section `[rules]` as `sprag.toml` does.
    ///
    /// # Errors
    /// Names the file, line and column of what is wrong.
    pub fn read(path: &Path) -> crate::Result<PolicyFile> {
        let rules = Config::load_rules(path)?;
        Ok(PolicyFile { policy: policy::of(&rules) })
    }
}
