//! A replay manifest: the seed, the configuration and the files that identify a deterministic run, each with its
//! digest.
//!
//! The digests are those of Apex-X: SHA-256 of canonical JSON and of the bytes of files. The digest of the manifest covers the
//! seed, the digest of the configuration and those of the files by name, but no path and no state of the machine. So a run
//! that is repeated elsewhere has the same.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use sprag_base::digest::sha256_hex;
use sprag_base::json;

/// A file that belongs to a run.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Where it lay, as it was named.
    pub path: String,
    /// The digest of its bytes: SHA-256, hexadecimal, in lower case.
    pub sha256: String,
}

/// What identifies a deterministic run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What all chance of the run follows from.
    pub seed: u64,
    /// Its settings.
    pub config: Map<String, Value>,
    /// The digest of the canonical text of the settings.
    pub config_sha256: String,
    /// Its files, by name.
    pub artifact_hashes: BTreeMap<String, Artifact>,
    /// Their digests alone.
    pub artifact_sha256: BTreeMap<String, String>,
    /// The digest of [`Manifest::hashed_text`].
    pub manifest_sha256: String,
    /// What is known of the program and the machine; nothing covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determinism_state: Option<Map<String, Value>>,
}

impl Manifest {
    pub fn new(seed: u64, config: Map<String, Value>, artifact_hashes: BTreeMap<String, Artifact>) -> Manifest {
        let config_sha256 = sha256_hex(json::to_canonical(&config).as_bytes());
        let digest = |(name, one): (&String, &Artifact)| (name.clone(), one.sha256.clone());
        let artifact_sha256 = artifact_hashes.iter().map(digest).collect();
        let mut manifest = Manifest {
            seed,
            config,
            config_sha256,
            artifact_hashes,
            artifact_sha256,
            manifest_sha256: String::new(),
            determinism_state: None,
        };
        manifest.manifest_sha256 = sha256_hex(manifest.hashed_text().as_bytes());
        manifest
    }

    pub fn hashed_text(&self) -> String {
        json::to_canonical(&json!({
            "artifact_sha256": self.artifact_sha256,
            "config_sha256": self.config_sha256,
            "seed": self.seed,
        }))
    }

    /// What does not hold, a sentence each: its own digests, and those of its files, which `digest` gives by path.
    pub fn faults(&self, digest: impl Fn(&str) -> Result<String, String>) -> Vec<String> {
        let mut faults = Vec::new();
        let own = Manifest::new(self.seed, self.config.clone(), self.artifact_hashes.clone());
        if self.config_sha256 != own.config_sha256 {
            faults.push(differs("config_sha256", &self.config_sha256, "`config`", &own.config_sha256));
        }
        for (name, artifact) in &self.artifact_hashes {
            match digest(&artifact.path) {
                Err(reason) => faults.push(format!("the file `{name}`, `{}`, {reason}", artifact.path)),
                Ok(actual) if actual != artifact.sha256 => {
                    let field = format!("artifact_hashes.{name}.sha256");
                    faults.push(differs(&field, &artifact.sha256, &format!("`{}`", artifact.path), &actual));
                }
                Ok(_) => {}
            }
        }
        let names: BTreeSet<&String> = self.artifact_hashes.keys().chain(self.artifact_sha256.keys()).collect();
        for name in names {
            let [short, long] = [&self.artifact_sha256, &own.artifact_sha256].map(|all| all.get(name));
            if short != long {
                let text = |digest: &String| format!("`{digest}`");
                let [short, long] = [short, long].map(|one| one.map_or_else(|| "nothing".to_owned(), text));
                faults.push(format!("`artifact_sha256` has {short} for `{name}`, and `artifact_hashes` {long}"));
            }
        }
        let hashed = sha256_hex(self.hashed_text().as_bytes());
        if self.manifest_sha256 != hashed {
            let content = "`seed`, `config_sha256` and `artifact_sha256`";
            faults.push(differs("manifest_sha256", &self.manifest_sha256, content, &hashed));
        }
        faults
    }
}

fn differs(field: &str, recorded: &str, content: &str, actual: &str) -> String {
    format!("`{field}` is `{recorded}`, and the digest of {content} is `{actual}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;

    fn config() -> Map<String, Value> {
        json!({"profile": "quality", "kmax": 32}).as_object().cloned().expect("an object")
    }

    fn manifest(content: &[u8]) -> Manifest {
        let trace = Artifact { path: "artifacts/trace.json".to_owned(), sha256: sha256_hex(content) };
        Manifest::new(11, config(), BTreeMap::from([("trace".to_owned(), trace)]))
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let mut one = manifest(b"{}\n");
        one.determinism_state = Some(Map::from_iter([("has_torch".to_owned(), false.into())]));
        assert_eq!(file::read::<Manifest>(&file::to_bytes(&one)).expect("it is one"), one);
        let mut elsewhere = one.artifact_hashes.clone();
        elsewhere.get_mut("trace").expect("it is there").path = "elsewhere".to_owned();
        assert_eq!(Manifest::new(11, config(), elsewhere).manifest_sha256, one.manifest_sha256);
        for (text, words) in [
            (r#"{"seed": 1, "seed": 1}"#, "occurs twice"),
            (r#"{"seed": -1}"#, ""),
            (r#"{"seed": 1, "config": {}, "more": 1}"#, "more"),
            ("{\n\"seed\": 18446744073709551616}", "line 2 is beyond 64 bits"),
            ("", "EOF"),
        ] {
            let error = file::read::<Manifest>(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn each_wrong_digest_is_named() {
        let content = b"{\"selected\":[0,1,2]}\n";
        let check = |change: &dyn Fn(&mut Manifest), expected: &[&str]| {
            let mut one = manifest(content);
            change(&mut one);
            let faults = one.faults(|path| match path {
                "artifacts/trace.json" => Ok(sha256_hex(content)),
                _ => Err("is not there".to_owned()),
            });
            assert_eq!(faults.len(), expected.len(), "{faults:?}");
            for (fault, words) in faults.iter().zip(expected) {
                assert!(fault.contains(words), "{faults:?}");
            }
        };
        check(&|_| {}, &[]);
        check(&|one| one.seed = 12, &["`manifest_sha256` is"]);
        check(&|one| one.config_sha256.replace_range(..1, "x"), &["`config_sha256` is `x", "`manifest_sha256`"]);
        check(&|one| drop(one.config.insert("more".to_owned(), 1.into())), &["`config_sha256` is"]);
        let renamed = |one: &mut Manifest| one.artifact_hashes.get_mut("trace").expect("there").path.push('x');
        check(&renamed, &["the file `trace`, `artifacts/trace.jsonx`, is not there"]);
        let changed = |one: &mut Manifest| one.artifact_hashes.get_mut("trace").expect("there").sha256 = "0".to_owned();
        check(
            &changed,
            &[
                "`artifact_hashes.trace.sha256` is `0`, and the digest of `artifacts/trace.json`",
                "`artifact_sha256` has",
            ],
        );
        check(&|one| one.artifact_sha256.clear(), &["`artifact_sha256` has nothing for `trace`", "`manifest_sha256`"]);
        check(&|one| one.manifest_sha256.clear(), &["`manifest_sha256` is ``"]);
    }
}
