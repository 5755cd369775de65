//! `sprag compare A B --measure`: two builds timed against each other, and a verdict a benchmark.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::effort::Effort;
use super::progress::Progress;
use super::project::Project;
use super::{Advice, Exit, built_from, kernel_suite, text, verdicts};
use crate::analysis::paired::judge;
use crate::analysis::rules::interval::TOLERANCE;
use crate::cli::CompareArgs;
use crate::config::{Suite, SuiteKind};
use crate::history::{self, HistoryError};
use crate::measure::paired::{self, PairedResult, Sides};
use crate::measure::process::WorkerCommand;
use crate::measure::protocol::Configurations;
use crate::measure::workload::Workload;
use crate::measure::{cpu, environment};
use crate::model::paired::Paired;
use crate::model::sample::Role;
use crate::model::verdict::{Comparison, Counts, Verdict};

/// The version of the JSON that `--json` prints.
const JSON_VERSION: u32 = 1;

pub(super) fn run(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let effort = Effort::of(&args.effort)?;
    let project = Project::open(folder)?;
    let suite = named_suite(&project, &args.suite)?;
    let workloads = cpu::workloads(&args.suite)?;
    let selected = tracked(kernel_suite::select(&args.suite, suite, &args.filters, &workloads)?);
    if selected.is_empty() {
        return Err(kernel_suite::nothing_left(&args.filters, workloads.iter()).into());
    }
    let base = side(&project, folder, &args.base)?;
    let other = side(&project, folder, &args.other)?;
    let protocol = effort.protocol_of_pairs(suite.processes());
    let configurations = in_use(&project, &args.suite);
    let progress = Progress::new();
    let pairs = protocol.processes;
    progress.begin(
        &format!("comparing {} in up to {pairs} pairs of processes", text::count(selected.len(), "benchmark")),
        pairs.into(),
    );
    let mut tell = |done: u32| progress.step(u64::from(done));
    let sides = Sides { base: &base, other: &other };
    let result = paired::measure(&args.suite, &selected, sides, &configurations, &protocol, &mut tell);
    let result = result.map_err(|error| Advice {
        message: error.to_string(),
        hint: "both sides must be `sprag` programs that understand each other's plans: build them from near commits"
            .to_owned(),
    })?;
    progress.end();
    let comparisons = judge(&result.benchmarks, TOLERANCE);
    if args.json {
        let report = Report::of(args, &result, &comparisons);
        writeln!(out, "{}", serde_json::to_string_pretty(&report).context("cannot write the comparison")?)?;
    } else {
        out.write_all(table(args, &result, &comparisons).as_bytes())?;
    }
    for fault in &result.faults {
        super::warn(fault);
    }
    let counts = Counts::of(&comparisons);
    Ok(if counts.failing() > 0 {
        Exit::Failed
    } else if counts.judged() < counts.total() {
        verdicts::in_doubt(args.inconclusive)
    } else {
        Exit::Done
    })
}

fn named_suite<'a>(project: &'a Project, name: &str) -> anyhow::Result<&'a Suite> {
    let asked = project.config.select(&[name.to_owned()]).map_err(anyhow::Error::msg)?;
    match asked.as_slice() {
        [(_, suite)] if suite.kind == SuiteKind::Cpu => Ok(suite),
        _ => Err(Advice {
            message: format!("the suite `{name}` is not one of CPU kernels, so its builds cannot be interleaved"),
            hint: "name a suite of the kind `cpu` with `--suite`".to_owned(),
        }
        .into()),
    }
}

/// What a gate looks at: not the control, whose comparison is with itself, nor what is only reported.
fn tracked(selected: Vec<&Workload>) -> Vec<&Workload> {
    selected.into_iter().filter(|workload| workload.role == Role::Tracked).collect()
}

/// The configurations that the newest run of this machine used: both sides are compared as they are tracked.
fn in_use(project: &Project, suite: &str) -> Configurations {
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let key = environment::environment(&BTreeMap::new()).key;
    kernel_suite::in_use(project, suite, &machine.id, &key)
}

