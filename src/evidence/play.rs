//! A deterministic run, done again: what this build comes to with a fixture, and what of a recorded one does not hold.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::file;
use super::fixture::{Expected, Fixture};
use super::manifest::{Artifact, Manifest};
use super::selection::{self, SelectionError};
use super::trace::{Trace, TraceError};
use sprag_base::digest::sha256_hex;
use sprag_base::text;

/// The name of the trace in the manifest of a fixture.
const TRACE: &str = "trace";

/// Why a fixture cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error(transparent)]
    Selection(#[from] SelectionError),
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// Why a file cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("`{path}` is no {kind}: {reason}")]
    Unreadable { path: String, kind: &'static str, reason: String },
    #[error("cannot run `{path}`")]
    Play { path: String, source: PlayError },
}

impl VerifyError {
    /// What a user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            VerifyError::Unreadable { .. } => {
                Some("`sprag schema replay-manifest-1` and `replay-fixture-1` print what is verified")
            }
            VerifyError::Play { .. } => None,
        }
    }
}

/// What this build comes to with a fixture.
#[derive(Debug)]
pub struct Played {
    pub trace: Trace,
    pub manifest: Manifest,
    pub expected: Expected,
}

/// Runs a fixture, whose trace lies or will lie at that path.
pub fn play(fixture: &Fixture, trace_path: &str) -> Result<Played, PlayError> {
    let chosen = selection::choose(fixture)?;
    let trace = fixture.trace(chosen.selections)?;
    let file = Artifact { path: trace_path.to_owned(), sha256: sha256_hex(&file::to_bytes(&trace)) };
    let artifacts = BTreeMap::from([(TRACE.to_owned(), file)]);
    let mut manifest = Manifest::new(fixture.seed, fixture.config.clone(), artifacts);
    manifest.determinism_state = Some(determinism_state());
    let expected = Expected {
        summary: chosen.summary,
        trace_sha256: trace.sha256(),
        manifest_sha256: manifest.manifest_sha256.clone(),
    };
    Ok(Played { trace, manifest, expected })
}

/// The state of the program: CPU code without a switch that would make it deterministic, as it always is.
pub fn determinism_state() -> Map<String, Value> {
    let state = [
        ("deterministic_enabled", Value::Bool(true)),
        ("has_torch", Value::Bool(false)),
        ("cuda_available", Value::Bool(false)),
        ("torch_deterministic_algorithms", Value::Null),
        ("cudnn_deterministic", Value::Null),
        ("cudnn_benchmark", Value::Null),
        ("cublas_workspace_config", Value::Null),
    ];
    state.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// What of the manifest or fixture with these bytes does not hold, a sentence each; `digest` gives that of a file by the
/// path that a manifest names.
pub fn faults(
    bytes: &[u8],
    path: &Path,
    digest: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<String>, VerifyError> {
    let path = path.display().to_string();
    let unreadable = |kind: &'static str, reason: String| VerifyError::Unreadable {
        path: text::printable(&path),
        kind,
        reason: text::printable(&reason),
    };
    let value = file::value(bytes).map_err(|error| unreadable("manifest and no fixture", error.to_string()))?;
    if value.get("inputs").is_none() {
        let manifest = file::read::<Manifest>(bytes).map_err(|error| unreadable("manifest", error.to_string()))?;
        return Ok(manifest.faults(digest));
    }
    let fixture = file::read::<Fixture>(bytes).map_err(|error| unreadable("fixture", error.to_string()))?;
    let Some(expected) = &fixture.expected else {
        return Err(unreadable("fixture that can be verified", "it has no `expected`".to_owned()));
    };
    let played = play(&fixture, "trace.json").map_err(|source| VerifyError::Play { path: path.clone(), source })?;
    Ok(expected.differences(&played.expected))
}
