//! What of the GPU suite runs: at which sizes and with which element types.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::program::Dtype;
use super::settings::Profile;

/// Maps with so many elements exceed the second-level cache of every device, whatever the element type.
const LARGE_ELEMENTS: u64 = 1 << 26;

/// What runs. It travels to the worker processes as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    pub profiles: Vec<Profile>,
    /// The element types, the first of which the control has.
    pub dtypes: Vec<Dtype>,
    /// The folder that keeps what was compiled, for the next worker.
    pub compiled: Option<PathBuf>,
}

impl Scope {
    pub fn recorded(&self) -> BTreeMap<String, Value> {
        let profiles = serde_json::to_value(&self.profiles).expect("sizes are numbers");
        let dtypes: Vec<&str> = self.dtypes.iter().map(|dtype| dtype.word()).collect();
        BTreeMap::from([("profiles".to_owned(), profiles), ("dtypes".to_owned(), json!(dtypes))])
    }
}

impl Profile {
    /// Whether its maps exceed the second-level cache, so that memory bounds the kernels, not launching them.
    pub fn is_large(&self) -> bool {
        let sizes = [self.batch, self.channels, self.height, self.width];
        sizes.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul) >= LARGE_ELEMENTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_travels_and_is_recorded() {
        let scope = Scope {
            profiles: vec![Profile::FIXED, Profile::LARGE],
            dtypes: vec![Dtype::F16, Dtype::Bf16, Dtype::F32],
            compiled: Some("kept".into()),
        };
        let text = serde_json::to_string(&scope).expect("a scope is JSON");
        assert_eq!(serde_json::from_str::<Scope>(&text).ok(), Some(scope.clone()));
        let recorded = scope.recorded();
        assert_eq!(recorded["dtypes"], json!(["f16", "bf16", "f32"]));
        assert_eq!(recorded["profiles"][0]["channels"], 128);
        assert!(!recorded.contains_key("compiled"), "a path of this machine is nobody's business");
        assert!(!Profile::FIXED.is_large() && Profile::LARGE.is_large());
    }
}
