//! Statistics on slices of finite numbers: pure functions, no dependency on any other room.
//!
//! Callers hand in finite values only; the types of `model` and the readers of files see to that.

pub mod bootstrap;
pub mod describe;
pub mod student;
pub mod random;
