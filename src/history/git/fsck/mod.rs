//! Whether the history holds together, and putting right what does not.
//!
//! `tip` walks the folders of the branch, `content` reads what lies there, `lost` holds it against what earlier commits
//! had, `surroundings` looks at working trees and leftovers, `against` at a root that was noted down elsewhere, and
//! `check` joins them. `repair` makes one commit out of what they found, by the edits of `rebuild`, and `retire` lets
//! working trees follow.

mod tip;
mod content;
mod lost;
mod surroundings;
mod against;
mod check;
mod rebuild;
mod retire;
mod repair;

#[cfg(test)]
mod tests;

pub use check::{fsck, recorded};
pub use repair::{Repaired, repair};
