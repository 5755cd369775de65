//! From the series of a history to the findings behind pages and exit codes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};

use sprag_model::run::{BUSY, IMPORT};
use sprag_model::shard::{CompleteRun, IncompleteRun};
use sprag_model::{
    Analysis, Baseline, BaselineFacts, BaselineFile, CommitLine, Comparison, Counts, HistoryFacts, NoBaseline,
    RecordedRun, Run, RunHead, RunStatus, Series, SeriesAnalysis, SuiteAnalysis, Verdict,
};

use super::disagreement::disagreements;
use super::rules::remedy::{CONFIRM, TURNS, refit};
use super::{compare, rollup, sentence, tip};

pub struct DigestInput<'a> {
    pub project: &'a str,
    pub every_days: u32,
    pub history: HistoryFacts,
    /// The heads of all runs that could be read, in any order.
    pub heads: &'a [RunHead],
    pub newest: &'a [Newest<'a>],
    /// The records of the members of each of `newest`; one of which a member is not given is left out.
    pub records: &'a [RecordedRun],
    pub baselines: &'a [BaselineFile],
    pub series: Vec<Series>,
    /// The ids of the series that a gate judges.
    pub judged: BTreeSet<String>,
}

/// The newest run of a suite on a machine, which is what is judged of it.
pub struct Newest<'a> {
    complete: CompleteRun<'a>,
    /// The ids of its members, and of imports of the same commit at most a day older: uploads of parts of one run.
    parts: BTreeSet<&'a str>,
    /// Whether it is of some benchmarks only, as no other is known.
    narrowed: bool,
    /// When the suite was last measured there, probes left out.
    last: DateTime<Utc>,
    /// The ids of probes, which show nothing about the newest state.
    probes: BTreeSet<&'a str>,
    previous: Option<&'a RunHead>,
    /// What is awaited of sets of shards that are younger, one sentence each.
    unfinished: Vec<String>,
}

impl<'a> Newest<'a> {
    /// The heads of the records that it is made of.
    pub fn members(&self) -> &[&'a RunHead] {
        self.complete.members()
    }
}

/// Finds the newest run of every suite on every machine: that of the newest commit on the line, and of one commit the youngest.
pub fn newest<'a>(heads: &'a [RunHead], line: &CommitLine) -> Vec<Newest<'a>> {
    let positions = line.positions();
    let mut groups: BTreeMap<(&str, &str), Vec<&RunHead>> = BTreeMap::new();
    for head in heads {
        groups.entry((&head.suite, &head.machine.id)).or_default().push(head);
    }
    let newest = groups.into_values().map(|mut group| {
        group.sort_by(|a, b| a.age().cmp(&b.age()));
        let tip::Runs { tip, last, probes, incomplete } = tip::sort(&group, &positions);
        let narrowed = tip.is_none();
        // A run of some benchmarks says nothing about the others; it decides only where there is no other.
        let complete = tip.unwrap_or_else(|| CompleteRun::undivided(group[group.len() - 1]));
        let newest = complete.newest();
        let is_member = |one: &RunHead| complete.members().iter().any(|member| member.id == one.id);
        let before = |one: &&&RunHead| one.timestamp <= newest.timestamp && !is_member(one);
        let previous = group.iter().rev().find(before).copied();
        let parts =
            group.iter().filter(|one| is_member(one) || is_other_part(one, newest)).map(|one| &*one.id).collect();
        let unfinished = incomplete.iter().filter(|set| set.newest >= newest.timestamp);
        let unfinished = unfinished.map(IncompleteRun::sentence).collect();
        Newest { complete, parts, narrowed, last, probes, previous, unfinished }
    });
    newest.collect()
}

/// Whether two runs of one suite and machine are imports of one commit within a day.
fn is_other_part(one: &RunHead, newest: &RunHead) -> bool {
    let is_import = |head: &RunHead| head.config.contains_key(IMPORT);
    let commit = |head: &RunHead| head.commit.as_ref().map(|commit| commit.sha.clone());
    let age = newest.timestamp - one.timestamp;
    is_import(one)
        && is_import(newest)
        && commit(one).is_some_and(|sha| commit(newest) == Some(sha))
        && (TimeDelta::zero()..=TimeDelta::days(1)).contains(&age)
}

