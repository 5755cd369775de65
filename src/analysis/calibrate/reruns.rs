//! What the rule of the gate says of the same commit measured again, for a site: the part of [`super::calibrate`] that
//! costs next to nothing. Each of the newest such sessions is compared with the sessions before it in its environment.

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;

use super::replay::{self, Judged};
use super::visits::{self, Between, Source, Visit};
use sprag_model::calibration::{Base, Reruns};
use sprag_model::run::is_filtered;
use sprag_model::{Baseline, Policy, RunHead, SeriesAnalysis};

/// The sessions of each series and environment that are judged, the newest. A rate needs no more, and a history that
/// measures everything twice would else cost as much as its change points do.
const MOST: usize = 20;

/// What the rule says of the judged series of each suite and machine where a commit was measured again, in their order. A run of
/// some benchmarks alone is not a session, as in [`super::calibrate`].
pub fn reruns(series: &[SeriesAnalysis], heads: &[RunHead], policy: &Policy) -> Vec<Reruns> {
    let filtered: HashSet<&str> =
        heads.iter().filter(|head| is_filtered(&head.config)).map(|head| head.id.as_str()).collect();
    let asked: Vec<&SeriesAnalysis> = series.iter().filter(|one| one.judged).collect();
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
    use crate::example::{daily, run};
    use crate::trend::example::analysis;
    use sprag_model::calibration::Tally;
    use sprag_model::{Choice, Rule, Series};

    fn policy() -> Policy {
        Policy { exceptions: Vec::new(), default: Choice::Fixed(Rule::Tolerance { ratio: 0.05, abs: 0.0 }) }
    }

    fn heads(series: &Series) -> Vec<RunHead> {
        let like = RunHead::new(&run("cpu", "m", 1, &[]).into());
        series.points.iter().map(|point| RunHead { id: point.run.to_string(), ..like.clone() }).collect()
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
