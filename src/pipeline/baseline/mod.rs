//! Baselines: taken from runs, accepted, archived, listed and compared.

mod take;
mod place;
mod emit;
mod accept;

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::baseline::take::{RunSelection, TakeOutcome};
use crate::error::Exit;
use crate::project::Project;
use crate::text::{self, say, warn};
use crate::{Advice, refuse};
use sprag_analysis::baseline_diff;
use sprag_model::baseline::diff::{self};
use sprag_model::baseline::list::{self};
use sprag_model::{
    Baseline, BaselineDiff, BaselineDiffs, BaselineFile, BaselineList, BaselineSummary, DiffKind, DiffSide,
    ListedBaseline, MetricDiff, MetricSide,
};

pub use crate::baseline::accept::{AcceptOptions, accept};
pub use crate::baseline::emit::{EmitOptions, emit};

pub fn list(folder: &Path, with_archive: bool, is_json: bool, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let mut baselines: Vec<ListedBaseline> =
        project.baselines()?.iter().map(|file| ListedBaseline::new(file, false)).collect();
    if with_archive {
        baselines.extend(project.archived_baselines()?.iter().map(|file| ListedBaseline::new(file, true)));
    }
    let mut hints = Vec::new();
    for one in baselines.iter_mut().filter(|one| one.fault.is_some()) {
        if let Some((fault, hint)) = take::other_fault(&project.root.join(&one.path)) {
            one.fault = Some(fault);
            hints.push(format!("{}: {hint}", one.path));
        }
    }
    let faulty = baselines.iter().filter(|one| one.fault.is_some()).count();
    let list = BaselineList { schema_version: list::SCHEMA_VERSION, baselines };
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
    } else if list.baselines.is_empty() {
        writeln!(out, "there is no baseline yet")?;
        say("hint: `sprag baseline emit` takes one from the newest run of this machine at HEAD");
    } else {
        write!(out, "{}", table(&list.baselines))?;
    }
    if faulty > 0 {
        warn(&format!("{} cannot be used; `sprag check` fails on one that it needs", text::count(faulty, "file")));
        hints.iter().for_each(|hint| say(&format!("hint: {}", text::printable(hint))));
    }
    Ok(Exit::Done)
}

fn table(baselines: &[ListedBaseline]) -> String {
    let heads =
        ["file", "suite", "class", "machine", "metrics", "sessions", "commit", "branch", "date", "accepted by", "why"];
    let usable = baselines.iter().filter_map(|one| Some((&one.path, one.baseline.as_ref()?)));
    let rows = usable.map(|(path, summary)| {
        let cells = std::iter::once(path.clone()).chain(cells(summary));
        cells.map(|cell| text::printable(&cell)).collect()
    });
    let mut text = text::table(heads, rows, &[5]);
    for one in baselines.iter().filter(|one| one.baseline.is_none()) {
        let line = format!("{} {}", one.path, one.fault.as_deref().unwrap_or_default());
        text.push_str(&format!("{}\n", text::printable(&line)));
    }
    text
}

fn cells(baseline: &BaselineSummary) -> [String; 10] {
    let or_dash = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("–").to_owned();
    let rules: Vec<String> = baseline.rules.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    let partial = if baseline.partial { ", partial" } else { "" };
    let (fewest, most) = baseline.sessions;
    let short = baseline.commit.as_deref().map(|sha| text::short(sha, 12));
    let accepted = baseline.accepted.as_ref();
    [
        baseline.suite.clone(),
        baseline.machine_class.clone(),
        or_dash(baseline.machine.as_deref()),
        format!("{}{partial}", rules.join(", ")),
        if fewest == most { most.to_string() } else { format!("{fewest} to {most}") },
        format!("{}{}", or_dash(short), if baseline.dirty && short.is_some() { "+" } else { "" }),
        or_dash(baseline.branch.as_deref()),
        baseline.timestamp_utc.format("%Y-%m-%d").to_string(),
        or_dash(accepted.map(|one| one.by.as_str())),
        or_dash(accepted.map(|one| one.why.as_str()).filter(|why| !why.is_empty()).or(Some(&baseline.notes))),
    ]
}

#[derive(Clone)]
struct Side {
    path: String,
    baseline: Baseline,
}

pub struct DiffOptions<'a> {
    pub folder: &'a Path,
    pub from: Option<&'a Path>,
    pub to: Option<&'a Path>,
    pub run: bool,
    pub suites: &'a [String],
    pub json: bool,
}

