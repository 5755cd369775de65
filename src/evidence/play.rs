//! A deterministic run repeated: what this build comes to with a fixture, and what of a recorded one does not hold.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::file;
use crate::fixture::{Expected, Fixture, LevelSelection, Mode, Trace};
use crate::manifest::{Artifact, Manifest};
use sprag_base::digest::sha256_hex;
use sprag_base::text;
use sprag_kernels::KernelError;
use sprag_kernels::ordering::OrderMode;
use sprag_kernels::selection::{self, Candidates, SplitRule, two_stage};
use sprag_kernels::shape::Grid;

const TRACE: &str = "trace";

#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error("its `inputs` cannot be read")]
    Inputs(#[source] serde_json::Error),
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("`{path}` is no {kind}: {reason}")]
    Unreadable { path: String, kind: &'static str, reason: String },
    #[error("cannot run `{path}`")]
    Play { path: String, source: PlayError },
}

impl VerifyError {
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
    let (summary, selections) = match fixture.mode {
        Mode::Greedy => choose_greedily(&arguments(fixture)?)?,
        Mode::TwoStage => choose_in_two_stages(&arguments(fixture)?)?,
    };
    let run_meta = json!({"fixture": fixture.name, "mode": fixture.mode, "seed": fixture.seed});
    let trace = Trace { run_meta, selections };
    let file = Artifact { path: trace_path.to_owned(), sha256: sha256_hex(&file::to_bytes(&trace)) };
    let artifacts = BTreeMap::from([(TRACE.to_owned(), file)]);
    let mut manifest = Manifest::new(fixture.seed, fixture.config.clone(), artifacts);
    manifest.determinism_state = Some(determinism_state());
    let expected =
        Expected { summary, trace_sha256: trace.sha256(), manifest_sha256: manifest.manifest_sha256.clone() };
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

/// What of a manifest or fixture does not hold, a sentence each. `digest` gives that of a file by its path in the manifest.
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

// The selection of a fixture.

/// The figures that a fixture states, and each level.
type Chosen = (Map<String, Value>, Vec<LevelSelection>);

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

fn arguments<T: DeserializeOwned>(fixture: &Fixture) -> Result<T, PlayError> {
    T::deserialize(&fixture.inputs).map_err(PlayError::Inputs)
}

fn choose_greedily(inputs: &Greedy) -> Result<Chosen, PlayError> {
    let Greedy { utilities, delta_costs, budget, kmax } = inputs;
    let chosen = selection::select(&Candidates { utilities, delta_costs, budget: *budget, kmax: *kmax })?;
    let summary = json!({
        "selected_indices": chosen.selected,
        "ordered_candidates": chosen.ordered_candidates,
        "kmax_buffer": chosen.kmax_buffer,
        "valid_count": chosen.selected.len(),
        "spent_budget": chosen.spent,
    });
    Ok((object(summary), vec![coarse(&chosen)]))
}

fn choose_in_two_stages(inputs: &TwoStage) -> Result<Chosen, PlayError> {
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
    let chosen = two_stage(&candidates, &rule, Grid::new(inputs.l0_grid_h, inputs.l0_grid_w)?)?;
    let split = &chosen.split;
    let fine = LevelSelection {
        level: "l1",
        indices: split.children.clone(),
        ordered_indices: split.ordered.clone(),
        meta: json!({
            "split_parent_indices": split.parents,
            "split_parent_order": split.parent_order,
            "l1_kmax_buffer": split.kmax_buffer,
        }),
        budgets_used: BTreeMap::from([("b2", split.spent)]),
    };
    let summary = json!({
        "l0_selected_indices": chosen.coarse.selected,
        "l0_ordered_candidates": chosen.coarse.ordered_candidates,
        "split_parent_indices": split.parents,
        "split_parent_order": split.parent_order,
        "l1_indices": split.children,
        "l1_ordered_indices": split.ordered,
        "l1_kmax_buffer": split.kmax_buffer,
        "l1_valid_count": split.children.len(),
        "spent_budget_b1": chosen.coarse.spent,
        "spent_budget_b2": split.spent,
    });
    Ok((object(summary), vec![coarse(&chosen.coarse), fine]))
}

fn coarse(chosen: &selection::Selection) -> LevelSelection {
    LevelSelection {
        level: "l0",
        indices: chosen.selected.clone(),
        ordered_indices: chosen.selected.clone(),
        meta: json!({
            "ordered_candidates": chosen.ordered_candidates,
            "kmax_buffer": chosen.kmax_buffer,
            "scores": chosen.scores,
        }),
        budgets_used: BTreeMap::from([("b1", chosen.spent)]),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
