//! The constants of events, each with what it is.

use super::{coverage, discovery, machine};
use sprag_model::method::{Constants, Figure};

/// What everybody may want to know of them.
pub(crate) fn constants() -> Constants {
    Constants {
        of: "Events of many series",
        list: vec![
            ("share of chance allowed among events that are called sure", Figure::Share(discovery::ALLOWED)),
            ("share up to which an event that was sure stays so", Figure::Share(discovery::RETAINED)),
            (
                "probability of a change at a border of environments from which on the machine is the cause",
                Figure::Share(machine::AT_BORDER),
            ),
            (
                "benchmarks of a machine that are many where they move in unlike ways, at least",
                Figure::Count(machine::MANY),
            ),
            ("and their share of all that were measured there, at least", Figure::Share(machine::MANY_SHARE)),
            ("and where they stayed on another machine, at least", Figure::Share(machine::NEARLY_ALL)),
            ("points in a new environment that a series needs to be judged", Figure::Count(coverage::SETTLED)),
        ],
    }
}
