//! Whether the history holds together, and repairing it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use super::prove::parse_root;
use crate::exit::Exit;
use crate::notices::warn;
use crate::project::Project;
use crate::text;
use sprag_history::{self as history, Store, Target};
use sprag_measure::clock;
use sprag_model::fsck::{Finding, FindingKind, FsckReport, FsckStatus, Met, Severity};
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::Run;

/// How many findings of one kind are listed; the rest are counted. `--json` has all.
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
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(out, "{}", words(&report))?;
    }
    Ok(if report.status == FsckStatus::Damaged { Exit::Integrity } else { Exit::Done })
}

/// Files of runs that wait to be recorded, or that were and still lie there.
fn pending(project: &Project, store: &Store, source: &Target) -> crate::Result<Vec<Finding>> {
    let Ok(entries) = fs::read_dir(project.pending_folder()) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let recorded = if files.is_empty() { None } else { Some(history::recorded(store, source)?) };
    let mut findings = Vec::new();
    for file in files {
        let path = file.strip_prefix(&project.root).unwrap_or(&file).to_string_lossy().into_owned();
        let is_file = fs::symlink_metadata(&file).is_ok_and(|it| it.is_file() && it.len() <= MAX_RECORD_BYTES as u64);
        let run = fs::read(&file).ok().filter(|_| is_file).and_then(|bytes| Run::from_json(&bytes).ok());
        let found = |kind, what: &str, advice: &str| Finding::at(kind, &path, what).advise(advice);
        findings.push(match run {
            None => found(FindingKind::Leftover, "is no run that can be recorded", "look at it, and remove it"),
            Some((id, run)) if recorded.as_ref().is_some_and(|all| all.contains(&run.path(&id))) => {
                found(FindingKind::Leftover, "is in the history already", "the next record removes it")
            }
            Some(_) => found(
                FindingKind::Pending,
                "waits to be recorded",
                "the next record takes it along; so does `sprag history add`",
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
