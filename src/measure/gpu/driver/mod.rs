//! Objects of the CUDA driver, on one context and one stream, each given back when it is dropped.
//!
//! The driver's plain functions are used, not the wrapper's safe objects: those record events of their own around
//! launches, which would be timed along.

mod context;
mod memory;
mod code;
mod timing;

pub use self::code::{Function, Module};
pub use self::context::Context;
pub use self::memory::{Buffer, Flag};
pub use self::timing::{Event, Graph};
