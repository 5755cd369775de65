//! The report of a week: what ran, what began and ended in it, what moved most.
//!
//! A week begins on Monday (ISO 8601), in UTC, and a run belongs to the week in which it took place. The newest [`WEEKS`] weeks
//! with a run have a report. It is frozen as far as it can be: figures come from the runs of the week and those before it;
//! what the events that began in it have become is told as of now, and so is which metric of a benchmark is judged.
//!
//! | Module | What it does |
//! |---|---|
//! | [`weeks`] | which weeks there are, and what happened in each |
//! | [`report`] | the report, for the page and Markdown |

mod report;
mod weeks;

#[cfg(test)]
mod checks;

pub(super) use report::{headline, range, sheet};
pub use weeks::WEEKS;
pub(super) use weeks::{Week, weeks};
