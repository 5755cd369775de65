//! `sprag check`: the gate, current run against baseline, commit, release or the sessions before.

use std::io::Write;
use std::path::Path;

use super::choose::{self, Chosen};
use super::gate::{self, Against, Bases, PolicyFile};
use super::progress::Progress;
use super::project::Project;
use super::run_file::{self, RunFile};
use super::suites::{self, SuiteRequest};
use super::trt_options::TrtOptions;
use super::{
    Advice, Exit, Trouble, calibrate, effort, foreign_gate, gate_reports, ledger, policy, seed_gate, text, verdicts,
};
use crate::cli::CheckArgs;
use sprag_measure::environment;
use sprag_measure::suite::Observer as _;
use sprag_model::run::{RecordedRun, Run};

pub(super) fn run(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    gate::stop_bisection(args.bisect, checked(folder, args, out))
}

fn checked(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let args = &naming_files(folder, args)?;
    let of_files = match foreign_gate::check(folder, args, out)? {
        None => seed_gate::check(folder, args, out)?,
        exit => exit,
    };
    if let Some(exit) = of_files {
        return Ok(match exit {
            Exit::Done | Exit::Failed => exit,
            _ if args.bisect => Exit::CannotTell,
            exit => exit,
        });
    }
    if args.calibrate {
        if !args.reports.is_empty() || args.summary.is_some() || args.trend_output.is_some() || args.bisect {
            let message = "`--calibrate` tells how often rules are wrong, of which there are no reports".to_owned();
            return Err(Advice { message, hint: "`--json` prints it for programs".to_owned() }.into());
        }
        return calibrate::run(folder, args, out);
    }
    let project = Project::open(folder)?;
    if !args.measure && args.effort.is_given() {
        let message =
            "`--quick`, `--rigorous`, `--budget` and `--pin` say how to measure, and nothing is measured".to_owned();
        return Err(Advice { message, hint: "add `--measure`, or leave them out".to_owned() }.into());
    }
    let policy = args.policy.as_ref().map(|path| PolicyFile::read(&folder.join(path))).transpose()?;
    let wishes = gate_reports::of_check(folder, args)?;
    // Which commit made something slower is the same, whoever accepts that.
    let ledger = if args.bisect { None } else { Some(ledger::read(&project)?) };
    let against = match &args.baseline {
        Some(path) => Against::File(folder.join(path)),
        None => Against::parse(&project, folder, args.against.as_deref())?,
    };
    if args.bisect {
        refuse_bisection(&project, &against)?;
    }
    // Both can be large, and are read at the same time. A base that cannot be used is told before minutes of measuring.
    let (named, bases) = std::thread::scope(|scope| {
        let path = args.run.as_ref().map(|path| folder.join(path));
        let named = path.map(|path| scope.spawn(move || named_run(&path, &args.suites)));
        let bases = Bases::open(&project, against.clone(), policy.as_ref());
        (named.map(|named| named.join().expect("a reader does not panic")), bases)
    });
    let (named, bases) = (named.transpose()?, bases?);
    if let Against::Revision(revision) = &against {
        let otherwise = format!("both now with `sprag compare {} HEAD --measure`", text::printable(revision));
        bases.refuse_unmeasured(revision, &otherwise).map_err(gate::of_base)?;
    }
    // A file has numbers of one suite, and says nothing of the others.
    let asked = match bases.suite() {
        Some(suite) if args.suites.is_empty() => vec![suite.to_owned()],
        _ => args.suites.clone(),
    };
    let chosen = match named {
        Some(run) => vec![Chosen::Run(Box::new(run))],
        None if args.measure => measured(folder, &project, args, &asked)?,
        None => recorded(&project, &bases, &asked, !args.suites.is_empty())?,
    };
    let mut suites = Vec::new();
    for one in &chosen {
        suites.push(match one {
            Chosen::Run(recorded) => {
                let again = if args.run.is_some() { Vec::new() } else { again(&project, &bases, &recorded.run)? };
                let elsewhere = bases.of_any_class(&recorded.run.suite);
                let mut suite = gate::judge(recorded, &again, bases.for_run(&recorded.run)?, elsewhere);
                gate::fit_advice(&project, &mut suite, &recorded.run, args.run.is_some());
                suite
            }
            Chosen::Nothing { suite, machine_class, machine } => {
                let base = bases.of_absent(suite, machine_class, machine)?;
                gate::not_run(suite, machine_class, "no run of this machine at HEAD", base)
            }
        });
    }
    if args.bisect && suites.iter().all(|suite| !suite.has_base) {
        let message = suites.first().map_or(String::new(), |suite| suite.against.clone());
        let hint = "git would skip every commit: name a base that has a run".to_owned();
        return Err(Advice { message, hint }.into());
    }
    for suite in &mut suites {
        suite.quality.extend(bases.faults(&suite.suite));
    }
    if let Some(ledger) = &ledger {
        let runs: Vec<Option<&Run>> = chosen.iter().map(Chosen::run).collect();
        super::acceptance::tell_gate(&project, ledger, &mut suites, &runs)?;
    }
    let exit = gate::exit_code(&suites, !asked.is_empty(), args.inconclusive);
    let gate = gate::finish("check", suites, exit, (!asked.is_empty(), args.inconclusive));
    if !gate_reports::own_stdout(&wishes) {
        for suite in &gate.suites {
            out.write_all(gate::suite_text(suite, false).as_bytes())?;
        }
        writeln!(out, "check: {}; {}", gate.outcome.word(), verdicts::counts(&gate.counts()))?;
    }
    let file = args.policy.as_deref().zip(policy.as_ref()).map(|(path, file)| (path, &file.policy));
    policy::tell_unfit(&project, file, &policy::judged(&gate.suites));
    gate_reports::write(folder, &wishes, &gate, out)?;
    Ok(if args.bisect { gate::for_bisection(&gate, exit) } else { exit })
}

