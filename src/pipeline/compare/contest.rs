//! Two builds that are measured interleaved: the request, the outcome, the table, and the JSON of `--json`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::Suite;
use crate::gate::{CompareRequest, table_text};
use crate::measuring::MeasureHost;
use crate::project::Project;
use crate::text;
use sprag_analysis::paired::judge;
use sprag_base::stats::describe;
use sprag_measure::environment;
use sprag_measure::paired::PairedResult;
use sprag_measure::suite::Effort;
use sprag_model::gate::Gate;
use sprag_model::paired::{New, Paired};
use sprag_model::rule::{Policy, Rule};
use sprag_model::schema::patterns;
use sprag_model::verdict::{Comparison, Verdict};

/// What two builds are compared by.
pub(super) struct Contest<'a> {
    pub project: &'a Project,
    pub name: &'a str,
    pub suite: &'a Suite,
    pub request: &'a CompareRequest,
    pub effort: Effort,
    pub host: MeasureHost<'a>,
}

pub(super) struct Outcome {
    pub result: PairedResult,
    /// The commits that were measured, of the base and of the other; absent where a program was given by its path.
    pub commits: [Option<String>; 2],
}

/// The version of the JSON that `--json` prints.
const JSON_VERSION: u32 = 2;

/// The table of verdicts, what is only shown, and how it came out.
pub(super) fn table(contest: &Contest<'_>, outcome: &Outcome, gate: &Gate) -> String {
    let (request, result) = (contest.request, &outcome.result);
    let head = format!(
        "{}: {} against {}, interleaved\n",
        contest.name,
        text::printable(&request.other),
        text::printable(&request.base)
    );
    let counts = gate.counts().words();
    let place = match result.processors.as_slice() {
        [] => "not pinned to a processor".to_owned(),
        [one] => format!("on processor {one}"),
        list => format!("in turns on processors {}", list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let pairs = text::count(result.pairs, "pair");
    let mut table = head;
    for suite in &gate.suites {
        table.push_str(&table_text(suite, request.gate.only_changed));
    }
    if !result.shown.is_empty() {
        table.push_str(&format!("not judged\n{}", shown(&result.shown)));
    }
    table + &format!("compare: {}; {counts}; {pairs} of processes {place}\n", gate.outcome.word())
}

/// One row a metric that no verdict is about.
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

/// The schema of what `--json` prints.
pub fn schema() -> serde_json::Value {
    sprag_model::schema::for_closed_type::<Report<'_>>()
}

/// What `--json` prints.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
pub(super) struct Report<'a> {
    /// The version of the document.
    #[schemars(extend("const" = JSON_VERSION))]
    schema_version: u32,
    suite: &'a str,
    base: Side<'a>,
    other: Side<'a>,
    machine_class: String,
    /// The processors that both sides took turns on; none where the system chose.
    processors: &'a [u32],
    /// Pairs of processes that came to nothing, and what else speaks against the numbers.
    faults: Vec<String>,
    /// The judged metric of each benchmark that the base has.
    benchmarks: Vec<BenchmarkReport<'a>>,
    /// Other metrics, which are not judged.
    shown: Vec<ShownReport<'a>>,
    /// The ids of benchmarks that the other has and the base has not.
    new: Vec<&'a str>,
    /// How many unchanged benchmarks are not told of, as with `--only-changed`; absent where all are.
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
    pub(super) fn new(contest: &'a Contest<'a>, outcome: &'a Outcome, comparisons: &'a [Comparison]) -> Report<'a> {
        let Outcome { result, commits: [base_commit, other_commit] } = outcome;
        let only_changed = contest.request.gate.only_changed;
        let is_listed = |one: &&Comparison| !only_changed || one.verdict != Verdict::Unchanged;
        let benchmark = |paired: &'a Paired| {
            let found = comparisons.iter().filter(is_listed).find(|one| one.benchmark == paired.benchmark)?;
            let (ratio, interval) = ratio_and_interval(found);
            Some(BenchmarkReport {
                verdict: found.verdict.word(),
                rule: found.rule,
                reason: found.verdict.reason(),
                ratio,
                interval,
                detectable: found.effect.and_then(|effect| effect.detectable),
                p_value: found.p_value,
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
            machine_class: environment::machine(None, None).class,
            processors: &result.processors,
            faults: result.faults.iter().cloned().chain(result.new.iter().filter_map(failed)).collect(),
            benchmarks: result.benchmarks.iter().filter_map(benchmark).collect(),
            shown: result.shown.iter().map(shown).collect(),
            new: result.new.iter().map(|one| one.benchmark.as_str()).collect(),
            unchanged_left_out: only_changed.then(|| comparisons.iter().filter(|one| !is_listed(one)).count()),
        }
    }
}

/// That a benchmark is new and gave no result, where that is so: no entry says it.
fn failed(new: &New) -> Option<String> {
    Some(format!("`{}` is new, and failed: {}", new.benchmark, new.failure.as_ref()?))
}

/// The ratio of other over base, and its interval.
fn ratio_and_interval(comparison: &Comparison) -> (Option<f64>, Option<(f64, f64)>) {
    let effect = comparison.effect;
    let interval = effect.and_then(|effect| effect.interval).map(|(low, high)| (1.0 + low, 1.0 + high));
    (effect.map(|effect| 1.0 + effect.change), interval)
}
