//! Whether the history holds together, and putting right what does not.
//!
//! `tip` walks the folders of the branch, `content` reads what lies there, `aside` what was set aside, `lost` holds all of it
//! against what earlier commits had, `synced` against what a remote had after the last sync, `surroundings` looks at working trees and leftovers, `against` at a root that was noted down elsewhere, and
//! `check` joins them. `repair` makes one commit out of what they found, by the edits of `rebuild`, and `retire` lets
//! working trees follow.

mod tip;
mod content;
mod aside;
mod lost;
mod surroundings;
mod synced;
mod against;
mod check;
mod rebuild;
mod retire;
mod repair;

#[cfg(test)]
mod tests;

pub use check::{fsck, recorded, sound_entries};
pub use repair::{Repaired, repair};
