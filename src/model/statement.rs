//! An in-toto Statement (v1) with the predicate test-result (v0.1), by `spec/v1/statement.md` of in-toto/attestation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

pub const PREDICATE_TYPE: &str = "https://in-toto.io/attestation/test-result/v0.1";

pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The digest algorithm of commits.
pub const GIT_COMMIT: &str = "gitCommit";

/// The digest algorithm of files.
pub const SHA256: &str = "sha256";

/// A statement. Readers refuse unknown fields, as they compare it with one of ours.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    #[schemars(extend("const" = STATEMENT_TYPE))]
    pub kind: String,
    /// What was tested: the commit of the release, under the name of its tag.
    pub subject: Vec<Resource>,
    #[serde(rename = "predicateType")]
    #[schemars(extend("const" = PREDICATE_TYPE))]
    pub predicate_type: String,
    pub predicate: TestResult,
}

/// A thing with digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub name: String,
    pub digest: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TestOutcome {
    /// Everything passed.
    Passed,
    /// Everything passed except for waived items.
    Warned,
    /// Something failed or is unproven.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestResult {
    /// The outcome of all tests.
    pub result: TestOutcome,
    /// The checklist, the sums of all files, and the history.
    pub configuration: Vec<Resource>,
    pub passed_tests: Vec<String>,
    pub warned_tests: Vec<String>,
    /// The tests that failed or are unproven.
    pub failed_tests: Vec<String>,
}

/// An envelope of the Dead Simple Signing Envelope (DSSE, v1).
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    pub payload_type: String,
    /// The signed bytes in Base64.
    pub payload: String,
    pub signatures: Vec<Signature>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The key: `ssh` for a signature of `ssh-keygen -Y`, which names its key itself, or `ed25519:` and the 64 digits of the
    /// public key. It is not authenticated.
    pub keyid: String,
    /// The signature in Base64: 64 bytes, or the armoured text of `ssh-keygen`.
    pub sig: String,
}

/// The signed bytes: the pre-authentication encoding of type and content (DSSE v1, PAE).
pub fn pre_authentication(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len());
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_bytes_are_those_of_the_specification() {
        // The example of the specification's `protocol.md`.
        let encoded = pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }
}
