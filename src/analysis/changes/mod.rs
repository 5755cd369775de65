//! Change points of one series: where its level changed for good, between which points, and where it drifted.
//!
//! First the noise: how much points differ that stand side by side, and how much they hang together (`noise.rs`). Then the
//! exact partition into levels with a price for each change, which finds too many; each of these must then prove itself
//! against its neighbours, the one that explains least first (`eliminate.rs`): two long sides by ranks, by means and against
//! noise that wanders, a run of few points by how rare such a run is among its surroundings. What an even ramp explains
//! better is a drift (`ramps.rs`), also where it bends (`climbs.rs`), and so is a ramp that stands by itself where no step does
//! (`drifts.rs`); a newest step that may be the beginning of one must be there without its newest points, too (`standing.rs`).
//! The place of a change is the most likely one, its range all that are nearly as likely. A border of environments is a likelier
//! place than any other (`borders.rs`), and a step there a likelier cause than a ramp across it. What was told before stays with less
//! (`held.rs`).

pub mod sensitivity;
pub mod context;
pub mod detect;
pub mod exact;
pub mod chance;
pub mod detectable;
pub mod newest;

mod scale;
mod noise;
mod side;
mod long_sides;
mod short_run;
mod drifts;
mod eliminate;
mod ramp;
mod ramps;
mod climbs;
mod standing;
pub mod position;
mod borders;
mod held;
mod estimate;
mod constants;

pub(crate) use constants::constants;
