//! Findings and repairs on crafted repositories, with git's own command line as the judge.

mod crafted;
mod damage;
mod events;
mod warnings;
mod flips;
mod rewritten;
mod partial;
mod aside;
