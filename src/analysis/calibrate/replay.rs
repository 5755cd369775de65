//! The visits of series judged one after another, as a check would have judged them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::visits::{self, Between, Source, Stay, Visit};
use crate::reference::{self, Ground, MetricHistory};
use crate::{compare, family, rules, session_noise};
use sprag_model::calibration::{Base, Tally};
use sprag_model::evidence::Decision;
use sprag_model::{BaselineMetric, Point, Policy, Rule, TwoSides, Verdict};

#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub name: String,
    /// By which rule it judges which metric.
    pub policy: Policy,
}

pub(super) struct Judged {
    between: Between,
    verdict: Verdict,
    p_value: Option<f64>,
    /// Whether chance among many can put it in doubt.
    by_interval: bool,
}

/// What came of a rule and kind of base.
#[derive(Clone, Copy, Default)]
pub(super) struct Replayed {
    pub(super) reruns: Tally,
    pub(super) neighbours: Tally,
    pub(super) checks: Tally,
}

/// The verdicts of a candidate on the visits of one series, by the run that a check would have named.
pub(super) fn judge<'s>(source: &Source<'s>, base: Base, candidate: &Candidate) -> Vec<(&'s str, Judged)> {
    judge_some(source, base, &candidate.policy, |visits| visits.iter().collect())
}

/// Likewise by a policy, of the visits of each environment that are asked for.
pub(super) fn judge_some<'s>(
    source: &Source<'s>,
    base: Base,
    policy: &Policy,
    asked: impl Fn(&[Visit]) -> Vec<&Visit>,
) -> Vec<(&'s str, Judged)> {
    let mut result = Vec::new();
    for stay in &source.stays {
        for visit in asked(&stay.visits).into_iter().filter(|visit| visit.first > 0) {
            let Some(entry) = entry(source, stay, visit.first, base, policy) else { continue };
            let runs = &stay.points[visit.first..visit.end];
            let newest = runs[runs.len() - 1];
            // The run that is judged comes first.
            let mut values = visits::values(runs);
            values.reverse();
            let evidence = compare::evidence(&entry, &source.series.metric, &values, newest.interval);
            let judged = judged(&entry.rule, &evidence, visit.between);
            result.push((&*newest.run, judged));
        }
    }
    result
}

fn judged(rule: &Rule, evidence: &TwoSides, between: Between) -> Judged {
    let Decision { verdict, p_value, .. } = rules::decide(rule, evidence);
    Judged { between, verdict, p_value, by_interval: matches!(rule, Rule::Interval { .. }) }
}

/// What a check would hold the visit against that begins with the run at `first`.
fn entry(source: &Source<'_>, stay: &Stay<'_>, first: usize, base: Base, policy: &Policy) -> Option<BaselineMetric> {
    let past = sessions_before(&stay.points[..first]);
    let newest = past.last()?;
    let values: Vec<(DateTime<Utc>, f64)> = visits::values(past);
    let history = MetricHistory {
        metric: &source.series.metric,
        interval: newest.interval,
        spread: None,
        own: &values[values.len() - 1..],
        past: &values,
    };
    Some(reference::entry(&source.key, &history, level(base), policy))
}

/// Whose level is the base. In both cases the sessions before give the noise of the metric.
pub(super) fn level(base: Base) -> Ground {
    match base {
        Base::Run => Ground::Own,
        Base::History => Ground::Joined,
    }
}

/// The runs of as many sessions as a check uses.
fn sessions_before<'p, 's>(points: &'p [&'s Point]) -> &'p [&'s Point] {
    let mut sessions = 0;
    let mut from = points.len();
    while from > 0 {
        let begins = points.get(from).is_none_or(|next| next.time - points[from - 1].time >= session_noise::SESSION);
        sessions += usize::from(begins);
        if sessions > session_noise::MOST_SESSIONS {
            break;
        }
        from -= 1;
    }
    &points[from..]
}

