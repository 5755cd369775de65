//! What two files hold, read whole: whatever could let a benchmark pass without a look is an error here.

use super::files::{Kind, Pair};
use crate::commands::{Advice, text};
use sprag_analysis::sides::Sides;
use sprag_base::stats::sign_interval;
use sprag_formats::compat::{trueno, tt_metal};
use sprag_formats::{FormatError, criterion};
use sprag_model::evidence::Side;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

/// How many samples a side tt-metal asks for.
const ENOUGH_SAMPLES: usize = 100;

/// How often the interval of samples is to hold their median.
const CONFIDENCE: f64 = 0.95;

/// Both files as they are judged.
pub(super) struct Read {
    pub(super) metric: Metric,
    pub(super) baseline: Sides,
    pub(super) current: Sides,
    /// Why nothing may be judged.
    pub(super) obstacle: Option<String>,
    /// What a user should know.
    pub(super) notes: Vec<String>,
}

/// Reads both files.
///
/// # Errors
/// When one cannot be read or holds no benchmark, a name comes twice or has a value that no share can be taken of, or the
/// files have no benchmark in common.
pub(super) fn read(pair: &Pair) -> anyhow::Result<Read> {
    let (metric, obstacle) = match pair.kind {
        Kind::Text => (Metric::time(), other_cpu(pair)),
        Kind::GroundTruth => {
            let metric = Metric { name: "cycles".to_owned(), unit: Unit::One, better: Better::Lower };
            (metric, None)
        }
    };
    let side = |output: &Output| sides(output, entries(pair.kind, output)?);
    let (baseline, current) = (side(&pair.baseline)?, side(&pair.current)?);
    if !baseline.keys().any(|name| current.contains_key(name)) {
        let first = |sides: &Sides| sides.keys().next().cloned().unwrap_or_default();
        let (was, is) = (first(&baseline), first(&current));
        let (base, run) = (&pair.baseline.name, &pair.current.name);
        let message = format!("`{run}` and `{base}` have no benchmark in common: one has `{is}`, the other `{was}`");
        return Err(Advice { message, hint: "hold runs of the same benchmarks against each other".to_owned() }.into());
    }
    let mut notes = Vec::new();
    if pair.kind == Kind::GroundTruth {
        let few = |sides: &Sides| sides.values().filter(|side| side.samples.len() < ENOUGH_SAMPLES).count();
        let few = few(&baseline) + few(&current);
        if few > 0 {
            let lists = text::count(few, "list");
            notes.push(format!("{lists} of fewer than the {ENOUGH_SAMPLES} samples that tt-metal asks for"));
        }
    }
    Ok(Read { metric, baseline, current, obstacle, notes })
}

/// The benchmarks of a file in its order, one at least.
fn entries(kind: Kind, output: &Output) -> Result<Vec<Entry>, Advice> {
    let (found, hint) = match kind {
        Kind::Text => {
            let hint = "give what a bench of Criterion printed, or a baseline that Trueno saved";
            let found = criterion::text::estimates(output);
            // What both files hold broken would pass without a look.
            if let Some(line) = found.as_ref().ok().and_then(|found| found.unread.first()) {
                let message = format!("line {line} of `{}`: `time:` is followed by no estimate", output.name);
                return Err(Advice { message, hint: "measure again, or take the line out".to_owned() });
            }
            (found.map(|found| found.entries), hint)
        }
        Kind::GroundTruth => {
            let hint = "give an object of sections, each an object that lists samples under a name, no name twice";
            let found = tt_metal::import::read(std::slice::from_ref(output));
            (found.map(|mut imported| imported.runs.remove(0).entries), hint)
        }
    };
    let nothing = || FormatError::Nothing(output.name.clone());
    let found = found.and_then(|found| if found.is_empty() { Err(nothing()) } else { Ok(found) });
    found.map_err(|error| Advice { message: error.to_string(), hint: hint.to_owned() })
}

fn sides(output: &Output, entries: Vec<Entry>) -> anyhow::Result<Sides> {
    let mut sides = Sides::new();
    for entry in entries {
        let shown = format!("`{}` of `{}`", entry.series, output.name);
        let side = match side(&entry) {
            Ok(side) => side,
            Err(reason) => {
                let message = format!("{shown} cannot be judged: {reason}");
                let hint = "measure it again, or take it out of both files: it would pass without a look".to_owned();
                return Err(Advice { message, hint }.into());
            }
        };
        if sides.insert(entry.series, side).is_some() {
            let message = format!("{shown} comes more than once, and which of them counts cannot be told");
            return Err(Advice { message, hint: "leave one of each name in the file".to_owned() }.into());
        }
    }
    Ok(sides)
}

/// What is known of a benchmark, or why that is nothing to judge by.
fn side(entry: &Entry) -> Result<Side, String> {
    match &entry.status {
        EntryStatus::Ok => {}
        EntryStatus::Failed(reason) | EntryStatus::Skipped(reason) => return Err(reason.clone()),
    }
    let found = entry.observations.first().ok_or("it has no value")?;
    if let Some(place) = found.samples.iter().position(|sample| *sample <= 0.0) {
        let (sample, name) = (found.samples[place], &found.metric.name);
        return Err(format!("sample {} of its `{name}` is {sample}, where more than zero is needed", place + 1));
    }
    let limit = |key: &str| entry.extras.get(key).and_then(serde_json::Value::as_f64);
    let samples = found.samples.clone();
    let of_samples = || sign_interval::of_median(&samples, CONFIDENCE).map(|found| (found.low, found.high));
    let bounds = limit("low").zip(limit("high"));
    if let Some((low, high)) = bounds.filter(|(low, high)| !(*low..=*high).contains(&found.value)) {
        return Err(format!("its estimate, {} s, does not lie between its bounds, {low} s and {high} s", found.value));
    }
    let interval = bounds.or_else(of_samples);
    Ok(Side { value: found.value, interval, samples, ..Side::default() })
}

/// How the CPUs differ that both heads name, if they do.
fn other_cpu(pair: &Pair) -> Option<String> {
    let cpu = |output: &Output| {
        let mut imported = trueno::import::read(std::slice::from_ref(output)).ok()?;
        imported.runs.first_mut()?.facts.remove("cpu_model")
    };
    let (was, is) = cpu(&pair.baseline).zip(cpu(&pair.current))?;
    (was != is).then(|| format!("cpu_model {was} → {is}"))
}
