//! Compares two commits, tags or files by their recorded results.

use std::collections::BTreeMap;
use std::io::Write;

use crate::error::Exit;
use crate::gate::{
    self, AgainstBase, Bases, CompareRequest, apex_x, base_error, fit_advice, foreign, judge, not_run, reports,
};
use crate::project::Project;
use crate::run_file::{self, RunFile};
use crate::{refuse, text};
use sprag_analysis::compare::pass_within;
use sprag_model::{Better, Comparison, RecordedRun, Run, SuiteGate, Verdict};

pub fn compare(request: &CompareRequest, out: &mut dyn Write) -> crate::Result<Exit> {
    if let Some(exit) = foreign::compare(request, out)? {
        return Ok(exit);
    }
    if let Some(exit) = apex_x::compare(request, out)? {
        return Ok(exit);
    }
    let folder = &request.gate.folder;
    let project = Project::open(folder)?;
    let policy = request.gate.rules()?;
    let reports = reports::parse(&request.gate.reports)?;
    reports::check(folder, &reports, request.inputs())?;
    let base = AgainstBase::parse(&project, folder, Some(&request.base))?;
    let other = AgainstBase::parse(&project, folder, Some(&request.other))?;
    let bases = Bases::open(&project, base.clone(), policy.as_ref())?;
    let are_commits = [&base, &other].iter().all(|side| matches!(side, AgainstBase::Revision(_)));
    let otherwise = if are_commits { "both now with `--measure`" } else { "name another commit" };
    let refuse_unmeasured = |side: &AgainstBase| match side {
        AgainstBase::Revision(revision) => bases.refuse_unmeasured(revision, otherwise),
        _ => Ok(()),
    };
    refuse_unmeasured(&base).map_err(base_error)?;
    refuse_unmeasured(&other)?;
    let currents = currents(&bases, &other, request)?;
    let mut suites = Vec::new();
    for (newest, reruns) in &currents {
        let mut suite = judge(newest, reruns, bases.for_run(&newest.run)?, None);
        fit_advice(&project, &mut suite, &newest.run, matches!(other, AgainstBase::File(_)));
        pass_within(&mut suite.comparisons, request.gate.tolerance);
        suites.push(suite);
    }
    suites.extend(only_in_base(&bases, &currents, request)?);
    if suites.is_empty() {
        let message = format!("`{}` has no whole recorded run{}", text::printable(&request.other), of_suites(request));
        return refuse(message, "measure it with `sprag run --record`, or time both now with `--measure`");
    }
    for suite in &mut suites {
        suite.quality.extend(bases.faults(&suite.suite));
        by_effect(&mut suite.comparisons);
    }
    gate::conclude((&project, "compare", policy.as_ref(), false), &request.gate, &reports, suites, out)
}

fn of_suites(request: &CompareRequest) -> String {
    if request.gate.suites.is_empty() { String::new() } else { format!(" of {}", request.gate.suites.join(", ")) }
}

/// Of each suite and machine the newest run, and the other runs of that commit.
fn currents(
    bases: &Bases<'_>,
    other: &AgainstBase,
    request: &CompareRequest,
) -> crate::Result<Vec<(RecordedRun, Vec<RecordedRun>)>> {
    let runs = match other {
        AgainstBase::File(path) => match run_file::read(path)? {
            RunFile::Run(run) => vec![*run],
            RunFile::Baseline(_) => {
                let message = format!("`{}` is a baseline, and the side to judge must be a run", path.display());
                return refuse(message, "swap the two sides, or name a run");
            }
        },
        AgainstBase::Revision(revision) => {
            let mut runs = bases.records()?.of_code(bases.commit_of(revision)?.as_deref())?;
            // A file has one suite.
            runs.retain(|one| bases.suite().is_none_or(|suite| one.run.suite == suite));
            runs
        }
        AgainstBase::Usual | AgainstBase::Baseline | AgainstBase::History => {
            let message = format!("`{}` names a base to compare with, not a run", text::printable(&request.other));
            return refuse(message, "name a commit, a tag or a run file as the second side");
        }
    };
    let mut groups: BTreeMap<(String, String), Vec<RecordedRun>> = BTreeMap::new();
    for one in runs {
        if request.gate.suites.is_empty() || request.gate.suites.contains(&one.run.suite) {
            groups.entry((one.run.suite.clone(), one.run.machine.id.clone())).or_default().push(one);
        }
    }
    Ok(groups.into_values().filter_map(|mut group| Some((group.pop()?, group))).collect())
}

/// Suites that only the base has: all their metrics are missing.
fn only_in_base(
    bases: &Bases<'_>,
    currents: &[(RecordedRun, Vec<RecordedRun>)],
    request: &CompareRequest,
) -> crate::Result<Vec<SuiteGate>> {
    let is_any = bases.suite().is_some();
    let mut in_base = bases.measured_suites()?;
    in_base.retain(|(suite, class)| {
        let is_there = |run: &Run| run.suite == *suite && (is_any || run.machine.class == *class);
        (request.gate.suites.is_empty() || request.gate.suites.contains(suite))
            && !currents.iter().any(|(one, _)| is_there(&one.run))
    });
    let missing = |(suite, class): &(String, String)| {
        let on = if is_any { String::new() } else { format!(" on {class}") };
        let why = format!("`{}` has no run of it{on}", text::printable(&request.other));
        Ok(not_run(suite, class, &why, bases.of_absent(suite, class, "")?))
    };
    in_base.iter().map(missing).collect()
}

fn by_effect(comparisons: &mut [Comparison]) {
    let rank = |one: &Comparison| match (&one.verdict, one.effect) {
        (Verdict::Missing, _) => 0,
        (_, Some(_)) => 1,
        (_, None) => 2,
    };
    let worse = |one: &Comparison| {
        let change = one.effect.map_or(0.0, |effect| effect.change);
        if one.metric.better == Better::Lower { change } else { -change }
    };
    comparisons.sort_by(|a, b| {
        rank(a).cmp(&rank(b)).then_with(|| worse(b).total_cmp(&worse(a))).then_with(|| a.benchmark.cmp(&b.benchmark))
    });
}
