//! The families of golden cases: their names and what runs them.

use std::path::Path;

use serde_json::Value;

use crate::failure::{Outcome, fails};
use crate::folder::{FORMATS, FoundCase, IDENTICAL_CODE, SAMPLE_GATE, STATISTICS, TEXT_GATE};
use crate::{attestation, autotune, formats, fusion, identical_code, infer, ordering, replay, reports};
use crate::{sample_gate, scan, seed_gate, selection, statistics, text_gate, tiles};

type Runner = fn(Value) -> Outcome;

const FAMILIES: &[(&str, Runner)] = &[
    ("attestation", attestation::run),
    ("autotune_registry", autotune::run),
    ("baseline_template", seed_gate::run_template),
    ("fused_pack_op_unpack", tiles::run_fused),
    ("fusion_gate", fusion::run),
    ("infer", infer::run),
    ("ordering", ordering::run),
    ("perf_compare", seed_gate::run_compare),
    ("replay_golden", replay::run_golden),
    ("replay_manifest", replay::run_manifest),
    ("report_markdown", reports::run_markdown),
    ("selection", selection::run),
    ("stats", reports::run_calls),
    ("tile_pack", tiles::run_pack),
    ("tile_ssm_scan", scan::run),
    ("tile_unpack", tiles::run_unpack),
    ("trt_sweep", reports::run_sweep),
    (STATISTICS, statistics::run),
    (IDENTICAL_CODE, identical_code::run),
];

impl FoundCase {
    /// Runs it as its family says.
    pub(crate) fn run(&self) -> Outcome {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        match (self.family.as_str(), &self.value) {
            (TEXT_GATE, case) => text_gate::run(case.clone(), folder),
            (SAMPLE_GATE, case) => sample_gate::run_files(case.clone(), folder),
            (FORMATS, Value::Array(rows)) => formats::run(rows, &self.file),
            (family, case) => match FAMILIES.iter().find(|(name, _)| *name == family) {
                Some((_, run)) => run(case.clone()),
                None => Err(fails(format!("family `{family}` is unknown to this build"))),
            },
        }
    }
}
