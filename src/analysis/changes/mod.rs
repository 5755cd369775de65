//! Change points of one series: where its level changed for good, between which points, and where it drifted.
//!
//! First the noise: how much neighbouring points differ, and their autocorrelation (`noise.rs`). The optimal partition into levels, with
//! a penalty for each change, finds too many. Each of these must prove itself against its neighbours (`elimination.rs`): two long sides
//! by ranks, by means and against autocorrelated noise, a run of few points by how rare it is among its surroundings. What an even ramp
//! explains better is a drift (`ramps.rs`), also where it bends (`piecewise.rs`), and so is a ramp where no step is proven (`drifts.rs`).
//! What goes back and forth between two levels is one finding (`modes.rs`).
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
mod input;
mod long_sides;
mod modes;
mod newest_step;
mod noise;
mod piecewise;
mod ramp;
mod ramps;
mod retention;
mod scale;
mod short_run;
mod side;
pub(crate) mod unstable;

use detect::{FEWEST_POINTS, NARROWEST_DRIFT};
use sprag_model::method::{Constants, Figure};
use tuning::Tuning;

/// The constants that the page of the method shows.
pub(crate) fn constants() -> Constants {
    let fitted = Tuning::FITTED;
    Constants {
        of: "Change points of a series",
        list: vec![
            ("fewest points of a series that is searched for changes", Figure::Count(FEWEST_POINTS)),
            ("most points of a side that a test uses", Figure::Count(side::MOST_POINTS)),
            ("most points of a short run, which is compared with its surroundings", Figure::Count(fitted.longest_run)),
            (
                "deviations of the noise from which on a step is accepted whatever is farther away",
                Figure::Number(fitted.large),
            ),
            ("fewest points of a drift next to steps", Figure::Count(NARROWEST_DRIFT)),
            ("largest deviance of a position in the range of a change", Figure::Number(fitted.range_deviance)),
            (
                "deviance in favour of an environment border, for odds of 100 to 1",
                Figure::Number(position::BORDER_DEVIANCE),
            ),
            (
                "score below which a reported change is withdrawn; at 1 it is reported again",
                Figure::Number(context::RETAINED),
            ),
            (
                "points after a change that its minimum detectable effect assumes",
                Figure::Count(detectable::POINTS_AFTER),
            ),
        ],
    }
}
