//! Two commits against each other, by fitted levels and never by single values.
//!
//! The rule, in words, for a series and the commits A and B:
//!
//! 1. Measured at neither: no row. Measured at one of them: **missing**.
//! 2. Both are judged in a common environment, the last one of B that A has. Without one: **not comparable**, with the facts that
//!    differ.
//! 3. No level at A or B, as with too few points or within a drift: **inconclusive**, unless both are in or next to one drift whose
//!    pace moves less between them than counts: **no change**. Points that may be part of a drift have no level.
//! 4. Both in one level: **no change**, with the smallest change that would have shown.
//! 5. In neighbouring levels: a **change** with the interval of the change between them.
//! 6. In levels further apart: the interval joins those of the two levels as independent (method of variance estimates recovery: Zou
//!    and Donner, Statistics in Medicine 27, 2008). A **change** where it excludes zero and the size counts, else **no change**: it
//!    came back. Where a drift begins or ends between and there is no change: **inconclusive**.
//! 7. A commit that may be before or after a change has two possible levels. All possible pairs are judged by 3 to 6; where they
//!    disagree the row is **inconclusive**, else the most likely pair is shown.
//!
//! A commit with a tag that was not measured has of each series what was measured last in the fifty measured commits before it; the
//! row names that commit, unless it is the nearest of all. The script of the site looks up the verdicts and their words,
//! and the means of pairs with a page; a test compares the two.

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
