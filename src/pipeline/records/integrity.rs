//! Checks and repairs the history; its Merkle root and proofs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use chrono::{SubsecRound as _, TimeDelta};

use crate::error::{Exit, WithContext as _};
use crate::project::Project;
use crate::text::{self, note, printable, say, warn};
use crate::{Advice, refuse, snapshots};
use sprag_base::digest::Digest;
use sprag_base::files::{read_bounded, write_atomic};
use sprag_history::{self as history, Entries, HistoryError, Record, Store, Target};
use sprag_measure::clock;
use sprag_model::fsck::{Finding, FindingKind, FsckReport, FsckStatus, Met, Severity};
use sprag_model::proof::{MAX_PROOF_BYTES, SCHEMA_VERSION};
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{HistoryRoot, Proof, Retraction, Run, history_log, retraction};

pub fn root(folder: &Path, is_json: bool, out: &mut dyn Write) -> crate::Result<Exit> {
    let entries = entries(&Project::open(folder)?)?;
    let root = HistoryRoot {
        schema_version: history_log::SCHEMA_VERSION,
        reference: entries.reference,
        tip: entries.tip,
        size: entries.tree.len() as u64,
        root: entries.tree.root(),
    };
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&root)?)?;
        return Ok(Exit::Done);
    }
    let tip = root.tip.as_deref().map_or("no commit yet", |tip| text::short(tip, 12));
    let runs = text::count(entries.tree.len(), "run");
    writeln!(out, "{}  {runs} on {} at {tip}", root.root, text::printable(&root.reference))?;
    Ok(Exit::Done)
}

pub(super) fn entries(project: &Project) -> crate::Result<Entries> {
    Ok(history::entries(project.store()?, &project.source()?)?)
}

const FEWEST_DIGITS: usize = 6;

pub enum Claim<'a> {
    Run(&'a str),
    Since(&'a str),
}

pub fn prove(folder: &Path, claim: &Claim<'_>, output: Option<&Path>, out: &mut dyn Write) -> crate::Result<Exit> {
    let entries = entries(&Project::open(folder)?)?;
    let proof = match claim {
        Claim::Run(run) => inclusion(&entries, run)?,
        Claim::Since(since) => match consistency(&entries, parse_root(since)?) {
            Some(proof) => proof,
            None => {
                writeln!(out, "no beginning of this history has the root {since}")?;
                say(&format!("hint: run `sprag history fsck --against {since}`, which looks at merged lines too"));
                return Ok(Exit::Integrity);
            }
        },
    };
    let mut json = serde_json::to_string_pretty(&proof)?;
    json.push('\n');
    match output {
        Some(file) => write_atomic(&folder.join(file), json.as_bytes())?,
        None => write!(out, "{json}")?,
    }
    Ok(Exit::Done)
}

fn inclusion(entries: &Entries, run: &str) -> crate::Result<Proof> {
    let index = find(entries, run)?;
    let size = entries.tree.len();
    Ok(Proof::Inclusion {
        schema_version: SCHEMA_VERSION,
        root: entries.tree.root(),
        size: size as u64,
        index: index as u64,
        leaf: entries.runs[index].digest,
        path: entries.tree.inclusion(index, size).context("a run of the list has no place in it")?,
    })
}

fn consistency(entries: &Entries, old_root: Digest) -> Option<Proof> {
    let (old_size, size) = (entries.tree.size_of(&old_root)?, entries.tree.len());
    Some(Proof::Consistency {
        schema_version: SCHEMA_VERSION,
        old_root,
        old_size: old_size as u64,
        root: entries.tree.root(),
        size: size as u64,
        path: entries.tree.consistency(old_size, size)?,
    })
}

/// Takes a run out of every analysis by a record that says why, or undoes that by another. The record of the run stays.
pub fn retract(folder: &Path, run: &str, reason: &str, undo: bool, out: &mut dyn Write) -> crate::Result<()> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let source = project.source()?;
    let entries = history::entries(store, &source)?;
    let path = entries.runs[find(&entries, run)?].path.clone();
    let listing = history::list(store, &source)?;
    let last = listing.decided.get(&path);
    if last.is_some_and(|last| !last.undo) != undo {
        let words = last.map_or_else(|| "is not retracted".to_owned(), Retraction::words);
        writeln!(out, "{}", printable(&format!("`{path}` {words}")))?;
        return Ok(());
    }
    let (now, reason) = (clock::now().trunc_subsecs(0), reason.trim().to_owned());
    // It decides, also where the clock of the machine of the last one is ahead.
    let time = last.map_or(now, |last| now.max(last.time + TimeDelta::seconds(1)));
    let retraction = Retraction { schema_version: retraction::SCHEMA_VERSION, run: path, reason, time, undo };
    if let Err(fault) = retraction.check() {
        return refuse(
            format!("the retraction {fault}"),
            "give `--reason` one line on what is wrong with the run, or was thought to be",
        );
    }
    let appended = history::append(store, &project.target()?, &[Record::from_retraction(&retraction)], now)?;
    appended.warnings.iter().for_each(|warning| warn(warning));
    let done = if undo { "restored" } else { "retracted" };
    writeln!(out, "{done} `{}` on {}", retraction.run, printable(text::branch(&appended.reference)))?;
    Ok(())
}

