//! The families of golden cases: their names and what runs them.

use anyhow::{Result, bail};
use serde_json::Value;

use super::{
    attestation, autotune, canonical, formats, fused, fusion, identical_code, infer, markdown, ordering, pack, replay,
    scan, seed_gate,
};
use super::{sample_gate, selection, statistics, stats, text_gate, trt_sweep, unpack};

/// What runs a case of a family.
type Runner = fn(&Value) -> Result<()>;

/// Family of the files of a statistics oracle, which bear `what`, `library` and `cases`.
pub(super) const STATISTICS: &str = "statistics";
/// Family of recorded timings of identical code, which bear `what` and `kernels`.
pub(super) const IDENTICAL_CODE: &str = "identical_code";
/// Family of whole runs of a text-comparing gate, which bear `parsed_baseline_ns` and `verdicts`.
pub(super) const TEXT_GATE: &str = "trueno";
/// Family of whole comparisons by samples, which bear `baseline`, `current`, `results` and `summary`.
pub(super) const SAMPLE_GATE: &str = "tt_metal";
/// Family of files with the canonical rows of a foreign format.
pub(super) const FORMATS: &str = "formats";

const FAMILIES: &[(&str, Runner)] = &[
    ("attestation", attestation::run),
    ("autotune_registry", autotune::run),
    ("baseline_template", seed_gate::run_template),
    ("fused_pack_op_unpack", fused::run),
    ("fusion_gate", fusion::run),
    ("infer", infer::run),
    ("ordering", ordering::run),
    ("perf_compare", seed_gate::run_compare),
    ("replay_golden", replay::run),
    ("replay_manifest", canonical::run),
    ("report_markdown", markdown::run),
    ("selection", selection::run),
    ("stats", stats::run),
    ("tile_pack", pack::run),
    ("tile_ssm_scan", scan::run),
    ("tile_unpack", unpack::run),
    ("trt_sweep", trt_sweep::run),
    (STATISTICS, statistics::run),
    (IDENTICAL_CODE, identical_code::run),
    (TEXT_GATE, text_gate::run),
    (SAMPLE_GATE, sample_gate::run_files),
    (FORMATS, formats::run),
];

/// Runs a case of the family.
///
/// # Errors
/// An unknown family, and whatever makes the case fail.
pub(super) fn run(family: &str, case: &Value) -> Result<()> {
    match FAMILIES.iter().find(|(name, _)| *name == family) {
        Some((_, run)) => run(case),
        None => bail!("family `{family}` is unknown to this build"),
    }
}
