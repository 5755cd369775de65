//! The gate: the current run against a baseline, a commit, a release or earlier sessions.

mod records;
mod base;
mod remedies;
mod outcome;
mod table;
pub mod summary;
pub mod reports;
pub mod apex_x;
pub mod foreign;
pub mod calibrate;

use std::io::Write;
use std::path::Path;

use crate::config::Suite;
use crate::error::{Cause, Exit};
use crate::gate::reports::ReportRequest;
use crate::project::Project;
use crate::run_file::{self, RunFile};
use crate::text::{self, warn};
use crate::{Advice, import, ledger, policy, refuse, study, trend};
use sprag_analysis::compare;
use sprag_history as history;
use sprag_measure::suite::Effort;
use sprag_measure::{clock, environment};
use sprag_model::{Baseline, Comparison, Disagreement, Ledger, Policy, RecordedRun, Run, SuiteGate, Verdict};

pub use crate::gate::base::{AgainstBase, Bases, GateBase, named};
pub use crate::gate::outcome::{
    CheckRequest, CompareRequest, GateRequest, Inconclusive, PrintFormat, base_error, exit_code, finish, judge,
    not_run, outcome, refuse_aside, stop_bisection,
};
pub use crate::gate::records::{GateRun, Records, choose, machine_of};
pub use crate::gate::remedies::fit_advice;
pub use crate::gate::table::{suite_text, table_text};

pub fn check(request: &CheckRequest, measure: &mut MeasureSuites<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let request = &naming_files(request)?;
    let GateRequest { folder, bisect, .. } = &request.gate;
    let bisect = *bisect;
    let of_files = match foreign::check(request, out)? {
        None => apex_x::check(request, out)?,
        exit => exit,
    };
    if let Some(exit) = of_files {
        let is_skip = bisect && !matches!(exit, Exit::Done | Exit::Failed);
        return Ok(if is_skip { Exit::CannotTell } else { exit });
    }
    let project = Project::open(folder)?;
    let policy = request.gate.rules()?;
    let reports = reports::of_check(request)?;
    // A bisection asks what made it slower, accepted or not.
    let ledger = if bisect { None } else { Some(ledger::read(&project)?) };
    let against = match &request.baseline {
        Some(path) => AgainstBase::File(folder.join(path)),
        None => AgainstBase::parse(&project, folder, request.against.as_deref())?,
    };
    if bisect {
        refuse_bisection(&project, &against)?;
    }
    // Both may be large, so they are read in parallel, before minutes of measuring.
    let (named, bases) = std::thread::scope(|scope| {
        let path = request.run.as_ref().map(|path| folder.join(path));
        let named = path.map(|path| scope.spawn(move || named_run(&path, &request.gate.suites)));
        let bases = Bases::open(&project, against.clone(), policy.as_ref());
        (named.map(|named| named.join().expect("a reader does not panic")), bases)
    });
    let (named, bases) = (named.transpose()?, bases?);
    if let AgainstBase::Revision(revision) = &against {
        let otherwise = format!("both now with `sprag compare {} HEAD --measure`", text::printable(revision));
        bases.refuse_unmeasured(revision, &otherwise).map_err(base_error)?;
    }
    // A file has one suite.
    let asked = match bases.suite() {
        Some(suite) if request.gate.suites.is_empty() => vec![suite.to_owned()],
        _ => request.gate.suites.clone(),
    };
    let chosen = match (named, request.measure) {
        (Some(run), _) => vec![GateRun::from(run)],
        (None, Some(effort)) => {
            rehearse(&project, &bases, &asked, ledger.as_ref())?;
            measured(&project, &asked, effort, measure)?
        }
        (None, None) => recorded(&project, &bases, &asked, !request.gate.suites.is_empty())?,
    };
    let is_file = request.run.is_some();
    let mut suites = Vec::new();
    for GateRun { suite, machine, run } in &chosen {
        let Some(recorded) = run else {
            let base = bases.of_absent(suite, &machine.class, machine.short_id())?;
            suites.push(not_run(suite, &machine.class, "no run of this machine at HEAD", base));
            continue;
        };
        let reruns = if is_file { Vec::new() } else { reruns(&project, &bases, &recorded.run)? };
        let mut gate = judge(recorded, &reruns, bases.for_run(&recorded.run)?, bases.of_any_class(suite));
        fit_advice(&project, &mut gate, &recorded.run, is_file);
        compare::pass_within(&mut gate.comparisons, request.gate.tolerance);
        suites.push(gate);
    }
    if bisect && suites.iter().all(|suite| !suite.has_base) {
        let message = suites.first().map_or("", |suite| &suite.against);
        return refuse(message, "git would skip every commit: name a base that has a run");
    }
    for suite in &mut suites {
        suite.quality.extend(bases.faults(&suite.suite));
    }
    if !bisect {
        disagreements(&project, &mut suites)?;
    }
    if let Some(ledger) = &ledger {
        let runs: Vec<Option<&Run>> = chosen.iter().map(|one| Some(&one.run.as_ref()?.run)).collect();
        trend::answer_gate(&project, ledger, &mut suites, &runs)?;
    }
    let is_asked = !asked.is_empty();
    conclude((&project, "check", policy.as_ref(), is_asked), &request.gate, &reports, suites, out)
}

