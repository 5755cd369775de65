//! `sprag history`: lists and synchronises records, and fills the cache.

mod add;
mod archive;
mod integrity;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use crate::error::{Exit, WithContext as _};
use crate::options::{Period, refuse_unknown};
use crate::project::Project;
use crate::text::{self, count, note, printable, say, warn};
use crate::{refuse, snapshots, study};
use sprag_analysis::frame::Frame;
use sprag_history::{self as history, Leaf, Listing, LocalBranch, Store, SyncOptions, Synced};
use sprag_measure::clock;
use sprag_model::history_log::SCHEMA_VERSION;
use sprag_model::{HistoryLog, LoggedRun, Quarantined, RunHead, RunStatus};

pub use crate::records::add::{ExpectedRecords, add};
pub use crate::records::archive::{archive, restore};
pub use crate::records::integrity::{Claim, check_proof, fsck, prove, retract, root};

pub struct LogOptions {
    pub suites: Vec<String>,
    pub machines: Vec<String>,
    pub commit: Option<String>,
    pub statuses: Vec<RunStatus>,
    pub since: Option<String>,
    pub until: Option<String>,
    pub branch: Option<String>,
    /// 0 for all.
    pub limit: usize,
    pub json: bool,
}

pub fn log(folder: &Path, options: &LogOptions, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let branch = options.branch.as_deref().or(project.config.history.reference.as_deref());
    let mut source = history::source(store, branch)?;
    if options.branch.is_some() {
        // Records of another branch are not those of one that does not exist.
        source.inherited = None;
    }
    let listing = history::list(store, &source).context("cannot read the history")?;
    snapshots::say_absent(&listing);
    if listing.tip.is_none() && options.branch.is_some() {
        let message = format!("there is no branch `{}`", text::printable(&source.reference));
        return refuse(message, "see `git branch --list` for those that exist");
    }
    let retracted = listing.retracted.iter().map(|(entry, _)| entry);
    let entries: Vec<Leaf> = listing.entries.iter().chain(retracted).cloned().collect();
    let (mut heads, bad) = heads(&project, store, options.branch.is_none(), &entries)?;
    study::refuse_absent(store, listing.quarantined.iter().chain(&bad))?;
    let quarantined = listing.quarantined.len() + bad.len();
    heads.sort_by(|a, b| (b.timestamp, &b.path).cmp(&(a.timestamp, &a.path)));
    let retracted: HashMap<&str, &String> =
        listing.retracted.iter().map(|(entry, words)| (entry.path.as_str(), words)).collect();
    let runs: Vec<LoggedRun> = heads.into_iter().map(|head| logged(head, &listing, &retracted)).collect();
    let filter = Filter::new(options, &runs, store)?;
    let is_empty = runs.is_empty();
    let mut runs: Vec<LoggedRun> = runs.into_iter().filter(|run| filter.takes(run)).collect();
    let matching = runs.len();
    if options.limit > 0 {
        runs.truncate(options.limit);
    }
    let log = HistoryLog {
        schema_version: SCHEMA_VERSION,
        reference: listing.reference,
        tip: listing.tip,
        matching: matching as u64,
        quarantined: quarantined as u64,
        runs,
    };
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&log)?)?;
    } else if is_empty {
        let reference = text::printable(&log.reference);
        if quarantined > 0 {
            // The hint comes below.
            writeln!(out, "no run on {reference} can be read")?;
        } else {
            writeln!(out, "no run is recorded on {reference} yet")?;
            say("hint: `sprag run --record` measures the suites of `sprag.toml`, which `sprag init` writes");
        }
    } else {
        write!(out, "{}", table(&log.runs))?;
        if log.runs.len() < matching {
            say(&format!("{} of {matching} runs; `--limit 0` lists all", log.runs.len()));
        } else if matching == 0 {
            say("no run matches");
        }
    }
    if log.quarantined > 0 {
        let files = text::count(quarantined, "file");
        warn(&format!("{files} of the history cannot be used; `sprag history fsck` shows why"));
    }
    Ok(Exit::Done)
}

/// Says of a run why the analysis leaves it out.
fn logged(head: RunHead, listing: &Listing, retracted: &HashMap<&str, &String>) -> LoggedRun {
    let words = retracted.get(head.path.as_str()).map(|words| (*words).clone());
    let left_out = words.or_else(|| listing.check_time(head.timestamp).err());
    let mut run = LoggedRun::new(head);
    if let Some(words) = left_out {
        run.quality.clean = false;
        run.quality.reasons.insert(0, format!("left out: it {words}"));
    }
    run
}

/// The cache holds only the runs of one branch, so other branches are read. Also returns the unusable records.
fn heads(
    project: &Project,
    store: &Store,
    is_own_branch: bool,
    entries: &[Leaf],
) -> crate::Result<(Vec<RunHead>, Vec<Quarantined>)> {
    if is_own_branch {
        let decoded = crate::cache::decode(project, store, entries)?;
        let heads = decoded.runs.into_heads().into_iter().map(|(head, _)| head);
        return Ok((heads.collect(), decoded.quarantined));
    }
    let records = history::read(store, entries).context("cannot read the history")?;
    let heads = records.iter().flatten().map(RunHead::new).collect();
    Ok((heads, records.into_iter().filter_map(Result::err).collect()))
}

