//! The kinds of cases: by which fields they are known, and what runs them.

use anyhow::{Result, bail};
use serde_json::Value;

use super::{functions, levels, p_values, series, two_sets, values};
use crate::cmd::conformance::case::Fields;
use crate::cmd::conformance::{rank_test, sample_gate};

/// What runs the cases of a kind.
#[derive(Clone, Copy)]
enum Runner {
    OfFields(fn(&Fields<'_>) -> Result<()>),
    OfCase(fn(&Value) -> Result<()>),
}

/// The kinds, each with fields that no other kind has all of.
const KINDS: [(&[&str], Runner); 12] = [
    (&["x", "percentile_q", "median"], Runner::OfFields(values::run)),
    (&["x", "y", "difference", "log_ratio"], Runner::OfFields(two_sets::run_hodges_lehmann)),
    (&["x", "y", "index_x", "index_y"], Runner::OfFields(two_sets::run_median_ratio)),
    (&["x", "y", "t", "df"], Runner::OfFields(two_sets::run_welch)),
    (&["x", "y", "cliffs_delta"], Runner::OfFields(two_sets::run_cliffs_delta)),
    (&["a", "b", "cost_levels"], Runner::OfFields(levels::run)),
    (&["x", "y", "slope"], Runner::OfFields(series::run_theil_sen)),
    (&["y", "s", "var_s"], Runner::OfFields(series::run_mann_kendall)),
    (&["p", "bh", "holm"], Runner::OfFields(p_values::run)),
    (&["f", "x", "y"], Runner::OfFields(functions::run)),
    (&["x", "y", "u1"], Runner::OfCase(rank_test::run)),
    (&["baseline_json", "current_json"], Runner::OfCase(sample_gate::run)),
];

/// Runs a case of whichever kind it is.
///
/// # Errors
/// A case of no kind or of several, and whatever makes the case fail.
pub(in crate::cmd::conformance) fn run(case: &Value) -> Result<()> {
    let fields = Fields::any(case, "the case")?;
    let holds = |marks: &[&str]| marks.iter().all(|mark| fields.names().any(|name| name == *mark));
    let kinds: Vec<Runner> = KINDS.iter().filter(|(marks, _)| holds(marks)).map(|(_, runner)| *runner).collect();
    match kinds[..] {
        [Runner::OfFields(run)] => run(&fields),
        [Runner::OfCase(run)] => run(case),
        [] => bail!("its fields are those of no statistic known to this build"),
        _ => bail!("its fields are those of several statistics"),
    }
}
