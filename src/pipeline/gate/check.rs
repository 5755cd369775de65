//! The gate: current run against baseline, commit, release or the sessions before.

use std::io::Write;
use std::path::Path;

use super::base::{Against, Bases};
use super::judge::{judge, not_run};
use super::outcome::{base_error, exit_code, finish, refuse_aside};
use super::remedies::fit_advice;
use super::request::{CheckRequest, GateRequest};
use super::text::suite_text;
use super::{apex_x, foreign, reports};
use crate::choose::{self, Chosen};
use crate::config::Suite;
use crate::exit::Exit;
use crate::notices::warn;
use crate::project::Project;
use crate::run_file::{self, RunFile};
use crate::{Advice, Error, Trouble, acceptance, ledger, policy, text};
use sprag_measure::environment;
use sprag_measure::suite::Effort;
use sprag_model::run::{RecordedRun, Run};

/// Judges what the request names, prints it and writes the reports.
pub fn check(request: &CheckRequest, measure: &mut MeasureSuites<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let request = &naming_files(request)?;
    let GateRequest { folder, bisect, inconclusive, .. } = &request.gate;
    let (bisect, inconclusive) = (*bisect, *inconclusive);
    let of_files = match foreign::check(request, out)? {
        None => apex_x::check(request, out)?,
        exit => exit,
    };
    if let Some(exit) = of_files {
        return Ok(match exit {
            Exit::Done | Exit::Failed => exit,
            _ if bisect => Exit::CannotTell,
            exit => exit,
        });
    }
    let project = Project::open(folder)?;
    let policy = request.gate.policy.as_ref().map(|path| policy::read(&folder.join(path))).transpose()?;
    let reports = reports::of_check(request)?;
    // Which commit made something slower is the same, whoever accepts that.
    let ledger = if bisect { None } else { Some(ledger::read(&project)?) };
    let against = match &request.baseline {
        Some(path) => Against::File(folder.join(path)),
        None => Against::parse(&project, folder, request.against.as_deref())?,
    };
    if bisect {
        refuse_bisection(&project, &against)?;
    }
    // Both can be large, and are read at the same time. A base that cannot be used is told before minutes of measuring.
    let (named, bases) = std::thread::scope(|scope| {
        let path = request.run.as_ref().map(|path| folder.join(path));
        let named = path.map(|path| scope.spawn(move || named_run(&path, &request.gate.suites)));
        let bases = Bases::open(&project, against.clone(), policy.as_ref());
        (named.map(|named| named.join().expect("a reader does not panic")), bases)
    });
    let (named, bases) = (named.transpose()?, bases?);
    if let Against::Revision(revision) = &against {
        let otherwise = format!("both now with `sprag compare {} HEAD --measure`", text::printable(revision));
        bases.refuse_unmeasured(revision, &otherwise).map_err(base_error)?;
    }
    // A file has numbers of one suite, and says nothing of the others.
    let asked = match bases.suite() {
        Some(suite) if request.gate.suites.is_empty() => vec![suite.to_owned()],
        _ => request.gate.suites.clone(),
    };
    let chosen = match named {
        Some(run) => vec![Chosen::Run(Box::new(run))],
        None => match request.measure {
            Some(effort) => measured(&project, &asked, effort, measure)?,
            None => recorded(&project, &bases, &asked, !request.gate.suites.is_empty())?,
        },
    };
    let mut suites = Vec::new();
    for one in &chosen {
        suites.push(match one {
            Chosen::Run(recorded) => {
                let further =
                    if request.run.is_some() { Vec::new() } else { further_runs(&project, &bases, &recorded.run)? };
                let elsewhere = bases.of_any_class(&recorded.run.suite);
                let mut suite = judge(recorded, &further, bases.for_run(&recorded.run)?, elsewhere);
                fit_advice(&project, &mut suite, &recorded.run, request.run.is_some());
                suite
            }
            Chosen::Nothing { suite, machine_class, machine } => {
                let base = bases.of_absent(suite, machine_class, machine)?;
                not_run(suite, machine_class, "no run of this machine at HEAD", base)
            }
        });
    }
    if bisect && suites.iter().all(|suite| !suite.has_base) {
        let message = suites.first().map_or(String::new(), |suite| suite.against.clone());
        let hint = "git would skip every commit: name a base that has a run".to_owned();
        return Err(Advice { message, hint }.into());
    }
    for suite in &mut suites {
        suite.quality.extend(bases.faults(&suite.suite));
    }
    if let Some(ledger) = &ledger {
        let runs: Vec<Option<&Run>> = chosen.iter().map(Chosen::run).collect();
        acceptance::apply_to_gate(&project, ledger, &mut suites, &runs)?;
    }
    let exit = exit_code(&suites, !asked.is_empty(), inconclusive);
    let gate = finish("check", suites, exit, (!asked.is_empty(), inconclusive));
    let mut text: String = gate.suites.iter().map(|suite| suite_text(suite, false)).collect();
    text.push_str(&format!("check: {}; {}\n", gate.outcome.word(), gate.counts().words()));
    let file = request.gate.policy.as_deref().zip(policy.as_ref());
    policy::warn_unmatched(&project, file, &policy::judged(&gate.suites));
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out)
}

