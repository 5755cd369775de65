//! Compares two commits, builds or files: by recorded results, or interleaved now.

mod builds;
pub mod stored;
pub(crate) mod timed;

use std::io::Write;

use schemars::JsonSchema;
use serde::Serialize;

use crate::builds::Builds;
use crate::builds::commit_build::can_be_built;
use crate::compare::builds::{measure_commands, measure_kernels, neither};
use crate::config::{FILE_NAME, Suite, SuiteKind};
use crate::error::{Exit, WithContext as _};
use crate::gate::{self, AgainstBase, CompareRequest, PrintFormat, exit_code, finish, machine_of, reports, table_text};
use crate::measuring::MeasureHost;
use crate::options::NamedFile;
use crate::project::Project;
use crate::text::{self, warn};
use crate::{Advice, Error, policy, refuse};
use sprag_analysis::compare::pass_within;
use sprag_analysis::mean_change::{self, Errors};
use sprag_analysis::paired::judge;
use sprag_analysis::rules::remedy::{Remedy, refit};
use sprag_base::stats::describe;
use sprag_history as history;
use sprag_measure::environment::pressure::{self, Pressure};
use sprag_measure::plan::MOST_PROCESSES;
use sprag_measure::suite::Effort;
use sprag_measure::{clock, environment};
use sprag_model::paired::{New, Paired};
use sprag_model::schema::patterns;
use sprag_model::{Baseline, Choice, Comparison, Gate, Policy, Rule, RunStatus, SuiteGate, Verdict};

pub(crate) use crate::compare::builds::{BuildsOutcome, Contest, measure_programs};

