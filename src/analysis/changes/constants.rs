//! The constants of change points, each with what it is.

use super::{context, detect, detectable, drifts, eliminate, position, short_run, side};
use sprag_model::method::{Constants, Figure};

/// What everybody may want to know of them.
pub(crate) fn constants() -> Constants {
    Constants {
        of: "Change points of a series",
        list: vec![
            ("points below which nothing is looked for", Figure::Count(detect::FEWEST_POINTS)),
            ("points of a side that count at most", Figure::Count(side::MOST_POINTS)),
            ("points of a short run, which is judged by its surroundings, at most", Figure::Count(short_run::LONGEST)),
            (
                "deviations of the noise by which a step is plain whatever lies farther away",
                Figure::Number(eliminate::PLAIN),
            ),
            ("points from which on a ramp is a drift", Figure::Count(drifts::WIDE)),
            ("deviance within which a place is in the range of a change", Figure::Number(position::NEARLY)),
            ("deviance that a border of environments is likelier by, 100 to 1", Figure::Number(position::OF_BORDER)),
            ("score below which a reported change is withdrawn; 1 reports it again", Figure::Number(context::RETAINED)),
            (
                "points after a change for which its minimum detectable effect is given",
                Figure::Count(detectable::POINTS_AFTER),
            ),
        ],
    }
}