/// Prints the judged suites and writes the reports; `is_asked` if suites were named.
pub(crate) fn conclude(
    (project, command, policy, is_asked): (&Project, &'static str, Option<&Policy>, bool),
    request: &GateRequest,
    reports: &[ReportRequest],
    suites: Vec<SuiteGate>,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let exit = exit_code(&suites, is_asked, request.inconclusive);
    let gate = finish(command, suites, exit, (is_asked, request.inconclusive));
    let mut text: String = gate.suites.iter().map(|suite| suite_text(suite, request.only_changed)).collect();
    text.push_str(&format!("{command}: {}; {}\n", gate.outcome.word(), gate.counts().words()));
    policy::warn_unmatched(project, request.policy.as_deref().zip(policy), &policy::judged(&gate.suites));
    reports::conclude(request, reports, (&gate, exit), &text, out)
}

/// Measures suites without recording them.
pub type MeasureSuites<'a> = dyn FnMut(&Project, &[(&str, &Suite)], Effort) -> crate::Result<Vec<Run>> + 'a;

/// A base that moves with HEAD would mislead git's bisection.
fn refuse_bisection(project: &Project, against: &AgainstBase) -> crate::Result<()> {
    if !matches!(against, AgainstBase::Revision(_) | AgainstBase::File(_)) {
        let message = "what a bisection compares commits with must not move with them";
        return refuse(message, "name the good commit, a tag or a file: `sprag check --bisect --against v1.2`");
    }
    refuse_aside(project)
}

/// Turns `--against FILE` into `--baseline FILE`.
fn naming_files(request: &CheckRequest) -> crate::Result<CheckRequest> {
    let (mut request, folder) = (request.clone(), &request.gate.folder);
    if request.against.as_ref().is_some_and(|named| folder.join(named).is_file()) {
        let project = Project::open(folder)?;
        if let AgainstBase::File(path) = AgainstBase::parse(&project, folder, request.against.as_deref())? {
            (request.against, request.baseline) = (None, Some(path.strip_prefix(folder).unwrap_or(&path).to_owned()));
        }
    }
    Ok(request)
}

/// Says where a baseline is of another machine of the class, with which that of the run disagrees, and which regressions that may
/// explain: they remain, as nobody can tell it from a regression on this machine alone. Analyses the history only if needed.
fn disagreements(project: &Project, suites: &mut [SuiteGate]) -> crate::Result<()> {
    let is_of_other = |one: &SuiteGate| one.base_machine.is_some() && one.base_machine != one.machine;
    if !suites.iter().any(is_of_other) || project.find_store().is_none() {
        return Ok(());
    }
    let all = study::study(project)?.analysis.disagreements;
    for suite in suites.iter_mut().filter(|one| is_of_other(one)) {
        let machines = [&suite.machine, &suite.base_machine];
        let is_between = |one: &&Disagreement| {
            let has = |name: &Option<String>| one.machines().any(|machine| Some(&machine.name) == name.as_ref());
            one.judged
                && one.suite == suite.suite
                && machines.into_iter().all(has)
                && machines.contains(&&Some(one.machine.name.clone()))
        };
        let base = suite.base_machine.as_deref().map(text::printable).unwrap_or_default();
        for one in all.iter().filter(is_between).collect::<Vec<&Disagreement>>() {
            suite.quality.push(format!(
                "the baseline is of `{base}`, and {}; `--against history` compares a machine with itself",
                one.sentence()
            ));
            // It is slower than the machine of the baseline, or that one is faster than the others of its class.
            let is_own = suite.machine.as_ref() == Some(&one.machine.name);
            let is_it = |row: &&mut Comparison| {
                row.verdict == Verdict::Regressed
                    && row.metric.name == one.metric.name
                    && one.name.as_ref().is_none_or(|name| is_named(&suite.suite, &row.benchmark, name))
                    && can_explain(one.most_change, row)
            };
            for row in suite.comparisons.iter_mut().filter(is_it).filter(|_| is_own == (one.change > 0.0)) {
                let note = format!("may be the machine, which disagrees with that of the baseline, `{base}`");
                row.note = Some(row.note.take().map_or(note.clone(), |earlier| format!("{earlier}; {note}")));
            }
        }
    }
    Ok(())
}

/// Whether an id is of a benchmark of that name, whatever its parameters and variant.
fn is_named(suite: &str, id: &str, name: &str) -> bool {
    let own = id.strip_prefix(suite).and_then(|rest| rest.strip_prefix('/'));
    own.and_then(|own| own.strip_prefix(name)).is_some_and(|rest| rest.is_empty() || rest.starts_with(['{', ' ']))
}

/// Whether a row would be within its limit if that much of it were the machine.
fn can_explain(change: f64, row: &Comparison) -> bool {
    let allowance = row.allowed.zip(row.baseline).map_or(0.0, |(allowed, base)| (allowed / base - 1.0).abs());
    let least = row
        .effect
        .map(|effect| effect.interval.map_or(effect.change, |(low, high)| if low > 0.0 { low } else { high }));
    least.is_none_or(|least| least.abs() - change.abs() <= allowance)
}

/// Named suites without a run are reported as such.
fn recorded(project: &Project, bases: &Bases<'_>, suites: &[String], is_named: bool) -> crate::Result<Vec<GateRun>> {
    let (chosen, nothing) = records::choose(project, bases.records()?, suites)?;
    match nothing {
        Some(advice) if !is_named => return Err(advice.because(Cause::Unmeasured).into()),
        Some(Advice { message, hint, .. }) => warn(&format!("{message}; {hint}")),
        None => {}
    }
    Ok(chosen)
}

fn named_run(path: &Path, suites: &[String]) -> crate::Result<RecordedRun> {
    match run_file::read(path)? {
        RunFile::Run(recorded) => {
            // As with `sprag import`, whoever has results of another tool names their suite.
            let other =
                |suite: &&String| recorded.run.is_imported() && suites.len() == 1 && **suite != recorded.run.suite;
            if let Some(Ok(renamed)) = suites.first().filter(other).map(|suite| import::foreign(path, Some(suite))) {
                return Ok(renamed);
            }
            run_file::refuse_other(&recorded, suites)?;
            Ok(*recorded)
        }
        RunFile::Baseline(_) => refuse(
            format!("`{}` is a baseline, and what is judged is a run", path.display()),
            "name it with `--baseline`, and a run with `--run`",
        ),
    }
}

/// Reads in a partial clone what runs of now will be judged by, which it may lack.
fn rehearse(project: &Project, bases: &Bases<'_>, suites: &[String], ledger: Option<&Ledger>) -> crate::Result<()> {
    let Some(store) = project.find_store() else { return Ok(()) };
    if !history::facts(store)?.partial {
        return Ok(());
    }
    let (commit, name) = (history::measured_commit(store)?, project.machine_name());
    let mut needs_all = ledger.is_some_and(|ledger| !ledger.acceptances.is_empty());
    for (suite, settings) in project.config.select(suites)? {
        let machine = machine_of(name.as_deref(), settings);
        let newest = bases.records()?.newest_that(suite, &machine.id, &|_| true)?;
        let mut run = Run { commit: commit.clone(), ..Run::new(suite, clock::now(), machine) };
        if let Some(newest) = newest {
            run.environment = newest.environment;
        }
        let baseline = bases.for_run(&run)?.baseline;
        reruns(project, bases, &run)?;
        let is_of_other = |one: Baseline| one.machine.is_some_and(|name| name != run.machine.name);
        needs_all |= ledger.is_some() && baseline.is_some_and(is_of_other);
    }
    if needs_all { trend::refuse_partial(project) } else { Ok(()) }
}

fn measured(
    project: &Project,
    suites: &[String],
    effort: Effort,
    measure: &mut MeasureSuites<'_>,
) -> crate::Result<Vec<GateRun>> {
    let asked = project.config.select(suites)?;
    let mut runs = measure(project, &asked, effort)?;
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let chosen = asked.iter().map(|(suite, _)| match runs.iter().position(|run| run.suite == *suite) {
        Some(place) => GateRun::from(RecordedRun::from(runs.swap_remove(place))),
        None => GateRun { suite: (*suite).to_owned(), machine: machine.clone(), run: None },
    });
    Ok(chosen.collect())
}

/// All recorded runs of the same commit and machine: more sessions make its level more certain.
fn reruns(project: &Project, bases: &Bases<'_>, run: &Run) -> crate::Result<Vec<RecordedRun>> {
    let Some(commit) = run.commit.as_ref().filter(|commit| !commit.dirty) else { return Ok(Vec::new()) };
    if project.find_store().is_none() {
        return Ok(Vec::new());
    }
    let mut runs = bases.records()?.at(Some(&run.suite), Some(&commit.sha))?;
    let is_same = |one: &Run| one.machine.id == run.machine.id && one.commit.as_ref().is_some_and(|one| !one.dirty);
    runs.retain(|one| is_same(&one.run));
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_report::gate::example;

    #[test]
    fn a_machine_explains_only_rows_of_its_benchmark_that_it_moves_far_enough() {
        for (id, expected) in
            [("cpu/scan", true), ("cpu/scan{n=8} @fast", true), ("cpu/scan_tree @fast", false), ("gpu/scan", false)]
        {
            assert_eq!(is_named("cpu", id, "scan"), expected, "{id}");
        }
        // The limit is 2 %, and the interval half a percent wide on either side.
        for (ratio, change, expected) in
            [(1.10, 0.10, true), (1.074, 0.05, true), (1.076, 0.05, false), (1.47, 0.05, false)]
        {
            let row = example::comparison("cpu/scan", ratio, Verdict::Regressed);
            assert_eq!(can_explain(change, &row), expected, "{ratio}");
        }
    }
}
