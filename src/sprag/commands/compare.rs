//! `sprag compare A B --measure`: two builds measured against each other, and a verdict a benchmark.

mod contest;
mod commands;
mod kernels;
mod newcomers;
mod more_pairs;
mod report;

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::distinct::NamedFile;
use super::gate::{self, PolicyFile};
use super::progress::Progress;
use super::project::Project;
use super::{Advice, Exit, compare_stored, effort, gate_reports, policy, revision, text};
use crate::cli::CompareArgs;
use crate::config::{Suite, SuiteKind};
use sprag_analysis::paired::judge;
use sprag_analysis::whole::{self, Errors};
use sprag_history as history;
use sprag_measure::suite::{Effort, Observer as _};
use sprag_measure::{clock, environment};
use sprag_model::gate::SuiteGate;
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Verdict};
use sprag_report::gate::{changed_markdown, gate_markdown};

use contest::{Contest, Outcome};
pub(super) use report::schema;

pub(super) fn run(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    gate::stop_bisection(args.bisect, compared(folder, args, out))
}

fn compared(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.bisect && [&args.base, &args.other].iter().any(|side| side.starts_with("HEAD")) {
        gate::refuse_aside(&Project::open(folder)?)?;
    }
    match args.measure {
        true => measured(folder, args, out),
        false => compare_stored::run(folder, args, out),
    }
}

/// Measures both sides now, taking turns.
fn measured(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let effort = effort::from_args(&args.effort.plain())?;
    let project = Project::open(folder)?;
    let policy = match &args.policy {
        Some(path) => PolicyFile::read(&folder.join(path))?.policy,
        None => policy::of(&project.config.rules),
    };
    let wishes = gate_reports::parse(&args.reports)?;
    gate_reports::check(folder, &wishes, vec![NamedFile::read("--policy", args.policy.as_deref(), "the policy")])?;
    if let [_, second, ..] = &args.suites[..] {
        let message = format!("one suite is measured at a time, and `{}` is a second one", text::printable(second));
        return Err(Advice { message, hint: "compare them one after another".to_owned() }.into());
    }
    let (name, suite) = chosen_suite(&project, args.suites.first().map(String::as_str))?;
    let contest = Contest { project: &project, folder, name, suite, args, effort, progress: Progress::new() };
    let outcome = match suite.kind {
        SuiteKind::Command => commands::measure(&contest)?,
        _ => kernels::measure(&contest)?,
    };
    contest.progress.end();
    let mut comparisons = judge(&outcome.result.benchmarks, &policy);
    doubt_broken(&mut comparisons, &outcome.result.faults);
    more_pairs::tell(&mut comparisons, outcome.result.pairs, Effort::rigorous_pairs(suite.processes()));
    newcomers::add(&mut comparisons, &outcome.result.new, &policy);
    let suite = suite_gate(&contest, &outcome, comparisons);
    let exit = gate::exit_code(std::slice::from_ref(&suite), false, args.inconclusive);
    let gate = gate::finish("compare", vec![suite], exit, (false, args.inconclusive));
    if gate_reports::own_stdout(&wishes) {
        // A report stands there alone.
    } else if args.json {
        let report = report::Report::of(&contest, &outcome, &gate.suites[0].comparisons);
        writeln!(out, "{}", serde_json::to_string_pretty(&report).context("cannot write the comparison")?)?;
    } else if args.markdown {
        let markdown = if args.only_changed { changed_markdown(&gate) } else { gate_markdown(&gate) };
        out.write_all(markdown.as_bytes())?;
    } else {
        out.write_all(report::table(&contest, &outcome, &gate).as_bytes())?;
    }
    for fault in &outcome.result.faults {
        super::warn(fault);
    }
    // What is filtered out may be what an entry fits.
    if args.filters.is_empty() {
        let file = args.policy.as_deref().map(|path| (path, &policy));
        policy::tell_unfit(&project, file, &policy::judged(&gate.suites));
    }
    gate_reports::write(folder, &wishes, &gate, out)?;
    Ok(if args.bisect { gate::for_bisection(&gate, exit) } else { exit })
}

/// Where processes broke, those that did not are a choice of the lucky ones: nothing is called unchanged or better then.
fn doubt_broken(comparisons: &mut [Comparison], faults: &[String]) {
    let broken = faults.iter().filter(|fault| fault.starts_with("pair ")).count();
    if broken == 0 {
        return;
    }
    for one in comparisons.iter_mut().filter(|one| matches!(one.verdict, Verdict::Unchanged | Verdict::Improved)) {
        let pairs = text::count(broken, "pair");
        one.verdict = Verdict::Inconclusive(format!("{pairs} of processes broke; see the warnings"));
    }
}

/// What was measured as what a gate finds, of which reports are made.
fn suite_gate(contest: &Contest<'_>, outcome: &Outcome, comparisons: Vec<Comparison>) -> SuiteGate {
    let machine = environment::machine(contest.project.machine_name().as_deref(), None);
    let [base, other] = &outcome.commits;
    let store = contest.project.find_store();
    let commit = other.as_deref().zip(store).and_then(|(sha, store)| history::commit_at(store, sha).ok().flatten());
    SuiteGate {
        suite: contest.name.to_owned(),
        machine: Some(machine.name),
        machine_class: machine.class,
        run: None,
        time: Some(clock::now()),
        commit,
        status: Some(RunStatus::Ok),
        reason: None,
        quality: outcome.result.faults.clone(),
        against: against(contest.args, outcome.result.pairs),
        has_base: true,
        base_commit: base.clone(),
        can_take_turns: true,
        whole: whole::of(&comparisons, Errors::Independent),
        comparisons,
    }
}

/// What was held against what, for reports: the two took turns, and nothing was stored.
fn against(args: &CompareArgs, pairs: usize) -> String {
    let [base, other] = [&args.base, &args.other].map(|named| text::printable(named));
    format!("{base}: {other} and {base} took turns in {} of processes", text::count(pairs, "pair"))
}

/// The suite of that name; without one, the only suite that can be compared, or the one called `cpu` among several.
fn chosen_suite<'a>(project: &'a Project, named: Option<&str>) -> anyhow::Result<(&'a str, &'a Suite)> {
    let names: Vec<String> = named.map(str::to_owned).into_iter().collect();
    let asked = project.config.select(&names).map_err(anyhow::Error::msg)?;
    let able: Vec<(&str, &Suite)> =
        asked.iter().filter(|(_, suite)| revision::can_be_built(suite.kind)).copied().collect();
    let list = || able.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join("`, `");
    match (able.as_slice(), named) {
        ([one], _) => Ok(*one),
        ([], named) => Err(Advice {
            message: match named {
                Some(name) => format!("the suite `{name}` is of a kind whose builds cannot take turns"),
                None => "no suite is of a kind whose builds can take turns".to_owned(),
            },
            hint: "name a suite of the kind `cpu` or `command` with `--suite`".to_owned(),
        }
        .into()),
        (several, _) => several.iter().find(|(name, _)| *name == "cpu").copied().ok_or_else(|| {
            let message = "several suites could be compared, and one is at a time".to_owned();
            Advice { message, hint: format!("name it with `--suite`: `{}`", list()) }.into()
        }),
    }
}
