//! The tables of a run's page: metrics, checks against the reference, failures.

use super::cell::{self, MetricRows};
use crate::model::benchmark::Attributes;
use crate::model::metric::Metric;
use crate::model::run::Run;
use crate::model::sample::{Estimate, Measurement};
use crate::model::series::Series;
use crate::model::unit::Scale;
use crate::report::catalog::{Catalog, short_benchmark};
use crate::report::mark::{Mark, Tone};
use crate::report::number;

/// The rows of metrics that a page shows, so that it stays below a megabyte.
const METRIC_ROWS: usize = 1000;

/// The rows of checks that a page shows.
const PARITY_ROWS: usize = 500;

/// Estimates that share a metric and a prefix.
pub(super) struct MetricGroup {
    /// The metric and its unit.
    pub(super) heading: String,
    /// How many rows it has.
    pub(super) count: String,
    /// The rows, in the order of the suite.
    pub(super) rows: Vec<MetricRow>,
}

/// One estimate.
pub(super) struct MetricRow {
    /// The benchmark.
    pub(super) benchmark: String,
    /// The page of its series, or nothing.
    pub(super) page: String,
    /// The tracked value.
    pub(super) value: String,
    /// Its interval.
    pub(super) interval: String,
    /// The median of all samples.
    pub(super) p50: String,
    /// The 95th percentile.
    pub(super) p95: String,
    /// How many worker processes.
    pub(super) workers: String,
    /// How many samples.
    pub(super) samples: String,
}

/// One check against the reference.
pub(super) struct ParityRow {
    /// The benchmark.
    pub(super) benchmark: String,
    /// What the check found.
    pub(super) mark: Mark,
    /// The largest difference.
    pub(super) error: String,
    /// The largest difference allowed.
    pub(super) tolerance: String,
    /// How it ran, beyond its identity.
    pub(super) attributes: String,
}

/// The metrics of a run, and what is left out.
pub(super) fn metrics(catalog: &Catalog<'_>, run: &Run) -> (Vec<MetricGroup>, String) {
    let all: Vec<(&Measurement, &Estimate)> = run
        .measurements
        .iter()
        .flat_map(|measurement| measurement.estimates.iter().map(move |estimate| (measurement, estimate)))
        .collect();
    let rest = rest(all.len(), METRIC_ROWS, "metrics are only in the record");
    let shown: Vec<(&Measurement, &Estimate)> = all.into_iter().take(METRIC_ROWS).collect();
    let (beside, kernels): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(of, _)| of.is_beside());
    let mut groups = Vec::new();
    for (part, words) in [(kernels, cell::metric_words as fn(&Metric, Scale) -> String), (beside, cell::beside_words)] {
        let by_metric = cell::by_metric(part, |(_, estimate)| (estimate.metric.clone(), Some(estimate.value)));
        groups.extend(by_metric.into_iter().map(|MetricRows { metric, scale, rows }| MetricGroup {
            heading: words(&metric, scale),
            count: number::count(rows.len()),
            rows: rows.into_iter().map(|(of, estimate)| metric_row(catalog, run, of, estimate, scale)).collect(),
        }));
    }
    (groups, rest)
}

/// The checks of a run, wrong ones first, and what is left out.
pub(super) fn parity(run: &Run) -> (Vec<ParityRow>, String) {
    let number = |value: Option<f64>| value.map_or(number::NONE.to_owned(), number::rough);
    let mut rows: Vec<ParityRow> = run
        .measurements
        .iter()
        .map(|measurement| ParityRow {
            benchmark: short_benchmark(&measurement.benchmark.id()).to_owned(),
            mark: Mark::of_parity(&measurement.parity),
            error: number(measurement.parity.max_abs_error),
            tolerance: number(measurement.parity.tolerance),
            attributes: attributes(&measurement.attributes),
        })
        .collect();
    rows.sort_by_key(|row| row.mark.tone != Tone::Worse);
    let rest = rest(rows.len(), PARITY_ROWS, "checks are only in the record");
    rows.truncate(PARITY_ROWS);
    (rows, rest)
}

/// The benchmarks of a run that failed, with the reason.
pub(super) fn failures(run: &Run) -> Vec<(String, String)> {
    run.measurements
        .iter()
        .filter_map(|measurement| {
            let reason = measurement.failure.clone()?;
            Some((short_benchmark(&measurement.benchmark.id()).to_owned(), reason))
        })
        .take(PARITY_ROWS)
        .collect()
}

fn metric_row(catalog: &Catalog<'_>, run: &Run, of: &Measurement, estimate: &Estimate, scale: Scale) -> MetricRow {
    let benchmark = of.benchmark.id();
    let id = Series::id_of(&benchmark, of.benchmark.version, &estimate.metric.name, &run.machine.id);
    let value = |value: Option<f64>| value.map_or(number::NONE.to_owned(), |value| number::value(scale, value));
    MetricRow {
        benchmark: short_benchmark(&benchmark).to_owned(),
        page: catalog.series_page(&id).unwrap_or_default(),
        value: value(Some(estimate.value)),
        interval: estimate.interval.map_or(number::NONE.to_owned(), |(low, high)| {
            format!("{} to {}", number::value(scale, low), number::value(scale, high))
        }),
        p50: value(estimate.p50),
        p95: value(estimate.p95),
        workers: number::count(estimate.workers.len()),
        samples: number::count(usize::try_from(estimate.n).unwrap_or(usize::MAX)),
    }
}

fn attributes(attributes: &Attributes) -> String {
    let list: Vec<String> = attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    list.join(", ")
}

fn rest(all: usize, shown: usize, words: &str) -> String {
    if all > shown { format!("{} more {words}.", number::count(all - shown)) } else { String::new() }
}
