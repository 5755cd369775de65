//! The files of events that the tip of the history has.

use crate::HistoryError;
use crate::git::commits::target::{Target, tip};
use crate::git::reading::listing::{Entry, Walk};
use crate::git::reading::load::content;
use crate::git::reading::loose::LooseObjects;
use crate::git::{Store, failed};
use sprag_model::event_record::EVENT_ROOT;
use sprag_model::run::Quarantined;

/// How many folders lie between [`EVENT_ROOT`] and a record: year and month.
const EVENT_DEPTH: usize = 2;

/// What lies below `history/v1/_events/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFiles {
    /// Path and content of each plain file, by path. Whether it is an event record, and named like one, is for
    /// [`sprag_model::event_record::EventRecord::from_file`] to say.
    pub files: Vec<(String, Vec<u8>)>,
    /// What is no plain file, lies too deep or cannot be read, by path.
    pub quarantined: Vec<Quarantined>,
}

/// Reads the files of events, from git's objects and never from the working tree. Files that begin with `.git` are git's
/// own and passed over. Where there is no such folder, or no history yet, there are none.
///
/// # Errors
/// When the ref or the commit it names cannot be read.
pub fn event_files(store: &Store, target: &Target) -> Result<EventFiles, HistoryError> {
    let repository = &store.repository;
    let Some((commit, _)) = tip(repository, target)? else { return Ok(EventFiles::default()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    let mut walk = Walk::new(repository, EVENT_DEPTH, |_| Ok(()));
    walk.enter_below(&tree, EVENT_ROOT);
    let (entries, mut quarantined) = walk.found();
    let odb = repository.odb().map_err(failed("open the object database"))?;
    let loose = LooseObjects::of(repository);
    let mut files = Vec::with_capacity(entries.len());
    for entry in entries {
        let bytes = content(&loose, &odb, &entry).map(|object| object.data().to_vec());
        let Entry { path, .. } = entry;
        match bytes {
            Ok(bytes) => files.push((path, bytes)),
            Err(reason) => quarantined.push(Quarantined { path, reason }),
        }
    }
    quarantined.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(EventFiles { files, quarantined })
}
