//! `sprag bench`: any command timed in fresh processes, or two in turn.

use std::io::Write;
use std::path::PathBuf;

use crate::builds::Builds;
use crate::compare::timed::{SUITE, command, shown, suite, suite_named};
use crate::compare::{self, Contest, measure_programs};
use crate::config::{Config, Suite};
use crate::error::{Exit, WithContext as _};
use crate::gate::{CompareRequest, GateRequest, Inconclusive, table_text};
use crate::measuring::{self, MeasureHost, SuiteRequest, TrtOptions};
use crate::pending;
use crate::project::Project;
use crate::{Advice, refuse, text};
use sprag_analysis::rules::remedy::{Remedy, refit};
use sprag_base::stats::describe;
use sprag_measure::MeasureError;
use sprag_measure::command::suite::warm_up;
use sprag_measure::plan::{MOST_PROCESSES, Protocol};
use sprag_measure::suite::command::command_suite;
use sprag_measure::suite::{Effort, Extent};
use sprag_model::{Comparison, Policy, Run, Verdict};

/// Between the two commands.
const VERSUS: &str = "--vs";

const NO_PROGRAM: &str = "there is no such program";

const START_HINT: &str = "name a program on PATH, or the path of an executable file such as `./program`";

/// With fewer, chance has too much weight.
const FEWEST_RUNS: u32 = 10;

/// How long quick commands run in all.
const SECONDS: f64 = 3.0;

pub struct BenchRequest {
    /// The working folder of the commands.
    pub folder: PathBuf,
    /// One command, or two with `--vs` between them.
    pub words: Vec<String>,
    pub runs: Option<u32>,
    pub warmup: u32,
    pub pin: Option<u32>,
    pub name: Option<String>,
    pub record: bool,
}

pub fn bench(request: &BenchRequest, host: MeasureHost<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(&request.folder)?;
    let commands: Vec<Vec<String>> = request.words.split(|word| word == VERSUS).map(command).collect();
    if commands.iter().any(Vec::is_empty) {
        return refuse(
            "there is no command before or after `--vs`",
            "write it as in `sprag bench -- ./old --vs ./new`",
        );
    }
    match &commands[..] {
        [one] => alone(request, &project, one, host, out),
        [base, other] if !request.record => both(request, &project, [base, other], host, out),
        [_, _] => refuse("`--record` records one command, and there are two", "leave out `--vs` and what follows it"),
        several => {
            let message = format!("two commands can take turns, and there are {}", several.len());
            refuse(message, "compare them pair by pair")
        }
    }
}

fn alone(
    request: &BenchRequest,
    project: &Project,
    command: &[String],
    host: MeasureHost<'_>,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let name = request.name.as_deref().unwrap_or(SUITE);
    check_name(project, name, request.record, &suite_named(name, &request.folder, command, None))?;
    if request.record {
        pending::foretell(project, None)?;
    }
    let Some(runs) = runs(request, project, [command])? else { return Ok(Exit::Failed) };
    let suite = suite_named(name, &request.folder, command, Some(runs));
    let trt = TrtOptions::default();
    let measured = measuring::measure(project, &[(name, &suite)], &SuiteRequest::all(effort(request), &trt), host)?;
    host.observer.end();
    let run = measured.runs.first().context("no run was made")?;
    // With a warm-up run it is found before.
    if let Some(reason) = run.reason.as_deref().filter(|reason| reason.ends_with(NO_PROGRAM)) {
        return refuse(text::printable(reason), START_HINT);
    }
    out.write_all(table(run, request).as_bytes())?;
    if request.record {
        pending::record_runs(project, &measured.runs)?;
    }
    Ok(measuring::exit(&measured.runs))
}

fn both(
    request: &BenchRequest,
    project: &Project,
    commands: [&Vec<String>; 2],
    host: MeasureHost<'_>,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let Some(pairs) = runs(request, project, commands.map(Vec::as_slice))? else { return Ok(Exit::Failed) };
    // A comparison takes twice as many pairs as a run has processes.
    let suite = suite(&request.folder, commands[1], Some(pairs.div_ceil(2)));
    let [base, other] = commands.map(|words| shown(words));
    let gate = GateRequest { inconclusive: Inconclusive::Ok, ..GateRequest::of_folder(&request.folder) };
    let compared =
        CompareRequest { gate, base: base.clone(), other: other.clone(), filters: Vec::new(), config_from: None };
    let effort = effort(request);
    let builds = &Builds::aside(project, host.observer);
    let contest = Contest { project, name: SUITE, suite: &suite, request: &compared, effort, host, builds };
    let commands = commands.map(Clone::clone);
    let measure = |contest: &Contest<'_>| measure_programs(contest, &commands);
    let (outcome, mut judged) = compare::judged(&contest, &Policy::default(), &measure)?;
    let pairs = outcome.result.pairs;
    for one in &mut judged.comparisons {
        if let Verdict::Inconclusive(reason) = &mut one.verdict {
            *reason = refit(reason, |remedy| Some(advice(remedy, pairs)));
        }
    }
    let Some(first) = judged.comparisons.first() else { return Ok(Exit::Failed) };
    writeln!(out, "{}", sentence(first, [&base, &other]))?;
    out.write_all(compare::busy(&judged, outcome.result.faults.len()).as_bytes())?;
    out.write_all(table_text(&judged, false).as_bytes())?;
    Ok(if first.verdict == Verdict::Missing { Exit::Failed } else { Exit::Done })
}

