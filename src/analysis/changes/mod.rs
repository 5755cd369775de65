//! Change points of one series: where its level changed for good, between which points, and where it drifted.
//!
//! First the noise: how much neighbouring points differ, and their autocorrelation (`noise.rs`). The optimal partition into levels, with
//! a penalty for each change, finds too many. Each of these must prove itself against its neighbours (`elimination.rs`): two long sides
//! by ranks, by means and against autocorrelated noise, a run of few points by how rare it is among its surroundings. What an even ramp
//! explains better is a drift (`ramps.rs`), also where it bends (`piecewise.rs`), and so is a ramp where no step is proven (`drifts.rs`).
//! The place of a change is the most likely one, its range all that are nearly as likely (`position.rs`). A border of environments is
//! a likelier place than any other (`borders.rs`). What was reported before stays with less (`retention.rs`).

pub mod chance;
pub mod context;
pub mod detect;
pub mod detectable;
pub mod exact;
pub mod newest;
pub mod position;
pub mod sensitivity;
pub mod tuning;

mod borders;
mod drifts;
mod elimination;
mod estimate;
mod long_sides;
mod newest_step;
mod noise;
mod piecewise;
mod ramp;
mod ramps;
mod retention;
mod scale;
mod short_run;
mod side;

use noise::Noise;
use scale::Scaled;
use sensitivity::Sensitivity;
use tuning::Tuning;

/// A series under analysis.
#[derive(Clone, Copy)]
struct Input<'a> {
    scaled: &'a Scaled,
    noise: &'a Noise,
    sensitivity: &'a Sensitivity,
}

impl<'a> Input<'a> {
    fn tuning(&self) -> &'a Tuning {
        &self.sensitivity.tuning
    }
}
