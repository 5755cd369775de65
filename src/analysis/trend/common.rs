//! The noise that all series of a run have in common, as where other tenants of a machine slowed all of its benchmarks.
//!
//! How far a point is off the level of its series is compared over all series of its run: the median is what the run has in
//! common. That course over the runs is searched for changes like a series. What lasts in it may be the work of a
//! commit and stays; the rest is noise, and is taken out of the values of each series of which it makes up a part.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::axis::Pooled;
use super::memo::Memo;
use crate::changes::detect::changes;
use crate::changes::newest;
use crate::changes::sensitivity::Sensitivity;
use sprag_base::digest;
use sprag_base::stats::describe;
use sprag_model::{Better, Changes, Series};

/// The fewest series that show what a run has in common.
const FEWEST_SERIES: usize = 8;

/// The most that it takes to show that, so that it costs no more in a history of many: those whose ids have the lowest digests.
const MOST_SERIES: usize = 256;

/// The share of the noise of a series that is left at most where something is taken out.
const LEFT: f64 = 0.75;

/// The noise of each run by metric, in logarithms, where less is better.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct CommonNoise {
    runs: BTreeMap<String, RunNoise>,
    /// What the search for it detected in the values of each series as measured, by id. Without it they are searched again.
    #[serde(skip)]
    detected: BTreeMap<String, Changes>,
}

/// By the id of the run.
pub(super) type RunNoise = BTreeMap<String, f64>;

/// The series of a metric of a suite on a machine, with their points.
type OfSuite<'a> = Vec<(&'a Series, &'a Pooled)>;

impl CommonNoise {
    pub(super) fn estimate<'a>(
        all: impl Iterator<Item = (&'a Series, &'a Pooled)>,
        cached: &Memo<RunNoise>,
    ) -> CommonNoise {
        let mut suites: BTreeMap<(&str, &str, &str), OfSuite<'a>> = BTreeMap::new();
        for (series, pooled) in all.filter(|(series, pooled)| !series.is_auxiliary() && is_positive(pooled)) {
            let metric = series.metric.name.as_str();
            suites.entry((metric, &series.machine, &series.suite)).or_default().push((series, pooled));
        }
        let mut noise = CommonNoise::default();
        for ((metric, ..), mut of_suite) in suites.into_iter().filter(|(_, of_suite)| of_suite.len() >= FEWEST_SERIES) {
            if of_suite.len() > MOST_SERIES {
                of_suite.sort_by_cached_key(|(series, _)| digest::sha256_hex(series.id.as_bytes()));
                of_suite.truncate(MOST_SERIES);
            }
            let points = |pooled: &'a Pooled| -> Vec<(usize, &Arc<str>, u64)> {
                pooled.points.iter().map(|point| (point.place, &point.run, point.value.to_bits())).collect()
            };
            let input: Vec<_> = of_suite.iter().map(|(series, pooled)| (sign(series) > 0.0, points(pooled))).collect();
            let mut detected = Vec::new();
            let runs = cached.get(&input, || {
                detected =
                    of_suite.par_iter().map(|(_, pooled)| changes(&values(pooled), &Sensitivity::BALANCED)).collect();
                self::of_suite(&of_suite, &detected)
            });
            // In a few series of many it lowers the noise by chance.
            let is_quieter = |(series, pooled): &&(&Series, &Pooled)| without(&runs, series, pooled).is_some();
            if 2 * of_suite.iter().filter(is_quieter).count() >= of_suite.len() {
                noise.runs.entry(metric.to_owned()).or_default().extend(runs);
            }
            noise.detected.extend(of_suite.iter().map(|(series, _)| series.id.clone()).zip(detected));
        }
        noise
    }

    /// The values of a series without it, and the deviation of neighbours with it; nothing where that lowers it too little.
    pub(super) fn taken_out(&self, series: &Series, pooled: &Pooled) -> Option<(Vec<f64>, f64)> {
        let runs = self.runs.get(&series.metric.name).filter(|_| !series.is_auxiliary() && is_positive(pooled))?;
        without(runs, series, pooled)
    }

    /// What [`changes`] detects in the values of a series as measured, if that is known.
    pub(super) fn detected(&self, series: &Series) -> Option<&Changes> {
        self.detected.get(&series.id)
    }
}

fn values(pooled: &Pooled) -> Vec<f64> {
    pooled.points.iter().map(|point| point.value).collect()
}