pub fn compare_interleaved(
    request: &CompareRequest,
    effort: Effort,
    host: MeasureHost<'_>,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let suites = &request.gate.suites;
    let mut project = Project::open(&request.gate.folder)?;
    let mut request = request.clone();
    if let Some(commit) = &request.config_from {
        request.config_from = Some(project.use_config_of(commit)?);
    }
    let request = &request;
    let builds = Builds::new(&project, host.observer, true);
    if let [_, second, ..] = &suites[..] {
        let message = format!("one suite is measured at a time, and `{}` is a second one", text::printable(second));
        return refuse(message, "compare them one after another");
    }
    let kind = |side| Ok::<_, Error>((is_command(&project, request, side)?, is_program(&project, request, side)?));
    let kinds = [kind(&request.base)?, kind(&request.other)?];
    let are_commands = kinds.iter().any(|(is_command, _)| *is_command)
        && kinds.iter().all(|(is_command, is_program)| *is_command || *is_program);
    if suites.is_empty() && are_commands {
        let commands = [&request.base, &request.other].map(|text| timed::command(std::slice::from_ref(text)));
        let suite = timed::suite(&request.gate.folder, &commands[1], None);
        let contest =
            Contest { project: &project, name: timed::SUITE, suite: &suite, request, effort, host, builds: &builds };
        return conclude(&contest, &|contest: &Contest<'_>| measure_programs(contest, &commands), out);
    }
    if suites.is_empty() && project.config.suites.is_empty() {
        for side in [&request.base, &request.other] {
            if gate::named(&project, &request.gate.folder, side)?.is_none() {
                return Err(neither(side, "program"));
            }
        }
    }
    let are_programs = kinds.iter().all(|(_, is_program)| *is_program);
    let (name, suite) = chosen_suite(&project, suites.first().map(String::as_str), are_programs)?;
    let contest = Contest { project: &project, name, suite, request, effort, host, builds: &builds };
    conclude(&contest, &measure, out)
}

/// Builds and measures both sides of a suite.
pub(crate) fn measure(contest: &Contest<'_>) -> crate::Result<BuildsOutcome> {
    match contest.suite.kind {
        SuiteKind::Command => measure_commands(contest),
        _ => measure_kernels(contest),
    }
}

fn is_program(project: &Project, request: &CompareRequest, side: &str) -> crate::Result<bool> {
    Ok(matches!(gate::named(project, &request.gate.folder, side)?, Some(AgainstBase::File(_))))
}

/// Whether a side is a command with arguments, or a program that no suite could run: one such as `make bench` runs none.
fn is_command(project: &Project, request: &CompareRequest, side: &str) -> crate::Result<bool> {
    let is_named = gate::named(project, &request.gate.folder, side)?.is_some();
    let starts_a_tool = |suite: &Suite| {
        suite.kind == SuiteKind::Command && suite.command.first().is_some_and(|program| !program.contains('/'))
    };
    let is_program = project.config.suites.values().all(starts_a_tool) && is_program(project, request, side)?;
    Ok(is_program || side.trim().contains(' ') && !is_named)
}

/// Measures both sides, judges, prints and writes reports.
fn conclude(
    contest: &Contest<'_>,
    measure: &dyn Fn(&Contest<'_>) -> crate::Result<BuildsOutcome>,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let Contest { project, suite, request, .. } = *contest;
    let policy = request.gate.rules()?.unwrap_or_else(|| policy::from_rules(&project.config.rules));
    let reports = reports::parse(&request.gate.reports)?;
    let policy_file = request.gate.policy.as_deref();
    reports::check(&request.gate.folder, &reports, vec![NamedFile::read("--policy", policy_file, "the policy")])?;
    let (outcome, mut judged) = judged(contest, &policy, measure)?;
    let rigorous = Effort::rigorous_pairs(suite.processes());
    // `sprag bench` measures commands; a suite that times one has a number of processes.
    let is_bench = suite.timed.is_some() && !project.config.suites.contains_key(contest.name);
    advise_pairs(&mut judged.comparisons, outcome.result.pairs, (rigorous, is_bench));
    pass_within(&mut judged.comparisons, request.gate.tolerance);
    let exit = exit_code(std::slice::from_ref(&judged), false, request.gate.inconclusive);
    let gate = finish("compare", vec![judged], exit, (false, request.gate.inconclusive));
    // A filter may hide what an entry matches.
    if request.filters.is_empty() {
        policy::warn_unmatched(project, policy_file.map(|path| (path, &policy)), &policy::judged(&gate.suites));
    }
    let text = if request.gate.print == PrintFormat::Json {
        let report = Report::new(contest, &outcome, &gate.suites[0].comparisons);
        let json = serde_json::to_string_pretty(&report).context("cannot write the comparison")?;
        format!("{json}\n")
    } else {
        table(contest, &outcome, &gate)
    };
    let print = match request.gate.print {
        PrintFormat::Markdown => PrintFormat::Markdown,
        PrintFormat::Table | PrintFormat::Json => PrintFormat::Table,
    };
    let request = crate::gate::GateRequest { print, ..request.gate.clone() };
    reports::conclude(&request, &reports, (&gate, exit), &text, out)
}

/// Measures both sides, warns of faults, and judges.
pub(crate) fn judged(
    contest: &Contest<'_>,
    policy: &Policy,
    measure: &dyn Fn(&Contest<'_>) -> crate::Result<BuildsOutcome>,
) -> crate::Result<(BuildsOutcome, SuiteGate)> {
    let before = Pressure::read();
    let outcome = measure(contest)?;
    let pressure = pressure::reasons(&Pressure::read().since(&before), environment::cores());
    contest.host.observer.end();
    let mut comparisons = judge(&outcome.result.benchmarks, policy);
    doubt_broken(&mut comparisons, &outcome.result.faults);
    add_new(&mut comparisons, &outcome.result.new, policy);
    for fault in grouped(&outcome.result.faults) {
        warn(&fault);
    }
    let mut suite = suite_gate(contest, &outcome, comparisons);
    suite.quality.extend(pressure);
    Ok((outcome, suite))
}

/// The processes that survived are a lucky selection, so nothing is treated as unchanged or better.
fn doubt_broken(comparisons: &mut [Comparison], faults: &[String]) {
    let broken = faults.iter().filter(|fault| fault.starts_with("pair ")).count();
    if broken == 0 {
        return;
    }
    for one in comparisons.iter_mut().filter(|one| matches!(one.verdict, Verdict::Unchanged | Verdict::Improved)) {
        let pairs = text::count(broken, "process pair");
        one.verdict = Verdict::Inconclusive(format!("{pairs} broke; see the warnings"));
    }
}

/// Equal faults of several pairs in one sentence, as `3 pairs (1, 2, 3): …`.
fn grouped(faults: &[String]) -> Vec<String> {
    let parts = |fault: &String| {
        let (number, text) = fault.strip_prefix("pair ")?.split_once(": ")?;
        Some((number.to_owned(), text.to_owned()))
    };
    let mut groups: Vec<(Vec<String>, String)> = Vec::new();
    for fault in faults {
        let (number, text) = parts(fault).map_or((None, fault.clone()), |(number, text)| (Some(number), text));
        match groups.iter_mut().find(|(numbers, other)| !numbers.is_empty() && number.is_some() && *other == text) {
            Some((numbers, _)) => numbers.extend(number),
            None => groups.push((number.into_iter().collect(), text)),
        }
    }
    let sentence = |(numbers, text): &(Vec<String>, String)| match &numbers[..] {
        [] => text.clone(),
        [one] => format!("pair {one}: {text}"),
        numbers => format!("{} pairs ({}): {text}", numbers.len(), numbers.join(", ")),
    };
    groups.iter().map(sentence).collect()
}

fn suite_gate(contest: &Contest<'_>, outcome: &BuildsOutcome, comparisons: Vec<Comparison>) -> SuiteGate {
    let machine = machine_of(contest.project.machine_name().as_deref(), contest.suite);
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
        mean_change: mean_change::of_comparisons(&comparisons, Errors::Independent),
        comparisons,
        ..SuiteGate::default()
    }
}

fn against(request: &CompareRequest, pairs: usize) -> String {
    let [base, other] = [&request.base, &request.other].map(|named| text::printable(named));
    let from = request.config_from.as_ref();
    let from = from.map_or_else(String::new, |from| format!(", by `{FILE_NAME}` of {}", text::printable(from)));
    format!("{base}: {other} and {base} took turns in {}{from}", text::count(pairs, "process pair"))
}

/// The named suite; else the only one that can be built, or `cpu` among several. Two programs may have CUDA kernels.
pub(crate) fn chosen_suite<'a>(
    project: &'a Project,
    named: Option<&str>,
    are_programs: bool,
) -> crate::Result<(&'a str, &'a Suite)> {
    let names: Vec<String> = named.map(str::to_owned).into_iter().collect();
    let asked = project.config.select(&names)?;
    let is_able = |suite: &Suite| can_be_built(project, suite) || are_programs && suite.kind == SuiteKind::Gpu;
    let able: Vec<(&str, &Suite)> = asked.iter().filter(|(_, suite)| is_able(suite)).copied().collect();
    let list = || able.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join("`, `");
    match (able.as_slice(), named) {
        ([one], _) => Ok(*one),
        ([], named) => refuse(
            match named {
                Some(name) => format!("the suite `{name}` is of a kind whose builds cannot take turns"),
                None => "no suite is of a kind whose builds can take turns".to_owned(),
            },
            "name a suite of the kind `cpu` or `command` with `--suite`; a GPU program of your own can be a `command`",
        ),
        (several, _) => several.iter().find(|(name, _)| *name == "cpu").copied().ok_or_else(|| {
            let message = "several suites could be compared, and one is at a time";
            Advice::new(message, format!("name it with `--suite`: `{}`", list())).into()
        }),
    }
}

/// `pairs` were measured; `--rigorous` takes `rigorous`. A command that is timed itself has no suite to be changed.
fn advise_pairs(comparisons: &mut [Comparison], pairs: usize, (rigorous, is_timed): (u32, bool)) {
    for one in comparisons {
        if let Verdict::Inconclusive(reason) = &mut one.verdict {
            *reason = refit(reason, |remedy| Some(words(remedy, pairs, rigorous as usize, is_timed)));
        }
    }
}

fn words(remedy: Remedy, pairs: usize, rigorous: usize, is_timed: bool) -> String {
    let words = remedy.words();
    let Remedy::Pairs(more) = remedy else { return words };
    let wanted = pairs + more;
    // A comparison takes twice as many pairs as a run has processes.
    let processes = wanted.div_ceil(2);
    if wanted <= rigorous {
        format!("{words} (use `--rigorous`)")
    } else if is_timed && wanted <= MOST_PROCESSES as usize {
        format!("{words} (use `sprag bench --runs {wanted}`)")
    } else if processes <= MOST_PROCESSES as usize {
        format!("{words} (set `processes = {processes}`)")
    } else {
        words
    }
}

/// Inserts them before what is unchanged or better.
fn add_new(comparisons: &mut Vec<Comparison>, new: &[New], policy: &Policy) {
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
        // What should give a result and does not is missing.
        Some(failure) => (Verdict::Missing, format!("new, and failed: {failure}")),
        None => (Verdict::NoBaseline, "new: the base does not have it".to_owned()),
    };
    Comparison {
        current: new.value,
        note: Some(note),
        ..Comparison::bare(&new.benchmark, new.metric.clone(), rule, verdict)
    }
}

