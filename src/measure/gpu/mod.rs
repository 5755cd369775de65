//! The GPU, found at run time: a missing driver or device is a reason, never a panic.

pub mod probe;
pub mod description;
pub mod settings;
pub mod program;
pub mod operation;