/// Fails where git's bisection would hear of another commit than the one it asks about.
fn refuse_bisection(project: &Project, against: &Against) -> anyhow::Result<()> {
    if !matches!(against, Against::Revision(_) | Against::File(_)) {
        let message = "what a bisection holds commits against must not move with them".to_owned();
        let hint = "name the good commit, a tag or a file: `sprag check --bisect --against v1.2`".to_owned();
        return Err(Advice { message, hint }.into());
    }
    gate::refuse_aside(project)
}

/// What was asked for, where `--against` names a file as though `--baseline` did: one file is read in one way.
///
/// # Errors
/// When `--against` names nothing.
fn naming_files(folder: &Path, args: &CheckArgs) -> anyhow::Result<CheckArgs> {
    let mut args = args.clone();
    if args.against.as_ref().is_some_and(|named| folder.join(named).is_file()) {
        let project = Project::open(folder)?;
        if let Against::File(path) = Against::parse(&project, folder, args.against.as_deref())? {
            (args.against, args.baseline) = (None, Some(path.strip_prefix(folder).unwrap_or(&path).to_owned()));
        }
    }
    Ok(args)
}

/// The runs of the history; of suites that were named a report says that they have none.
fn recorded(project: &Project, bases: &Bases<'_>, suites: &[String], is_named: bool) -> anyhow::Result<Vec<Chosen>> {
    let (chosen, nothing) = choose::choose(project, bases.records()?, suites)?;
    match nothing {
        Some(advice) if !is_named => Err(Trouble::Unmeasured(advice).into()),
        Some(Advice { message, hint }) => {
            super::warn(&format!("{message}; {hint}"));
            Ok(chosen)
        }
        None => Ok(chosen),
    }
}

/// The run of a file: a record, or results of another tool.
fn named_run(path: &Path, suites: &[String]) -> anyhow::Result<RecordedRun> {
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

/// Measures the suites now; nothing of it is recorded.
fn measured(folder: &Path, project: &Project, args: &CheckArgs, suites: &[String]) -> anyhow::Result<Vec<Chosen>> {
    let effort = effort::from_args(&args.effort)?;
    let asked = project.config.select(suites).map_err(anyhow::Error::msg)?;
    let trt = TrtOptions::none(folder);
    trt.check(project, &asked)?;
    let request = SuiteRequest::all(effort, &trt);
    let progress = Progress::new();
    let runs = suites::measure(project, &asked, &request, &progress)?.runs;
    progress.end();
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
fn again(project: &Project, bases: &Bases<'_>, run: &Run) -> anyhow::Result<Vec<RecordedRun>> {
    let Some(commit) = run.commit.as_ref().filter(|commit| !commit.dirty) else { return Ok(Vec::new()) };
    if project.find_store().is_none() {
        return Ok(Vec::new());
    }
    let mut runs = bases.records()?.at(Some(&run.suite), Some(&commit.sha))?;
    let is_same = |one: &Run| one.machine.id == run.machine.id && one.commit.as_ref().is_some_and(|one| !one.dirty);
    runs.retain(|one| is_same(&one.run));
    Ok(runs)
}
