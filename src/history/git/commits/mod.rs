//! Commits: what HEAD and the branch of the history are at, the line behind them, and which commit is measured.

pub(super) mod author;
pub(super) mod facts;
pub(super) mod line;
pub(super) mod measured;
pub(super) mod trees;
pub(super) mod tags;
pub(super) mod target;
pub(super) mod create;
pub(super) mod worktree;
