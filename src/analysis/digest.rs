//! From everything the frame made of a history to the findings that pages and exit codes speak of.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::analysis::{Analysis, BaselineFacts, HistoryFacts, NoBaseline, SeriesAnalysis, SuiteAnalysis};
use crate::model::baseline::{Baseline, BaselineFile};
use crate::model::rollup::{LatestRow, SuiteRow, WeekRow};
use crate::model::run::{RecordedRun, Run, RunStatus};
use crate::model::series::Series;
use crate::model::shard::{self, Whole};
use crate::model::verdict::{Comparison, Counts, Verdict};

use super::{compare, sentence};

/// What an analysis is made of.
pub struct Input<'a> {
    /// What the project calls itself.
    pub project: &'a str,
    /// How often a run is due, in days.
    pub every_days: u32,
    /// What the history held.
    pub history: HistoryFacts,
    /// All runs that could be read, in any order.
    pub runs: &'a [RecordedRun],
    /// The baseline files of the project.
    pub baselines: &'a [BaselineFile],
    /// All series, by id.
    pub series: Vec<Series>,
    /// The ids of the series that a gate looks at.
    pub judged: BTreeSet<String>,
    /// The newest row of each series.
    pub latest: Vec<LatestRow>,
    /// The weekly roll-up.
    pub weeks: Vec<WeekRow>,
    /// The roll-up by suite and machine.
    pub suites: Vec<SuiteRow>,
}

/// Judges the newest run of every suite on every machine, and says what each series shows.
pub fn analyse(input: Input<'_>) -> Analysis {
    let found = suite_findings(input.runs, input.baselines, &input.suites);
    let latest: BTreeMap<&str, &LatestRow> = input.latest.iter().map(|row| (row.series.as_str(), row)).collect();
    let newest_runs: BTreeSet<&str> = found.iter().flat_map(|(_, runs)| runs.iter().copied()).collect();
    let suites: Vec<SuiteAnalysis> = found.into_iter().map(|(suite, _)| suite).collect();
    let comparisons: BTreeMap<&str, &Comparison> = suites
        .iter()
        .flat_map(|suite| &suite.comparisons)
        .filter_map(|comparison| Some((comparison.series.as_deref()?, comparison)))
        .collect();
    let series = input
        .series
        .iter()
        .filter_map(|series| {
            let row = *latest.get(series.id.as_str())?;
            let comparison = comparisons.get(series.id.as_str()).map(|one| (*one).clone());
            Some(SeriesAnalysis {
                judged: input.judged.contains(&series.id),
                at_tip: series.newest().is_some_and(|point| newest_runs.contains(point.run.as_str())),
                sentence: sentence::of(series, row, comparison.as_ref()),
                latest: row.clone(),
                comparison,
                series: series.clone(),
            })
        })
        .collect();
    Analysis {
        project: input.project.to_owned(),
        as_of: input.runs.iter().map(|one| one.run.timestamp).max(),
        every_days: input.every_days,
        history: input.history,
        suites,
        series,
        weeks: input.weeks,
    }
}

/// Finds the baseline of a suite for a class of machine.
///
/// # Errors
/// Tells one that is absent from one that cannot be used.
pub fn find_baseline<'a>(
    baselines: &'a [BaselineFile],
    suite: &str,
    machine_class: &str,
) -> Result<(&'a str, &'a Baseline), NoBaseline> {
    let path = Baseline::path(suite, machine_class);
    match baselines.iter().find(|file| file.path == path) {
        None => Err(NoBaseline::Absent(path)),
        Some(file) => usable(file, suite),
    }
}

/// The baseline of a file, if it is one of that suite.
///
/// # Errors
/// [`NoBaseline::Unusable`], with what is wrong.
pub fn usable<'a>(file: &'a BaselineFile, suite: &str) -> Result<(&'a str, &'a Baseline), NoBaseline> {
    let fault = match &file.content {
        Err(fault) => fault.clone(),
        Ok(baseline) if baseline.suite != suite => {
            format!("is a baseline of the suite `{}`, not of `{suite}`", baseline.suite)
        }
        Ok(baseline) => return Ok((&file.path, baseline)),
    };
    Err(NoBaseline::Unusable { path: file.path.clone(), fault })
}

