//! Suites that are programs of somebody else's: they measure themselves, Sprag runs them again and again, each time
//! as a fresh process, and takes the median over processes.
//!
//! How their output is read is not known here: the caller hands in a function.

pub mod suite;
pub(super) mod process;
pub mod results;
mod pool;
mod pair_up;
pub mod paired;
pub mod cargo;
pub mod keeper;

/// Variables that what is built aside does not get by itself. Those of git turn it to another repository than the one it
/// is started in, as hooks and `git rebase --exec` do. Those of Cargo name a folder that several commits would share, in
/// which the programs of one replace those of the other.
pub const CHECKOUT_WITHOUT: [&str; 11] = [
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];