/// Counts the verdicts on the series of one suite on one machine: chance among all metrics of a run first, as a check does.
pub(super) fn count(judged: Vec<(&str, Judged)>) -> Replayed {
    let mut runs: BTreeMap<&str, Vec<Judged>> = BTreeMap::new();
    for (run, one) in judged {
        runs.entry(run).or_default().push(one);
    }
    let mut replayed = Replayed::default();
    for metrics in runs.values_mut() {
        let verdicts: Vec<(&Verdict, Option<f64>)> = metrics.iter().map(|one| (&one.verdict, one.p_value)).collect();
        for (place, _) in family::by_chance_of(&verdicts) {
            if metrics[place].by_interval {
                metrics[place].verdict = Verdict::Inconclusive(String::new());
            }
        }
        let mut check = Tally::default();
        for one in metrics.iter() {
            let tally = match one.between {
                Between::Rerun => &mut replayed.reruns,
                Between::Neighbour => &mut replayed.neighbours,
                Between::Nothing | Between::Step | Between::Unknown => continue,
            };
            let verdict = tally_of(&one.verdict);
            *tally = tally.plus(verdict);
            check = check.plus(verdict);
        }
        if check.judged > 0 {
            // A check fails for one metric, and is in doubt for one.
            let has = |count: usize| usize::from(count > 0);
            let regressed = has(check.regressed);
            replayed.checks = replayed.checks.plus(Tally {
                judged: 1,
                regressed,
                improved: has(check.improved),
                inconclusive: has(check.inconclusive) * (1 - regressed),
                share: None,
            });
        }
    }
    replayed
}

pub(super) fn tally_of(verdict: &Verdict) -> Tally {
    let is = |wanted: bool| usize::from(wanted);
    let doubt = !matches!(verdict, Verdict::Regressed | Verdict::Improved | Verdict::Unchanged);
    Tally {
        judged: 1,
        regressed: is(*verdict == Verdict::Regressed),
        improved: is(*verdict == Verdict::Improved),
        inconclusive: is(doubt),
        share: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::visits::source;
    use crate::example::daily;
    use sprag_model::Choice;

    #[test]
    fn one_run_gives_the_level_and_the_past_the_noise() {
        let levels: Vec<(u32, f64)> = [1.0, 1.02, 0.98, 1.01, 1.04].iter().map(|level| (1, *level)).collect();
        let series = daily("x", &levels);
        let source = source(&series);
        let policy = Policy { exceptions: Vec::new(), default: Choice::Learnt };
        let of = |base: Base| entry(&source, &source.stays[0], 4, base, &policy).expect("there is a past");
        let (run, history) = (of(Base::Run), of(Base::History));
        assert_eq!((run.value, run.sessions, history.sessions), (1.01, 1, 4));
        assert_eq!(run.session_noise, history.session_noise);
        assert!(run.session_noise.is_some_and(|one| one.sessions == 4), "{run:?}");
    }

    #[test]
    fn chance_among_many_is_taken_out_and_a_check_is_wrong_once() {
        let one = |verdict: Verdict, p: f64, between: Between| Judged {
            between,
            verdict,
            p_value: Some(p),
            by_interval: true,
        };
        let quiet = || one(Verdict::Unchanged, 0.4, Between::Rerun);
        let mut judged: Vec<(&str, Judged)> = (0..9).map(|_| ("a", quiet())).collect();
        // One of ten at 0.9 % is chance; two of five at 0.1 % are not.
        judged.push(("a", one(Verdict::Regressed, 0.009, Between::Rerun)));
        judged.extend((0..3).map(|_| ("b", quiet())));
        judged.extend((0..2).map(|_| ("b", one(Verdict::Regressed, 0.001, Between::Neighbour))));
        judged.push(("c", one(Verdict::Regressed, 0.001, Between::Step)));
        let result = count(judged);
        let counts = |tally: Tally| (tally.judged, tally.regressed, tally.inconclusive);
        assert_eq!(counts(result.reruns), (13, 0, 1));
        assert_eq!(counts(result.neighbours), (2, 2, 0));
        assert_eq!(counts(result.checks), (2, 1, 1));
    }
}
