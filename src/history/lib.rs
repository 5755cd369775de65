//! The history: run records in git, appended and loaded.
//!
//! A record is a file under `history/v1/` in the tree of a branch. Appending makes a commit out of git objects and moves the
//! branch by compare-and-swap: from then on the records exist. Loading reads the tree of the branch, never the working tree,
//! and checks every file against its name. Event records lie next to the runs; the list of runs leaves them out.
//!
//! `layout` says where a record lies. `state` keeps the lock and the journal of appends, in `sprag/` inside the git folder.
//! Nothing here runs a hook or a filter of the repository. The time of a commit is an argument.

mod error;
mod repository;
mod objects;
mod packs;
mod salvage;
mod layout;
mod state;
mod index;
mod checkout;
mod target;
mod inherited;
mod commits;
mod changes;
mod copy;
mod append;
mod listing;
mod archived;
mod load;
mod past;
mod transport;

/// Brings the history of this repository and that of a remote together.
///
/// Records never change and never go, so the union of two histories is the union of their files: no commit is rebased
/// and nothing is merged line by line.
mod sync {
    pub(crate) mod outcome;
    pub(crate) mod compare;
    pub(crate) mod repairs;
    pub(crate) mod plan;
    pub(crate) mod rounds;
}

mod archive;

/// Checks and repairs a history.
mod fsck {
    pub(crate) mod tip;
    pub(crate) mod content;
    pub(crate) mod check;
    pub(crate) mod repair;
}

pub use append::{Appended, Record, append, store_blobs};
pub use archive::{PastMonth, PastMonths, archive, archived_runs, archives, blob_id, check_note, past_months};
pub use changes::{CommitChanges, FileChange, changed_paths, changes};
pub use commits::{
    comes_after, commit_at, commit_graph, commit_line, commit_line_cached, files_of, find_commit, measured_commit,
    objects_of, same_code, tagged, tree_id,
};
pub use copy::{MissingParts, check_out_copy};
pub use error::{FETCH_ALL, HistoryError};
pub use fsck::check::{fsck, recorded, verified_entries};
pub use fsck::repair::{Repaired, repair};
pub use layout::{Leaf, check_recorded};
pub use listing::{FolderCache, Listing, PlainFiles, list, list_cached};
pub use load::{Loaded, RecordVisitor, absent_commits, each_record, fold, load, plain_files, read};
pub use past::{Entered, Entries, entries};
pub use repository::{
    Author, Facts, NewCommit, Snapshots, Store, author, check_out, commit_files, create, facts, has_commit, tag,
};
pub use state::sync_folder;
pub use sync::outcome::{AfterRewrite, LocalBranch, SyncError, SyncOptions, Synced};
pub use sync::rounds::sync;
pub use target::{
    Target, bisects_without_checkout, check_writable, default_branch, keeps_records_with_code, open, source, target,
};
pub use transport::{CallError, RemoteFault};

#[cfg(test)]
mod sample_run;
#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    mod appending;
    mod archiving;
    mod checkouts;
    mod fsck;
    mod fsck_warnings;
    mod opening;
    mod syncing;
    mod repairs;
}