/// Judges the newest run of every suite on every machine, and says what each series shows.
pub fn analyse(input: DigestInput<'_>) -> Analysis {
    let mut suites = suite_findings(&input);
    let baselines: Vec<&Baseline> = input.baselines.iter().filter_map(|file| file.content.as_ref().ok()).collect();
    let newest_runs: BTreeSet<&str> = input.newest.iter().flat_map(|newest| newest.parts.iter().copied()).collect();
    let probes: BTreeSet<&str> = input.newest.iter().flat_map(|newest| newest.probes.iter().copied()).collect();
    let comparisons: BTreeMap<&str, &Comparison> = suites
        .iter()
        .flat_map(|suite| &suite.comparisons)
        .filter_map(|comparison| Some((comparison.series.as_deref()?, comparison)))
        .collect();
    let series: Vec<SeriesAnalysis> = input
        .series
        .into_iter()
        .filter_map(|series| {
            let latest = rollup::latest(&series, baselines.iter().copied())?;
            let comparison = comparisons.get(series.id.as_str()).map(|one| (*one).clone());
            Some(SeriesAnalysis {
                judged: input.judged.contains(&series.id),
                at_tip: series.points.iter().rev().any(|point| newest_runs.contains(&*point.run)),
                last: last(&series, &probes),
                sentence: sentence::for_series(&series, &latest, comparison.as_ref()),
                latest,
                comparison,
                series,
            })
        })
        .collect();
    for (suite, machine, mean) in rollup::averages(&series) {
        let is_it = |one: &&mut SuiteAnalysis| one.suite == suite && one.machine == machine;
        if let Some(suite) = suites.iter_mut().find(is_it) {
            suite.mean_baseline = Some(mean);
        }
    }
    Analysis {
        project: input.project.to_owned(),
        as_of: input.heads.iter().map(|one| one.timestamp).max(),
        every_days: input.every_days,
        history: input.history,
        suites,
        weeks: rollup::weeks(&series),
        disagreements: disagreements(&series),
        series,
    }
}

/// When a series was last measured, probes left out where there is another run.
fn last(series: &Series, probes: &BTreeSet<&str>) -> DateTime<Utc> {
    let times = |is_probe: bool| {
        let points = series.points.iter().filter(move |point| probes.contains(&*point.run) == is_probe);
        points.map(|point| point.time).max()
    };
    times(false).or_else(|| times(true)).unwrap_or_default()
}

/// Finds the baseline of a suite for a class of machine.
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
pub fn judge(run: &Run, selected: &Result<(&str, &Baseline), NoBaseline>) -> Vec<Comparison> {
    match (selected, run.status) {
        (_, RunStatus::Skipped | RunStatus::Failed) => Vec::new(),
        (Ok((_, baseline)), RunStatus::Ok) => compare::against_baseline(run, &[], baseline),
        (Err(NoBaseline::Absent(_)), RunStatus::Ok) => compare::unjudged(run, &Verdict::NoBaseline),
        (Err(unusable), RunStatus::Ok) => compare::unjudged(run, &Verdict::Inconclusive(unusable.to_string())),
    }
}

fn suite_findings(input: &DigestInput<'_>) -> Vec<SuiteAnalysis> {
    let finding = |newest: &Newest<'_>| {
        let head = newest.complete.newest();
        let mut run = newest.complete.run(input.records)?.into_owned();
        run.quality.clean &= newest.unfinished.is_empty();
        run.quality.reasons.extend_from_slice(&newest.unfinished);
        let finding = suite_finding(&head.id, &run, newest.previous, input.baselines);
        Some(SuiteAnalysis { narrowed: newest.narrowed, last: newest.last, ..finding })
    };
    let mut findings: Vec<SuiteAnalysis> = input.newest.iter().filter_map(finding).collect();
    findings.sort_by(|a, b| (&a.suite, &a.machine_name, &a.machine).cmp(&(&b.suite, &b.machine_name, &b.machine)));
    findings
}