fn find(entries: &Entries, run: &str) -> crate::Result<usize> {
    const LIST: &str = "see `sprag history log` for the runs that it has";
    if run.contains('/') {
        let Some(place) = entries.runs.iter().position(|entry| entry.path == run) else {
            return refuse(format!("no run entered this history at `{}`", text::printable(run)), LIST);
        };
        return Ok(place);
    }
    let digits = run.len() >= FEWEST_DIGITS && run.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !digits {
        let hint = "give the id of a run, at least six digits of it, or the path of its record";
        return refuse(format!("`{}` names no run", text::printable(run)), hint);
    }
    let named = |place: &usize| entries.runs[*place].digest.to_string().starts_with(run);
    let places: Vec<usize> = (0..entries.runs.len()).filter(named).collect();
    match places[..] {
        [only] => Ok(only),
        [] => refuse(format!("this history has no run `{run}`"), LIST),
        _ => refuse(format!("`{run}` could be any of {} runs", places.len()), "give more digits"),
    }
}

pub fn check_proof(file: &Path, root: Option<&str>, out: &mut dyn Write) -> crate::Result<Exit> {
    let root = root.map(parse_root).transpose()?;
    let name = file.display();
    let bytes = read_bounded(file, MAX_PROOF_BYTES as usize).with_context(|| format!("cannot read `{name}`"))?;
    let proof = match Proof::from_json(&bytes) {
        Ok(proof) => proof,
        Err(error) => {
            let hint = "a proof is what `sprag history prove` prints; one of a newer version needs a newer sprag";
            return refuse(format!("`{name}` {error}"), hint.to_owned());
        }
    };
    let ends_in = proof.root();
    if !proof.holds() {
        writeln!(out, "the proof is invalid: its hashes do not lead to its root")?;
        return Ok(Exit::Integrity);
    }
    if root.is_some_and(|root| root != ends_in.root) {
        writeln!(out, "the proof ends in another root: {}", ends_in.root)?;
        return Ok(Exit::Integrity);
    }
    match &proof {
        Proof::Inclusion { index, leaf, size, .. } => {
            writeln!(out, "the run {leaf} is number {} of the {size} below the root {}", index + 1, ends_in.root)?;
        }
        Proof::Consistency { old_root, old_size, size, .. } => writeln!(
            out,
            "the {old_size} runs below the root {old_root} are the first of the {size} below the root {}",
            ends_in.root
        )?,
    }
    if root.is_none() {
        note("the root is from the same file; give the one that you noted down with `--root`");
    }
    Ok(Exit::Done)
}

pub(super) fn parse_root(text: &str) -> crate::Result<Digest> {
    let hint = "give the 64 digits that `sprag history root` prints";
    let digest = text.parse::<Digest>();
    Ok(digest.map_err(|error| Advice::new(text::printable(&error.to_string()), hint))?)
}

/// Of one kind; `--json` lists all.
const LISTED: usize = 20;

pub fn fsck(
    folder: &Path,
    repair: bool,
    against: Option<&str>,
    is_json: bool,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let against = against.map(parse_root).transpose()?;
    let project = Project::open(folder)?;
    let store = project.store()?;
    let branch = project.config.history.reference.as_deref();
    let mut repaired = Vec::new();
    if repair {
        let target = history::target(store, branch)?;
        let done = history::repair(store, &target, clock::now())?;
        done.warnings.iter().for_each(|warning| warn(warning));
        repaired = done.steps;
    }
    let source = history::source(store, branch)?;
    let mut report = history::fsck(store, &source, clock::now(), against)?;
    report.repaired = repaired;
    report.add(pending(&project, store, &source)?);
    let folder = project.config.history.archive.as_ref().map(|folder| project.root.join(folder));
    match history::archives(store, &source) {
        // Absent notes are among the findings.
        Err(HistoryError::Incomplete { .. }) => {}
        archives => report.add(snapshots::findings(folder.as_deref(), &archives?)),
    }
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(out, "{}", words(&report))?;
    }
    Ok(if report.status == FsckStatus::Damaged { Exit::Integrity } else { Exit::Done })
}

