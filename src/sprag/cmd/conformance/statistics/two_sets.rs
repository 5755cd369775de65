//! Cases of measures of one set of values against another.

use anyhow::{Context as _, Result, ensure};

use super::recorded::{Got, compare};
use crate::cmd::conformance::case::{Fields, list};
use crate::cmd::conformance::expected::Tolerance;
use sprag_base::stats::cliffs_delta::Dominance;
use sprag_base::stats::hodges_lehmann::{self, Location};
use sprag_base::stats::{median_ratio, welch};

const LOCATION: Tolerance = Tolerance::new(0.0, 1e-12);
const MEDIAN_RATIO: Tolerance = Tolerance::new(0.0, 1e-12);
const WELCH: Tolerance = Tolerance::new(0.0, 1e-11);
/// Counts are exact in any case.
const DOMINANCE: Tolerance = Tolerance::new(1e-15, 0.0);

/// The confidence that files do not state.
const CONFIDENCE: f64 = 0.95;

fn sets(case: &Fields<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    Ok((case.numbers("x")?, case.numbers("y")?))
}

fn number(value: f64) -> Got {
    Got::Number(Some(value))
}

pub(super) fn run_hodges_lehmann(case: &Fields<'_>) -> Result<()> {
    let (x, y) = sets(case)?;
    let confidence = Fields::any(case.get("difference")?, "`difference`")?.number("confidence")?;
    let shift = hodges_lehmann::shift(&x, &y, confidence).context("there is no shift")?;
    let ratio = hodges_lehmann::ratio(&x, &y, confidence).context("there is no ratio")?;
    let difference = vec![
        ("confidence", number(confidence)),
        ("shift", number(shift.estimate)),
        ("exact", exact(&shift, &[("achieved_confidence", |exact| exact.coverage)])),
        ("normal", normal(&shift, &[("c", |normal| normal.unrounded_rank)])),
    ];
    let factor =
        vec![("ratio", number(ratio.estimate)), ("exact", exact(&ratio, &[])), ("normal", normal(&ratio, &[]))];
    let results = [("difference", Got::Fields(Some(difference))), ("log_ratio", Got::Fields(Some(factor)))];
    compare(case, &["x", "y"], &results, LOCATION)
}

/// A result of one kind of interval that not all records state.
type Extra<T> = (&'static str, fn(&T) -> f64);

fn exact(location: &Location, extras: &[Extra<hodges_lehmann::Exact>]) -> Got {
    Got::Fields(location.exact.map(|exact| {
        let extras = extras.iter().map(|(name, of)| (*name, number(of(&exact))));
        interval(exact.rank, exact.low, exact.high).into_iter().chain(extras).collect()
    }))
}

fn normal(location: &Location, extras: &[Extra<hodges_lehmann::Normal>]) -> Got {
    let normal = location.normal;
    let extras = extras.iter().map(|(name, of)| (*name, number(of(&normal))));
    Got::Fields(Some(interval(normal.rank, normal.low, normal.high).into_iter().chain(extras).collect()))
}

fn interval(rank: usize, low: f64, high: f64) -> [(&'static str, Got); 3] {
    [("k", Got::Count(rank as u64)), ("lo", number(low)), ("hi", number(high))]
}

pub(super) fn run_median_ratio(case: &Fields<'_>) -> Result<()> {
    let (x, y) = sets(case)?;
    let places = |name: &str| -> Result<Vec<Vec<usize>>> {
        let resamples = list(name, case.get(name)?)?;
        resamples
            .iter()
            .map(|places| serde_json::from_value(places.clone()).with_context(|| format!("`{name}`")))
            .collect()
    };
    let (of_x, of_y) = (places("index_x")?, places("index_y")?);
    ensure!(of_x.len() == of_y.len(), "`index_x` and `index_y` are not of the same length");
    let resamples = of_x.iter().map(Vec::as_slice).zip(of_y.iter().map(Vec::as_slice));
    let found = median_ratio::from_resamples(&x, &y, resamples, CONFIDENCE).context("there is no ratio")?;
    let results = [
        ("ratio", number(found.ratio)),
        ("ci95_percentile", Got::Numbers(vec![found.low, found.high])),
        ("boot_mean", number(found.mean)),
        ("boot_sd_ddof1", number(found.deviation)),
    ];
    compare(case, &["x", "y", "index_x", "index_y"], &results, MEDIAN_RATIO)
}

pub(super) fn run_welch(case: &Fields<'_>) -> Result<()> {
    let (x, y) = sets(case)?;
    let found = welch::test(&x, &y, CONFIDENCE).context("there is no test")?;
    let results = [
        ("t", number(found.t)),
        ("df", number(found.freedom)),
        ("p_two_sided", number(found.two_sided)),
        ("p_greater", number(found.greater)),
        ("p_less", number(found.less)),
        ("diff_mean", number(found.difference)),
        ("ci95", Got::Numbers(vec![found.low, found.high])),
    ];
    compare(case, &["x", "y"], &results, WELCH)
}

pub(super) fn run_cliffs_delta(case: &Fields<'_>) -> Result<()> {
    let (x, y) = sets(case)?;
    let found = Dominance::new(&x, &y).context("there is no delta")?;
    let results = [
        ("count_y_gt_x", Got::Count(found.above)),
        ("count_y_lt_x", Got::Count(found.below)),
        ("cliffs_delta", number(found.delta)),
        ("a12", number(found.superiority)),
        ("u_y", number(found.wins)),
        ("magnitude", Got::Text(found.magnitude().name().to_owned())),
    ];
    compare(case, &["x", "y"], &results, DOMINANCE)
}
