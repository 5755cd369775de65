//! Two commits, builds or files compared: by recorded results, or interleaved now.

mod contest;
mod commands;
mod kernels;
pub mod stored;

use std::io::Write;

use crate::compare::contest::{Contest, Outcome};
use crate::config::{Suite, SuiteKind};
use crate::error::{Context as _, Exit};
use crate::gate::{CompareRequest, PrintFormat, exit_code, finish, reports};
use crate::measuring::MeasureHost;
use crate::options::NamedFile;
use crate::project::Project;
use crate::text::{self, warn};
use crate::{Advice, policy, refuse};
use sprag_analysis::mean_change::{self, Errors};
use sprag_analysis::paired::judge;
use sprag_analysis::rules::remedy::{Remedy, refit};
use sprag_history as history;
use sprag_measure::plan::MOST_PROCESSES;
use sprag_measure::suite::Effort;
use sprag_measure::{clock, environment};
use sprag_model::baseline::Baseline;
use sprag_model::gate::SuiteGate;
use sprag_model::paired::New;
use sprag_model::rule::{Choice, Policy, Rule};
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Verdict};

pub use crate::compare::contest::schema;

/// Measures both sides now, taking turns, prints what was found and writes the reports.
pub fn compare_interleaved(
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
        return refuse(message, "compare them one after another");
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
    advise_pairs(&mut comparisons, outcome.result.pairs, Effort::rigorous_pairs(suite.processes()));
    add_new(&mut comparisons, &outcome.result.new, &policy);
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
        let report = contest::Report::new(&contest, &outcome, &gate.suites[0].comparisons);
        let json = serde_json::to_string_pretty(&report).context("cannot write the comparison")?;
        format!("{json}\n")
    } else {
        contest::table(&contest, &outcome, &gate)
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

fn suite_gate(contest: &Contest<'_>, outcome: &Outcome, comparisons: Vec<Comparison>) -> SuiteGate {
    let machine = environment::machine(contest.project.machine_name().as_deref(), None);
    let [base, other] = &outcome.commits;
    let store = contest.project.find_store();
    let commit = other.as_deref().zip(store).and_then(|(sha, store)| history::commit_at(store, sha).ok().flatten());
    SuiteGate {
        suite: contest.name.to_owned(),
        machine: Some(machine.name),
        machine_class: machine.class,
        time: Some(clock::now()),
        commit,
        status: Some(RunStatus::Ok),
        quality: outcome.result.faults.clone(),
        against: against(contest.request, outcome.result.pairs),
        has_base: true,
        base_commit: base.clone(),
        can_take_turns: true,
        whole: mean_change::of_comparisons(&comparisons, Errors::Independent),
        comparisons,
        ..SuiteGate::default()
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
    let asked = project.config.select(&names)?;
    let able: Vec<(&str, &Suite)> = asked.iter().filter(|(_, suite)| suite.kind.can_be_built()).copied().collect();
    let list = || able.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join("`, `");
    match (able.as_slice(), named) {
        ([one], _) => Ok(*one),
        ([], named) => refuse(
            match named {
                Some(name) => format!("the suite `{name}` is of a kind whose builds cannot take turns"),
                None => "no suite is of a kind whose builds can take turns".to_owned(),
            },
            "name a suite of the kind `cpu` or `command` with `--suite`",
        ),
        (several, _) => several.iter().find(|(name, _)| *name == "cpu").copied().ok_or_else(|| {
            let message = "several suites could be compared, and one is at a time";
            Advice::new(message, format!("name it with `--suite`: `{}`", list())).into()
        }),
    }
}

/// Says it in the reasons of doubt; `pairs` have been measured, and `--rigorous` takes `rigorous`.
pub(super) fn advise_pairs(comparisons: &mut [Comparison], pairs: usize, rigorous: u32) {
    for one in comparisons {
        if let Verdict::Inconclusive(reason) = &mut one.verdict {
            *reason = refit(reason, |remedy| Some(words(remedy, pairs, rigorous as usize)));
        }
    }
}

fn words(remedy: Remedy, pairs: usize, rigorous: usize) -> String {
    let words = remedy.words();
    let Remedy::Pairs(more) = remedy else { return words };
    let wanted = pairs + more;
    // A suite is compared in twice as many pairs as a run of it has processes.
    let processes = wanted.div_ceil(2);
    if wanted <= rigorous {
        format!("{words} (`--rigorous` takes {rigorous} in all)")
    } else if processes <= MOST_PROCESSES as usize {
        format!("{words} (`processes = {processes}` of the suite takes {} in all)", 2 * processes)
    } else {
        words
    }
}

/// Puts them among the comparisons, before what is unchanged or better.
pub(super) fn add_new(comparisons: &mut Vec<Comparison>, new: &[New], policy: &Policy) {
    let (failed, fine): (Vec<Comparison>, Vec<Comparison>) =
        new.iter().map(|one| comparison(one, policy)).partition(|one| one.verdict == Verdict::Missing);
    let place = |comparisons: &[Comparison], is_before: fn(&Verdict) -> bool| {
        comparisons.iter().take_while(|one| is_before(&one.verdict)).count()
    };
    let after = place(comparisons, |verdict| matches!(verdict, Verdict::Regressed | Verdict::Missing));
    comparisons.splice(after..after, failed);
    let after = place(comparisons, |verdict| !matches!(verdict, Verdict::Improved | Verdict::Unchanged));
    comparisons.splice(after..after, fine);
}

fn comparison(new: &New, policy: &Policy) -> Comparison {
    let rule = match policy.choice(&Baseline::key(&new.benchmark, &new.metric.name)) {
        Choice::Fixed(rule) => rule.name(),
        Choice::Learnt => Rule::NAMES[0],
    };
    let (verdict, note) = match &new.failure {
        // What should give a result and does not is missing, whatever it is held against.
        Some(failure) => (Verdict::Missing, format!("new, and failed: {failure}")),
        None => (Verdict::NoBaseline, "new: the base does not have it".to_owned()),
    };
    Comparison {
        current: new.value,
        note: Some(note),
        ..Comparison::bare(&new.benchmark, new.metric.clone(), rule, verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_report::gate::example;

    #[test]
    fn the_option_gives_the_pairs_that_are_asked_for() {
        let check = |remedy: Remedy, pairs: usize, expected: &str| {
            let verdict = Verdict::Inconclusive(remedy.after("why"));
            let mut comparisons = [example::comparison("cpu/a @fast", 1.0, verdict)];
            advise_pairs(&mut comparisons, pairs, 15);
            assert_eq!(comparisons[0].verdict.reason(), Some(format!("why; {expected}").as_str()));
        };
        check(Remedy::Pairs(1), 3, "about 1 more pair of processes would settle it (`--rigorous` takes 15 in all)");
        check(Remedy::Pairs(5), 10, "about 5 more pairs of processes would settle it (`--rigorous` takes 15 in all)");
        let words = "about 7 more pairs of processes would settle it (`processes = 9` of the suite takes 18 in all)";
        check(Remedy::Pairs(7), 10, words);
        check(Remedy::Pairs(900), 10, "about 900 more pairs of processes would settle it");
        check(Remedy::Turns, 10, &Remedy::Turns.words());
    }

    #[test]
    fn what_is_new_stands_before_what_is_fine() {
        let one = |name: &str, verdict: Verdict| example::comparison(name, 1.0, verdict);
        let mut comparisons = vec![
            one("slow", Verdict::Regressed),
            one("doubt", Verdict::Inconclusive("why".to_owned())),
            one("fast", Verdict::Improved),
            one("same", Verdict::Unchanged),
        ];
        let fine = New { value: Some(2.0), ..New::untimed("new") };
        let failed = New { failure: Some("it broke".to_owned()), ..New::untimed("broken") };
        add_new(&mut comparisons, &[fine, failed], &Policy::default());
        let told: Vec<(&str, &str)> =
            comparisons.iter().map(|one| (one.benchmark.as_str(), one.verdict.word())).collect();
        let expected = [
            ("slow", "regressed"),
            ("broken", "missing"),
            ("doubt", "inconclusive"),
            ("new", "no baseline"),
            ("fast", "improved"),
            ("same", "unchanged"),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            (comparisons[3].baseline, comparisons[3].current, comparisons[3].rule),
            (None, Some(2.0), "interval")
        );
        let mut alone = Vec::new();
        add_new(&mut alone, &[New::untimed("new")], &Policy::default());
        assert_eq!((alone.len(), alone[0].current), (1, None));
    }
}
