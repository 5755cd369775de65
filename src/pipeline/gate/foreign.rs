//! Files of Trueno and tt-metal, recognised by their content: judged as the original tools do, or by safer rules.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::config::{Config, FILE_NAME};
use crate::error::{Exit, WithContext as _};
use crate::gate::outcome::{CheckRequest, CompareRequest, GateRequest, gate_of_files, in_doubt};
use crate::gate::reports;
use crate::gate::table::table_text;
use crate::project::Project;
use crate::text::{self, note, warn};
use crate::{Advice, policy, refuse};
use sprag_analysis::rules::bands;
use sprag_analysis::rules::rank::RankParameters;
use sprag_analysis::sample_gate;
use sprag_analysis::sides::{self, Judge, Sides};
use sprag_base::files::read_bounded;
use sprag_base::stats::sign_interval;
use sprag_formats::compat::trueno::{self, gate as text_gate};
use sprag_formats::compat::tt_metal::{self, gate as samples};
use sprag_formats::{FormatError, criterion};
use sprag_model::foreign::Output;
use sprag_model::imported::Entry;
use sprag_model::{Baseline, Better, Choice, Counts, EntryStatus, Gate, Metric, Policy, Rule, Side, Unit};

pub struct FileRules {
    kind: ForeignKind,
    pub own: Rule,
    policy: Policy,
    file: Option<PathBuf>,
    project: Project,
}

impl FileRules {
    pub fn read(folder: &Path, file: Option<&Path>, kind: ForeignKind) -> crate::Result<FileRules> {
        let project = Project::open(folder)?;
        let rules = match file {
            Some(path) => Config::load_rules(&folder.join(path))?,
            None => project.config.rules.clone(),
        };
        let own = match kind {
            ForeignKind::Text => policy::fixed("bands", &rules),
            ForeignKind::GroundTruth => policy::fixed("rank", &rules),
        };
        Ok(FileRules { kind, own, policy: policy::from_rules(&rules), file: file.map(Path::to_owned), project })
    }

    /// The default rule `interval` means the rule of this kind of file.
    pub fn rule_for(&self, key: &str) -> Result<Rule, Advice> {
        let entry = self.policy.exceptions.iter().find(|one| key.contains(&one.part));
        let (name, why) = match entry.map_or(self.policy.default, |one| one.choice) {
            Choice::Learnt | Choice::Fixed(Rule::Interval { .. }) if entry.is_none() => return Ok(self.own),
            Choice::Learnt | Choice::Fixed(Rule::Interval { .. }) => {
                ("interval", "a file has neither sessions nor interleaved processes")
            }
            Choice::Fixed(Rule::Rank { .. }) if self.kind == ForeignKind::Text => ("rank", "it has no samples"),
            Choice::Fixed(rule) => return Ok(rule),
        };
        let shown = self.file.as_ref().map_or(FILE_NAME.to_owned(), |path| path.display().to_string());
        let by = entry.map_or("the default".to_owned(), |one| format!("the entry with `match = \"{}\"`", one.part));
        let kind = self.kind.words();
        let message = format!("{by} in `{shown}` has `{key}` judged by `{name}`, which cannot judge {kind}: {why}");
        let able = match self.kind {
            ForeignKind::Text => "`bands` and `tolerance`",
            ForeignKind::GroundTruth => "`rank`, `bands` and `tolerance`",
        };
        let hint = format!("{able} can: name one there, or in a file of its own for such files with `--policy`");
        refuse(text::printable(&message), hint)
    }

