//! A deterministic run, done again: what this build comes to with a fixture, and what of a recorded one does not hold.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::file;
use crate::fixture::{Expected, Fixture, Mode};
use crate::manifest::{Artifact, Manifest};
use crate::trace::{Selection, Trace, TraceError};
use sprag_base::digest::sha256_hex;
use sprag_base::text;
use sprag_kernels::KernelError;
use sprag_kernels::ordering::OrderMode;
use sprag_kernels::selection::{self, Candidates, SplitRule, two_stage};
use sprag_kernels::shape::Grid;

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

#[derive(Debug)]
pub struct Played {
    pub trace: Trace,
    pub manifest: Manifest,
    pub expected: Expected,
}

/// Runs a fixture, whose trace lies or will lie at that path.
pub fn play(fixture: &Fixture, trace_path: &str) -> Result<Played, PlayError> {
    let chosen = choose(fixture)?;
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

// The selection of a fixture: from its arguments to what was chosen.

/// Why nothing can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    #[error("its `inputs` cannot be read")]
    Inputs(#[source] serde_json::Error),
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// What was chosen: the few figures that a fixture states, and each level as a trace holds it.
struct Chosen {
    summary: Map<String, Value>,
    selections: Vec<Selection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Greedy {
    utilities: Vec<f64>,
    delta_costs: Vec<f64>,
    budget: f64,
    kmax: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TwoStage {
    l0_utilities: Vec<f64>,
    l0_delta_costs: Vec<f64>,
    split_utilities: Vec<f64>,
    split_overheads: Vec<f64>,
    budget_b1: f64,
    budget_b2: f64,
    kmax_l0: usize,
    kmax_l1: usize,
    l0_grid_h: u32,
    l0_grid_w: u32,
    l1_order_mode: Option<String>,
}

fn choose(fixture: &Fixture) -> Result<Chosen, SelectionError> {
    match fixture.mode {
        Mode::Greedy => of_one_stage(&arguments(fixture)?),
        Mode::TwoStage => of_two_stages(&arguments(fixture)?),
    }
}

fn arguments<T: DeserializeOwned>(fixture: &Fixture) -> Result<T, SelectionError> {
    serde_json::from_value(Value::Object(fixture.inputs.clone())).map_err(SelectionError::Inputs)
}

fn of_one_stage(inputs: &Greedy) -> Result<Chosen, SelectionError> {
    let Greedy { utilities, delta_costs, budget, kmax } = inputs;
    let found = selection::select(&Candidates { utilities, delta_costs, budget: *budget, kmax: *kmax })?;
    Ok(Chosen {
        summary: object(json!({
            "selected_indices": found.selected,
            "ordered_candidates": found.ordered_candidates,
            "kmax_buffer": found.kmax_buffer,
            "valid_count": found.selected.len(),
            "spent_budget": found.spent,
        })),
        selections: vec![coarse(&found)],
    })
}

fn of_two_stages(inputs: &TwoStage) -> Result<Chosen, SelectionError> {
    let candidates = Candidates {
        utilities: &inputs.l0_utilities,
        delta_costs: &inputs.l0_delta_costs,
        budget: inputs.budget_b1,
        kmax: inputs.kmax_l0,
    };
    let rule = SplitRule {
        utilities: &inputs.split_utilities,
        overheads: &inputs.split_overheads,
        budget: inputs.budget_b2,
        kmax: inputs.kmax_l1,
        order: inputs.l1_order_mode.as_deref().map(OrderMode::parse).transpose()?.unwrap_or_default(),
    };
    let found = two_stage(&candidates, &rule, Grid::new(inputs.l0_grid_h, inputs.l0_grid_w)?)?;
    let split = &found.split;
    let fine = Selection {
        level: "l1".to_owned(),
        indices: wide(&split.children),
        ordered_indices: wide(&split.ordered),
        meta: object(json!({
            "split_parent_indices": split.parents,
            "split_parent_order": split.parent_order,
            "l1_kmax_buffer": split.kmax_buffer,
        })),
        budgets_used: BTreeMap::from([("b2".to_owned(), split.spent)]),
    };
    Ok(Chosen {
        summary: object(json!({
            "l0_selected_indices": found.coarse.selected,
            "l0_ordered_candidates": found.coarse.ordered_candidates,
            "split_parent_indices": split.parents,
            "split_parent_order": split.parent_order,
            "l1_indices": split.children,
            "l1_ordered_indices": split.ordered,
            "l1_kmax_buffer": split.kmax_buffer,
            "l1_valid_count": split.children.len(),
            "spent_budget_b1": found.coarse.spent,
            "spent_budget_b2": split.spent,
        })),
        selections: vec![coarse(&found.coarse), fine],
    })
}

/// The coarsest level, which is worked on in the order in which it was taken.
fn coarse(found: &selection::Selection) -> Selection {
    Selection {
        level: "l0".to_owned(),
        indices: wide(&found.selected),
        ordered_indices: wide(&found.selected),
        meta: object(json!({
            "ordered_candidates": found.ordered_candidates,
            "kmax_buffer": found.kmax_buffer,
            "scores": found.scores,
        })),
        budgets_used: BTreeMap::from([("b1".to_owned(), found.spent)]),
    }
}

fn wide(indices: &[u32]) -> Vec<u64> {
    indices.iter().map(|index| u64::from(*index)).collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
