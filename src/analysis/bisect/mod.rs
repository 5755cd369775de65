//! Which commit made the difference between two ends of a history: what to ask, what an answer says, what to ask next.
//!
//! The two ends, a good and a bad commit, are measured in turns until their difference is certain. That fixes the question:
//! the benchmarks that moved. Those that moved at the same commit, as far as the measurements show, are a cluster and
//! weighed into one *level*, which is 0 at the good end and 1 at the bad one. Every measurement of a commit in turns with the
//! good end gives a level with noise. The posterior over all suspects of a cluster follows from them by Bayes, and the next
//! commit is the one from which most information about all clusters is expected for its cost (Lindley, "On a measure of the
//! information provided by an experiment", 1956; Waeber, Frazier and Henderson, "Bisection search with noisy responses", 2013).
//!
//! Commits are numbered from 0, the good end, to the number of suspects, the bad end. Suspect `i` changes the level between
//! the commits `i - 1` and `i`.

pub mod tuning;
pub mod question;
pub mod level;
pub mod posterior;
pub mod cluster;
pub mod choice;
pub mod search;
pub mod effect;
pub mod simulation;

#[cfg(test)]
mod tests;
