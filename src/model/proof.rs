//! Proofs about a history that a third party can check without it: files with a root and a path of hashes.
//!
//! The data of the tree ([`super::merkle`]) are run digests in the order in which the records entered the branch: the
//! SHA-256 of each file without its final line feed. A proof is only as good as its root, which must be kept elsewhere with
//! its size, such as in release notes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::merkle::{self, SizedRoot};
use sprag_base::digest::Digest;

/// The version of the proof file that this build writes and reads.
pub const SCHEMA_VERSION: u64 = 1;

/// The largest proof file that is read, in bytes. A path has at most 64 hashes.
pub const MAX_PROOF_BYTES: u64 = 64 << 10;

/// A proof file, by its `kind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Proof {
    /// A run is in the list.
    Inclusion {
        #[schemars(extend("const" = SCHEMA_VERSION))]
        schema_version: u64,
        root: Digest,
        size: u64,
        /// The index of the run, from 0.
        index: u64,
        /// The digest of the run; names of records have its first sixteen digits.
        leaf: Digest,
        /// The sibling hashes from the leaf to the root.
        path: Vec<Digest>,
    },
    /// An earlier list is a prefix of this one.
    Consistency {
        #[schemars(extend("const" = SCHEMA_VERSION))]
        schema_version: u64,
        old_root: Digest,
        old_size: u64,
        root: Digest,
        size: u64,
        /// The hashes of RFC 6962, section 2.1.2.
        path: Vec<Digest>,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error("has schema version {0}, this build reads {SCHEMA_VERSION}")]
    Version(u64),
    #[error("is not a proof: {0}")]
    Shape(#[from] serde_json::Error),
}

impl Proof {
    pub fn from_json(bytes: &[u8]) -> Result<Proof, ProofError> {
        let value: serde_json::Value = serde_json::from_slice(bytes)?;
        match value.get("schema_version").and_then(serde_json::Value::as_u64) {
            Some(version) if version != SCHEMA_VERSION => Err(ProofError::Version(version)),
            // Read from the bytes again, as a value does not show repeated keys.
            _ => Ok(serde_json::from_slice(bytes)?),
        }
    }

    /// The root and the size that the proof claims.
    pub fn root(&self) -> SizedRoot {
        match *self {
            Proof::Inclusion { root, size, .. } | Proof::Consistency { root, size, .. } => SizedRoot { root, size },
        }
    }

    pub fn holds(&self) -> bool {
        match self {
            Proof::Inclusion { root, size, index, leaf, path, .. } => {
                merkle::verify_inclusion(root, *size, *index, leaf, path)
            }
            Proof::Consistency { old_root, old_size, path, .. } => {
                merkle::verify_consistency(SizedRoot { root: *old_root, size: *old_size }, self.root(), path)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MerkleTree;

    fn proofs() -> [Proof; 2] {
        let data: Vec<Digest> = (0u8..11).map(|number| Digest::from_parts(&[&[number]])).collect();
        let tree = MerkleTree::from_leaves(data.iter().copied());
        let root = tree.root();
        let path = tree.inclusion(6, 11).unwrap();
        let inclusion =
            Proof::Inclusion { schema_version: SCHEMA_VERSION, root, size: 11, index: 6, leaf: data[6], path };
        let consistency = Proof::Consistency {
            schema_version: SCHEMA_VERSION,
            old_root: tree.root_of(5).unwrap(),
            old_size: 5,
            root,
            size: 11,
            path: tree.consistency(5, 11).unwrap(),
        };
        [inclusion, consistency]
    }

    #[test]
    fn a_proof_reads_back_and_holds() {
        for proof in proofs() {
            let text = serde_json::to_string_pretty(&proof).unwrap();
            let back = Proof::from_json(text.as_bytes()).unwrap();
            assert_eq!(back, proof);
            assert!(back.holds());
            assert_eq!(back.root().size, 11);
        }
    }

    #[test]
    fn an_altered_proof_does_not_verify() {
        for proof in proofs() {
            let text = serde_json::to_string(&proof).unwrap();
            let check = |from: &str, to: &str| {
                let altered = text.replacen(from, to, 1);
                assert_ne!(altered, text, "{from}");
                assert!(!Proof::from_json(altered.as_bytes()).is_ok_and(|proof| proof.holds()), "{altered}");
            };
            check("\"schema_version\":1", "\"schema_version\":2");
            check("\"size\":11", "\"size\":7");
            check("\"root\":\"", "\"root\":\"0");
            check("{", "{\"more\":1,");
            check("\"size\":11", "\"size\":11,\"size\":11");
            check("\"kind\":\"", "\"kind\":\"in-");
            // Any digit of any hash, which are the only quoted texts of 64 characters.
            let hashes = text.match_indices('"').filter(|(at, _)| text[at + 1..].find('"') == Some(64));
            for place in hashes.flat_map(|(at, _)| at + 1..at + 65) {
                let mut altered = text.clone();
                altered.replace_range(place..=place, if &text[place..=place] == "0" { "1" } else { "0" });
                assert!(!Proof::from_json(altered.as_bytes()).is_ok_and(|proof| proof.holds()), "{altered}");
            }
        }
    }
}