/// How to start a worker of one side: a program by its path, or this program for the commit that is checked out. What
/// git knows is not taken for a file unless it is written as a path, since a checkout may hold a file of any name.
fn side(project: &Project, folder: &Path, named: &str) -> anyhow::Result<WorkerCommand> {
    let path = folder.join(named);
    let program = || -> anyhow::Result<WorkerCommand> {
        Ok(WorkerCommand { program: path.clone(), ..kernel_suite::worker_command("serve")? })
    };
    if named.contains(std::path::is_separator) && path.is_file() {
        return program();
    }
    let revision = project.find_store().map(|store| (store, history::commit_at(store, named)));
    let (store, wanted) = match revision {
        Some((store, Ok(commit))) => (store, commit.map(|commit| commit.sha)),
        Some((_, Err(error))) if !matches!(error, HistoryError::Revision { .. }) => return Err(error.into()),
        _ if path.is_file() => return program(),
        _ => {
            return Err(Advice {
                message: format!("`{}` is neither a program nor a commit of this repository", named.escape_debug()),
                hint: "give the path of a `sprag` program, or `HEAD` for this one".to_owned(),
            }
            .into());
        }
    };
    let here = history::measured_commit(store)?;
    if let Some(commit) = here.filter(|commit| Some(&commit.sha) == wanted.as_ref()) {
        let short = commit.short();
        if let Some(fault) = built_from::fault(&project.root) {
            super::warn(&format!("{fault}; it stands for {short} all the same"));
        } else if commit.dirty {
            super::warn(&format!("tracked files differ from {short}; this program stands for it all the same"));
        }
        return kernel_suite::worker_command("serve");
    }
    let short = wanted.as_deref().and_then(|sha| sha.get(..12)).unwrap_or("no commit");
    Err(Advice {
        message: format!("`{}` is {short}, which is not the commit that is checked out", named.escape_debug()),
        hint: "build it in a worktree of its own and give the path of its `sprag` program".to_owned(),
    }
    .into())
}

fn table(args: &CompareArgs, result: &PairedResult, comparisons: &[Comparison]) -> String {
    let head = format!(
        "{}: {} against {}, interleaved\n",
        args.suite,
        text::printable(&args.other),
        text::printable(&args.base)
    );
    let counts = verdicts::counts(&Counts::of(comparisons));
    let place = match result.processors.as_slice() {
        [] => "where the system chose".to_owned(),
        [one] => format!("on processor {one}"),
        list => format!("in turns on processors {}", list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let pairs = result.benchmarks.iter().map(|one| one.pairs.len()).max().unwrap_or(0);
    let pairs = if pairs == 1 { "1 pair".to_owned() } else { format!("{pairs} pairs") };
    format!("{head}{}compare: {counts}; {pairs} of processes {place}\n", verdicts::table(comparisons))
}

/// The schema of what `--json` prints.
pub(super) fn schema() -> serde_json::Value {
    crate::model::schema::of_closed::<Report<'_>>()
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
struct Report<'a> {
    /// The version of the document.
    #[schemars(extend("const" = JSON_VERSION))]
    schema_version: u32,
    suite: &'a str,
    base: &'a str,
    other: &'a str,
    machine_class: String,
    tolerance: f64,
    processors: &'a [u32],
    faults: &'a [String],
    benchmarks: Vec<BenchmarkReport<'a>>,
}

/// One benchmark: its pairs, the ratio of other over base with its 95 % interval, and the verdict.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BenchmarkReport")]
struct BenchmarkReport<'a> {
    #[schemars(extend("enum" = Verdict::WORDS))]
    verdict: &'static str,
    reason: Option<&'a str>,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    detectable: Option<f64>,
    measured: &'a Paired,
}

impl<'a> Report<'a> {
    fn of(args: &'a CompareArgs, result: &'a PairedResult, comparisons: &'a [Comparison]) -> Report<'a> {
        let benchmark = |paired: &'a Paired| {
            let found = comparisons.iter().find(|one| one.benchmark == paired.benchmark)?;
            let effect = found.effect;
            Some(BenchmarkReport {
                verdict: found.verdict.word(),
                reason: found.verdict.reason(),
                ratio: effect.map(|effect| 1.0 + effect.change),
                interval: effect.and_then(|effect| effect.interval).map(|(low, high)| (1.0 + low, 1.0 + high)),
                detectable: effect.and_then(|effect| effect.detectable),
                measured: paired,
            })
        };
        Report {
            schema_version: JSON_VERSION,
            suite: &args.suite,
            base: &args.base,
            other: &args.other,
            machine_class: environment::machine(None, None).class,
            tolerance: TOLERANCE,
            processors: &result.processors,
            faults: &result.faults,
            benchmarks: result.benchmarks.iter().filter_map(benchmark).collect(),
        }
    }
}