const JSON_VERSION: u32 = 2;

fn table(contest: &Contest<'_>, outcome: &BuildsOutcome, gate: &Gate) -> String {
    let (request, result) = (contest.request, &outcome.result);
    let head = format!(
        "{}: {} against {}, interleaved\n",
        contest.name,
        text::printable(&request.other),
        text::printable(&request.base)
    );
    let counts = gate.counts().words();
    let place = match result.processors.as_slice() {
        [] => "not pinned to a CPU".to_owned(),
        [one] => format!("on CPU {one}"),
        list => format!("in turns on CPUs {}", list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let pairs = text::count(result.pairs, "process pair");
    let mut table = head;
    for suite in &gate.suites {
        table.push_str(&busy(suite, result.faults.len()));
        table.push_str(&table_text(suite, request.gate.only_changed));
        if suite.comparisons.iter().any(|one| !follows_medians(one)) {
            table.push_str(
                "change: computed within each pair of processes; the medians also include drift between pairs\n",
            );
        }
    }
    if !result.shown.is_empty() {
        table.push_str(&format!("not judged\n{}", shown(&result.shown)));
    }
    table + &text::line(&format!("compare: {}; {counts}; {pairs}, {place}", gate.outcome.word()), 0)
}

/// Whether the change is, within its interval and one percent, that of the two medians which the table shows.
fn follows_medians(one: &Comparison) -> bool {
    let (Some(base), Some(current), Some(effect)) = (one.baseline, one.current, one.effect) else { return true };
    let (low, high) = effect.interval.unwrap_or((effect.change, effect.change));
    let of_medians = current / base - 1.0;
    !of_medians.is_finite() || (low.min(effect.change - 0.01)..=high.max(effect.change + 0.01)).contains(&of_medians)
}

/// What is a problem with the numbers besides the faults, which come first and were printed as warnings.
pub(crate) fn busy(suite: &SuiteGate, faults: usize) -> String {
    suite.quality[faults..].iter().map(|reason| text::line(&format!("rough: {reason}"), 0)).collect()
}

fn shown(metrics: &[Paired]) -> String {
    let row = |paired: &Paired| {
        let id = text::printable(&paired.benchmark);
        if let Some(reason) = &paired.incomparable {
            let none = || text::NONE.to_owned();
            return vec![id, paired.metric.name.clone(), none(), none(), none(), text::printable(reason)];
        }
        let median = |values: Vec<f64>| describe::median(&values).unwrap_or(f64::NAN);
        let base = median(paired.pairs.iter().map(|pair| pair.base).collect());
        let other = median(paired.pairs.iter().map(|pair| pair.other).collect());
        let scale = paired.metric.unit.scale(base);
        let change = text::percent(median(paired.ratios()) - 1.0);
        vec![id, paired.metric.name.clone(), scale.text(base), scale.text(other), change]
    };
    text::table(["benchmark", "metric", "base", "other", "change"], metrics.iter().map(row), &[2, 3, 4])
}

pub fn schema() -> serde_json::Value {
    sprag_model::schema::for_closed_type::<Report<'_>>()
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
struct Report<'a> {
    /// The version of the document.
    #[schemars(extend("const" = JSON_VERSION))]
    schema_version: u32,
    suite: &'a str,
    base: Side<'a>,
    other: Side<'a>,
    machine_class: String,
    /// The processors that both sides took turns on; none where the system chose.
    processors: &'a [u32],
    /// Pairs of processes that gave no result, and other problems with the numbers.
    faults: Vec<String>,
    /// The judged metric of each benchmark that the base has.
    benchmarks: Vec<BenchmarkReport<'a>>,
    /// Other metrics, which are not judged.
    shown: Vec<ShownReport<'a>>,
    /// The ids of benchmarks that the other has and the base has not.
    new: Vec<&'a str>,
    /// How many unchanged benchmarks are not listed, as with `--only-changed`; absent where all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged_left_out: Option<usize>,
}

/// One of the two sides.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Side")]
struct Side<'a> {
    /// As it was given.
    named: &'a str,
    /// The commit that was measured; absent for a program that was given by its path.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    commit: Option<&'a str>,
}

/// One benchmark: its pairs, the ratio of other over base with its interval, and the verdict of a rule.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BenchmarkReport")]
struct BenchmarkReport<'a> {
    #[schemars(extend("enum" = Verdict::WORDS))]
    verdict: &'static str,
    #[schemars(extend("enum" = Rule::NAMES))]
    rule: &'static str,
    reason: Option<&'a str>,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    detectable: Option<f64>,
    p_value: Option<f64>,
    measured: &'a Paired,
}