/// How to take so many pairs.
fn advice(remedy: Remedy, pairs: usize) -> String {
    match remedy {
        Remedy::Pairs(more) if pairs + more <= MOST_PROCESSES as usize => {
            format!("{} (`--runs {}`)", remedy.words(), pairs + more)
        }
        _ => remedy.words(),
    }
}

/// ``./new` takes 1.52 times as long as `./old` (1.49 to 1.55)`.
fn sentence(judged: &Comparison, [base, other]: [&str; 2]) -> String {
    let Some(effect) = judged.effect else { return format!("`{base}` and `{other}` cannot be compared") };
    let (low, high) = effect.interval.unwrap_or((effect.change, effect.change));
    let factors = [effect.change, low, high].map(|change| format!("{:.3}", 1.0 + change));
    format!("`{other}` takes {} times as long as `{base}` ({} to {})", factors[0], factors[1], factors[2])
}

/// How often each command runs: as asked, else as three seconds allow. `None` where one fails, which is reported here.
fn runs<const N: usize>(
    request: &BenchRequest,
    project: &Project,
    commands: [&[String]; N],
) -> crate::Result<Option<u32>> {
    let mut seconds = f64::MIN_POSITIVE;
    for command in commands {
        let settings = suite(&request.folder, command, None).command_settings();
        let suite = command_suite(&project.root, &settings, Protocol { pin: request.pin, ..Protocol::ordinary(1) })?;
        match warm_up(&suite, request.warmup) {
            Ok(taken) => seconds = taken.max(seconds),
            Err(MeasureError::Start(fault)) => return refuse(fault, START_HINT),
            Err(fault) => {
                let message = format!("`{}`: {fault}", shown(command));
                text::error(
                    &Advice::new(message, "run it by hand to see why; only commands that exit with 0 are timed").into(),
                );
                return Ok(None);
            }
        }
    }
    let fitting = (SECONDS / seconds).min(f64::from(MOST_PROCESSES)) as u32;
    Ok(Some(request.runs.unwrap_or(if request.warmup == 0 { FEWEST_RUNS } else { fitting.max(FEWEST_RUNS) })))
}

fn effort(request: &BenchRequest) -> Effort {
    Effort { extent: Extent::Ordinary, pin: request.pin }
}

/// A record belongs to a suite of its own.
fn check_name(project: &Project, name: &str, is_recorded: bool, suite: &Suite) -> crate::Result<()> {
    if is_recorded && project.config.all_suites().any(|(one, _)| one == name) {
        let of = if project.config.suites.contains_key(name) { "sprag.toml" } else { "Sprag itself" };
        let message = format!("`{}` is a suite of {of}", text::printable(name));
        return refuse(message, "give another name with `--name`, or measure the suite with `sprag run --suite`");
    }
    Config::check_suite(name, suite)
}

fn table(run: &Run, request: &BenchRequest) -> String {
    let measured = run.measurements.first().and_then(|one| one.estimates.first());
    let Some(time) = measured else {
        let reason = run.reason.as_deref().unwrap_or("it has no time");
        return format!("failed: {}\n", text::printable(reason));
    };
    let scale = time.metric.unit.scale(time.value);
    let range = |(low, high): (f64, f64)| format!("{} to {}", scale.number(low), scale.text(high));
    let words = shown(&command(&request.words));
    let mut table = format!("`{words}`: {}", scale.text(time.value));
    if let Some(interval) = time.interval {
        table.push_str(&format!(", 95 % interval {}", range(interval)));
    }
    let ends = time.workers.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(*one), high.max(*one)));
    let mean = describe::mean(&time.workers).unwrap_or(time.value);
    let (runs, warmup) = (time.workers.len(), text::count(request.warmup as usize, "warm-up run"));
    let (range, mean) = (range(ends), scale.text(mean));
    let mut sentence = format!("{runs} runs in fresh processes after {warmup}: {range}, mean {mean}");
    if let Some(detectable) = time.detectable {
        sentence.push_str(&format!("; detectable: {}", text::percent_size(detectable)));
    }
    table.push('\n');
    table.push_str(&text::line(&sentence, 0));
    for reason in &run.quality.reasons {
        table.push_str(&text::line(&format!("note: {reason}"), 0));
    }
    table
}
