//! From a history to its analysis.

use std::collections::{BTreeSet, HashSet};

use chrono::{DateTime, Utc};

use crate::cache::{self, CacheFile};
use crate::error::WithContext as _;
use crate::project::Project;
use crate::{Advice, ledger, refuse, snapshots, text};
use sprag_analysis::digest::{self, DigestInput, Newest};
use sprag_analysis::frame::{DecodedRuns, Frame};
use sprag_history::{self as history, FolderCache, HistoryError, Leaf, Listing, Store, Target};
use sprag_measure::clock;
use sprag_model::{
    Analysis, BaselineFile, CommitCache, CommitLine, FileFault, HistoryFacts, Ledger, Quarantined, RecordedRun, RunHead,
};

pub struct Study {
    pub analysis: Analysis,
    pub line: CommitLine,
    /// Oldest first.
    pub heads: Vec<RunHead>,
    /// In the same order.
    pub entries: Vec<Leaf>,
    /// Of each suite and machine.
    pub newest: Vec<RecordedRun>,
    pub baselines: Vec<BaselineFile>,
    pub ledger: Ledger,
}

impl Study {
    /// The clock of a site is the newest run: equal histories give equal bytes.
    pub fn present(&self) -> DateTime<Utc> {
        self.analysis.as_of.unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Along<'a> {
    /// The last commit; HEAD if absent.
    pub revision: Option<&'a str>,
    /// Whether to include commits of merged branches.
    pub all_parents: bool,
}

#[derive(Clone)]
pub struct DecodedHistory {
    pub facts: HistoryFacts,
    pub runs: DecodedRuns,
}

pub fn load(project: &Project, store: &Store) -> crate::Result<DecodedHistory> {
    let source = project.source()?;
    let listing = list(project, store, &source).context("cannot read the history")?;
    let cache::Decoded { runs, quarantined } = cache::decode(project, store, &listing.entries)?;
    let mut loaded = timely(runs, listing);
    loaded.facts.quarantined.extend(quarantined);
    refuse_absent(store, &loaded.facts.quarantined)?;
    Ok(loaded)
}

/// A partial clone must not pass for the history with fewer records.
pub(crate) fn refuse_absent<'a>(store: &Store, bad: impl IntoIterator<Item = &'a Quarantined>) -> crate::Result<()> {
    let absent = bad.into_iter().filter(|one| matches!(one.reason, FileFault::Absent(_))).count();
    if absent > 0 && history::facts(store)?.partial {
        let records = sprag_report::number::counted(absent, "record is", "records are");
        return refuse(format!("{records} not here, as this is a partial clone"), history::FETCH_ALL);
    }
    Ok(())
}

/// Leaves out runs that are dated in the future: one of the year 9999 would be the newest forever.
fn timely(runs: DecodedRuns, listing: Listing) -> DecodedHistory {
    let mut ahead = Vec::new();
    let runs = runs.select(|head, _| {
        let fault = listing.check_time(head.timestamp).err();
        let is_timely = fault.is_none();
        ahead.extend(fault.map(|reason| Quarantined { path: head.path.clone(), reason: reason.into() }));
        is_timely
    });
    let mut facts = facts(listing);
    facts.quarantined.extend(ahead);
    DecodedHistory { facts, runs }
}

fn list(project: &Project, store: &Store, source: &Target) -> Result<Listing, HistoryError> {
    let file = CacheFile::at(project, "folders");
    let (listing, news) = history::list_cached(store, source, file.read_as(FolderCache::from_text))?;
    snapshots::say_absent(&listing);
    if let Some(news) = news {
        file.write(news.to_text().as_bytes());
    }
    Ok(listing)
}

impl DecodedHistory {
    /// The history as of the commit that the project is pinned to; reads records that are missing here.
    pub fn as_of(&self, project: &Project, store: &Store) -> crate::Result<DecodedHistory> {
        let listing = history::list(store, &project.source()?).context("cannot read the history")?;
        let listed: HashSet<(&str, &str)> =
            listing.entries.iter().map(|entry| (entry.path.as_str(), entry.blob.as_str())).collect();
        let is_listed = |head: &RunHead, blob: &str| listed.contains(&(head.path.as_str(), blob));
        let runs = self.runs.clone().select(is_listed);
        if runs.heads().len() < listed.len() {
            return load(project, store);
        }
        Ok(timely(runs, listing))
    }
}

/// Number and start of the runs follow from what can be read.
fn facts(listing: Listing) -> HistoryFacts {
    let retracted = listing.retracted.into_iter();
    HistoryFacts {
        reference: Some(listing.reference),
        tip: listing.tip,
        runs: 0,
        first: None,
        quarantined: listing.quarantined,
        retracted: retracted.map(|(entry, reason)| Quarantined { path: entry.path, reason: reason.into() }).collect(),
        warnings: listing.warnings,
    }
}

pub fn study(project: &Project) -> crate::Result<Study> {
    study_along(project, Along::default())
}

/// Along the commits of a revision, with merged branches or without. No machine has an order of its own then.
pub fn study_named(project: &Project, revision: Option<&str>, all_parents: bool) -> crate::Result<Study> {
    let mut study = study_along(project, Along { revision, all_parents }).map_err(|error| match revision {
        Some(revision) if matches!(error.cause(), Some(HistoryError::Revision { .. })) => {
            no_commit(project, revision).into()
        }
        _ => error,
    })?;
    study.line.named = revision.is_some();
    Ok(study)
}

