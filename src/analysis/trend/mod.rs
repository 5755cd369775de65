//! What a whole history shows: change points of many series joined into events, who may have caused them, and what is judged.
//!
//! Each series is put on its axis of commits (`axis.rs`) and analysed without the noise that all series of a run have in common
//! (`common.rs`, `series_changes.rs`), given what all series have in common (`outline.rs`). Changes of one machine that one commit can
//! explain are one cluster (`cluster.rs`), the machine's where that is likelier (`machine.rs`); clusters of several machines that
//! one commit explains are one event (`event.rs`), with the probability of each suspect (`culprit.rs`), what of it all may be
//! chance (`discovery.rs`), and the id that it was reported by before (`identity.rs`). Where the newest points
//! of a series change nothing, its figures are those without them (`steady.rs`).

pub mod analyse;
pub mod detection_cache;
pub mod series_changes;
mod series_index;
pub mod discovery;
pub mod outline;
pub mod dataset;

mod memo;
mod axis;
mod cluster;
mod common;
mod machine;
mod culprit;
mod recorded;
mod draft;
mod identity;
mod event;
mod steady;
mod newest;
mod coverage;
mod self_test;

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod record_tests;

use sprag_model::method::{Constants, Figure};

/// The constants of events, each with what it is.
pub(crate) fn constants() -> Constants {
    Constants {
        of: "Events of many series",
        list: vec![
            ("false discovery rate among significant events", Figure::Share(discovery::ALLOWED)),
            ("false discovery rate up to which a significant event remains so", Figure::Share(discovery::RETAINED)),
            (
                "probability of a change at an environment border from which on the machine is the cause",
                Figure::Share(machine::AT_BORDER),
            ),
            (
                "fewest benchmarks of a machine that moved in unlike ways to blame the machine",
                Figure::Count(machine::MANY),
            ),
            ("and their smallest share of all that were measured there", Figure::Share(machine::MANY_SHARE)),
            (
                "or their smallest share, if they moved one way and another machine did not",
                Figure::Share(machine::NEARLY_ALL),
            ),
            (
                "or fewest that moved by about the same factor, if no other machine measured",
                Figure::Count(machine::MANY_ALONE),
            ),
            ("fewest points of a series in a new environment to judge it", Figure::Count(coverage::SETTLED)),
        ],
    }
}
