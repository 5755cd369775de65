//! The metrics that the page of an older run lists, where it has many: those that lie farthest from what was measured before.
//!
//! Only older points take part, so that a page stays as it is whatever is measured later. The others stand in the tables of
//! their series, and where the commit of the run is compared.

use crate::catalog::Catalog;
use crate::number;
use sprag_base::stats::describe;
use sprag_model::run::Run;
use sprag_model::sample::{Estimate, Measurement};
use sprag_model::trend::PooledPoint;

use super::run_tables::series_id;

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
    let mut kept: Vec<usize> = ranked.into_iter().take(ROWS).map(|(_, place)| place).collect();
    kept.sort_unstable();
    let words = format!(
        "Listed are the {ROWS} of {count} that lie farthest from the median of up to {BEFORE} points before; the others stand on \
         the pages of their series, and where its commit is compared."
    );
    (kept.into_iter().map(|place| all[place]).collect(), words)
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
