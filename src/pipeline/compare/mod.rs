//! Two commits, builds or files compared: by what was measured of them, or interleaved now.

mod contest;
mod commands;
mod kernels;
mod doubts;
mod report;
pub mod measured;
pub mod stored;

pub use report::schema;
