//! `sprag check`: the gate, current run against baseline, commit, release or the sessions before.

use std::io::Write;
use std::path::Path;

use super::choose::{self, Chosen};
use super::effort::Effort;
use super::gate::{self, Against, Bases, PolicyFile, Records};
use super::gpu_suite::GpuWish;
use super::progress::Progress;
use super::project::Project;
use super::suites::{self, Wish};
use super::trt_options::TrtOptions;
use super::{Advice, Exit, calibrate, foreign_gate, gate_reports, seed_gate, verdicts};
use crate::cli::CheckArgs;
use crate::measure::environment;
use crate::model::run::{RecordedRun, Run};

pub(super) fn run(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    gate::stop_bisection(args.bisect, checked(folder, args, out))
}

fn checked(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
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
    let against = match &args.baseline {
        Some(path) => Against::File(folder.join(path)),
        None => Against::parse(&project, folder, args.against.as_deref())?,
    };
    let given = if args.measure { None } else { Some(recorded(folder, &project, args)?) };
    // A base that cannot be used is told before minutes of measuring.
    let bases = Bases::open(&project, against, policy.as_ref())?;
    let chosen = given.map_or_else(|| measured(folder, &project, args), Ok)?;
    let mut suites = Vec::new();
    for one in &chosen {
        suites.push(match one {
            Chosen::Run(recorded) => {
                let again = if args.run.is_some() { Vec::new() } else { again(&project, &recorded.run)? };
                let elsewhere = bases.of_any_class(&recorded.run.suite);
                gate::judge(recorded, &again, bases.of(&recorded.run)?, elsewhere)
            }
            Chosen::Nothing { suite, machine_class, machine } => {
                let base = bases.of_absent(suite, machine_class, machine)?;
                gate::not_run(suite, machine_class, "no run of this machine at HEAD", base)
            }
        });
    }
    let exit = gate::exit_code(&suites, !args.suites.is_empty(), args.inconclusive);
    let gate = gate::finish("check", suites, exit);
    if !gate_reports::own_stdout(&wishes) {
        for suite in &gate.suites {
            out.write_all(gate::suite_text(suite, false).as_bytes())?;
        }
        writeln!(out, "check: {}; {}", gate.outcome.word(), verdicts::counts(&gate.counts()))?;
    }
    gate_reports::write(folder, &wishes, &gate, out)?;
    Ok(if args.bisect { gate::for_bisection(&gate, exit) } else { exit })
}

/// The recorded runs that are judged, or the file that is named.
fn recorded(folder: &Path, project: &Project, args: &CheckArgs) -> anyhow::Result<Vec<Chosen>> {
    let file = args.run.as_ref().map(|path| folder.join(path));
    choose::choose(project, &args.suites, file.as_deref())
}

/// Measures the suites now; nothing of it is recorded.
fn measured(folder: &Path, project: &Project, args: &CheckArgs) -> anyhow::Result<Vec<Chosen>> {
    let effort = Effort::of(&args.effort)?;
    let asked = project.config.select(&args.suites).map_err(anyhow::Error::msg)?;
    let trt = TrtOptions::none(folder);
    trt.check(project, &asked)?;
    let gpu = GpuWish::default();
    let wish = Wish {
        effort,
        filters: &[],
        shard: None,
        count_instructions: false,
        retune: false,
        gpu,
        trt: &trt,
        commit: None,
    };
    let progress = Progress::new();
    let runs = suites::measure(project, &asked, &wish, &progress)?.runs;
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
fn again(project: &Project, run: &Run) -> anyhow::Result<Vec<RecordedRun>> {
    let Some(commit) = run.commit.as_ref().filter(|commit| !commit.dirty) else { return Ok(Vec::new()) };
    if project.find_store().is_none() {
        return Ok(Vec::new());
    }
    let mut runs = Records::open(project)?.at(Some(&run.suite), Some(&commit.sha))?;
    let is_same = |one: &Run| one.machine.id == run.machine.id && one.commit.as_ref().is_some_and(|one| !one.dirty);
    runs.retain(|one| is_same(&one.run));
    Ok(runs)
}
