//! What a choice of a configuration holds for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sprag_base::{digest, json};

/// What a choice was made for. Where any part differs, it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The operation, such as `tile_pack`.
    pub op: String,
    /// The exact shape, by [`shape_bucket`](super::shape_bucket).
    pub bucket: String,
    /// The element type, such as `f16`.
    pub dtype: String,
    /// The digest of the kernel's whole source.
    pub source_digest: String,
    /// The version of the compiler, such as `13.0`.
    pub nvrtc: String,
    /// The version of the driver, such as `580.65.06`.
    pub driver: String,
    pub device: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
}

impl Key {
    /// The canonical JSON of its parts: the same for the same key, in every build.
    pub fn text(&self) -> String {
        let parts = [
            ("op", &self.op),
            ("bucket", &self.bucket),
            ("dtype", &self.dtype),
            ("source_digest", &self.source_digest),
            ("nvrtc", &self.nvrtc),
            ("driver", &self.driver),
            ("device", &self.device),
            ("compute_capability", &self.compute_capability),
        ];
        let parts: BTreeMap<String, String> =
            parts.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        json::to_canonical(&parts)
    }

    /// The first sixteen hexadecimal digits of the SHA-256 of [`Key::text`].
    pub fn digest(&self) -> String {
        digest::sha256_hex(self.text().as_bytes())[..16].to_owned()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn key(op: &str) -> Key {
        Key {
            op: op.to_owned(),
            bucket: "batch=1|kmax=32".to_owned(),
            dtype: "f16".to_owned(),
            source_digest: "0123456789abcdef".to_owned(),
            nvrtc: "13.0".to_owned(),
            driver: "580.65.06".to_owned(),
            device: "NVIDIA H200".to_owned(),
            compute_capability: "9.0".to_owned(),
        }
    }

    /// A change of either would make every stored choice unknown.
    #[test]
    fn text_and_digest_are_frozen() {
        let text = concat!(
            r#"{"bucket":"batch=1|kmax=32","compute_capability":"9.0","device":"NVIDIA H200","driver":"580.65.06","#,
            r#""dtype":"f16","nvrtc":"13.0","op":"tile_pack","source_digest":"0123456789abcdef"}"#
        );
        assert_eq!(key("tile_pack").text(), text);
        assert_eq!(key("tile_pack").digest(), digest::sha256_hex(text.as_bytes())[..16]);
    }

    #[test]
    fn every_part_counts() {
        let base = key("tile_pack");
        let change: [fn(&mut Key); 8] = [
            |key| key.op.push('x'),
            |key| key.bucket.push('x'),
            |key| key.dtype.push('x'),
            |key| key.source_digest.push('x'),
            |key| key.nvrtc.push('x'),
            |key| key.driver.push('x'),
            |key| key.device.push('x'),
            |key| key.compute_capability.push('x'),
        ];
        for change in change {
            let mut other = base.clone();
            change(&mut other);
            assert_ne!(other.digest(), base.digest(), "{other:?}");
        }
    }
}