fn pending(project: &Project, store: &Store, source: &Target) -> crate::Result<Vec<Finding>> {
    let Ok(entries) = fs::read_dir(project.pending_folder()) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let recorded = if files.is_empty() { None } else { Some(history::recorded(store, source)?) };
    let mut findings = Vec::new();
    for file in files {
        let path = file.strip_prefix(&project.root).unwrap_or(&file).to_string_lossy().into_owned();
        let run = read_bounded(&file, MAX_RECORD_BYTES).ok().and_then(|bytes| Run::from_json(&bytes).ok());
        let finding = |kind, what: &str, advice: &str| Finding::at(kind, &path, what).advise(advice);
        findings.push(match run {
            None => finding(FindingKind::Leftover, "is not a run that can be recorded", "look at it, and remove it"),
            Some((id, run)) if recorded.as_ref().is_some_and(|all| all.contains(&run.path(&id))) => {
                finding(FindingKind::Leftover, "is in the history already", "the next record removes it")
            }
            Some(_) => finding(
                FindingKind::Pending,
                "waits to be recorded",
                "the next recording adds it; so does `sprag history add`",
            ),
        });
    }
    Ok(findings)
}

fn words(report: &FsckReport) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(report.repaired.iter().map(|step| format!("repair: {step}")));
    let mut groups: BTreeMap<(Severity, FindingKind), Vec<&Finding>> = BTreeMap::new();
    for finding in &report.findings {
        groups.entry((finding.severity, finding.kind)).or_default().push(finding);
    }
    for ((severity, _), group) in &groups {
        let mut advice = None;
        for finding in group.iter().take(LISTED) {
            let word = match severity {
                Severity::Damage => "damage",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let path = finding.path.as_ref().map(|path| format!("{path} ")).unwrap_or_default();
            lines.push(format!("{word}: {path}{}", finding.what));
            if finding.advice != advice {
                advice.clone_from(&finding.advice);
                lines.extend(advice.iter().map(|advice| format!("  hint: {advice}")));
            }
        }
        if group.len() > LISTED {
            lines.push(format!("  and {} more like these; `--json` lists all", group.len() - LISTED));
        }
    }
    for path in report.quarantined.iter().take(LISTED) {
        lines.push(format!("set aside: {path}"));
    }
    if report.quarantined.len() > LISTED {
        lines.push(format!("  and {} more; `--json` lists all", report.quarantined.len() - LISTED));
    }
    lines.extend(against(report));
    lines.push(summary(report));
    lines.iter().map(|line| text::printable(line) + "\n").collect()
}

fn against(report: &FsckReport) -> Option<String> {
    let against = report.against.as_ref()?;
    let runs = |size: u64| text::count(usize::try_from(size).unwrap_or(usize::MAX), "run");
    match (against.met, against.size) {
        (Met::Beginning, Some(size)) => {
            Some(format!("the first {size} of {} are unchanged since {}", runs(report.entries), against.root))
        }
        (Met::Merged, Some(size)) => {
            let commit = against.commit.as_deref().unwrap_or_default();
            Some(format!(
                "all {} that the line of {commit} had at {} are here, in an order that a merge has changed",
                runs(size),
                against.root
            ))
        }
        _ => None,
    }
}

fn summary(report: &FsckReport) -> String {
    let mut parts = vec![text::count(usize::try_from(report.runs).unwrap_or(usize::MAX), "run")];
    if report.archived > 0 {
        parts.push(format!("{} archived", report.archived));
    }
    parts.push(match &report.root {
        Some(root) => format!("root {root}"),
        None => "no root, since not all of the history can be read".to_owned(),
    });
    if !report.quarantined.is_empty() {
        parts.push(format!("{} set aside", report.quarantined.len()));
    }
    let damaged = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let places: BTreeSet<_> = damaged.map(|finding| &finding.path).collect();
    if !places.is_empty() {
        parts.push(format!("damage in {}", text::count(places.len(), "place")));
    }
    let warnings = report.count(Severity::Warning);
    if warnings > 0 {
        parts.push(text::count(warnings, "warning"));
    }
    if report.status == FsckStatus::Clean {
        parts.push("clean".to_owned());
    }
    parts.join(", ")
}
