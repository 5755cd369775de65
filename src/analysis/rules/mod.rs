//! The rules that decide, by name: one file a rule, all asked through [`decide`].

mod decide;
pub mod interval;
pub mod tolerance;
pub mod bands;
pub mod rank;

pub use decide::decide;
