//! The families of golden cases: their names and what runs them.

use anyhow::{Result, bail};
use serde_json::Value;

use super::case::Outcome;
use super::{
    autotune, canonical, formats, fused, fusion, identical_code, infer, markdown, ordering, pack, scan, seed_gate,
};
use super::{sample_gate, selection, statistics, stats, text_gate, trt_sweep, unpack};

/// The reason given for a case that this build holds nothing for.
pub(super) const NOT_BUILT: &str = "not built yet";

/// What runs a family.
#[derive(Clone, Copy)]
enum Runner {
    Built(fn(&Value) -> Result<Outcome>),
    NotBuilt,
}

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
    ("attestation", Runner::NotBuilt),
    ("autotune_registry", Runner::Built(autotune::run)),
    ("baseline_template", Runner::Built(seed_gate::run_template)),
    ("fused_pack_op_unpack", Runner::Built(fused::run)),
    ("fusion_gate", Runner::Built(fusion::run)),
    ("infer", Runner::Built(infer::run)),
    ("ordering", Runner::Built(ordering::run)),
    ("perf_compare", Runner::Built(seed_gate::run_compare)),
    ("replay_golden", Runner::NotBuilt),
    ("replay_manifest", Runner::Built(canonical::run)),
    ("report_markdown", Runner::Built(markdown::run)),
    ("selection", Runner::Built(selection::run)),
    ("stats", Runner::Built(stats::run)),
    ("tile_pack", Runner::Built(pack::run)),
    ("tile_ssm_scan", Runner::Built(scan::run)),
    ("tile_unpack", Runner::Built(unpack::run)),
    ("trt_sweep", Runner::Built(trt_sweep::run)),
    (STATISTICS, Runner::Built(statistics::run)),
    (IDENTICAL_CODE, Runner::Built(identical_code::run)),
    (TEXT_GATE, Runner::Built(text_gate::run)),
    (SAMPLE_GATE, Runner::Built(sample_gate::run_files)),
    (FORMATS, Runner::Built(formats::run)),
];

/// Runs a case of the family.
///
/// # Errors
/// An unknown family, and whatever makes the case fail.
pub(super) fn run(family: &str, case: &Value) -> Result<Outcome> {
    match FAMILIES.iter().find(|(name, _)| *name == family) {
        Some((_, Runner::Built(run))) => run(case),
        Some((_, Runner::NotBuilt)) => Ok(Outcome::Skipped(NOT_BUILT)),
        None => bail!("family `{family}` is unknown to this build"),
    }
}