fn no_commit(project: &Project, revision: &str) -> Advice {
    let is_shallow = || project.store().and_then(|store| Ok(history::facts(store)?.shallow)).unwrap_or(false);
    let words = if revision.trim().is_empty() { format!("'{revision}'") } else { revision.to_owned() };
    let message = format!("`--branch {}` names no commit of this repository", text::printable(&words));
    let hint = if is_shallow() {
        "this clone is shallow: run `git fetch --unshallow`, in a workflow set `fetch-depth: 0`"
    } else {
        "name a branch, a tag or a commit, as `git log` takes it; without `--branch` it is HEAD"
    };
    Advice::new(message, hint.to_owned())
}

pub fn study_along(project: &Project, along: Along<'_>) -> crate::Result<Study> {
    study_loaded(project, load(project, project.store()?)?, along)
}

pub fn study_loaded(project: &Project, loaded: DecodedHistory, along: Along<'_>) -> crate::Result<Study> {
    let store = project.store()?;
    let ledger = ledger::read(project)?;
    let DecodedHistory { mut facts, mut runs } = loaded;
    let line = if along.all_parents {
        history::commit_graph(store, along.revision)
    } else {
        commit_line(project, store, along.revision)
    };
    let line = line.context("cannot read the commits")?;
    let baselines = project.baselines()?;
    let records = loop {
        let (records, bad) = read_newest(store, &runs, &line)?;
        if bad.is_empty() {
            break records;
        }
        // Records of cached runs may be damaged since.
        refuse_absent(store, &bad)?;
        let is_usable = |head: &RunHead, _: &str| bad.iter().all(|one| one.path != head.path);
        runs = runs.select(is_usable);
        facts.quarantined.extend(bad);
    };
    let frame = Frame::new(&runs, &line);
    let mut own = runs.into_heads();
    own.sort_by(|(a, _), (b, _)| (a.timestamp, &a.path).cmp(&(b.timestamp, &b.path)));
    let entry = |(head, blob): (RunHead, String)| (Leaf { path: head.path.clone(), blob }, head);
    let (entries, heads): (Vec<Leaf>, Vec<RunHead>) = own.into_iter().map(entry).unzip();
    facts.quarantined.sort_by(|a, b| a.path.cmp(&b.path));
    facts.runs = heads.len();
    facts.first = heads.first().map(|head| head.timestamp);
    let commits = heads.iter().filter_map(|head| head.commit.as_ref()).map(|commit| commit.sha.as_str());
    facts.warnings.extend(history::absent_commits(store, commits).context("cannot read the history")?);
    if !facts.quarantined.is_empty() {
        let records = text::count(facts.quarantined.len(), "record");
        text::warn(&format!("{records} of the history quarantined; the digest names them"));
    }
    if !facts.retracted.is_empty() {
        let runs = text::count(facts.retracted.len(), "retracted run");
        text::note(&format!("{runs} left out; `sprag history log` shows which, and why"));
    }
    let tomorrow = clock::now() + chrono::Duration::days(1);
    if let Some(ahead) = heads.iter().find(|head| head.timestamp > tomorrow) {
        text::warn(&format!("`{}` is dated {}, which is yet to come", ahead.path, ahead.timestamp));
    }
    let analysis = digest::analyse(DigestInput {
        project: &project.config.project.name,
        every_days: project.config.schedule.every_days,
        history: facts,
        heads: &heads,
        newest: &digest::newest(&heads, &line),
        records: &records,
        baselines: &baselines,
        series: frame.series,
        judged: frame.judged,
    });
    Ok(Study { analysis, line, heads, entries, newest: records, baselines, ledger })
}

/// Commits in the cache are not read.
pub(crate) fn commit_line(
    project: &Project,
    store: &Store,
    revision: Option<&str>,
) -> Result<CommitLine, HistoryError> {
    let file = CacheFile::at(project, "commits");
    let mut commits: CommitCache = file.read_as(|text| serde_json::from_str(text).ok());
    let count = commits.len();
    let line = history::commit_line_cached(store, revision, &mut commits)?;
    if commits.len() > count {
        file.write(&serde_json::to_vec(&commits).expect("texts and times are JSON"));
    }
    Ok(line)
}

fn read_newest(
    store: &Store,
    runs: &DecodedRuns,
    line: &CommitLine,
) -> crate::Result<(Vec<RecordedRun>, Vec<Quarantined>)> {
    let newest = digest::newest(runs.heads(), line);
    let members: BTreeSet<&str> = newest.iter().flat_map(Newest::members).map(|member| member.path.as_str()).collect();
    let judged = runs.records().filter(|(path, _)| members.contains(path));
    let entries: Vec<Leaf> = judged.map(|(path, blob)| Leaf { path: path.to_owned(), blob: blob.to_owned() }).collect();
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    for record in history::read(store, &entries).context("cannot read the history")? {
        match record {
            Ok(run) => records.push(run),
            Err(fault) => bad.push(fault),
        }
    }
    Ok((records, bad))
}