/// Measures suites of a project; nothing of it is recorded.
pub type MeasureSuites<'a> = dyn FnMut(&Project, &[(&str, &Suite)], Effort) -> crate::Result<Vec<Run>> + 'a;

/// Fails where git's bisection would hear of another commit than the one it asks about.
fn refuse_bisection(project: &Project, against: &Against) -> crate::Result<()> {
    if !matches!(against, Against::Revision(_) | Against::File(_)) {
        let message = "what a bisection holds commits against must not move with them".to_owned();
        let hint = "name the good commit, a tag or a file: `sprag check --bisect --against v1.2`".to_owned();
        return Err(Advice { message, hint }.into());
    }
    refuse_aside(project)
}

/// The request, where `--against` names a file as though `--baseline` did: one file is read in one way.
fn naming_files(request: &CheckRequest) -> crate::Result<CheckRequest> {
    let (mut request, folder) = (request.clone(), &request.gate.folder);
    if request.against.as_ref().is_some_and(|named| folder.join(named).is_file()) {
        let project = Project::open(folder)?;
        if let Against::File(path) = Against::parse(&project, folder, request.against.as_deref())? {
            (request.against, request.baseline) = (None, Some(path.strip_prefix(folder).unwrap_or(&path).to_owned()));
        }
    }
    Ok(request)
}

/// The runs of the history; of suites that were named a report says that they have none.
fn recorded(project: &Project, bases: &Bases<'_>, suites: &[String], is_named: bool) -> crate::Result<Vec<Chosen>> {
    let (chosen, nothing) = choose::choose(project, bases.records()?, suites)?;
    match nothing {
        Some(advice) if !is_named => Err(Trouble::Unmeasured(advice).into()),
        Some(Advice { message, hint }) => {
            warn(&format!("{message}; {hint}"));
            Ok(chosen)
        }
        None => Ok(chosen),
    }
}

/// The run of a file: a record, or results of another tool.
fn named_run(path: &Path, suites: &[String]) -> crate::Result<RecordedRun> {
    match run_file::read(path)? {
        RunFile::Run(recorded) => {
            run_file::refuse_other(&recorded, suites)?;
            Ok(*recorded)
        }
        RunFile::Baseline(_) => Err(Advice {
            message: format!("`{}` is a baseline, and what is judged is a run", path.display()),
            hint: "name it with `--baseline`, and a run with `--run`".to_owned(),
        }
        .into()),
    }
}

/// Measures the suites now.
fn measured(
    project: &Project,
    suites: &[String],
    effort: Effort,
    measure: &mut MeasureSuites<'_>,
) -> crate::Result<Vec<Chosen>> {
    let asked = project.config.select(suites).map_err(Error::message)?;
    let runs = measure(project, &asked, effort)?;
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let chosen = asked.iter().map(|(suite, _)| match runs.iter().find(|run| run.suite == *suite) {
        Some(run) => {
            let (id, path, _) = run.to_record();
            Chosen::Run(Box::new(RecordedRun { path, id, run: run.clone() }))
        }
        None => Chosen::Nothing {
            suite: (*suite).to_owned(),
            machine: machine.short_id().to_owned(),
            machine_class: machine.class.clone(),
        },
    });
    Ok(chosen.collect())
}

/// All recorded runs of the commit of a run on its machine: each session of them makes its level surer.
fn further_runs(project: &Project, bases: &Bases<'_>, run: &Run) -> crate::Result<Vec<RecordedRun>> {
    let Some(commit) = run.commit.as_ref().filter(|commit| !commit.dirty) else { return Ok(Vec::new()) };
    if project.find_store().is_none() {
        return Ok(Vec::new());
    }
    let mut runs = bases.records()?.at(Some(&run.suite), Some(&commit.sha))?;
    let is_same = |one: &Run| one.machine.id == run.machine.id && one.commit.as_ref().is_some_and(|one| !one.dirty);
    runs.retain(|one| is_same(&one.run));
    Ok(runs)
}
