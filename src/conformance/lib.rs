//! Golden cases, recorded from the original implementations, run against this build.
//!
//! A case is recognised by what its file holds, never by its folder or name. It passes or fails: a case of an unknown
//! kind, with an unknown field or with nothing to compare fails.

mod folder;

mod failure;
mod tensor;
mod expected;
mod case;

mod attestation;
mod autotune;
mod formats;
mod fusion;
mod identical_code;
mod infer;
mod ordering;
mod replay;
mod reports;
mod sample_gate;
mod scan;
mod apex_x_gate;
mod selection;
mod statistics;
mod text_gate;
mod tiles;

#[cfg(test)]
mod tamper;

pub use folder::ConformanceError;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::{Outcome, fails};
use crate::folder::{FORMATS, GoldenCase, IDENTICAL_CODE, SAMPLE_GATE, STATISTICS, TEXT_GATE};

type Runner = fn(Value) -> Outcome;

/// The families of golden cases, with what runs one.
const FAMILIES: &[(&str, Runner)] = &[
    ("attestation", attestation::run),
    ("autotune_registry", autotune::run),
    ("baseline_template", apex_x_gate::run_template),
    ("fused_pack_op_unpack", tiles::run_fused),
    ("fusion_gate", fusion::run),
    ("infer", infer::run),
    ("ordering", ordering::run),
    ("perf_compare", apex_x_gate::run_compare),
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

impl GoldenCase {
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseTally {
    /// Cases that gave what was expected, in every form of their kernel.
    pub passed: usize,
    /// Cases that did not, or that this build cannot read.
    pub failed: usize,
}

impl fmt::Display for CaseTally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every family is built. Whoever reads the line expects the word.
        write!(formatter, "{} passed, {} failed, 0 skipped", self.passed, self.failed)
    }
}

#[derive(Default)]
struct Family {
    tally: CaseTally,
    failures: Vec<String>,
}

/// Runs every golden case below the folders and writes one line a family, each failure by name, and last the tally,
/// `N passed, M failed, 0 skipped`, which counts cases. A failed case is not an error: the caller decides by the tally.
///
/// # Errors
/// A folder that does not exist or holds no golden case, a file that cannot be read or whose JSON is broken, and an
/// `out` that cannot be written. Nothing is run then.
pub fn run(folders: &[PathBuf], out: &mut dyn Write) -> Result<CaseTally, ConformanceError> {
    let mut result = Vec::new();
    for path in folders {
        result.extend(folder::find(path)?);
    }
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for case in &result {
        let family = families.entry(&case.family).or_default();
        match case.run() {
            Ok(()) => family.tally.passed += 1,
            Err(error) => {
                family.tally.failed += 1;
                let file = case.file.display();
                family.failures.push(format!("  FAILED {}/{} ({file}): {error}", case.family, case.name));
            }
        }
    }
    let mut total = CaseTally::default();
    for (name, family) in &families {
        writeln!(out, "{name}: {}", family.tally)?;
        for failure in &family.failures {
            writeln!(out, "{failure}")?;
        }
        total.passed += family.tally.passed;
        total.failed += family.tally.failed;
    }
    writeln!(out, "{total}")?;
    Ok(total)
}