/// Holds a run against what was found for it; a suite that did not run has nothing to compare, its status says so.
pub fn judge(run: &Run, found: &Result<(&str, &Baseline), NoBaseline>) -> Vec<Comparison> {
    match (found, run.status) {
        (_, RunStatus::Skipped | RunStatus::Failed) => Vec::new(),
        (Ok((_, baseline)), RunStatus::Ok) => compare::against_baseline(run, baseline),
        (Err(NoBaseline::Absent(_)), RunStatus::Ok) => compare::unjudged(run, &Verdict::NoBaseline),
        (Err(unusable), RunStatus::Ok) => compare::unjudged(run, &Verdict::Inconclusive(unusable.to_string())),
    }
}

/// Each suite on each machine, with the ids of the records that its newest run is made of.
fn suite_findings<'a>(
    runs: &'a [RecordedRun],
    baselines: &[BaselineFile],
    rows: &[SuiteRow],
) -> Vec<(SuiteAnalysis, Vec<&'a str>)> {
    let mut groups: BTreeMap<(&str, &str), Vec<&RecordedRun>> = BTreeMap::new();
    for recorded in runs {
        groups.entry((&recorded.run.suite, &recorded.run.machine.id)).or_default().push(recorded);
    }
    let mut findings: Vec<(SuiteAnalysis, Vec<&str>)> = groups
        .into_values()
        .map(|mut group| {
            group.sort_by(|a, b| (a.run.timestamp, &a.id).cmp(&(b.run.timestamp, &b.id)));
            let mut assembly = shard::assemble(group.iter().copied());
            // A run of some benchmarks says nothing about the others; it decides only where there is no other.
            let whole = assembly.whole.pop().unwrap_or_else(|| Whole::of(group[group.len() - 1]));
            let ids: Vec<&str> = whole.members().iter().map(|one| one.id.as_str()).collect();
            let newest = whole.newest();
            let before =
                |one: &&&RecordedRun| one.run.timestamp <= newest.run.timestamp && !ids.contains(&one.id.as_str());
            let previous = group.iter().rev().find(before).copied();
            let row = rows.iter().find(|row| row.suite == newest.run.suite && row.machine == newest.run.machine.id);
            let mut run = whole.run().into_owned();
            let unfinished = assembly.incomplete.iter().filter(|set| set.newest >= newest.run.timestamp);
            for set in unfinished {
                run.quality.clean = false;
                run.quality.reasons.push(set.sentence());
            }
            let newest = RecordedRun { path: newest.path.clone(), id: newest.id.clone(), run };
            (suite_finding(&newest, previous, baselines, row), ids)
        })
        .collect();
    findings.sort_by(|(a, _), (b, _)| {
        (&a.suite, &a.machine_name, &a.machine).cmp(&(&b.suite, &b.machine_name, &b.machine))
    });
    findings
}