/// One metric that is not judged, likewise.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ShownReport")]
struct ShownReport<'a> {
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    measured: &'a Paired,
}

impl<'a> Report<'a> {
    /// The document of a comparison.
    fn new(contest: &'a Contest<'a>, outcome: &'a BuildsOutcome, comparisons: &'a [Comparison]) -> Report<'a> {
        let BuildsOutcome { result, commits: [base_commit, other_commit], .. } = outcome;
        let only_changed = contest.request.gate.only_changed;
        let is_listed = |one: &&Comparison| !only_changed || one.verdict != Verdict::Unchanged;
        let benchmark = |paired: &'a Paired| {
            let judged = comparisons.iter().filter(is_listed).find(|one| one.benchmark == paired.benchmark)?;
            let (ratio, interval) = ratio_and_interval(judged);
            Some(BenchmarkReport {
                verdict: judged.verdict.word(),
                rule: judged.rule,
                reason: judged.verdict.reason(),
                ratio,
                interval,
                detectable: judged.effect.and_then(|effect| effect.detectable),
                p_value: judged.p_value,
                measured: paired,
            })
        };
        let shown = |paired: &'a Paired| {
            let judged = judge(std::slice::from_ref(paired), &Policy::default());
            let (ratio, interval) = judged.first().map_or((None, None), ratio_and_interval);
            ShownReport { ratio, interval, measured: paired }
        };
        Report {
            schema_version: JSON_VERSION,
            suite: contest.name,
            base: Side { named: &contest.request.base, commit: base_commit.as_deref() },
            other: Side { named: &contest.request.other, commit: other_commit.as_deref() },
            machine_class: machine_of(None, contest.suite).class,
            processors: &result.processors,
            faults: result.faults.iter().cloned().chain(result.new.iter().filter_map(failed)).collect(),
            benchmarks: result.benchmarks.iter().filter_map(benchmark).collect(),
            shown: result.shown.iter().map(shown).collect(),
            new: result.new.iter().map(|one| one.benchmark.as_str()).collect(),
            unchanged_left_out: only_changed.then(|| comparisons.iter().filter(|one| !is_listed(one)).count()),
        }
    }
}

