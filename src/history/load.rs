//! Reading records of the history, each checked against its name.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use git2::{Odb, OdbLookupFlags, Oid, Repository};

use crate::error::{self, HistoryError, failed};
use crate::layout::{self, Leaf};
use crate::listing::{Listing, PlainFiles, content, files_below, list};
use crate::objects::{self, LooseObjects};
use crate::packs::pack_order;
use crate::repository::Store;
use crate::target::{Target, tip};
use sprag_model::record::Reader;
use sprag_model::run::{FileFault, Quarantined, RecordedRun};

/// A processor reads at least so many records at a time; for fewer it does not pay to open the repository once more.
const SHARE: usize = 16;

/// And at most so many, since the first of a share needs objects that the others do not.
const MOST_SHARE: usize = 256;

/// Shares of each processor, so that all end at about the same time.
const SHARES: usize = 8;

/// From so many records on, libgit2 does not check objects by their SHA-1.
const MANY: usize = 1000;

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The commit it was read at; absent where there is no history yet.
    pub tip: Option<String>,
    pub reference: String,
    /// The runs, by time and then path.
    pub runs: Vec<RecordedRun>,
    pub quarantined: Vec<Quarantined>,
    pub warnings: Vec<String>,
}

/// Loads every run of the history into memory; a file that fails a check is quarantined with the reason.
pub fn load(store: &Store, target: &Target) -> Result<Loaded, HistoryError> {
    let Listing { tip, reference, entries, mut quarantined, mut warnings, .. } = list(store, target)?;
    let mut runs = Vec::with_capacity(entries.len());
    for record in read(store, &entries)? {
        match record {
            Ok(run) => runs.push(run),
            Err(bad) => quarantined.push(bad),
        }
    }
    runs.sort_by(|a, b| (a.run.timestamp, &a.path).cmp(&(b.run.timestamp, &b.path)));
    quarantined.sort_by(|a, b| a.path.cmp(&b.path));
    let commits = runs.iter().filter_map(|run| run.run.commit.as_ref()).map(|commit| commit.sha.as_str());
    warnings.extend(absent_commits(store, commits)?);
    Ok(Loaded { tip, reference, runs, quarantined, warnings })
}

/// Reads the records on all processors, and gives them in the order of the entries. One that fails a check against its name, or is
/// absent, is quarantined with the reason.
pub fn read(store: &Store, entries: &[Leaf]) -> Result<Vec<Result<RecordedRun, Quarantined>>, HistoryError> {
    let taken = fold(store, entries, Vec::new, |taken, place, record| taken.push((place, record)))?;
    let mut records: Vec<_> = taken.into_iter().flatten().collect();
    records.sort_unstable_by_key(|(place, _)| *place);
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

/// As [`read`], but each record is taken as soon as it is read, with its place among the entries, so that not all are in memory.
/// Every processor has its own `T`. Which of them takes which records, and in which order, depends on the packs.
pub fn fold<T: Send>(
    store: &Store,
    entries: &[Leaf],
    begin: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, usize, Result<RecordedRun, Quarantined>) + Sync,
) -> Result<Vec<T>, HistoryError> {
    let snapshots = store.snapshots.as_deref();
    let number = |entry: &Leaf| snapshots.and_then(|snapshots| snapshots.number(entry));
    let items: Vec<(&Leaf, Option<usize>)> = entries.iter().map(|entry| (entry, number(entry))).collect();
    let in_git =
        |(entry, number): &(&Leaf, Option<usize>)| Oid::from_str(&entry.blob).ok().filter(|_| number.is_none());
    let mut order = pack_order(&store.repository, &items, in_git);
    // Runs of snapshots come last, one snapshot after another, since each is read as a whole.
    order.sort_by_key(|&place| items[place].1);
    let is_unchecked = entries.len() >= MANY;
    let workers = thread::available_parallelism().map_or(1, usize::from).min(entries.len().div_ceil(SHARE));
    let share = (entries.len() / (workers.max(1) * SHARES)).clamp(SHARE, MOST_SHARE);
    let next = AtomicUsize::new(0);
    let take_shares = |repository: &Repository| {
        let odb = repository.odb().map_err(failed("open the object database"))?;
        let mut taken = begin();
        let mut reader = Reader::default();
        let loose = LooseObjects::new(repository);
        loop {
            let first = next.fetch_add(share, Ordering::Relaxed);
            let share = &order[first.min(order.len())..(first + share).min(order.len())];
            if share.is_empty() {
                return Ok(taken);
            }
            for &place in share {
                let (entry, number) = items[place];
                let quarantine = |reason| Quarantined { path: entry.path.clone(), reason };
                let record = match snapshots.filter(|_| number.is_some()).map(|snapshots| snapshots.content(entry)) {
                    Some(bytes) => Ok(layout::check_recorded(&entry.path, &bytes?, &mut reader)),
                    None => content(&loose, &odb, entry)
                        .map(|content| layout::check_recorded(&entry.path, content.data(), &mut reader)),
                };
                let record = record.and_then(|record| Ok(record?));
                take(&mut taken, place, record.map_err(quarantine));
            }
        }
    };
    let _unchecked = is_unchecked.then(UncheckedHashes::begin);
    if workers <= 1 {
        return Ok(vec![take_shares(&store.repository)?]);
    }
    // A repository may not be shared between threads, so each opens its own.
    let path = store.repository.path();
    let open = || Repository::open(path).map_err(failed("open the repository"));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(|| take_shares(&open()?))).collect();
        workers.into_iter().map(|worker| worker.join().expect("reading a record does not panic")).collect()
    })
}

