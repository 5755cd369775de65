//! The tables of a run's page: metrics, checks against the reference, failures.

use super::cell::{self, MetricRows};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number;
use crate::text::short_benchmark;
use sprag_base::stats::describe;
use sprag_model::benchmark::{Attributes, ParityStatus};
use sprag_model::metric::Metric;
use sprag_model::run::Run;
use sprag_model::sample::{Estimate, Measurement};
use sprag_model::series::Series;
use sprag_model::trend::PooledPoint;
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
    let (shown, rest) = if is_newest || all.len() <= ROWS {
        let rest = rest(all.len(), METRIC_ROWS, "metrics are only in the record");
        (all.into_iter().take(METRIC_ROWS).collect(), rest)
    } else {
        farthest(catalog, run, all)
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
    let (beside, kernels): (Vec<_>, Vec<_>) = shown.into_iter().partition(|(of, _)| of.is_auxiliary());
    let mut groups = Vec::new();
    for (part, words) in
        [(kernels, cell::metric_words as fn(&Metric, Scale) -> String), (beside, cell::auxiliary_words)]
    {
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

/// How many metrics a page lists of a run that is not the newest.
pub(super) const ROWS: usize = 20;

/// How many points before a run it is held against.
const BEFORE: usize = 8;

/// The metrics that lie farthest from the points before, in the order of the suite; and a sentence on that.
pub(super) fn farthest<'a>(
    catalog: &Catalog<'_>,
    run: &Run,
    all: Vec<(&'a Measurement, &'a Estimate)>,
) -> (Vec<(&'a Measurement, &'a Estimate)>, String) {
    let count = number::count(all.len());
    let mut ranked: Vec<(f64, usize)> = all
        .iter()
        .enumerate()
        .map(|(place, (of, estimate))| (distance(catalog, run, of, estimate).unwrap_or(0.0), place))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut remaining: Vec<usize> = ranked.into_iter().take(ROWS).map(|(_, place)| place).collect();
    remaining.sort_unstable();
    let words = format!(
        "Listed are the {ROWS} of {count} that lie farthest from the median of up to {BEFORE} points before; the others stand on \
         the pages of their series, and where its commit is compared."
    );
    (remaining.into_iter().map(|place| all[place]).collect(), words)
}

/// How far a value lies from the median of the points before in its environment, as a logarithm; none without such a point.
fn distance(catalog: &Catalog<'_>, run: &Run, of: &Measurement, estimate: &Estimate) -> Option<f64> {
    let commit = &run.commit.as_ref()?.sha;
    let pooled = &catalog.series_trend(&series_id(run, of, estimate))?.pooled;
    let own = pooled.iter().rposition(|point| *point.commit == **commit)?;
    let is_alike = |point: &&PooledPoint| *point.environment_key == *run.environment.key && *point.commit != **commit;
    let before: Vec<f64> = pooled[..own].iter().rev().filter(is_alike).take(BEFORE).map(|point| point.value).collect();
    let ratio = estimate.value / describe::median(&before)?;
    Some(ratio.ln().abs()).filter(|distance| distance.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn what_lies_far_from_the_points_before_is_listed() {
        let mut sample = sample_data::rich();
        let recorded = sample
            .runs
            .iter()
            .rev()
            .find(|run| run.run.commit.is_some() && !run.run.measurements.is_empty())
            .expect("one measured something");
        let mut run = recorded.run.clone();
        let (measurement, estimate) = (run.measurements[0].clone(), run.measurements[0].estimates[0].clone());
        run.measurements = vec![measurement; 200];
        let id = series_id(&run, &run.measurements[0], &estimate);
        let commit = run.commit.clone().expect("it has one").sha;
        let one = &mut sample.trend.series[0];
        one.series = id;
        let key = run.environment.key.as_str();
        let of = |sha: &str, value: f64| {
            let point = PooledPoint { value, ..one.pooled[0].clone() };
            point.of_run(|run| (run.commit, run.environment_key) = (sha.into(), key.into()))
        };
        one.pooled = [of("a", 1.0), of("b", 2.0), of("c", 2.1), of(&commit, 2.0), of("d", 9.0)].into();
        for (place, measurement) in run.measurements.iter_mut().enumerate() {
            measurement.estimates.truncate(1);
            measurement.estimates[0].value = if place % 20 == 7 { 3.0 } else { 2.0 };
        }
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let all: Vec<_> = run.measurements.iter().map(|one| (one, &one.estimates[0])).collect();
        assert_eq!(distance(&catalog, &run, all[7].0, all[7].1), Some(1.5_f64.ln()));
        let (listed, words) = farthest(&catalog, &run, all);
        let values: Vec<f64> = listed.iter().map(|(_, estimate)| estimate.value).collect();
        assert_eq!(values.iter().filter(|value| **value == 3.0).count(), 10);
        assert_eq!(values.len(), ROWS);
        assert!(words.contains("the 20 of 200 that lie farthest"), "{words}");
    }
}
