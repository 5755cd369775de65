//! The tables of a run's page: metrics, checks against the reference, failures.

use super::cell::{self, MetricRows};
use super::run_moved;
use crate::catalog::{Catalog, short_benchmark};
use crate::mark::{Mark, Tone};
use crate::number;
use sprag_model::benchmark::{Attributes, ParityStatus};
use sprag_model::metric::Metric;
use sprag_model::run::Run;
use sprag_model::sample::{Estimate, Measurement};
use sprag_model::series::Series;
use sprag_model::unit::Scale;

/// The rows of metrics that a page shows, so that it stays below a megabyte.
const METRIC_ROWS: usize = 1000;

/// The columns behind value and interval.
const MEDIAN: &str = "All samples, median";
const PERCENTILE: &str = "95th percentile";
const PROCESSES: &str = "Processes";
const SAMPLES: &str = "Samples";

/// The rows of checks that a page shows.
const PARITY_ROWS: usize = 500;

pub(super) struct Metrics {
    pub(super) groups: Vec<MetricGroup>,
    /// What stands in columns behind value and interval.
    pub(super) columns: Vec<&'static str>,
    /// What all rows have in common, and what is left out.
    pub(super) note: String,
}

/// Estimates that share a metric and a prefix.
pub(super) struct MetricGroup {
    /// The metric and its unit.
    pub(super) heading: String,
    /// How many rows it has.
    pub(super) count: String,
    /// The rows, in the order of the suite.
    pub(super) rows: Vec<MetricRow>,
}

pub(super) struct MetricRow {
    pub(super) benchmark: String,
    /// The page of its series, or nothing.
    pub(super) page: String,
    pub(super) value: String,
    pub(super) interval: String,
    /// What the columns hold.
    pub(super) more: Vec<String>,
}

/// One check against the reference.
pub(super) struct ParityRow {
    pub(super) benchmark: String,
    /// What the check found.
    pub(super) mark: Mark,
    pub(super) error: String,
    /// The largest difference allowed.
    pub(super) tolerance: String,
    /// How it ran, beyond its identity; an en dash where there is no more to say.
    pub(super) attributes: String,
}

/// The metrics of a run. What is the same in all rows is told once. Of a run that `is_newest` all are listed, else those that
/// moved most, where there are many.
pub(super) fn metrics(catalog: &Catalog<'_>, run: &Run, is_newest: bool) -> Metrics {
    let all: Vec<(&Measurement, &Estimate)> = run
        .measurements
        .iter()
        .flat_map(|measurement| measurement.estimates.iter().map(move |estimate| (measurement, estimate)))
        .collect();
    let (shown, rest) = if is_newest || all.len() <= run_moved::ROWS {
        let rest = rest(all.len(), METRIC_ROWS, "metrics are only in the record");
        (all.into_iter().take(METRIC_ROWS).collect(), rest)
    } else {
        run_moved::farthest(catalog, run, all)
    };
    let any = |is: &dyn Fn(&Estimate) -> bool| shown.iter().any(|(_, one)| is(one));
    let mut columns = Vec::new();
    columns.extend(any(&|one| one.p50.is_some_and(|median| median != one.value)).then_some(MEDIAN));
    columns.extend(any(&|one| one.p95.is_some()).then_some(PERCENTILE));
    let note = match shown.first() {
        Some((_, first)) if !any(&|one| (one.workers.len(), one.n) != (first.workers.len(), first.n)) => format!(
            "Each row has {} of {}.",
            number::counted(samples(first), "sample", "samples"),
            number::counted(first.workers.len(), "process", "processes")
        ),
        _ => {
            columns.extend([PROCESSES, SAMPLES]);
            String::new()
        }
    };
    let (beside, kernels): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(of, _)| of.is_beside());
    let mut groups = Vec::new();
    for (part, words) in [(kernels, cell::metric_words as fn(&Metric, Scale) -> String), (beside, cell::beside_words)] {
        let by_metric = cell::by_metric(part, |(_, estimate)| (estimate.metric.clone(), Some(estimate.value)));
        groups.extend(by_metric.into_iter().map(|MetricRows { metric, scale, rows }| MetricGroup {
            heading: words(&metric, scale),
            count: number::count(rows.len()),
            rows: rows.into_iter().map(|(of, one)| metric_row(catalog, run, of, one, scale, &columns)).collect(),
        }));
    }
    Metrics { groups, columns, note: [note, rest].join(" ").trim().to_owned() }
}

/// The checks of a run, wrong ones first; and a note on those of which there is no more to say than that they are bit-equal, and
/// on what is left out.
pub(super) fn parity(run: &Run) -> (Vec<ParityRow>, String) {
    let number = |value: Option<f64>| value.map_or(number::NONE.to_owned(), number::rough);
    let is_plain = |one: &&Measurement| one.parity.status == ParityStatus::Exact && one.attributes.is_empty();
    let (plain, others): (Vec<&Measurement>, Vec<&Measurement>) = run.measurements.iter().partition(is_plain);
    let mut rows: Vec<ParityRow> = others
        .into_iter()
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
    let alike = match (plain.len(), rows.len()) {
        (0, _) => String::new(),
        (1, 0) => "What was measured is bit-equal with its reference.".to_owned(),
        (plain, 0) => format!("All {} benchmarks are bit-equal with their references.", number::count(plain)),
        (1, _) => "One more is bit-equal with its reference.".to_owned(),
        (plain, _) => format!("{} more are bit-equal with their references.", number::count(plain)),
    };
    rows.truncate(PARITY_ROWS);
    (rows, [alike, rest].join(" ").trim().to_owned())
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

fn samples(estimate: &Estimate) -> usize {
    usize::try_from(estimate.n).unwrap_or(usize::MAX)
}

pub(super) fn series_id(run: &Run, of: &Measurement, estimate: &Estimate) -> String {
    Series::id_of(&of.benchmark.id(), of.benchmark.version, &estimate.metric.name, &run.machine.id)
}

fn metric_row(
    catalog: &Catalog<'_>,
    run: &Run,
    of: &Measurement,
    estimate: &Estimate,
    scale: Scale,
    columns: &[&'static str],
) -> MetricRow {
    let value = |value: Option<f64>| value.map_or(number::NONE.to_owned(), |value| number::value(scale, value));
    let figure = |column: &&str| match *column {
        MEDIAN => value(estimate.p50),
        PERCENTILE => value(estimate.p95),
        PROCESSES => number::count(estimate.workers.len()),
        _ => number::count(samples(estimate)),
    };
    MetricRow {
        benchmark: short_benchmark(&of.benchmark.id()).to_owned(),
        page: catalog.series_page(&series_id(run, of, estimate)).unwrap_or_default(),
        value: value(Some(estimate.value)),
        interval: estimate.interval.map_or(number::NONE.to_owned(), |(low, high)| {
            format!("{} to {}", number::value(scale, low), number::value(scale, high))
        }),
        more: columns.iter().map(figure).collect(),
    }
}

fn attributes(attributes: &Attributes) -> String {
    let list: Vec<String> = attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if list.is_empty() { number::NONE.to_owned() } else { list.join(", ") }
}

fn rest(all: usize, shown: usize, words: &str) -> String {
    if all > shown { format!("{} more {words}.", number::count(all - shown)) } else { String::new() }
}