/// A new benchmark that failed has no entry of its own.
fn failed(new: &New) -> Option<String> {
    Some(format!("`{}` is new, and failed: {}", new.benchmark, new.failure.as_ref()?))
}

fn ratio_and_interval(comparison: &Comparison) -> (Option<f64>, Option<(f64, f64)>) {
    let effect = comparison.effect;
    let interval = effect.and_then(|effect| effect.interval).map(|(low, high)| (1.0 + low, 1.0 + high));
    (effect.map(|effect| 1.0 + effect.change), interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::{Effect, Metric};
    use sprag_report::gate::example;

    #[test]
    fn remedies_name_the_option_that_gives_enough_pairs() {
        let advised = |remedy: Remedy, pairs: usize, is_timed: bool| {
            let verdict = Verdict::Inconclusive(remedy.after("why"));
            let mut comparisons = [example::comparison("cpu/a @fast", 1.0, verdict)];
            advise_pairs(&mut comparisons, pairs, (15, is_timed));
            comparisons[0].verdict.reason().map(str::to_owned)
        };
        let check = |remedy: Remedy, pairs: usize, expected: &str| {
            assert_eq!(advised(remedy, pairs, false), Some(format!("why; {expected}")));
        };
        let words = "why; about 7 more process pairs would decide it (use `sprag bench --runs 17`)";
        assert_eq!(advised(Remedy::Pairs(7), 10, true).as_deref(), Some(words));
        check(Remedy::Pairs(1), 3, "about 1 more process pair would decide it (use `--rigorous`)");
        check(Remedy::Pairs(5), 10, "about 5 more process pairs would decide it (use `--rigorous`)");
        let words = "about 7 more process pairs would decide it (set `processes = 9`)";
        check(Remedy::Pairs(7), 10, words);
        check(Remedy::Pairs(900), 10, "about 900 more process pairs would decide it");
        check(Remedy::Turns, 10, &Remedy::Turns.words());
    }

    #[test]
    fn new_benchmarks_come_before_fine_ones() {
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
        let order: Vec<&str> = comparisons.iter().map(|one| one.benchmark.as_str()).collect();
        assert_eq!(order, ["slow", "broken", "doubt", "new", "fast", "same"]);
        assert_eq!((&comparisons[1].verdict, &comparisons[3].verdict), (&Verdict::Missing, &Verdict::NoBaseline));
        assert_eq!((comparisons[3].baseline, comparisons[3].current), (None, Some(2.0)));
        assert_eq!(comparisons[3].rule, "interval");
        let mut alone = Vec::new();
        add_new(&mut alone, &[New::untimed("new")], &Policy::default());
        assert_eq!((alone.len(), alone[0].current), (1, None));
    }

    #[test]
    fn a_change_that_the_medians_contradict_is_explained() {
        let follows = |current: f64, interval: Option<(f64, f64)>| {
            follows_medians(&Comparison {
                baseline: Some(1.0),
                current: Some(current),
                effect: Some(Effect { change: 0.05, interval, detectable: None }),
                ..Comparison::bare("cpu/x @fast", Metric::time(), "interval", Verdict::Regressed)
            })
        };
        assert!(follows(1.05, None) && follows(1.059, None) && !follows(1.07, None) && !follows(0.98, None));
        assert!(follows(1.07, Some((0.02, 0.08))) && !follows(0.98, Some((0.02, 0.08))) && follows(f64::NAN, None));
    }
}