    pub fn warn_unmatched(&self, judged: &[policy::Judged<'_>]) {
        policy::warn_unmatched(&self.project, self.file.as_deref().map(|path| (path, &self.policy)), judged);
    }
}

/// The rules with their parameters for a headline, the most frequent first.
pub fn words<'r>(rules: impl Iterator<Item = &'r Rule>) -> String {
    let mut counted: Vec<(&Rule, usize)> = Vec::new();
    for rule in rules {
        match counted.iter_mut().find(|(other, _)| *other == rule) {
            Some((_, count)) => *count += 1,
            None => counted.push((rule, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if let [(rule, _)] = counted[..] {
        return rule.explained();
    }
    let one = |(rule, count): &(&Rule, usize)| format!("{} ({})", rule.explained(), text::count(*count, "benchmark"));
    counted.iter().map(one).collect::<Vec<String>>().join("; ")
}

/// `None` if `--run` and `--baseline` name no such files.
pub fn check(request: &CheckRequest, out: &mut dyn Write) -> crate::Result<Option<Exit>> {
    let GateRequest { folder, policy, reports, .. } = &request.gate;
    let Some(pair) = pair(request)? else {
        if !request.compatible {
            return Ok(None);
        }
        let message = "`--compatible` is for files of Trueno and tt-metal, and these are not";
        return refuse(message, "leave it out: reports of Apex-X are always judged by its own rules");
    };
    request.gate.refuse_tolerance("files of Trueno and tt-metal")?;
    let rules = FileRules::read(folder, policy.as_deref(), pair.kind)?;
    if request.compatible {
        if !reports.is_empty() || request.summary.is_some() || request.trend_output.is_some() {
            let message = "a report has the findings of Sprag, and `--compatible` prints those of another tool";
            return refuse(message, "leave out one of the two");
        }
        return judge_as_original(&pair, &rules.own, out).map(Some);
    }
    refuse_itself(folder, &pair)?;
    let reports = reports::of_check(request)?;
    let (gate, exit, text) = judge(&pair, &rules, "check", &request.gate)?;
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out).map(Some)
}

/// `None` if the two sides are not such files.
pub fn compare(request: &CompareRequest, out: &mut dyn Write) -> crate::Result<Option<Exit>> {
    let GateRequest { folder, policy, suites, .. } = &request.gate;
    let Some(pair) = pair_of(folder, &request.base, &request.other)? else { return Ok(None) };
    request.gate.refuse_tolerance("files of Trueno and tt-metal")?;
    refuse_itself(folder, &pair)?;
    if !suites.is_empty() {
        return refuse("`--suite` names suites of Sprag, and these files are of another tool", "leave it out");
    }
    let rules = FileRules::read(folder, policy.as_deref(), pair.kind)?;
    let reports = reports::parse(&request.gate.reports)?;
    reports::check(folder, &reports, request.inputs())?;
    let (gate, exit, text) = judge(&pair, &rules, "compare", &request.gate)?;
    reports::conclude(&request.gate, &reports, (&gate, exit), &text, out).map(Some)
}

fn judge(
    pair: &Pair,
    rules: &FileRules,
    command: &'static str,
    request: &GateRequest,
) -> crate::Result<(Gate, Exit, String)> {
    let read = read_pair(pair)?;
    let rule = |name: &'_ String| Ok((name.clone(), rules.rule_for(&Baseline::key(name, &read.metric.name))?));
    let names = read.baseline.keys().chain(read.current.keys());
    let by_name = names.map(rule).collect::<Result<BTreeMap<String, Rule>, Advice>>()?;
    let head = format!("{} against {}, by {}", pair.current.name, pair.baseline.name, words(by_name.values()));
    let judge = Judge { rule: &|name| by_name[name], metric: read.metric, obstacle: read.obstacle };
    let comparisons = sides::judge(&read.baseline, &read.current, &judge);
    let counts = Counts::from_comparisons(&comparisons);
    let exit = match counts.failing() {
        0 if counts.judged() == counts.total() => Exit::Done,
        0 => in_doubt(request.inconclusive),
        _ => Exit::Failed,
    };
    let names = [&pair.current.name, &pair.baseline.name].map(String::as_str);
    let gate = gate_of_files(command, pair.kind.suite(), names, comparisons, (exit, None, request.inconclusive));
    let mut text = format!("{}\n{}", text::printable(&head), table_text(&gate.suites[0], request.only_changed));
    rules.warn_unmatched(&policy::judged(&gate.suites));
    text.push_str(&format!("{command}: {}; {}\n", gate.outcome.word(), counts.words()));
    Ok((gate, exit, text))
}

/// Prints Trueno's report, or tt-metal's findings as JSON; control characters in names are escaped.
fn judge_as_original(pair: &Pair, rule: &Rule, out: &mut dyn Write) -> crate::Result<Exit> {
    let (baseline, current) = (&pair.baseline.bytes[..], &pair.current.bytes[..]);
    let passes = match (pair.kind, rule) {
        (ForeignKind::Text, Rule::Bands { fail, warn }) => {
            let report = text_gate::judge(baseline, current, |was, is| bands::report(was, is, (*fail, *warn)));
            let report = report.map_err(|error| ended("Trueno", &error.to_string()))?;
            for line in text_gate::report_text(&report).lines() {
                writeln!(out, "{}", text::printable(line))?;
            }
            report.passes()
        }
        (ForeignKind::GroundTruth, Rule::Rank { noise_threshold, significance, mad_multiplier }) => {
            let parameters = RankParameters::new(*noise_threshold, *significance, *mad_multiplier);
            let mut warnings = Vec::new();
            let results =
                samples::judge(baseline, current, &mut warnings, |was, is| sample_gate::check(was, is, &parameters));
            for warning in &warnings {
                warn(warning);
            }
            let results = results.map_err(|error| ended("tt-metal", &format!("{}: {error}", error.kind())))?;
            writeln!(out, "{}", samples::json(&results))?;
            samples::summary(&results).regressions == 0
        }
        (_, rule) => {
            let message = format!("none of the original tools judges such files by the rule `{}`", rule.name());
            return refuse(message, "leave `--compatible` out");
        }
    };
    Ok(if passes { Exit::Done } else { Exit::Failed })
}

fn ended(original: &str, last: &str) -> Advice {
    let message = format!("{original}'s own check ends without a result: {last}");
    Advice::new(message, "leave `--compatible` out: Sprag's reader takes more, and says what is wrong")
}

/// A hundred times the largest file seen.
const MOST_BYTES: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKind {
    /// Output of a Criterion benchmark, with or without Trueno's head.
    Text,
    GroundTruth,
}

impl ForeignKind {
    fn recognise(output: &Output) -> Option<ForeignKind> {
        let outputs = std::slice::from_ref(output);
        if tt_metal::import::FORMAT.recognises(outputs) {
            Some(ForeignKind::GroundTruth)
        } else if trueno::import::FORMAT.recognises(outputs) || criterion::text::FORMAT.recognises(outputs) {
            Some(ForeignKind::Text)
        } else {
            None
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            ForeignKind::Text => "a text of Criterion",
            ForeignKind::GroundTruth => "a ground truth of tt-metal",
        }
    }

    pub fn suite(self) -> &'static str {
        match self {
            ForeignKind::Text => "criterion",
            ForeignKind::GroundTruth => "tt-metal",
        }
    }

    fn may_be(self, output: &Output) -> bool {
        let is_json = output.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        is_json == (self == ForeignKind::GroundTruth) || output.bytes.is_empty()
    }
}

struct Pair {
    pub kind: ForeignKind,
    pub baseline: Output,
    pub current: Output,
}

fn pair_of(folder: &Path, base: &str, other: &str) -> crate::Result<Option<Pair>> {
    let [base, other] = [base, other].map(Path::new);
    if [base, other].iter().any(|path| !folder.join(path).is_file()) {
        return Ok(None);
    }
    let [baseline, current] = [read(folder, base)?, read(folder, other)?];
    let kind = ForeignKind::recognise(&baseline).filter(|kind| ForeignKind::recognise(&current) == Some(*kind));
    Ok(kind.map(|kind| Pair { kind, baseline, current }))
}

fn refuse_itself(folder: &Path, pair: &Pair) -> Result<(), Advice> {
    let real = |output: &Output| fs::canonicalize(folder.join(&output.name)).ok();
    if real(&pair.baseline).is_some_and(|base| real(&pair.current) == Some(base)) {
        return refuse(format!("`{}` is compared with itself", pair.current.name), "name the file of another run");
    }
    Ok(())
}

fn read(folder: &Path, path: &Path) -> crate::Result<Output> {
    let name = path.display().to_string();
    let bytes = read_bounded(&folder.join(path), MOST_BYTES).with_context(|| format!("cannot read `{name}`"))?;
    Ok(Output { name, bytes })
}

/// `None` if neither file is of such a kind.
fn pair(request: &CheckRequest) -> crate::Result<Option<Pair>> {
    // The next reader reports an unreadable file.
    let seen =
        [&request.run, &request.baseline].map(|path| path.as_deref().map(|path| read(&request.gate.folder, path)));
    let kinds = [&seen[0], &seen[1]].map(|file| file.as_ref()?.as_ref().ok().and_then(ForeignKind::recognise));
    let kind = match kinds {
        [None, None] => return Ok(None),
        [Some(kind), None] | [None, Some(kind)] => kind,
        [Some(kind), Some(other)] if kind == other => kind,
        [Some(current), Some(baseline)] => {
            let [run, base] = names(request);
            let message = format!("`{run}` is {}, and `{base}` is {}", current.words(), baseline.words());
            return refuse(message, hint(current));
        }
    };
    let words = kind.words();
    if request.summary.is_some() || request.trend_output.is_some() {
        let message = format!("`--summary` and `--trend-output` are of a report of Apex-X, and here is {words}");
        return refuse(message, "leave them out");
    }
    if !request.gate.suites.is_empty() {
        let message = format!("`--suite` names suites of Sprag, and these files are not of it: there is {words}");
        return refuse(message, "leave it out");
    }
    let [current, baseline] = match seen {
        [Some(current), Some(baseline)] => [current?, baseline?],
        [Some(_), None] | [None, _] => {
            let [run, base] = names(request);
            let (there, lacks) = if base.is_empty() { (run, "--baseline") } else { (base, "--run") };
            let message = format!("`{there}` is {words}, and `{lacks}` names no second one");
            return refuse(message, hint(kind));
        }
    };
    if let Some(other) = [&current, &baseline].into_iter().find(|output| !kind.may_be(output)) {
        return refuse(format!("`{}` is not {words}, as the other file is", other.name), hint(kind));
    }
    Ok(Some(Pair { kind, baseline, current }))
}

fn names(request: &CheckRequest) -> [String; 2] {
    [&request.run, &request.baseline].map(|path| path.as_ref().map_or(String::new(), |path| path.display().to_string()))
}

fn hint(kind: ForeignKind) -> String {
    format!("give two files of one kind: `--run CURRENT --baseline BASELINE`, each {}", kind.words())
}

/// Samples a side that tt-metal asks for.
const ENOUGH_SAMPLES: usize = 100;

/// Of the interval of a median.
const CONFIDENCE: f64 = 0.95;

struct Read {
    pub metric: Metric,
    pub baseline: Sides,
    pub current: Sides,
    /// Why nothing may be judged.
    pub obstacle: Option<String>,
}

fn read_pair(pair: &Pair) -> crate::Result<Read> {
    let (metric, obstacle) = match pair.kind {
        ForeignKind::Text => (Metric::time(), other_cpu(pair)),
        ForeignKind::GroundTruth => {
            (Metric { name: "cycles".to_owned(), unit: Unit::One, better: Better::Lower }, None)
        }
    };
    let side = |output: &Output| sides(output, entries(pair.kind, output)?);
    let (baseline, current) = (side(&pair.baseline)?, side(&pair.current)?);
    if !baseline.keys().any(|name| current.contains_key(name)) {
        let first = |sides: &Sides| sides.keys().next().cloned().unwrap_or_default();
        let (was, is) = (first(&baseline), first(&current));
        let (base, run) = (&pair.baseline.name, &pair.current.name);
        let message = format!("`{run}` and `{base}` have no benchmark in common: one has `{is}`, the other `{was}`");
        return refuse(message, "compare runs of the same benchmarks");
    }
    if pair.kind == ForeignKind::GroundTruth {
        let all = baseline.values().chain(current.values());
        let few = all.filter(|side| side.samples.len() < ENOUGH_SAMPLES).count();
        if few > 0 {
            let lists = text::count(few, "list");
            note(&format!("{lists} of fewer than the {ENOUGH_SAMPLES} samples that tt-metal asks for"));
        }
    }
    Ok(Read { metric, baseline, current, obstacle })
}

/// In file order, at least one.
fn entries(kind: ForeignKind, output: &Output) -> Result<Vec<Entry>, Advice> {
    let (read, hint) = match kind {
        ForeignKind::Text => {
            let hint = "give what a bench of Criterion printed, or a baseline that Trueno saved";
            let read = criterion::text::estimates(output);
            // An estimate that is broken in both files would pass unseen.
            if let Some(line) = read.as_ref().ok().and_then(|read| read.unread.first()) {
                let message = format!("line {line} of `{}`: `time:` is followed by no estimate", output.name);
                return refuse(message, "measure again, or take the line out");
            }
            (read.map(|read| read.entries), hint)
        }
        ForeignKind::GroundTruth => {
            let hint = "give an object of sections, each an object that lists samples under a name, no name twice";
            let read = tt_metal::import::FORMAT.read(std::slice::from_ref(output));
            (read.map(|mut imported| imported.runs.remove(0).entries), hint)
        }
    };
    let nothing = || FormatError::Nothing(output.name.clone());
    let read = read.and_then(|read| if read.is_empty() { Err(nothing()) } else { Ok(read) });
    read.map_err(|error| Advice::new(error.to_string(), hint.to_owned()))
}

fn sides(output: &Output, entries: Vec<Entry>) -> crate::Result<Sides> {
    let mut sides = Sides::new();
    for entry in entries {
        let shown = format!("`{}` of `{}`", entry.series, output.name);
        let hint = "measure it again, or take it out of both files: it would pass unchecked";
        let side = side(&entry).map_err(|reason| Advice::new(format!("{shown} cannot be judged: {reason}"), hint))?;
        if sides.insert(entry.series, side).is_some() {
            let message = format!("{shown} comes more than once, so it is unclear which one applies");
            return refuse(message, "leave one of each name in the file");
        }
    }
    Ok(sides)
}

fn side(entry: &Entry) -> Result<Side, String> {
    if let EntryStatus::Failed(reason) | EntryStatus::Skipped(reason) = &entry.status {
        return Err(reason.clone());
    }
    let observed = entry.observations.first().ok_or("it has no value")?;
    if let Some(place) = observed.samples.iter().position(|sample| *sample <= 0.0) {
        let (sample, name) = (observed.samples[place], &observed.metric.name);
        return Err(format!("sample {} of its `{name}` is {sample}, where more than zero is needed", place + 1));
    }
    let limit = |key: &str| entry.extras.get(key).and_then(serde_json::Value::as_f64);
    let samples = observed.samples.clone();
    let of_samples = || sign_interval::of_median(&samples, CONFIDENCE).map(|observed| (observed.low, observed.high));
    let bounds = limit("low").zip(limit("high"));
    if let Some((low, high)) = bounds.filter(|(low, high)| !(*low..=*high).contains(&observed.value)) {
        return Err(format!(
            "its estimate, {} s, does not lie between its bounds, {low} s and {high} s",
            observed.value
        ));
    }
    let interval = bounds.or_else(of_samples);
    Ok(Side { value: observed.value, interval, samples, ..Side::default() })
}

fn other_cpu(pair: &Pair) -> Option<String> {
    let cpu = |output: &Output| {
        let mut imported = trueno::import::FORMAT.read(std::slice::from_ref(output)).ok()?;
        imported.runs.first_mut()?.facts.remove("cpu_model")
    };
    let (was, is) = cpu(&pair.baseline).zip(cpu(&pair.current))?;
    (was != is).then(|| format!("cpu_model {was} → {is}"))
}
