//! What other tools wrote, as runs.

pub mod word;
pub mod convert;
pub mod source;
mod one;

pub use one::foreign;
