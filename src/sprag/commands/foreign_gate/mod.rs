//! `sprag check` and `sprag compare` on the files of Trueno and tt-metal: their gates as they stand, and the same rules
//! with their holes closed.

mod files;
mod sides;
mod rules;
mod compatible;
mod check;
mod compare;

pub(super) use check::check;
pub(super) use compare::compare;
