//! Bringing the history of this repository and that of a remote together.
//!
//! Records never change and never go, so the union of two histories is the union of their files: no commit is rebased
//! and nothing is merged line by line. `remote` says with whom; `compare` holds two trees against each other; `plan`
//! decides what the remote lacks, and whether either side has lost something; `build` makes the commit on top of the
//! remote's tip; `local` moves the branch here; `rounds` fetches, pushes and tries again.

mod compare;
mod remote;
mod own;
mod plan;
mod build;
mod dropped;
mod local;
mod rounds;

pub use rounds::sync;
#[cfg(test)]
pub(super) use rounds::sync_within;
