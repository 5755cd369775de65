//! What the rule of the gate says of the same commit measured again, for a site: the part of [`super::calibrate`] that
//! costs next to nothing.
//!
//! The heads of runs tell where a commit was measured in two sessions; series of other suites and machines are not looked
//! at. Each of the newest such sessions is held against the sessions before it in its environment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};
use rayon::prelude::*;

use super::replay::{self, Judged};
use super::visits::{self, Between, Source, Visit};
use crate::session_noise;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::baseline::Baseline;
use sprag_model::calibration::{Base, Reruns};
use sprag_model::head::RunHead;
use sprag_model::rule::Policy;
use sprag_model::run::is_filtered;

/// The sessions of each series and environment that are judged, the newest. A rate needs no more, and a history that
/// measures everything twice would else cost as much as its change points do.
const MOST: usize = 20;

/// What the rule says of the judged series of each suite and machine where a commit was measured again, in their order. A run of
/// some benchmarks alone is no session, as in [`super::calibrate`].
pub fn reruns(series: &[SeriesAnalysis], heads: &[RunHead], policy: &Policy) -> Vec<Reruns> {
    let filtered: HashSet<&str> =
        heads.iter().filter(|head| is_filtered(&head.config)).map(|head| head.id.as_str()).collect();
    let remeasured = remeasured(heads.iter().filter(|head| !filtered.contains(head.id.as_str())));
    let is_asked = |one: &&SeriesAnalysis| {
        one.judged && remeasured.contains(&(one.series.suite.as_str(), one.series.machine.as_str()))
    };
    let asked: Vec<&SeriesAnalysis> = series.iter().filter(is_asked).collect();
    let judged: Vec<Vec<(&str, Judged)>> = asked.par_iter().map(|one| judged(one, &filtered, policy)).collect();
    let mut groups: BTreeMap<(&str, &str), Vec<(&str, Judged)>> = BTreeMap::new();
    for (one, judged) in asked.iter().zip(judged) {
        groups.entry((&one.series.suite, &one.series.machine)).or_default().extend(judged);
    }
    let counted = |((suite, machine), judged): ((&str, &str), Vec<(&str, Judged)>)| Reruns {
        suite: suite.to_owned(),
        machine: machine.to_owned(),
        tally: replay::count(judged).reruns,
    };
    groups.into_iter().map(counted).filter(|one| one.tally.judged > 0).collect()
}

/// The suites and machines that measured a commit in two sessions of one environment.
fn remeasured<'h>(heads: impl Iterator<Item = &'h RunHead>) -> BTreeSet<(&'h str, &'h str)> {
    let mut spans: HashMap<[&str; 4], (DateTime<Utc>, DateTime<Utc>)> = HashMap::new();
    for head in heads {
        let Some(commit) = head.commit.as_ref().filter(|commit| !commit.dirty) else { continue };
        let place = [&*head.suite, &*head.machine.id, &*head.environment.key, &*commit.sha];
        let span = spans.entry(place).or_insert((head.timestamp, head.timestamp));
        *span = (span.0.min(head.timestamp), span.1.max(head.timestamp));
    }
    let several = spans.into_iter().filter(|(_, (first, last))| *last - *first >= session_noise::SESSION);
    several.map(|([suite, machine, ..], _)| (suite, machine)).collect()
}

fn judged<'s>(one: &'s SeriesAnalysis, filtered: &HashSet<&str>, policy: &Policy) -> Vec<(&'s str, Judged)> {
    let key = Baseline::key(&one.series.benchmark, &one.series.metric.name);
    let stays = visits::visited(&one.series, |point| !filtered.contains(&*point.run));
    let source = Source { series: &one.series, key, stays, residuals: Vec::new() };
    replay::judge_some(&source, Base::History, policy, newest)
}