fn table(runs: &[LoggedRun]) -> String {
    let row = |run: &LoggedRun| {
        let commit = run.commit.as_deref().map_or("-", |sha| text::short(sha, 12));
        let failed = if run.failed > 0 { format!(" ({} failed)", run.failed) } else { String::new() };
        let reasons = run.reason.iter().chain(&run.quality.reasons).cloned().collect::<Vec<_>>().join("; ");
        let quality = if run.quality.clean { "clean" } else { "not clean" };
        let reasons = Some(reasons).filter(|reasons| !reasons.is_empty());
        let cells = [
            run.timestamp_utc.format("%Y-%m-%d %H:%M:%SZ").to_string(),
            run.suite.clone(),
            run.status.word().to_owned(),
            format!("{commit}{}", if run.dirty { "+" } else { "" }),
            run.machine.name.clone(),
            format!("{}{failed}", run.benchmarks),
            run.id.clone(),
            quality.to_owned(),
        ];
        cells.into_iter().chain(reasons).map(|cell| text::printable(&cell)).collect()
    };
    let heads = ["time", "suite", "status", "commit", "machine", "benchmarks", "run", "quality"];
    text::table(heads, runs.iter().map(row), &[5])
}

struct Filter<'a> {
    options: &'a LogOptions,
    /// The start of its id.
    commit: Option<String>,
    period: Period,
}

impl<'a> Filter<'a> {
    /// `runs` are all runs, to check names.
    fn new(options: &'a LogOptions, runs: &[LoggedRun], store: &Store) -> crate::Result<Filter<'a>> {
        for suite in &options.suites {
            refuse_unknown("suite", suite, runs.iter().map(|run| run.suite.as_str()))?;
        }
        for machine in options.machines.iter().filter(|name| !runs.iter().any(|run| is_machine(run, name))) {
            refuse_unknown("machine", machine, runs.iter().map(|run| run.machine.name.as_str()))?;
        }
        Ok(Filter {
            options,
            commit: options.commit.as_deref().map(|text| commit(text, runs, store)).transpose()?,
            period: Period::new(options.since.as_deref(), options.until.as_deref())?,
        })
    }

    fn takes(&self, run: &LoggedRun) -> bool {
        let options = self.options;
        let sha = run.commit.as_deref().unwrap_or_default();
        self.commit.as_ref().is_none_or(|start| sha.starts_with(start.as_str()))
            && (options.suites.is_empty() || options.suites.contains(&run.suite))
            && (options.machines.is_empty() || options.machines.iter().any(|name| is_machine(run, name)))
            && (options.statuses.is_empty() || options.statuses.contains(&run.status))
            && self.period.contains(run.timestamp_utc)
    }
}

fn is_machine(run: &LoggedRun, name: &str) -> bool {
    run.machine.name == name || (!name.is_empty() && run.machine.id.starts_with(name))
}

/// The start of a commit id: as given if a run has it, else of a revision.
fn commit(text: &str, runs: &[LoggedRun], store: &Store) -> crate::Result<String> {
    let is_prefix = text.len() >= 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_prefix && runs.iter().filter_map(|run| run.commit.as_deref()).any(|sha| sha.starts_with(text)) {
        return Ok(text.to_owned());
    }
    match history::commit_at(store, text) {
        Ok(Some(commit)) => Ok(commit.sha),
        _ => refuse(
            format!("no run is of `{}`, and it names no commit of this repository", text::printable(text)),
            "give four digits or more of a commit's id, a tag, or a revision such as HEAD~3",
        ),
    }
}

pub fn sync(folder: &Path, options: &SyncOptions, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = project.target()?;
    let synced = history::sync(store, &target, options, std::env::vars_os(), clock::now(), &mut say_waits)?;
    for warning in &synced.warnings {
        warn(warning);
    }
    if let LocalBranch::Waits { reason, command } = &synced.local {
        let local = text::branch(&target.reference);
        note(&format!("`{local}` stays where it is: {reason}; run `{command}`"));
    }
    writeln!(out, "{}", line(&synced, options.dry_run))?;
    if options.dry_run {
        for path in &synced.sent {
            writeln!(out, "  {}", printable(path))?;
        }
    }
    Ok(Exit::Done)
}

pub(crate) fn say_waits() {
    note("another sync is under way in this repository: this one begins when it ends");
}

fn line(synced: &Synced, dry_run: bool) -> String {
    let records = |number| if number == 0 { "nothing".to_owned() } else { count(number, "record") };
    let (sent, received) = (records(synced.sent.len()), records(synced.received));
    let branch = printable(&synced.branch);
    if dry_run {
        return format!("{branch}: would send {sent} and receive {received}");
    }
    let attempts = count(synced.attempts as usize, "attempt");
    format!("{branch}: sent {sent}, received {received} ({attempts})")
}

pub fn cache(folder: &Path, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let study::DecodedHistory { facts, runs } = study::load(&project, store)?;
    let line = history::commit_line(store, None).context("cannot read the commits")?;
    let (n_runs, n_values) = (runs.heads().len(), runs.n_values());
    let n_series = Frame::new(&runs, &line).series.len();
    writeln!(out, "{}, {} in {n_series} series", count(n_runs, "run"), count(n_values, "value"))?;
    if !facts.quarantined.is_empty() {
        writeln!(out, "{} quarantined", count(facts.quarantined.len(), "record"))?;
    }
    match crate::cache::size(&project) {
        Some(bytes) => {
            writeln!(out, "kept in {} of {bytes} bytes under `.sprag/cache`", count(usize::from(bytes > 0), "file"))?;
        }
        None => writeln!(out, "no cache is kept")?,
    }
    Ok(Exit::Done)
}
