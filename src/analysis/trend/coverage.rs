//! Which series are judged, which are not, and why.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::outline::{Outline, SuiteState};
use super::series_changes::SeriesChanges;
use crate::changes::detect::FEWEST_POINTS;
use sprag_model::trend::Due;
use sprag_model::{Coverage, NotJudged, ReasonCount, SeriesTrend};

/// How many points of a new environment a level takes.
pub(super) const SETTLED: usize = 3;

/// What is known of the newest run of a series' suite on its machine.
pub(super) struct Tip<'a> {
    /// Whether that run has a value of it, or is of some benchmarks only.
    pub(super) is_at_tip: bool,
    /// When the series was last measured, probes left out.
    pub(super) last: DateTime<Utc>,
    /// Why its benchmark failed in it.
    pub(super) failure: Option<&'a str>,
    /// How many days old a value may be; absent where others measure whenever they do.
    pub(super) allowed: Option<i64>,
}

/// Why the newest state of a series is not judged; nothing where it is.
pub(super) fn not_judged(analysed: &SeriesChanges<'_>, tip: &Tip<'_>, now: DateTime<Utc>) -> Vec<NotJudged> {
    let Some(newest) = analysed.points.last() else { return vec![NotJudged::NoCommit] };
    let mut reasons = Vec::new();
    if analysed.environments < FEWEST_POINTS {
        reasons.push(NotJudged::TooShort { points: analysed.environments, needed: FEWEST_POINTS });
    }
    if let Some(why) = tip.failure {
        reasons.push(NotJudged::Failing { why: why.to_owned() });
    } else if !tip.is_at_tip {
        reasons.push(NotJudged::MissingAtTip { last: analysed.axis.commits[newest.place].clone() });
    }
    // By runs, not by points: a run of a branch or of a changed tree shows that someone measures.
    let days = (now - tip.last).num_days();
    if let Some(allowed) = tip.allowed.filter(|allowed| days > *allowed) {
        reasons.push(NotJudged::Stale { days, allowed });
    }
    if let Some(since) = analysed.since_border().filter(|since| *since < SETTLED) {
        reasons.push(NotJudged::EnvironmentChanged { points: since, needed: SETTLED });
    }
    reasons
}

/// The counts over the series that a gate judges.
pub(super) fn coverage(series: &[SeriesTrend]) -> Coverage {
    let judged = || series.iter().filter(|one| one.judged);
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in judged().flat_map(|one| &one.not_judged) {
        *reasons.entry(reason.word()).or_default() += 1;
    }
    let mut reasons: Vec<ReasonCount> =
        reasons.into_iter().map(|(reason, series)| ReasonCount { reason: reason.to_owned(), series }).collect();
    reasons.sort_by(|a, b| b.series.cmp(&a.series).then_with(|| a.reason.cmp(&b.reason)));
    Coverage { judged: judged().filter(|one| one.not_judged.is_empty()).count(), total: judged().count(), reasons }
}

/// Each suite on each machine against the schedule; what other tools measured is due whenever they measure.
pub(super) fn schedule(outline: &Outline, now: DateTime<Utc>) -> Vec<Due> {
    let own = outline.suites.iter().filter(|suite| !suite.imported);
    own.map(|suite| due(suite, i64::from(outline.every_days), now)).collect()
}

fn due(suite: &SuiteState, allowed: i64, now: DateTime<Utc>) -> Due {
    let days = (now - suite.last).num_days();
    Due {
        suite: suite.suite.clone(),
        machine: suite.machine.clone(),
        newest: suite.last,
        days,
        allowed,
        stale: days > allowed,
    }
}
