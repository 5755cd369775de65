//! The metrics of a run: all of the newest run, of an older one those that moved most.

use super::cell;
use crate::catalog::Catalog;
use crate::number::{self, count, counted};
use crate::sheet::{Rows, Section};
use sprag_base::stats::describe;
use sprag_model::run::Run;
use sprag_model::sample::{Estimate, Measurement};
use sprag_model::series::Series;
use sprag_model::trend::PooledPoint;
use sprag_model::unit::Scale;

/// How many metrics a page lists of the newest run, so that it stays below a megabyte, and of another one.
const NEWEST_ROWS: usize = 1000;
const ROWS: usize = 20;

/// How many points before a run it is compared with.
const BEFORE: usize = 8;

type Metric<'r> = (&'r Measurement, &'r Estimate);

/// The metrics, with a sentence on what all rows have in common. Of an older run with many, those that moved most.
pub(super) fn section(catalog: &Catalog<'_>, run: &Run, is_newest: bool) -> Section {
    let estimates = run.measurements.iter().map(|one| one.estimates.iter().map(move |estimate| (one, estimate)));
    let all: Vec<Metric<'_>> = estimates.flatten().collect();
    let (shown, rest) = match all.len().saturating_sub(NEWEST_ROWS) {
        _ if !is_newest && all.len() > ROWS => farthest(catalog, run, all),
        0 => (all, String::new()),
        more => {
            let rest = format!("{} more metrics are only in the record.", count(more));
            (all.into_iter().take(NEWEST_ROWS).collect(), rest)
        }
    };
    let any = |is: &dyn Fn(&Estimate) -> bool| shown.iter().any(|(_, one)| is(one));
    let has_median = any(&|one| one.p50.is_some_and(|median| median != one.value));
    let has_percentile = any(&|one| one.p95.is_some());
    let counts = |one: &Estimate| (samples(one), one.workers.len());
    let common = shown.first().map(|(_, one)| counts(one)).filter(|common| !any(&|one| counts(one) != *common));
    let note = match common {
        Some((samples, processes)) => format!(
            "Each row has {} of {}.",
            counted(samples, "sample", "samples"),
            counted(processes, "process", "processes")
        ),
        None => String::new(),
    };
    let (auxiliary, kernels): (Vec<Metric<'_>>, Vec<Metric<'_>>) =
        shown.into_iter().partition(|(of, _)| of.is_auxiliary());
    let metric_of = |(_, one): &Metric<'_>| (one.metric.clone(), Some(one.value));
    let groups = cell::by_metric(kernels, metric_of, cell::metric_words).into_iter().chain(cell::by_metric(
        auxiliary,
        metric_of,
        cell::auxiliary_words,
    ));
    let value = |scale: Scale, value: Option<f64>| cell::or_none(value, |value| number::value(scale, value));
    let mut rows = Rows::grouped("Metrics of this run", groups)
        .column("Benchmark", "full", |(_, (of, one)): &(Scale, Metric<'_>)| {
            cell::series_link(catalog, &series_id(run, of, one), &of.benchmark.id())
        })
        .column("Value", "n", |(scale, (_, one))| number::value(*scale, one.value))
        .column("95\u{202f}% interval", "n ci push", |(scale, (_, one))| {
            cell::or_none(one.interval, |interval| number::interval(*scale, interval))
        });
    if has_median {
        rows = rows.column("All samples, median", "n opt2", |(scale, (_, one))| value(*scale, one.p50));
    }
    if has_percentile {
        rows = rows.column("95th percentile", "n opt2", |(scale, (_, one))| value(*scale, one.p95));
    }
    if common.is_none() {
        rows = rows.column("Processes", "n opt2", |(_, (_, one))| count(one.workers.len())).column(
            "Samples",
            "n opt2",
            |(_, (_, one))| count(samples(one)),
        );
    }
    rows.section("benchmarks", "Benchmarks", [note, rest].join(" ").trim(), "")
}

fn samples(estimate: &Estimate) -> usize {
    usize::try_from(estimate.n).unwrap_or(usize::MAX)
}

fn series_id(run: &Run, of: &Measurement, estimate: &Estimate) -> String {
    Series::id_of(&of.benchmark.id(), of.benchmark.version, &estimate.metric.name, &run.machine.id)
}

/// The metrics that are farthest from the points before, in the order of the suite; and a sentence on that.
fn farthest<'a>(catalog: &Catalog<'_>, run: &Run, all: Vec<Metric<'a>>) -> (Vec<Metric<'a>>, String) {
    let far =
        |(place, (of, estimate)): (usize, &Metric<'_>)| (distance(catalog, run, of, estimate).unwrap_or(0.0), place);
    let mut ranked: Vec<(f64, usize)> = all.iter().enumerate().map(far).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut places: Vec<usize> = ranked.into_iter().take(ROWS).map(|(_, place)| place).collect();
    places.sort_unstable();
    let words = format!(
        "The {ROWS} of {} farthest from the median of up to {BEFORE} points before. The others are on the pages of their series, \
         and in the comparison of its commit.",
        count(all.len())
    );
    (places.into_iter().map(|place| all[place]).collect(), words)
}

/// How far a value is from the median of the points before in its environment, as a logarithm; none without such a point.
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
    fn what_is_far_from_the_points_before_is_listed() {
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
        assert!(words.starts_with("The 20 of 200 farthest"), "{words}");
    }
}
