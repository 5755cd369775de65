//! Two files of Trueno or tt-metal that are judged: recognised by what they hold, and read so that nothing can pass
//! without a look.

use std::fs;
use std::path::Path;

use super::request::CheckRequest;
use crate::error::Context as _;
use crate::{Advice, text};
use sprag_analysis::sides::Sides;
use sprag_base::files::read_bounded;
use sprag_base::stats::sign_interval;
use sprag_formats::compat::{trueno, tt_metal};
use sprag_formats::{FormatError, criterion};
use sprag_model::evidence::Side;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

/// The most bytes of a file: a hundred times the largest that is known.
const MOST_BYTES: usize = 16 << 20;

/// What both files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a bench of Criterion prints, with or without the head of Trueno.
    Text,
    /// Ground truth of tt-metal.
    GroundTruth,
}

impl Kind {
    fn recognise(output: &Output) -> Option<Kind> {
        let outputs = std::slice::from_ref(output);
        if tt_metal::import::FORMAT.recognises(outputs) {
            Some(Kind::GroundTruth)
        } else if trueno::import::FORMAT.recognises(outputs) || criterion::text::FORMAT.recognises(outputs) {
            Some(Kind::Text)
        } else {
            None
        }
    }

    /// What it is, with its article.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Text => "a text of Criterion",
            Kind::GroundTruth => "a ground truth of tt-metal",
        }
    }

    /// What reports call the suite of such a file.
    pub fn suite(self) -> &'static str {
        match self {
            Kind::Text => "criterion",
            Kind::GroundTruth => "tt-metal",
        }
    }

    /// Whether a file could be of the kind for all that its first character tells.
    fn may_be(self, output: &Output) -> bool {
        let is_json = output.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        is_json == (self == Kind::GroundTruth) || output.bytes.is_empty()
    }
}

/// Two files of one kind, each called what the user calls it.
pub(super) struct Pair {
    pub kind: Kind,
    pub baseline: Output,
    pub current: Output,
}

/// The pair of two files of one kind; `None` where they are not that.
pub(super) fn pair_of(folder: &Path, base: &str, other: &str) -> crate::Result<Option<Pair>> {
    let [base, other] = [base, other].map(Path::new);
    if [base, other].iter().any(|path| !folder.join(path).is_file()) {
        return Ok(None);
    }
    let [baseline, current] = [read(folder, base)?, read(folder, other)?];
    let kind = Kind::recognise(&baseline).filter(|kind| Kind::recognise(&current) == Some(*kind));
    Ok(kind.map(|kind| Pair { kind, baseline, current }))
}

/// Fails where both are one file, whose numbers would hold against themselves.
pub(super) fn refuse_itself(folder: &Path, pair: &Pair) -> Result<(), Advice> {
    let real = |output: &Output| fs::canonicalize(folder.join(&output.name)).ok();
    if real(&pair.baseline).is_some_and(|base| real(&pair.current) == Some(base)) {
        let message = format!("`{}` is compared with itself", pair.current.name);
        return Err(Advice { message, hint: "name the file of another run".to_owned() });
    }
    Ok(())
}

fn read(folder: &Path, path: &Path) -> crate::Result<Output> {
    let name = path.display().to_string();
    let bytes = read_bounded(&folder.join(path), MOST_BYTES).with_context(|| format!("cannot read `{name}`"))?;
    Ok(Output { name, bytes })
}

/// The pair that `--run` and `--baseline` name; `None` where neither file is of a kind.
pub(super) fn pair(request: &CheckRequest) -> crate::Result<Option<Pair>> {
    // One that cannot be read may be of none of the kinds, and is told of by its other reader then.
    let seen =
        [&request.run, &request.baseline].map(|path| path.as_deref().map(|path| read(&request.gate.folder, path)));
    let kinds = [&seen[0], &seen[1]].map(|file| file.as_ref()?.as_ref().ok().and_then(Kind::recognise));
    let kind = match kinds {
        [None, None] => return Ok(None),
        [Some(kind), None] | [None, Some(kind)] => kind,
        [Some(kind), Some(other)] if kind == other => kind,
        [Some(current), Some(baseline)] => {
            let [run, base] = names(request);
            let message = format!("`{run}` is {}, and `{base}` is {}", current.words(), baseline.words());
            return Err(Advice { message, hint: hint(current) }.into());
        }
    };
    if request.summary.is_some() || request.trend_output.is_some() {
        let message =
            format!("`--summary` and `--trend-output` are of a report of Apex-X, and here is {}", kind.words());
        return Err(Advice { message, hint: "leave them out".to_owned() }.into());
    }
    if !request.gate.suites.is_empty() {
        let message =
            format!("`--suite` names suites of Sprag, and these files are not of it: there is {}", kind.words());
        return Err(Advice { message, hint: "leave it out".to_owned() }.into());
    }
    let [current, baseline] = match seen {
        [Some(current), Some(baseline)] => [current?, baseline?],
        [Some(_), None] | [None, _] => {
            let [run, base] = names(request);
            let (there, lacks) = if base.is_empty() { (run, "--baseline") } else { (base, "--run") };
            let message = format!("`{there}` is {}, and `{lacks}` names no other to go with it", kind.words());
            return Err(Advice { message, hint: hint(kind) }.into());
        }
    };
    if let Some(other) = [&current, &baseline].into_iter().find(|output| !kind.may_be(output)) {
        let message = format!("`{}` is not {}, as the other file is", other.name, kind.words());
        return Err(Advice { message, hint: hint(kind) }.into());
    }
    Ok(Some(Pair { kind, baseline, current }))
}

/// The two paths, as the user wrote them.
fn names(request: &CheckRequest) -> [String; 2] {
    [&request.run, &request.baseline].map(|path| path.as_ref().map_or(String::new(), |path| path.display().to_string()))
}

fn hint(kind: Kind) -> String {
    format!("give two files of one kind: `--run CURRENT --baseline BASELINE`, each {}", kind.words())
}

/// How many samples a side tt-metal asks for.
const ENOUGH_SAMPLES: usize = 100;

/// How often the interval of samples is to hold their median.
const CONFIDENCE: f64 = 0.95;

/// Both files as they are judged.
pub(super) struct Read {
    pub metric: Metric,
    pub baseline: Sides,
    pub current: Sides,
    /// Why nothing may be judged.
    pub obstacle: Option<String>,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// Reads both files.
pub(super) fn read_pair(pair: &Pair) -> crate::Result<Read> {
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
            let found = tt_metal::import::FORMAT.read(std::slice::from_ref(output));
            (found.map(|mut imported| imported.runs.remove(0).entries), hint)
        }
    };
    let nothing = || FormatError::Nothing(output.name.clone());
    let found = found.and_then(|found| if found.is_empty() { Err(nothing()) } else { Ok(found) });
    found.map_err(|error| Advice { message: error.to_string(), hint: hint.to_owned() })
}

fn sides(output: &Output, entries: Vec<Entry>) -> crate::Result<Sides> {
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
            let message = format!("{shown} comes more than once, so it is unclear which one applies");
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
        let mut imported = trueno::import::FORMAT.read(std::slice::from_ref(output)).ok()?;
        imported.runs.first_mut()?.facts.remove("cpu_model")
    };
    let (was, is) = cpu(&pair.baseline).zip(cpu(&pair.current))?;
    (was != is).then(|| format!("cpu_model {was} → {is}"))
}
