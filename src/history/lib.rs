//! The history: run records in git, appended and loaded.
//!
//! A record is a file under `history/v1/` in the tree of a branch. Appending makes a commit out of git objects and
//! moves the branch by compare-and-swap; the moment the ref moves is the moment the records exist. Loading reads
//! the tree of the branch, never the working tree, and checks every file against its name. Beside the runs lie event
//! records, which go the same way; the list of runs does not know them.
//!
//! `layout` says where a record lies and what it must look like there. `state` keeps the lock and the journal of appends
//! under way, in `sprag/` inside the git folder. Nothing here runs a hook or a filter of the repository, or reads the
//! clock: the time of a commit is an argument.

mod error;
mod activity;
mod store;
mod layout;
mod state;
mod record;
mod tree_lookup;

/// Objects of git: loose ones, packs, those that a partial clone lacks, and flushing them.
mod objects {
    pub(crate) mod loose;
    pub(crate) mod partial;
    pub(crate) mod pack_index;
    pub(crate) mod pack_writer;
    pub(crate) mod flush;
}

/// Commits: what HEAD and the branch of the history are at, the line behind them, and which commit is measured.
mod commits {
    pub(crate) mod head;
    pub(crate) mod target;
    pub(crate) mod author;
    pub(crate) mod create;
    pub(crate) mod measured;
    pub(crate) mod line;
    pub(crate) mod tags;
    pub(crate) mod copy;
}

/// Working trees on the branch of the history, and how they catch up with it.
mod checkout {
    pub(crate) mod index;
    pub(crate) mod attributes;
    pub(crate) mod stale_locks;
    pub(crate) mod working_tree;
    pub(crate) mod removal;
}

mod append;

/// Reading a history: its listing, its records, its past, and the order in which runs entered it.
mod reading {
    pub(crate) mod folder_cache;
    pub(crate) mod listing;
    pub(crate) mod load;
    pub(crate) mod past;
    pub(crate) mod entries;
}

/// The user's own `git`, as a program: the only way to a remote, since credentials, keys and proxies are set up for it.
///
/// It is called by an absolute path with an argument list, in a cleaned environment, with every hook, pager, prompt and
/// submodule switched off, within a time, and with bounded output. Its output is parsed, and escaped before it is shown.
mod transport {
    pub(crate) mod environment;
    pub(crate) mod answer;
    pub(crate) mod call;
}

/// Bringing the history of this repository and that of a remote together.
///
/// Records never change and never go, so the union of two histories is the union of their files: no commit is rebased
/// and nothing is merged line by line.
mod sync {
    pub(crate) mod outcome;
    pub(crate) mod remote;
    pub(crate) mod compare;
    pub(crate) mod user_commits;
    pub(crate) mod plan;
    pub(crate) mod union_commit;
    pub(crate) mod local;
    pub(crate) mod rounds;
}

/// Whether the history holds together, and putting right what does not.
mod fsck {
    pub(crate) mod tip;
    pub(crate) mod content;
    pub(crate) mod quarantine;
    pub(crate) mod losses;
    pub(crate) mod context;
    pub(crate) mod earlier_root;
    pub(crate) mod check;
    pub(crate) mod follow;
    pub(crate) mod repair;
}

pub use activity::Activity;
pub use append::{Appended, append};
pub use checkout::working_tree::{Healed, heal};
pub use commits::author::{Author, author};
pub use commits::copy::{MissingParts, check_out_copy};
pub use commits::create::{NewCommit, check_out, commit_files, create, tag};
pub use commits::head::{Facts, Head, facts, has_commit};
pub use commits::line::{commit_graph, commit_line, commit_line_cached};
pub use commits::measured::{commit_at, find_commit, measured_commit};
pub use commits::tags::{comes_after, files_of, tagged};
pub use commits::target::{Target, bisects_without_checkout, check_writable, default_branch, source, target};
pub use error::HistoryError;
pub use fsck::check::{fsck, recorded, verified_entries};
pub use fsck::repair::{Repaired, repair};
pub use layout::Entry;
pub use reading::entries::{Entered, Entries, entries};
pub use reading::folder_cache::FolderCache;
pub use reading::listing::{Listing, list, list_cached};
pub use reading::load::{EventFiles, Loaded, absent_commits, event_files, fold, load, read};
pub use record::Record;
pub use store::{Store, open};
pub use sync::outcome::{AfterRewrite, LocalBranch, SyncError, SyncOptions, Synced};
pub use sync::rounds::sync;
pub use transport::answer::RemoteFault;
pub use transport::call::CallError;

#[cfg(test)]
mod sample_run;
#[cfg(test)]
mod testing;

/// What takes more than one file: appending, loading back, being cut short, findings and repairs.
#[cfg(test)]
mod tests {
    mod appending;
    mod broken;
    mod checkouts;
    mod configured;
    mod events;
    mod interruption;
    mod opening;
    mod packed;
    mod quarantine;
    mod racing;
    mod syncing;

    mod fsck_fixture;
    mod fsck_damage;
    mod fsck_events;
    mod fsck_flips;
    mod fsck_partial;
    mod fsck_quarantine;
    mod fsck_rewritten;
    mod fsck_warnings;
}