fn without(runs: &RunNoise, series: &Series, pooled: &Pooled) -> Option<(Vec<f64>, f64)> {
    let raw = logarithms(pooled);
    let common = |run: &str| sign(series) * runs.get(run).copied().unwrap_or_default();
    let left: Vec<f64> = pooled.points.iter().zip(&raw).map(|(point, value)| value - common(&point.run)).collect();
    let (before, after) = (deviation(&raw)?, deviation(&left)?);
    (after < LEFT * before).then(|| (left.into_iter().map(f64::exp).collect(), before))
}

fn is_positive(pooled: &Pooled) -> bool {
    pooled.points.iter().all(|point| point.value > 0.0)
}

fn logarithms(pooled: &Pooled) -> Vec<f64> {
    pooled.points.iter().map(|point| point.value.ln()).collect()
}

fn sign(series: &Series) -> f64 {
    if series.metric.better == Better::Higher { -1.0 } else { 1.0 }
}

/// The deviation of a point by the differences of neighbours.
fn deviation(values: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Some(describe::scaled_median_deviation(&differences)? / 2.0_f64.sqrt())
}

/// The noise of each run of a suite on a machine, given what is detected in each series.
fn of_suite(all: &[(&Series, &Pooled)], detected: &[Changes]) -> RunNoise {
    let mut runs: BTreeMap<(usize, &Arc<str>), Vec<f64>> = BTreeMap::new();
    for ((series, pooled), detected) in all.iter().zip(detected) {
        for (point, off) in pooled.points.iter().zip(off_levels(&values(pooled), detected)) {
            runs.entry((point.place, &point.run)).or_default().push(sign(series) * off);
        }
    }
    let common = runs.into_iter().filter(|(_, off)| off.len() >= FEWEST_SERIES);
    let course: Vec<(&Arc<str>, f64)> =
        common.map(|((_, run), off)| (run, describe::median(&off).unwrap_or_default().exp())).collect();
    let values: Vec<f64> = course.iter().map(|one| one.1).collect();
    let detected = changes(&values, &Sensitivity::BALANCED);
    let off = off_levels(&values, &detected);
    // The newest runs may be the first of a new level.
    let apart =
        newest::apart(&values, &detected, &Sensitivity::BALANCED, |values| changes(values, &Sensitivity::BALANCED));
    let settled = apart.map_or(values.len(), |apart| apart.begin);
    course.into_iter().zip(off).take(settled).map(|((run, _), off)| (run.to_string(), off)).collect()
}

/// How far each value is off its level, in logarithms.
fn off_levels(values: &[f64], detected: &Changes) -> Vec<f64> {
    let level = |place: usize| detected.levels.get(detected.points.partition_point(|point| point.index <= place));
    let off = |(place, value): (usize, &f64)| level(place).map_or(0.0, |level| (value / level.value).ln());
    values.iter().enumerate().map(off).collect()
}

#[cfg(test)]
mod tests {
    use crate::trend::analyse::analyse;
    use crate::trend::example::{analysis, input, noisy};
    use sprag_base::stats::random::SplitMix64;

    /// Twelve series with noise of 1 %, whose runs have noise of 4 % in common, and what is found of them.
    fn detected(differ: impl Fn(usize, usize) -> f64) -> Vec<(usize, Option<f64>, f64)> {
        let mut random = SplitMix64::new(3);
        let common: Vec<f64> = (0..120).map(|_| 1.0 + 0.04 * random.normal()).collect();
        let of = |number: usize| {
            let mut one = noisy(&format!("s{number}"), 120, 1, &[], number as u64);
            for (place, point) in one.points.iter_mut().enumerate() {
                point.value *= common[place] * differ(number, place);
            }
            one
        };
        let trend = analyse(input(&analysis((0..12).map(of).collect()))).trend;
        let noise = |one: &sprag_model::trend::SeriesTrend| one.noise.map_or(0.0, |noise| noise.deviation);
        trend.series.iter().map(|one| (one.changes.points.len(), one.raw_noise, noise(one))).collect()
    }

    #[test]
    fn what_all_series_of_a_run_have_in_common_is_taken_out() {
        let all = detected(|number, place| if number == 4 && place >= 70 { 1.04 } else { 1.0 });
        for (number, (changes, raw, noise)) in all.into_iter().enumerate() {
            assert!(raw.is_some_and(|raw| raw > 0.03) && noise < 0.015, "{number}: {raw:?} to {noise}");
            assert_eq!(changes, usize::from(number == 4), "{number}");
        }
    }

    #[test]
    fn what_lasts_is_no_noise_though_all_series_have_it() {
        assert!(detected(|_, place| if place >= 60 { 1.2 } else { 1.0 }).iter().all(|one| one.0 == 1));
        // The newest runs may be the first of a new level.
        assert!(detected(|_, place| if place >= 114 { 1.3 } else { 1.0 }).iter().all(|one| one.0 == 1));
    }
}