fn suite_finding(id: &str, run: &Run, previous: Option<&RunHead>, baselines: &[BaselineFile]) -> SuiteAnalysis {
    let selected = find_baseline(baselines, &run.suite, &run.machine.class);
    let (mut comparisons, mut quality) = (judge(run, &selected), run.quality.clone());
    let base = selected.as_ref().ok().and_then(|(_, baseline)| baseline.commit.as_deref());
    let own = run.commit.as_ref().filter(|commit| !commit.dirty && !run.is_imported() && base != Some(&commit.sha));
    if let (Some(base), Some(own)) = (base.and_then(|base| base.get(..12)), own) {
        let command = format!("sprag compare {base} {} --measure --suite {}", own.short(), run.suite);
        for one in &mut comparisons {
            if let Verdict::Inconclusive(reason) = &mut one.verdict {
                *reason = refit(reason, |remedy| Some(remedy.words().replace(TURNS, &command)));
            }
        }
        let regressed = comparisons.iter().any(|one| one.verdict == Verdict::Regressed);
        if let Some(busy) = quality.reasons.iter_mut().find(|reason| regressed && reason.starts_with(BUSY)) {
            busy.push_str(&format!("{CONFIRM}`{command}`"));
        }
    }
    let failures = run
        .measurements
        .iter()
        .filter_map(|measurement| Some((measurement.benchmark.id(), measurement.failed()?.to_owned())))
        .collect();
    SuiteAnalysis {
        suite: run.suite.clone(),
        machine: run.machine.id.clone(),
        machine_name: run.machine.name.clone(),
        machine_class: run.machine.class.clone(),
        run: id.to_owned(),
        time: run.timestamp,
        narrowed: false,
        last: run.timestamp,
        commit: run.commit.clone(),
        status: run.status,
        reason: run.reason.clone(),
        quality,
        failures,
        imported: run.is_imported(),
        environment_changes: previous.map(|before| before.environment.differences(&run.environment)),
        baseline: selected.map(|(path, baseline)| BaselineFacts {
            path: path.to_owned(),
            commit: baseline.commit.clone(),
            time: baseline.timestamp_utc,
        }),
        counts: Counts::from_comparisons(&comparisons),
        comparisons,
        mean_baseline: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::example;
    use sprag_model::{Commit, shard};

    fn analysed(records: &[RecordedRun], baselines: &[BaselineFile]) -> Analysis {
        let heads: Vec<RunHead> = records.iter().map(RunHead::new).collect();
        analyse(DigestInput {
            project: "p",
            every_days: 7,
            history: HistoryFacts::default(),
            heads: &heads,
            newest: &newest(&heads, &CommitLine::default()),
            records,
            baselines,
            series: Vec::new(),
            judged: BTreeSet::new(),
        })
    }

    #[test]
    fn the_newest_run_of_each_suite_and_machine_is_judged() {
        let old = RecordedRun::from(example::run("cpu", "a", 1, &[("tile_pack", 1.0)]));
        let new = RecordedRun::from(example::run("cpu", "a", 2, &[("tile_pack", 2.0)]));
        let elsewhere = RecordedRun::from(example::run("cpu", "b", 1, &[("tile_pack", 1.0)]));
        let baseline = example::baseline(&old.run, 0.5);
        let file = |content| BaselineFile { path: Baseline::path("cpu", "CPU"), content };
        let runs = [new.clone(), elsewhere, old];
        let analyse_with = |baselines: &[BaselineFile]| analysed(&runs, baselines);
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
    fn imports_of_a_commit_within_a_day_are_parts_of_the_newest_run() {
        let check = |first: (u32, &str), second: (u32, &str), is_import: bool, expected: usize| {
            let part = |(day, commit): (u32, &str)| {
                let mut run = example::run("cpu", "a", day, &[("tile_pack", 1.0)]);
                run.commit = Some(Commit::new(commit.repeat(40), run.timestamp));
                if is_import {
                    run.config.insert(IMPORT.to_owned(), json!({ "format": "asv" }));
                }
                RunHead::new(&run.into())
            };
            let heads = [part(first), part(second)];
            let newest = newest(&heads, &CommitLine::default());
            assert_eq!((newest[0].members().len(), newest[0].parts.len()), (1, expected), "{first:?} {second:?}");
        };
        check((3, "a"), (4, "a"), true, 2);
        check((3, "a"), (4, "b"), true, 1);
        check((3, "a"), (5, "a"), true, 1);
        check((3, "a"), (4, "a"), false, 1);
    }

    #[test]
    fn a_complete_set_of_shards_is_the_newest_run() {
        let part = |shard: &str, day: u32, name: &str| {
            let mut run = example::run("cpu", "a", day, &[(name, 1.0)]);
            run.config.insert(shard::SHARD.to_owned(), shard.into());
            RecordedRun::from(run)
        };
        let old = RecordedRun::from(example::run("cpu", "a", 1, &[("tile_pack", 1.0), ("infer", 1.0)]));
        let baseline = example::baseline(&old.run, 0.5);
        let baselines = [BaselineFile { path: Baseline::path("cpu", "CPU"), content: Ok(baseline) }];
        let (first, second) = (part("1/2", 3, "infer"), part("2/2", 4, "tile_pack"));
        let check = |runs: &[RecordedRun], ids: &[&RecordedRun], reasons: &[&str]| {
            let heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
            let members = newest(&heads, &CommitLine::default())[0]
                .members()
                .iter()
                .map(|one| one.id.as_str())
                .collect::<Vec<_>>();
            assert_eq!(members, ids.iter().map(|one| one.id.as_str()).collect::<Vec<_>>());
            let suite = &analysed(runs, &baselines).suites[0];
            assert_eq!((suite.counts.unchanged, suite.counts.total()), (2, 2));
            assert_eq!(suite.quality.reasons, reasons);
        };
        check(&[first.clone(), old.clone(), second.clone()], &[&first, &second], &[]);
        // Half a set says nothing yet; the run before holds, and the digest says what is awaited.
        let awaited = "the shard 2/2 of cpu at no commit is missing";
        check(&[first, old.clone()], &[&old], &[awaited]);
    }
}
