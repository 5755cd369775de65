//! The report of a week: what ran, what began and ended in it, what moved most.
//!
//! A week begins on Monday (ISO 8601), in UTC, and a run belongs to the week in which it took place. The newest [`WEEKS`] weeks
//! with a run have a report. It is mostly fixed once written: its figures come from the runs of the week and those before it. Only
//! the present state of the events that began in it, and which metric of a benchmark is judged, can still change.

mod report;
mod weeks;

#[cfg(test)]
mod checks;

pub(super) use report::{headline, range, sheet};
pub use weeks::WEEKS;
pub(super) use weeks::{Week, weeks};
