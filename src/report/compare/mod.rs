//! Two commits against each other, by the levels that were fitted and never by single values.
//!
//! The rule, in words, for a series and the commits A and B:
//!
//! 1. Measured at neither: no row. Measured at one of them: **missing**.
//! 2. A common environment is looked for, the last one of B that A has. Where there is none: **not comparable**, with the
//!    facts that differ; nothing is judged across a change of environment.
//! 3. No level where A or B lies, as with too few points or within a drift: **inconclusive**, but for both in one drift or
//!    beside it where it moves less between them than counts, by its pace: **no change**. Before a drift and after it there are
//!    levels, but for the points that may be part of it.
//! 4. Both in one level: **no change**, with the smallest change that would have shown.
//! 5. In neighbouring levels: a **change** with the interval of the change between them.
//! 6. In levels further apart: the interval is that of the two levels, joined as independent (the method of variance
//!    estimates recovery: Zou and Donner, Statistics in Medicine 27, 2008). A **change** where it leaves out zero and the
//!    size is one that counts, else **no change**: it came back. Where a drift begins or ends between
//!    and there is none: **inconclusive**.
//! 7. A commit at which a change may lie or not has two possible levels. All possible pairs are judged by 3 to 6; where they
//!    disagree the row is **inconclusive**, else the most likely pair is shown.
//!
//! A commit with a tag that was not measured has of each series what was measured last before it, in its last fifty measured
//! commits; the row says at which one, where that is not the nearest one of all.
//!
//! The script of the site looks the verdicts up, lays them out as the pages do, and a test holds the two against each other.
//!
//! | Module | What it does |
//! |---|---|
//! | [`data`] | the measured commits, their environments, each series with its fit and its values, all rounded |
//! | [`commits`] | the commits: measured ones, and those with a tag that were not |
//! | [`columns`] | the columns of values that a suite has on a machine, and the numbers of their commits |
//! | [`script`] | these and the verdicts of all pairs of points as scripts that call one function each, as pages opened from a folder may not fetch |
//! | [`segments`] | what a series does over time: levels, drifts and the steps between |
//! | [`rounding`] | how they are rounded |
//! | [`rule`] | the rule |
//! | [`words`] | a row in words |
//! | [`drawn`] | its change as an interval on the scale of the table |
//! | [`table`] | all rows in order, with counts |
//! | [`mean`] | the geometric mean of the changes, with its interval |
//! | [`newest`] | the newest commit of a suite on a machine against the release before |
//! | [`pairs`] | which pairs have a page |
//! | [`export`] | a table as Markdown |

pub(super) mod commits;
pub(super) mod data;
pub(super) mod export;
pub(super) mod pairs;
pub(super) mod script;
pub(super) mod table;
pub(super) mod words;

mod checks;
mod columns;
mod drawn;
mod mean;
pub(super) mod rounding;
mod rule;
mod segments;