fn newest(visits: &[Visit]) -> Vec<&Visit> {
    visits.iter().rev().filter(|visit| visit.between == Between::Rerun).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::calibrate::{Candidate, calibrate};
    use crate::example::{daily, recorded, run};
    use crate::trend::example::analysis;
    use sprag_model::calibration::Tally;
    use sprag_model::commit::Commit;
    use sprag_model::rule::{Choice, Rule};
    use sprag_model::series::Series;

    fn policy() -> Policy {
        Policy { exceptions: Vec::new(), default: Choice::Fixed(Rule::Tolerance { ratio: 0.05, abs: 0.0 }) }
    }

    fn heads(series: &Series) -> Vec<RunHead> {
        let like = RunHead::new(&recorded(run("cpu", "m", 1, &[])));
        let environment =
            |key: &str| sprag_model::environment::Environment { key: key.to_owned(), ..(*like.environment).clone() };
        let machine = sprag_model::environment::Machine { id: series.machine.clone(), ..(*like.machine).clone() };
        let machine = Arc::new(machine);
        let head = |point: &sprag_model::series::Point| RunHead {
            id: point.run.to_string(),
            timestamp: point.time,
            machine: Arc::clone(&machine),
            environment: Arc::new(environment(&point.environment_key)),
            commit: Some(Arc::new(Commit {
                sha: point.commit.to_string(),
                parents: Vec::new(),
                author_time: point.time,
                commit_time: point.time,
                subject: String::new(),
                branch: None,
                dirty: point.dirty,
            })),
            ..like.clone()
        };
        series.points.iter().map(head).collect()
    }

    fn tally(sessions: &[(u32, f64)]) -> Option<Tally> {
        let series = daily("x", sessions);
        let heads = heads(&series);
        let result = reruns(&analysis(vec![series.clone()]).series, &heads, &policy());
        let full = calibrate(&[&series], &[Candidate { name: "x".to_owned(), policy: policy() }], 1);
        let expected = full.rules.iter().find(|rule| rule.base == Base::History).expect("it was asked for").reruns;
        let tally = result.first().map(|one| one.tally);
        assert_eq!(tally.unwrap_or_default(), Tally { share: None, ..expected }, "as the whole replay has it");
        tally
    }

    #[test]
    fn only_reruns_of_a_commit_are_judged() {
        assert_eq!(tally(&[(1, 1.0), (2, 1.2), (3, 1.0)]), None);
        let result = tally(&[(1, 1.0), (1, 1.01), (2, 1.5), (2, 2.0), (3, 1.0)]).expect("two were measured again");
        assert_eq!((result.judged, result.changed()), (2, 1), "{result:?}");
    }

    #[test]
    fn two_runs_of_one_session_tell_nothing() {
        let mut series = daily("x", &[(1, 1.0), (1, 1.3)]);
        let first = series.points[0].time;
        series.points[1].run_mut().time = first + chrono::TimeDelta::minutes(20);
        let heads = heads(&series);
        assert!(remeasured(heads.iter()).is_empty());
        assert!(reruns(&analysis(vec![series]).series, &heads, &policy()).is_empty());
    }

    #[test]
    fn of_many_sessions_the_newest_are_judged() {
        let many: Vec<(u32, f64)> = (0..60).map(|_| (1, 1.0)).collect();
        let series = daily("x", &many);
        let heads = heads(&series);
        let result = reruns(&analysis(vec![series]).series, &heads, &policy());
        assert_eq!((result.len(), result[0].tally.judged, result[0].tally.changed()), (1, MOST, 0));
    }

    #[test]
    fn runs_of_some_benchmarks_alone_are_no_sessions() {
        let series = daily("x", &[(1, 1.0), (1, 1.3), (1, 1.0), (2, 1.0)]);
        let mut heads = heads(&series);
        let judged = |heads: &[RunHead]| reruns(&analysis(vec![series.clone()]).series, heads, &policy());
        assert_eq!(judged(&heads)[0].tally.judged, 2);
        heads[1].config = Arc::new([("filter".to_owned(), json!(["x"]))].into());
        assert_eq!(judged(&heads)[0].tally.judged, 1);
        heads[2].config = Arc::clone(&heads[1].config);
        assert!(judged(&heads).is_empty());
    }
}
