//! Cases of `statistics`: what a library of statistics gave for the same numbers. They are of several kinds, each
//! recognised by the fields it holds, and inputs and results stand side by side.

mod kind;

mod recorded;

mod values;
mod two_sets;
mod levels;
mod series;
mod p_values;
mod functions;

#[cfg(test)]
mod tests;

pub(super) use kind::run;
