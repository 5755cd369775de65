//! Two commits against each other, by fitted levels and never by single values.
//!
//! The rule, in words, for a series and the commits A and B:
//!
//! 1. Measured at neither: no row. Measured at one of them: **missing**.
//! 2. Both are judged in a common environment, the last one of B that A has. Where there is none: **not comparable**, with the
//!    facts that differ; nothing is judged across a change of environment.
//! 3. No level at A or B, as with too few points or within a drift: **inconclusive**, but for both in one drift or
//!    next to it where it moves less between them than counts, by its pace: **no change**. Before a drift and after it there are
//!    levels, but for the points that may be part of it.
//! 4. Both in one level: **no change**, with the smallest change that would have shown.
//! 5. In neighbouring levels: a **change** with the interval of the change between them.
//! 6. In levels further apart: the interval is that of the two levels, joined as independent (the method of variance
//!    estimates recovery: Zou and Donner, Statistics in Medicine 27, 2008). A **change** where it leaves out zero and the
//!    size is one that counts, else **no change**: it came back. Where a drift begins or ends between
//!    and there is none: **inconclusive**.
//! 7. A commit that may be before a change or after it has two possible levels. All possible pairs are judged by 3 to 6; where they
//!    disagree the row is **inconclusive**, else the most likely pair is shown.
//!
//! A commit with a tag that was not measured has of each series what was measured last before it, in its last fifty measured
//! commits; the row names that one, where it is not the nearest of all.
//!
//! The script of the site looks the verdicts up and lays them out as the pages do; a test compares the two.

pub(super) mod commits;
pub(super) mod data;
pub(super) mod export;
pub(super) mod pairs;
pub(super) mod rounding;
pub(super) mod script;
pub(super) mod table;
pub(super) mod words;

mod checks;
mod rule;
mod segments;
