//! The rules that decide, by name: one file a rule.

pub mod tolerance;
pub mod interval;