/// Takes a record, its bytes and what they say.
pub type RecordVisitor<'a, E> = &'a mut dyn FnMut(&Leaf, &[u8], RecordedRun) -> Result<(), E>;

/// Reads the records one after another, in the order of the entries, and gives each with its bytes.
///
/// # Errors
/// Those of `take`, and where a record is damaged or absent.
pub fn each_record<E: From<HistoryError>>(
    store: &Store,
    entries: &[Leaf],
    take: RecordVisitor<'_, E>,
) -> Result<(), E> {
    let odb = store.repository.odb().map_err(failed("open the object database"))?;
    let (loose, mut reader) = (LooseObjects::new(&store.repository), Reader::default());
    for entry in entries {
        let fault = |fault: FileFault| match (format!("`{}` {fault}", entry.path), fault) {
            (what, FileFault::Absent(_)) => objects::absent(&store.repository, what, false),
            (reason, FileFault::Unusable(_)) => HistoryError::Unusable { action: "read a record", reason },
        };
        let content = content(&loose, &odb, entry).map_err(fault)?;
        let run = layout::check_recorded(&entry.path, content.data(), &mut reader);
        let run = run.map_err(|reason| fault(reason.into()))?;
        take(entry, content.data(), run)?;
    }
    Ok(())
}

/// While it lives, libgit2 takes no SHA-1 of the objects it reads, which costs a sixth of the time: the names of records vouch for
/// them by SHA-256. The switch is one for the whole process.
struct UncheckedHashes;

impl UncheckedHashes {
    fn begin() -> UncheckedHashes {
        git2::opts::strict_hash_verification(false);
        UncheckedHashes
    }
}

impl Drop for UncheckedHashes {
    fn drop(&mut self) {
        git2::opts::strict_hash_verification(true);
    }
}

/// The commits that the repository lacks, and how many of the runs measured each.
pub(crate) fn absent<'c>(odb: &Odb<'_>, commits: impl Iterator<Item = &'c str>) -> BTreeMap<&'c str, usize> {
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for sha in commits {
        *runs.entry(sha).or_default() += 1;
    }
    // No object comes while we read, so libgit2 need not list the packs again.
    let exists = |sha: &str| Oid::from_str(sha).is_ok_and(|id| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH));
    runs.retain(|sha, _| !exists(sha));
    runs
}

/// A sentence on how many of these commits, one a run, the repository lacks.
pub fn absent_commits<'c>(
    store: &Store,
    commits: impl Iterator<Item = &'c str>,
) -> Result<Option<String>, HistoryError> {
    let odb = store.repository.odb().map_err(failed("open the object database"))?;
    let runs: usize = absent(&odb, commits).values().sum();
    let what = "measured commits that this repository does not hold (squashed, or a shallow clone)";
    Ok((runs > 0).then(|| format!("{} {what}", error::count(runs, "run"))))
}

/// Reads the files of a folder from git's objects: of events, or of announcements. Its folders are year and month.
pub fn plain_files(store: &Store, target: &Target, folder: &str) -> Result<PlainFiles, HistoryError> {
    let repository = &store.repository;
    let Some((commit, _)) = tip(repository, target)? else { return Ok(PlainFiles::default()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    files_below(repository, &tree, folder)
}