pub fn diff(options: &DiffOptions<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let &DiffOptions { folder, run, suites, .. } = options;
    let from = options.from.map(|path| read(folder, path, suites)).transpose()?;
    let to = options.to.map(|path| read(folder, path, suites)).transpose()?;
    let pairs = match (from, to) {
        (Some(from), Some(to)) => vec![(from, to)],
        (from, _) => {
            let project = Project::open(folder)?;
            match (from, run) {
                (from, true) => against_runs(&project, from, suites)?,
                (Some(one), false) => vec![with_other(&project, options, one)?],
                (None, false) => with_replaced(&project, suites)?,
            }
        }
    };
    let diffs = BaselineDiffs { schema_version: diff::SCHEMA_VERSION, diffs: pairs.iter().map(pair_diff).collect() };
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&diffs)?)?;
    } else {
        for (number, diff) in diffs.diffs.iter().enumerate() {
            write!(out, "{}{}", if number > 0 { "\n" } else { "" }, shown(diff))?;
        }
    }
    Ok(Exit::Done)
}

fn read(folder: &Path, path: &Path, suites: &[String]) -> Result<Side, Advice> {
    let shown = path.display().to_string();
    Ok(Side { baseline: take::read_of(&folder.join(path), &shown, suites)?, path: shown })
}

fn pair_diff((from, to): &(Side, Side)) -> BaselineDiff {
    let side = |one: &Side| DiffSide { path: one.path.clone(), baseline: BaselineSummary::new(&one.baseline) };
    BaselineDiff {
        from: side(from),
        to: side(to),
        differences: baseline_diff::differences(&from.baseline, &to.baseline),
        metrics: baseline_diff::metrics(&from.baseline, &to.baseline),
    }
}

/// Unreadable baselines are an error: a diff that left one out would look like one without changes.
fn in_use(project: &Project, suites: &[String]) -> crate::Result<Vec<Side>> {
    let mut sides = Vec::new();
    for BaselineFile { path, content } in project.baselines()? {
        match content {
            Ok(baseline) if suites.is_empty() || suites.contains(&baseline.suite) => {
                sides.push(Side { path, baseline })
            }
            Ok(_) => {}
            Err(_) => drop(take::read_file(&project.root.join(&path))?),
        }
    }
    if sides.is_empty() {
        let hint = "`sprag baseline emit` takes one from the newest run of this machine at HEAD";
        return refuse("there is no baseline to compare", hint);
    }
    Ok(sides)
}

fn with_replaced(project: &Project, suites: &[String]) -> crate::Result<Vec<(Side, Side)>> {
    let archive = project.archived_baselines()?;
    let mut pairs = Vec::new();
    for side in in_use(project, suites)? {
        match replaced(&archive, &side.baseline) {
            Ok(before) => pairs.push((before, side)),
            Err(why) => warn(&format!("`{}` {why}", side.path)),
        }
    }
    Ok(pairs)
}

/// The baseline that this one names as replaced, else the newest archived one of its suite and class.
fn replaced(archive: &[BaselineFile], baseline: &Baseline) -> Result<Side, String> {
    let named = baseline.accepted.as_ref().and_then(|accepted| accepted.replaces.as_deref());
    let usable = || archive.iter().filter_map(|file| Some((&file.path, file.content.as_ref().ok()?)));
    let alike = |one: &Baseline| one.suite == baseline.suite && one.machine_class == baseline.machine_class;
    let newest = || {
        let own = usable().filter(|(_, one)| alike(one) && !one.is_same(baseline));
        own.max_by_key(|(path, one)| (one.accepted.as_ref().map_or(one.timestamp_utc, |one| one.at_utc), *path))
    };
    let file = match named {
        Some(named) => usable().find(|(path, _)| path.as_str() == named).ok_or_else(|| {
            let is_there = archive.iter().any(|file| file.path == named);
            let fault = if is_there { "cannot be read" } else { "is not here" };
            format!("replaced `{}`, which {fault}", text::printable(named))
        }),
        None => newest().ok_or_else(|| "has replaced no other".to_owned()),
    };
    file.map(|(path, baseline)| Side { path: path.clone(), baseline: baseline.clone() })
}

