//! Cases of `replay_golden`, what a fixture comes to, and of `replay_manifest`, canonical texts and manifests; all exact.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::case::{judge, take_kind, unknown_kind};
use crate::expected::exactly;
use crate::failure::{Failure, Outcome, fails, narrow, require};
use sprag_base::digest::sha256_hex;
use sprag_base::json;
use sprag_evidence::file;
use sprag_evidence::fixture::{Fixture, Mode};
use sprag_evidence::manifest::{Artifact, Manifest};
use sprag_evidence::play::play;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenCase {
    seed: u64,
    mode: Mode,
    config: Map<String, Value>,
    inputs: Map<String, Value>,
}

pub(crate) fn run_golden(case: Value) -> Outcome {
    // The trace has the name of the fixture, which is that of the case.
    let name = case.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let compute = |case: &GoldenCase| {
        let GoldenCase { seed, mode, config, inputs } = case;
        let (config, inputs) = (config.clone(), inputs.clone());
        let fixture = Fixture { name: name.clone(), seed: *seed, mode: *mode, config, inputs, expected: None };
        let play_at = |path: &str| play(&fixture, path).map_err(|error| Failure::Refused(error.to_string()));
        let played = play_at("trace.json")?;
        require(played.expected == play_at("elsewhere/trace.json")?.expected, || {
            "it depends on where the trace lies, or on the time".to_owned()
        })?;
        let trace = String::from_utf8_lossy(&file::to_bytes(&played.trace)).into_owned();
        Ok(vec![
            ("summary", exactly(&played.expected.summary)),
            ("trace", exactly(&played.trace)),
            ("trace_sha256", exactly(&played.expected.trace_sha256)),
            ("trace_file_sha256", exactly(sha256_hex(trace.as_bytes()))),
            ("trace_file_text", exactly(trace)),
            ("config_sha256", exactly(&played.manifest.config_sha256)),
            ("manifest_sha256", exactly(&played.expected.manifest_sha256)),
        ])
    };
    judge(case, compute)
}

pub(crate) fn run_manifest(mut case: Value) -> Outcome {
    match take_kind(&mut case)?.as_str() {
        "canonical_json" => judge(case, |case: &TextCase| {
            let text = json::to_canonical(&case.value);
            Ok(vec![("sha256", exactly(sha256_hex(text.as_bytes()))), ("canonical", exactly(text))])
        }),
        "manifest" => judge(case, |case: &ManifestCase| {
            let manifest = manifest(case)?;
            let text = manifest.hashed_text();
            Ok(vec![("manifest", exactly(manifest)), ("hashed_bytes_of_manifest", exactly(text))])
        }),
        kind => Err(unknown_kind(kind)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextCase {
    value: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestCase {
    /// Which may be below zero, and is refused then.
    seed: i64,
    config: Map<String, Value>,
    artifacts: BTreeMap<String, Content>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    path: String,
    content_utf8: String,
}

fn manifest(case: &ManifestCase) -> Outcome<Manifest> {
    let artifact = |(name, content): (&String, &Content)| {
        let sha256 = sha256_hex(content.content_utf8.as_bytes());
        (name.clone(), Artifact { path: content.path.clone(), sha256 })
    };
    let artifacts = case.artifacts.iter().map(artifact).collect();
    let manifest = Manifest::new(narrow("seed", case.seed)?, case.config.clone(), artifacts);
    let read = file::read::<Manifest>(&file::to_bytes(&manifest)).map_err(|error| fails(error.to_string()))?;
    require(read == manifest, || "the manifest is not what its file says".to_owned())?;
    Ok(manifest)
}
