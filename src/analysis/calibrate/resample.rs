//! Sessions with a known truth, drawn from what a series moved by while nothing changed.
//!
//! The residuals of a series are drawn with replacement, eight for the sessions before and one for the session that is
//! judged, which may be made slower by a known share (Efron, "Bootstrap methods: another look at the jackknife", Annals of
//! Statistics 7, 1979). Each metric is judged alone: among many, a lone change must stand out further.

use chrono::{DateTime, TimeDelta, Utc};

use super::replay::{Candidate, level, tally_of};
use super::visits::Source;
use crate::reference::{self, MetricHistory};
use crate::{compare, rules, session_noise};
use sprag_base::stats::random::SplitMix64;
use sprag_model::Better;
use sprag_model::calibration::{Base, Tally};

pub(super) const CHANGES: [f64; 4] = [0.0, 0.02, 0.05, 0.1];

/// How many sessions a series needs: with fewer, drawing them again and again says more than they know.
pub(super) const NEEDED: usize = session_noise::MOST_SESSIONS;

/// Judges so many drawn sessions of a series for every change.
pub(super) fn judge(
    source: &Source<'_>,
    base: Base,
    candidate: &Candidate,
    trials: usize,
    seed: u64,
) -> [Tally; CHANGES.len()] {
    let mut tallies = [Tally::default(); CHANGES.len()];
    let mut random = SplitMix64::new(seed);
    let newest = source.series.newest();
    // How sure a run is of itself belongs to what is known of it.
    let spread = newest.and_then(|point| Some((point.value, point.interval?)));
    let interval = |value: f64| spread.map(|(was, (low, high))| (value * low / was, value * high / was));
    let day = |number: usize| DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(number as i64);
    for _ in 0..trials {
        let mut draw = || source.residuals[random.below(source.residuals.len())].exp();
        let past: Vec<(DateTime<Utc>, f64)> =
            (0..session_noise::MOST_SESSIONS).map(|number| (day(number), draw())).collect();
        let drawn = draw();
        let own = &past[past.len() - 1..];
        let history = MetricHistory {
            metric: &source.series.metric,
            interval: interval(own[0].1),
            spread: None,
            own,
            past: &past,
        };
        let entry = reference::entry(&source.key, &history, level(base), &candidate.policy);
        for (tally, change) in tallies.iter_mut().zip(CHANGES) {
            let value = match source.series.metric.better {
                Better::Lower => drawn * (1.0 + change),
                Better::Higher => drawn / (1.0 + change),
            };
            let values = [(day(past.len()), value)];
            let evidence = compare::evidence(&entry, &source.series.metric, &values, interval(value));
            *tally = tally.plus(tally_of(&rules::decide(&entry.rule, &evidence).verdict));
        }
    }
    tallies
}