fn suite_finding(
    newest: &RecordedRun,
    previous: Option<&RecordedRun>,
    baselines: &[BaselineFile],
    row: Option<&SuiteRow>,
) -> SuiteAnalysis {
    let run = &newest.run;
    let found = find_baseline(baselines, &run.suite, &run.machine.class);
    let comparisons = judge(run, &found);
    let failures = run
        .measurements
        .iter()
        .filter_map(|measurement| Some((measurement.benchmark.id(), measurement.failure.clone()?)))
        .collect();
    SuiteAnalysis {
        suite: run.suite.clone(),
        machine: run.machine.id.clone(),
        machine_name: run.machine.name.clone(),
        machine_class: run.machine.class.clone(),
        run: newest.id.clone(),
        time: run.timestamp,
        commit: run.commit.clone(),
        status: run.status,
        reason: run.reason.clone(),
        quality: run.quality.clone(),
        failures,
        environment_changes: previous
            .map(|before| before.run.environment.differences(&run.environment))
            .unwrap_or_default(),
        baseline: found.map(|(path, baseline)| BaselineFacts {
            path: path.to_owned(),
            commit: baseline.commit.clone(),
            time: baseline.timestamp_utc,
        }),
        counts: Counts::of(&comparisons),
        comparisons,
        rollup: row.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example;

    #[test]
    fn the_newest_run_of_each_suite_and_machine_is_judged() {
        let old = example::recorded(example::run("cpu", "a", 1, &[("tile_pack", 1.0)]));
        let new = example::recorded(example::run("cpu", "a", 2, &[("tile_pack", 2.0)]));
        let elsewhere = example::recorded(example::run("cpu", "b", 1, &[("tile_pack", 1.0)]));
        let baseline = example::baseline(&old.run, 0.5);
        let file = |content| BaselineFile { path: Baseline::path("cpu", "CPU"), content };
        let runs = [new.clone(), elsewhere, old];
        let analyse_with = |baselines: &[BaselineFile]| {
            analyse(Input {
                project: "p",
                every_days: 7,
                history: HistoryFacts::default(),
                runs: &runs,
                baselines,
                series: Vec::new(),
                judged: BTreeSet::new(),
                latest: Vec::new(),
                weeks: Vec::new(),
                suites: Vec::new(),
            })
        };
        let analysis = analyse_with(&[file(Ok(baseline))]);
        assert_eq!(analysis.as_of, Some(new.run.timestamp));
        let names: Vec<&str> = analysis.suites.iter().map(|suite| suite.machine_name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(analysis.suites[0].run, new.id);
        assert_eq!(analysis.suites[0].comparisons[0].verdict, Verdict::Regressed);
        assert_eq!(analysis.suites[0].counts.regressed, 1);
        assert_eq!(analysis.suites[1].counts.unchanged, 1);

        let without = analyse_with(&[]);
        assert_eq!(without.suites[0].baseline, Err(NoBaseline::Absent("baselines/cpu.cpu.json".into())));
        assert_eq!(without.suites[0].comparisons[0].verdict, Verdict::NoBaseline);
        let broken = analyse_with(&[file(Err("is not JSON".to_owned()))]);
        let fault = "`baselines/cpu.cpu.json` is not JSON".to_owned();
        assert_eq!(broken.suites[0].baseline.as_ref().map_err(ToString::to_string), Err(fault.clone()));
        assert_eq!(broken.suites[0].comparisons[0].verdict, Verdict::Inconclusive(fault));
    }

    #[test]
    fn a_complete_set_of_shards_is_the_newest_run() {
        let part = |shard: &str, day: u32, name: &str| {
            let mut run = example::run("cpu", "a", day, &[(name, 1.0)]);
            run.config.insert(shard::SHARD.to_owned(), shard.into());
            example::recorded(run)
        };
        let old = example::recorded(example::run("cpu", "a", 1, &[("tile_pack", 1.0), ("infer", 1.0)]));
        let baseline = example::baseline(&old.run, 0.5);
        let baselines = [BaselineFile { path: Baseline::path("cpu", "CPU"), content: Ok(baseline) }];
        let (first, second) = (part("1/2", 3, "infer"), part("2/2", 4, "tile_pack"));
        let check = |runs: &[RecordedRun], ids: &[&RecordedRun], reasons: &[&str]| {
            let findings = suite_findings(runs, &baselines, &[]);
            let (suite, members) = &findings[0];
            assert_eq!(*members, ids.iter().map(|one| one.id.as_str()).collect::<Vec<_>>());
            assert_eq!((suite.counts.unchanged, suite.counts.total()), (2, 2));
            assert_eq!(suite.quality.reasons, reasons);
        };
        check(&[first.clone(), old.clone(), second.clone()], &[&first, &second], &[]);
        // Half a set says nothing yet; the run before holds, and the digest says what is awaited.
        let awaited = "the shard 2/2 of cpu at no commit is missing";
        check(&[first, old.clone()], &[&old], &[awaited]);
    }
}