fn with_other(project: &Project, options: &DiffOptions<'_>, one: Side) -> crate::Result<(Side, Side)> {
    let path = Baseline::path(&one.baseline.suite, &one.baseline.machine_class);
    let present = project.root.join(&path);
    let given = options.from.map(|path| options.folder.join(path));
    let is_in_use = given.and_then(|given| fs::canonicalize(given).ok()) == fs::canonicalize(&present).ok();
    if is_in_use {
        return match replaced(&project.archived_baselines()?, &one.baseline) {
            Ok(before) => Ok((before, one)),
            Err(why) => {
                refuse(format!("`{}` {why}", text::printable(&one.path)), "name two files, or the newest run: `--run`")
            }
        };
    }
    if !present.exists() {
        let message = format!("there is no `{path}` to compare `{}` with", text::printable(&one.path));
        return refuse(message, "name two files, or the newest run: `--run`");
    }
    let baseline = take::read_file(&present)?;
    Ok((Side { path, baseline }, one))
}

fn against_runs(project: &Project, file: Option<Side>, suites: &[String]) -> crate::Result<Vec<(Side, Side)>> {
    let asked = file.as_ref().map_or_else(|| suites.to_vec(), |file| vec![file.baseline.suite.clone()]);
    let sides = match file {
        Some(file) => vec![file],
        None => in_use(project, suites)?,
    };
    let mut runs = Vec::new();
    for outcome in take::take(project, &RunSelection { suites: &asked, file: None, revision: None })? {
        match outcome {
            TakeOutcome::Taken(taken) => runs.push(Side { path: taken.recorded.path, baseline: taken.baseline }),
            TakeOutcome::Nothing { why, .. } => warn(&why),
        }
    }
    let mut pairs = Vec::new();
    for side in sides {
        let alike = |run: &&Side| {
            run.baseline.suite == side.baseline.suite && run.baseline.machine_class == side.baseline.machine_class
        };
        match runs.iter().find(alike) {
            Some(run) => pairs.push((side, run.clone())),
            None => {
                let class = text::printable(&side.baseline.machine_class);
                warn(&format!(
                    "no run at HEAD of `{}` on {class} to compare `{}` with",
                    side.baseline.suite, side.path
                ));
            }
        }
    }
    Ok(pairs)
}

fn shown(diff: &BaselineDiff) -> String {
    let side = |side: &DiffSide| {
        let commit = side.baseline.commit.as_deref().map_or("no commit", |sha| text::short(sha, 12));
        let date = side.baseline.timestamp_utc.format("%Y-%m-%d");
        text::printable(&format!("{} (of {commit}, {date})", side.path))
    };
    let mut text = format!("{} → {}\n", side(&diff.from), side(&diff.to));
    if let Some(accepted) = &diff.to.baseline.accepted {
        let why = if accepted.why.is_empty() { String::new() } else { format!(": {}", accepted.why) };
        let words = format!("accepted by {} on {}{why}", accepted.by, accepted.at_utc.format("%Y-%m-%d"));
        text.push_str(&format!("{}\n", text::printable(&words)));
    }
    if !diff.differences.is_empty() {
        let list = text::printable(&diff.differences.join(", "));
        text.push_str(&format!("their values are not of one kind: {list}\n"));
    }
    let changed: Vec<&MetricDiff> = diff.metrics.iter().filter(|one| one.kind != DiffKind::Same).collect();
    let heads = ["what", "metric", "before", "after", "change", "rule"];
    text.push_str(&text::table(heads, changed.iter().map(|one| row(one)), &[2, 3, 4]));
    let same = diff.metrics.len() - changed.len();
    if same > 0 {
        text.push_str(&format!("{} the same\n", text::count(same, "metric")));
    }
    text
}

fn row(one: &MetricDiff) -> Vec<String> {
    let word = match one.kind {
        DiffKind::Redefined => "redefined",
        DiffKind::Removed => "removed",
        DiffKind::Added => "added",
        DiffKind::Worse => "worse",
        DiffKind::Better => "better",
        DiffKind::Moved => "moved",
        DiffKind::Rule => "rule",
        DiffKind::Same => "same",
    };
    let value =
        |side: &Option<MetricSide>| side.map_or("–".to_owned(), |side| side.unit.scale(side.value).text(side.value));
    let rule = |side: &Option<MetricSide>| side.map(|side| side.rule.words(side.unit));
    let rules = match (rule(&one.from), rule(&one.to)) {
        (Some(from), Some(to)) if from != to => format!("{from} → {to}"),
        (from, to) => to.or(from).unwrap_or_default(),
    };
    let change = one.change.map_or(text::NONE.to_owned(), text::percent);
    vec![word.to_owned(), text::printable(&one.key), value(&one.from), value(&one.to), change, rules]
}
