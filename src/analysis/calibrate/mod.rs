//! How often the rules of a gate are wrong on a given history: sessions replayed as a check would have judged them, and
//! sessions drawn from what the series themselves moved by.
//!
//! A replayed session is held against the sessions before it in its environment, as `check --against history` does, or
//! against the last run alone. It differs from a check in two points, and both make it call more. The same commit measured
//! again is judged as if it were a new one. And what a check will not judge since others share its memory is judged, since
//! a series does not tell.

mod visits;
mod replay;
mod resample;
mod history;
mod reruns;

pub use history::calibrate;
pub use replay::Candidate;
pub use reruns::reruns;
