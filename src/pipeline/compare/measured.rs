//! Two builds measured against each other, and a verdict a benchmark.

use std::io::Write;

use super::contest::{Contest, Outcome};
use super::{commands, doubts, kernels, report};
use crate::config::{Suite, SuiteKind};
use crate::distinct::NamedFile;
use crate::error::Context as _;
use crate::exit::Exit;
use crate::gate::{CompareRequest, PrintFormat, exit_code, finish, reports};
use crate::measuring::MeasureHost;
use crate::notices::warn;
use crate::project::Project;
use crate::{Advice, Error, policy, revision, text};
use sprag_analysis::mean_change::{self, Errors};
use sprag_analysis::paired::judge;
use sprag_history as history;
use sprag_measure::suite::Effort;
use sprag_measure::{clock, environment};
use sprag_model::gate::SuiteGate;
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Verdict};

/// Measures both sides now, taking turns, prints what was found and writes the reports.
pub fn compare(
    request: &CompareRequest,
    effort: Effort,
    host: MeasureHost<'_>,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let (folder, suites) = (&request.gate.folder, &request.gate.suites);
    let project = Project::open(folder)?;
    let policy = match &request.gate.policy {
        Some(path) => policy::read(&folder.join(path))?,
        None => policy::from_rules(&project.config.rules),
    };
    let reports = reports::parse(&request.gate.reports)?;
    let policy_file = request.gate.policy.as_deref();
    reports::check(folder, &reports, vec![NamedFile::read("--policy", policy_file, "the policy")])?;
    if let [_, second, ..] = &suites[..] {
        let message = format!("one suite is measured at a time, and `{}` is a second one", text::printable(second));
        return Err(Advice { message, hint: "compare them one after another".to_owned() }.into());
    }
    let (name, suite) = chosen_suite(&project, suites.first().map(String::as_str))?;
    let contest = Contest { project: &project, name, suite, request, effort, host };
    let outcome = match suite.kind {
        SuiteKind::Command => commands::measure(&contest)?,
        _ => kernels::measure(&contest)?,
    };
    host.observer.end();
    let mut comparisons = judge(&outcome.result.benchmarks, &policy);
    doubt_broken(&mut comparisons, &outcome.result.faults);
    doubts::advise_pairs(&mut comparisons, outcome.result.pairs, Effort::rigorous_pairs(suite.processes()));
    doubts::add_new(&mut comparisons, &outcome.result.new, &policy);
    let suite = suite_gate(&contest, &outcome, comparisons);
    let exit = exit_code(std::slice::from_ref(&suite), false, request.gate.inconclusive);
    let gate = finish("compare", vec![suite], exit, (false, request.gate.inconclusive));
    for fault in &outcome.result.faults {
        warn(fault);
    }
    // What is filtered out may be what an entry fits.
    if request.filters.is_empty() {
        policy::warn_unmatched(&project, policy_file.map(|path| (path, &policy)), &policy::judged(&gate.suites));
    }
    let text = if request.gate.print == PrintFormat::Json {
        let report = report::Report::new(&contest, &outcome, &gate.suites[0].comparisons);
        let json = serde_json::to_string_pretty(&report).context("cannot write the comparison")?;
        format!("{json}\n")
    } else {
        report::table(&contest, &outcome, &gate)
    };
    let print = match request.gate.print {
        PrintFormat::Markdown => PrintFormat::Markdown,
        PrintFormat::Table | PrintFormat::Json => PrintFormat::Table,
    };
    let request = crate::gate::GateRequest { print, ..request.gate.clone() };
    reports::conclude(&request, &reports, (&gate, exit), &text, out)
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
        against: against(contest.request, outcome.result.pairs),
        has_base: true,
        base_commit: base.clone(),
        can_take_turns: true,
        whole: mean_change::of_comparisons(&comparisons, Errors::Independent),
        comparisons,
    }
}

/// What was held against what, for reports: the two took turns, and nothing was stored.
fn against(request: &CompareRequest, pairs: usize) -> String {
    let [base, other] = [&request.base, &request.other].map(|named| text::printable(named));
    format!("{base}: {other} and {base} took turns in {} of processes", text::count(pairs, "pair"))
}

/// The suite of that name; without one, the only suite that can be compared, or the one called `cpu` among several.
fn chosen_suite<'a>(project: &'a Project, named: Option<&str>) -> crate::Result<(&'a str, &'a Suite)> {
    let names: Vec<String> = named.map(str::to_owned).into_iter().collect();
    let asked = project.config.select(&names).map_err(Error::message)?;
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
