//! What was fitted to a series, for pages, Markdown and feeds: its levels, its changes and drifts with their
//! events, and the sentence that sums them up.

mod sentence;
mod turn;

pub use sentence::why_not_judged;
pub use turn::Piece;
pub use turn::{Fit, Turn, What};

#[cfg(test)]
mod checks;
#[cfg(test)]
pub(crate) mod example;
