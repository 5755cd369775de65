//! What a baseline learnt from the sessions before it, in words, and what more of them would bring.

use std::collections::BTreeMap;

use super::words::percent;
use crate::commands::text;
use sprag_analysis::restless::{self, FEWEST_SESSIONS, MOST_SESSIONS};
use sprag_analysis::rules::interval;
use sprag_model::baseline::{Baseline, BaselineMetric};
use sprag_model::evidence::SessionNoise;
use sprag_model::rule::{Choice, Policy, Rule};

/// `learnt from 5 sessions: tolerances from 2 % to 7 %; as restless as now, 8 sessions allow 2 % to 5 %`; `sessions` are
/// those that hold a metric, by its key.
pub(super) fn words(baseline: &Baseline, policy: &Policy, sessions: &BTreeMap<String, usize>) -> String {
    let is_by_noise = |key: &str| policy.choice(key) == Choice::Learnt;
    let metrics: Vec<(&BaselineMetric, usize)> = baseline
        .metrics
        .iter()
        .filter(|(key, _)| is_by_noise(key))
        .map(|(key, metric)| (metric, sessions.get(key).copied().unwrap_or(1)))
        .collect();
    if metrics.is_empty() {
        return "the rules of the configuration judge it, whatever its noise".to_owned();
    }
    let seen = |reduce: fn(usize, usize) -> usize| metrics.iter().map(|(_, seen)| *seen).reduce(reduce).unwrap_or(1);
    let (fewest, most) = (seen(usize::min), seen(usize::max));
    let seen = if fewest == most { text::count(most, "session") } else { format!("{fewest} to {most} sessions") };
    let tolerances = span(metrics.iter().filter_map(|(metric, _)| match metric.rule {
        Rule::Interval { tolerance } => Some(tolerance),
        _ => None,
    }));
    let taught = |metric: &BaselineMetric| metric.restlessness.filter(|one| one.sessions > 0);
    let assumed = metrics.iter().filter(|(metric, _)| taught(metric).is_none()).count();
    if assumed == metrics.len() {
        let more = text::count(FEWEST_SESSIONS.saturating_sub(most).max(1), "more session");
        return format!(
            "{seen} of it: how much it moves from session to session is assumed, tolerances {tolerances}; with {more}, an \
             hour apart or more, it is learnt"
        );
    }
    let mut words = format!("learnt from {seen}: tolerances {tolerances}");
    if assumed > 0 {
        let metrics = text::count(assumed, "metric");
        words.push_str(&format!("; assumed of {metrics} that fewer than {FEWEST_SESSIONS} sessions hold"));
    }
    if fewest < MOST_SESSIONS {
        let with_all = |(metric, _): &(&BaselineMetric, usize)| {
            let known = SessionNoise { freedom: (MOST_SESSIONS - 1) as f64, ..taught(metric)? };
            Some(restless::tolerance(&known, MOST_SESSIONS, interval::CONFIDENCE))
        };
        let then = span(metrics.iter().filter_map(with_all));
        words.push_str(&format!("; as restless as now, {MOST_SESSIONS} sessions allow {then}"));
    }
    words
}

/// `2 %` or `from 2 % to 7 %`.
fn span(values: impl Iterator<Item = f64> + Clone) -> String {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    if low >= high { percent(high) } else { format!("from {} to {}", percent(low), percent(high)) }
}
